"""Pictures of robots and of what they compute. Needs matplotlib: `pip install 'helicoid[plot]'`."""

from helicoid.view.ellipsoid import effective_mass_ellipsoid, effective_masses

__all__ = ["effective_mass_ellipsoid", "effective_masses"]
