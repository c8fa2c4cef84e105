"""Calls with numbers: arguments, what computes them, and compiling while the work goes on."""
