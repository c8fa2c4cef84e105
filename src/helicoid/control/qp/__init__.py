"""Small dense quadratic programs by a dual active set in C (runtime/), for control loops."""

from helicoid.control.qp.lexicographic import LevelsSolution, LexicographicProgram
from helicoid.control.qp.program import QPSolution, QuadraticProgram

__all__ = ["LevelsSolution", "LexicographicProgram", "QPSolution", "QuadraticProgram"]
