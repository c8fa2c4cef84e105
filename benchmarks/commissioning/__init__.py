"""Commissioning of arms whose true plants, in MuJoCo, are hidden from it."""
