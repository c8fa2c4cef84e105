"""Pages: self-contained HTML, line charts as SVG, and the tables of notebooks."""
