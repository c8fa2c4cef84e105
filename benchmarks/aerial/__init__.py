"""Flight beside measurements and peers."""
