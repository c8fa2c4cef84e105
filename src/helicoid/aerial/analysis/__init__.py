"""Analysis of a vehicle: trim, linearisation, modes, flight envelope, and identification of rotors."""
