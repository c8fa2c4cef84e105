"""Compiled functions for others: C99 libraries, and nodes of CasADi's graphs."""
