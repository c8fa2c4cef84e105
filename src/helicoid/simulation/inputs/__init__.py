"""What acts on a simulated robot: torques and wrenches, controllers of any kind, laws as symbols."""
