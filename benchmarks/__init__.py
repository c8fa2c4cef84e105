"""Helicoid beside its peers: operations, times, memory. Run from the root of the repository."""
