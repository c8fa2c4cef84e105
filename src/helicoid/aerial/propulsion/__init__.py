"""Propulsion: propellers, momentum and blade-element theory, motors and rotors."""
