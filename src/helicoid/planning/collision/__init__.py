"""What can touch: spheres of a robot, obstacles of a scene, pairs of links; tables for the C."""
