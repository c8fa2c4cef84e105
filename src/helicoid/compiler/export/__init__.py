"""Export of functions: C99 libraries, and nodes of CasADi's graphs."""
