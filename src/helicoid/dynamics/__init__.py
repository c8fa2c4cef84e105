"""The algorithms: one a file, pure functions on CasADi expressions, for any tree of any joints."""
