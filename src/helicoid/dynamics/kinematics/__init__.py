"""Kinematics: the configuration manifold, and poses, velocities and Jacobians of frames."""
