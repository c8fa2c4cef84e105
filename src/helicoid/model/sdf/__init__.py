"""SDF, the format of Gazebo: a strict reader of models, worlds, nested and included models."""
