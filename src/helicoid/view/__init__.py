"""Robots to look at: in the browser, as a page that plays their motion, and what they compute as pictures.

The module itself is the function `view`: `hc.view(robot)` shows a robot in the browser.
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
    """`hc.view` is both this package and the function that shows a robot."""

    def __call__(self, *arguments: Any, **options: Any) -> Viewer:
        return view(*arguments, **options)


sys.modules[__name__].__class__ = _CallableModule
