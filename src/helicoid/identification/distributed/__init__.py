"""Many logs: read where the workers are, compressed to triangular factors there, merged as a tree."""
