"""MJCF, the format of MuJoCo: a reader of the model that MuJoCo compiles, and a writer."""
