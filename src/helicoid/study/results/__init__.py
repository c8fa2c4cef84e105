"""Results of a study: rows, the folder that stores them, tables and plots."""
