"""Online identification: recursive least squares, change detection, consistent estimates."""
