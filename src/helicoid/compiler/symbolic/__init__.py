"""What a function is: its signature, its expressions, their derivatives, and one file that holds it all."""
