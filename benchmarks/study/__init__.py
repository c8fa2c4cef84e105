"""Benchmarks of studies: `python -m benchmarks.study`, or make bench-study."""
