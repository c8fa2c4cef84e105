"""MuJoCo as the engine of a simulation: its model of a robot and a ground, and the loop around its step."""
