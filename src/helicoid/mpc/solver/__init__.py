"""What solves a problem: our own solver in C, and CasADi's."""
