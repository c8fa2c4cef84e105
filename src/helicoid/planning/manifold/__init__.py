"""Planning on a constraint manifold: closed loops and task constraints."""
