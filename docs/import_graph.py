"""Graph of the imports between packages: `python docs/import_graph.py` writes the picture.

The layers are those of the import contract in `pyproject.toml`; the more imports, the wider the line.
Single files that every package may use (errors, types, progress) are left out.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import grimp

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "assets" / "import_graph.svg"
WIDTH, FLOOR = 760, 64


def floors() -> list[list[str]]:
    """Packages by layer, the highest first, from the first import contract."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    layers = re.search(r"^layers = \[(.*?)^\]", text, re.MULTILINE | re.DOTALL)
    assert layers is not None
    rows = [
        re.findall(r"[a-z_]+", row) for row in re.findall(r'"(.*?)"', layers[1])
    ]
    exists = {
        path.name
        for path in (ROOT / "src" / "helicoid").iterdir()
        if path.is_dir() and path.name != "pages"
    }
    kept = [[room for room in row if room in exists] for row in rows]
    return [row for row in kept if row]


def edges(rooms: set[str]) -> Counter[tuple[str, str]]:
    """How often modules of one room import modules of another."""
    graph = grimp.build_graph("helicoid", exclude_type_checking_imports=True)
    counts: Counter[tuple[str, str]] = Counter()
    for importer in graph.modules:
        for imported in graph.find_modules_directly_imported_by(importer):
            pair = [[*name.split("."), ""][1] for name in (importer, imported)]
            if pair[0] != pair[1] and set(pair) <= rooms:
                counts[pair[0], pair[1]] += 1
    return counts


def picture() -> str:
    """The picture as SVG: quiet colors, readable on light and dark pages."""
    rows = floors()
    rows.insert(rows.index(["robot"]) + 1, ["compiler"])
    place: dict[str, tuple[float, int]] = {}
    for floor, row in enumerate(rows):
        for k, room in enumerate(row):
            x = WIDTH * (k + 1) / (len(row) + 1)
            place[room] = (
                x + (floor % 3 - 1) * 150 * (len(row) == 1),
                30 + floor * FLOOR,
            )
    lines = []
    for (a, b), count in sorted(edges(set(place)).items()):
        (x1, y1), (x2, y2) = place[a], place[b]
        width = 0.6 + min(count, 60) / 20
        lines.append(
            f'<path d="M{x1:.0f} {y1 + 15} C{x1:.0f} {y1 + 55} {x2:.0f} {y2 - 55} {x2:.0f} {y2 - 15}" '
            f'stroke-width="{width:.1f}"><title>{a} imports {b}: {count}</title></path>'
        )
    boxes = [
        f'<rect x="{x - 60:.0f}" y="{y - 15:.0f}" width="120" height="30" rx="5"/>'
        f'<text x="{x:.0f}" y="{y + 5:.0f}">{room}</text>'
        for room, (x, y) in place.items()
    ]
    height = 60 + (len(rows) - 1) * FLOOR
    style = (
        "path{fill:none;stroke:#5c6bc0;stroke-opacity:.45}rect{fill:#e8eaf6;stroke:#3949ab}"
        "text{font:14px sans-serif;text-anchor:middle;fill:#1a237e}"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">'
        f"<style>{style}</style>{''.join(lines)}{''.join(boxes)}</svg>\n"
    )


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
    print(PICTURE.relative_to(ROOT))
