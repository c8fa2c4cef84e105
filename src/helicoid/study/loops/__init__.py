"""Ready-made episodes: closed loops of a controller and a plant that is not quite what it thinks."""
