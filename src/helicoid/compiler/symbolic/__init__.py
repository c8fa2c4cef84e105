"""Symbolic functions: signatures, expressions, derivatives, and their storage in a file."""
