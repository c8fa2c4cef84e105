"""Algorithms that walk the tree, link by link: torques, accelerations, matrices, regressors."""
