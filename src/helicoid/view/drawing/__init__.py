"""Drawable geometry: triangles of primitives, meshes and stick figures, and the parts of a robot."""
