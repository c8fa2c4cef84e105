"""Tables, plots and targets."""
