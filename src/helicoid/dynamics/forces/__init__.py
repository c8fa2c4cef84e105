"""Forces beside inertia, gravity and friction: springs in the joints, wrenches on links."""
