"""Linear measurement equations: y = Y x, rows of samples, and stacks of rows."""
