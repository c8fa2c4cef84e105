"""Control beside its peers; `make bench-control` runs all of it."""
