"""Ready-made episodes: closed loops of a controller and a plant that differs from its model."""
