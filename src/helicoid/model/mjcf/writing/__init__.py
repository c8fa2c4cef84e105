"""Writing a robot as MJCF: its joints, bodies, shapes and connections, and the coordinates of the result."""
