"""Rigid motions, on NumPy arrays and CasADi expressions alike.

One module a representation; the functions are called through their module, as `so3.exp(rotvec)`.

>>> from helicoid.geometry import so3
>>> so3.exp([0.0, 0.0, 0.0]).shape
(3, 3)
"""

from helicoid.geometry import coordinates, dual_quaternion, euler, quaternion, se3, so3, spatial

__all__ = ["coordinates", "dual_quaternion", "euler", "quaternion", "se3", "so3", "spatial"]
