"""Which parameters a measurement can tell."""
