"""From a symbolic function to C text: program, order, pieces, source."""
