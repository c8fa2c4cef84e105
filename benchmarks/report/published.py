"""Figures published by L. M. G. Johannessen, "Robot Dynamics with URDF & CasADi", NTNU 2019, for urdf2casadi.

Counts are of the nodes of the expression graph, its symbols and constants included. Times (µs) are medians on
a 3.5 GHz Intel Xeon, from Python 2.7, of functions that CasADi compiles with -Ofast. Differences are sums
over 1,000 states.
"""

from __future__ import annotations

LABELS = ("G", "C", "ID", "M", "FD (CRBA)", "FD (ABA)")

ROBOTS = {
    "pan_tilt_pendulum": (18, 79, 110, 34, 132, 142),
    "ur5": (199, 648, 696, 872, 2354, 1948),
    "snake": (224, 572, 710, 1217, 14786, 2272),
}
"""Table 5.2, for each of LABELS."""

TIMES = {
    "pan_tilt_pendulum": (12.64, 20.68, 28.81, 13.14, 28.93, 28.78),
    "ur5": (15.46, 26.02, 36.02, 16.09, 38.19, 36.50),
    "snake": (22.01, 37.45, 54.22, 22.67, 68.92, 54.92),
}
"""Table 5.1, of which Table 5.3 is a part."""

JOINTS = (2, 10, 20, 30, 40, 50, 60)
CHAINS = {
    "G": (26, 429, 883, 1351, 1829, 2246, 2726),
    "C": (103, 1309, 2766, 4258, 5784, 7157, 8683),
    "ID": (134, 1378, 2854, 4366, 5912, 7305, 8851),
    "M": (52, 3055, 9499, 17281, 29320, 40795, 56308),
    "FD (ABA)": (209, 4546, 10320, 15947, 22123, 27277, 33253),
}
"""Tables 5.4 to 5.10, for a chain of each of JOINTS."""

JACOBIAN_TIMES = {
    "pan_tilt_pendulum": (12.63, 20.57, 28.91, 12.54, 29.07, 29.10),
    "ur5": (15.38, 29.62, 40.08, 17.14, 48.35, 50.52),
    "snake": (23.47, 46.78, 67.68, 36.72, 286.73, 82.48),
}
"""Table 6.1: Jacobians with respect to all inputs, by `cs.jacobian`."""

RATE_TIMES = {
    "pan_tilt_pendulum": (20.38, 28.74, 36.66, 20.50, 44.78, 42.98),
    "ur5": (25.43, 36.92, 49.08, 28.37, 66.93, 53.75),
    "snake": (38.46, 54.96, 71.20, 40.61, 127.73, 81.86),
}
"""Table 6.2: time derivatives, by `cs.jtimes`."""

JACOBIANS = {
    "pan_tilt_pendulum": (29, 239, 234, 44, 378, 390),
    "ur5": (881, 5157, 4731, 4095, 17764, 13517),
    "snake": (2347, 11792, 16159, 11635, 431178, 40901),
}
"""Table 6.3."""

RATES = {
    "pan_tilt_pendulum": (32, 165, 219, 48, 292, 290),
    "ur5": (491, 1707, 1807, 2909, 6906, 5828),
    "snake": (687, 1660, 2029, 11635, 44940, 7218),
}
"""Table 6.4."""

DIFFERENCES = {
    "pan_tilt_pendulum": {
        "G": (1.30e-12, 4.14e-11, 5.91e-4),
        "C": (1.18e-12, 7.37e-11, 6.60e-4),
        "ID": (None, 7.42e-11, 1.24e-3),
        "M": (6.50e-13, 4.08e-12, 2.77e-4),
        "FD": (None, 1.58e-11, None),
    },
    "ur5": {
        "G": (4.42e-12, 1.96e-7, 1.83e-3),
        "C": (1.03e-11, 4.30e-7, 3.12e-3),
        "ID": (None, 4.41e-7, 4.12e-3),
        "M": (1.40e-12, 1.46e-8, 2.32e-3),
        "FD": (None, 7.88e-7, None),
    },
    "kuka_lwr4": {
        "G": (2.92e-12, 4.97e-12, 3.87e-4),
        "C": (3.81e-12, 1.36e-11, 2.08e-4),
        "ID": (None, 1.18e-11, 5.48e-4),
        "M": (2.07e-12, 1.54e-8, 1.71e-4),
        "FD": (None, 2.22e-10, None),
    },
    "snake": {
        "G": (2.52e-12, 0.0, 2.37e-11),
        "C": (2.22e-10, 1.73e-11, 1.61e-10),
        "ID": (None, 1.29e-10, 1.96e-10),
        "M": (6.46e-11, 2.38e-11, 5.33e-11),
        "FD": (None, 1.29e-10, None),
    },
}
"""Tables 4.2 to 4.5: KDL, RBDL and PyBullet against urdf2casadi."""
