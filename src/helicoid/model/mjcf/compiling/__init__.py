"""From a file, a text or a given model to the model that MuJoCo compiles."""
