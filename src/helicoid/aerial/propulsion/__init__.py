"""What pushes: propellers and the theories of them, motors that turn them, rotors that carry both."""
