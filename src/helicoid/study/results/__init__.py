"""What a study found: rows, the folder that keeps them, tables and pictures of them."""
