"""Collision tables of the planner: spheres of a robot, obstacles of a scene, pairs of links."""
