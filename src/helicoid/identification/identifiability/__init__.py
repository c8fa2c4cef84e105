"""Which parameters a regression can tell."""
