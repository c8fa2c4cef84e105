"""Identification: a robot and a log in, a robot that predicts its own torques out."""
