"""From C text to a callable: compiler, cache, binding."""
