"""What was recorded: read, judged, filtered."""
