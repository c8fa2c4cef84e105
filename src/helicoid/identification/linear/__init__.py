"""Fits that are linear in the parameters: rows, stacks, estimators, priors."""
