"""The dynamics as a frame feels them."""
