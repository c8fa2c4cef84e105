"""Visualisation: robots in the browser, motions as HTML pages, effective-mass ellipsoids.

The module is callable: `hc.view(robot)` shows a robot in the browser.
"""

import sys
from types import ModuleType
from typing import Any

from helicoid.view.ellipsoid import effective_mass_ellipsoid, effective_masses
from helicoid.view.player import Marker, motion_html, motion_page
from helicoid.view.viewer import Viewer, view

__all__ = [
    "Marker",
    "Viewer",
    "effective_mass_ellipsoid",
    "effective_masses",
    "motion_html",
    "motion_page",
    "view",
]


class _CallableModule(ModuleType):
    """Module type that makes `hc.view` both this package and the function `view`."""

    def __call__(self, *arguments: Any, **options: Any) -> Viewer:
        return view(*arguments, **options)


sys.modules[__name__].__class__ = _CallableModule
