"""Linear least squares: equations, estimators, cross-validation and selection."""
