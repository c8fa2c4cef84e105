"""Diagnosis of logs: wrong signs, order, units, scales and gravity, by comparison with the description."""
