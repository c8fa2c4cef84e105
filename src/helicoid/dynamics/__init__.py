"""Algorithms of kinematics and dynamics: pure functions on CasADi expressions, for any tree of joints."""
