"""Is a log what it says? Signs, order, units, scales and gravity, judged by what the description needs."""
