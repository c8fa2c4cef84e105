"""What holds a robot back, and how it moves then."""
