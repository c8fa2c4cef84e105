"""Solvers of a problem: SQP in C, and those of CasADi."""
