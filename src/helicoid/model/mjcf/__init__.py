"""Reader of MJCF, MuJoCo's format, from the model that MuJoCo compiles."""
