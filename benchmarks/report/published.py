"""Counts published for urdf2casadi: L. M. Johannessen, "Robot dynamics with URDF and CasADi", its thesis.

They count the nodes of the expression graph, its symbols and constants included.
"""

from __future__ import annotations

LABELS = ("G", "C", "ID", "M", "FD (CRBA)", "FD (ABA)")

ROBOTS = {
    "pan_tilt_pendulum": (18, 79, 110, 34, 132, 142),
    "ur5": (199, 648, 696, 872, 2354, 1948),
    "snake": (224, 572, 710, 1217, 14786, 2272),
}
"""Table 5.2, for each of LABELS."""

JOINTS = (2, 10, 20, 30, 40, 50, 60)
CHAINS = {
    "G": (26, 429, 883, 1351, 1829, 2246, 2726),
    "C": (103, 1309, 2766, 4258, 5784, 7157, 8683),
    "ID": (134, 1378, 2854, 4366, 5912, 7305, 8851),
    "M": (52, 3055, 9499, 17281, 29320, 40795, 56308),
    "FD (ABA)": (209, 4546, 10320, 15947, 22123, 27277, 33253),
}
"""Tables 5.4 to 5.9, for a chain of each of JOINTS."""
