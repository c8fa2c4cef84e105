"""From C text to something that Python calls: compiler, cache, binding."""
