"""Scores, assessment, validity and the HTML report of a result."""
