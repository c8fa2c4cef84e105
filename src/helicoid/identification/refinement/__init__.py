"""Nonlinear refinement of a result: friction curves, and output error by multiple shooting."""
