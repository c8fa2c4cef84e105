"""Functions of the nodes of a problem, with first and second derivatives."""
