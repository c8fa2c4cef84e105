"""What a robot is: frozen data, no algorithms."""
