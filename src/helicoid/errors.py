"""Every exception and warning that Helicoid raises on purpose."""

from __future__ import annotations

import sys
import warnings
from importlib import import_module
from shlex import quote
from typing import Any


class HelicoidError(Exception):
    """Base class: catch this to catch everything Helicoid raises on purpose."""


class RobotDescriptionError(HelicoidError):
    """A robot description (URDF) that cannot be read; says where and what would be right."""


class ModelError(HelicoidError):
    """A model that contradicts itself, or an edit that names something the model lacks."""


class InputError(HelicoidError, ValueError):
    """A call with the wrong number, shape or type of arguments."""


class CompileError(HelicoidError):
    """A function could not be compiled to C, or what was compiled could not be loaded."""


class DoubtfulModelWarning(UserWarning):
    """The description is legal but probably not what its author meant."""


class DoubtfulMotionWarning(UserWarning):
    """A simulated motion that the real robot cannot make, such as links that pass through each other."""


class PerformanceWarning(UserWarning):
    """Everything works, but slower than it could; says what would make it fast."""


def optional_import(module: str, needed_by: str, requirement: str) -> Any:
    """A module of an optional dependency: `optional_import("viser", "the viewer", "helicoid[view]")`.

    Raises:
        HelicoidError: it is not installed; the message says how to install it.
    """
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise HelicoidError(f"{needed_by} needs {package}: pip install {quote(requirement)}") from error


_BETWEEN = {"helicoid", "casadi", "concurrent", "contextlib", "functools", "threading"}
"""Packages whose stack frames are skipped to find the line of the user's code for a warning."""


def warn(warning: Warning) -> None:
    """Warn at the line of the user's code that led here: the innermost that is not Helicoid's own."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _BETWEEN:
        frame = frame.f_back
    registry = frame.f_globals.setdefault("__warningregistry__", {})
    name = frame.f_globals.get("__name__", "<unknown>")
    warnings.warn_explicit(warning, type(warning), frame.f_code.co_filename, frame.f_lineno, name, registry)
