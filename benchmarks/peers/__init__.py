"""The other libraries, each in a module that imports it; one that is not installed is named as missing."""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import os
import re
import sys
import warnings
from collections.abc import Iterable, Iterator
from importlib.metadata import PackageNotFoundError, version
from typing import Any, ClassVar

from benchmarks.harness.calls import Call
from benchmarks.harness.subjects import State, Subject

LIBRARIES = {
    "Pinocchio": "pinocchio",
    "MuJoCo": "mujoco",
    "Drake": "drake",
    "PyBullet": "pybullet",
    "KDL": "kdl",
    "urdf2casadi": "urdf2casadi",
    "adam": "adam",
}
"""From the name of a library to its module here."""


class Unfit(Exception):
    """A library cannot take a robot; says why."""


class Peer:
    """A library with one robot. Subclasses are called `Library` in their module."""

    version: ClassVar[str]
    tolerance: ClassVar[float] = 1e-6
    """Largest relative difference from Helicoid's result with which it is timed."""
    remark: ClassVar[str] = ""
    """Remark on its times."""
    compiles: ClassVar[bool] = False
    """Whether a first call may take many seconds."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject

    def call(self, label: str, state: State) -> Call | None:
        """Call that computes a quantity for one state; None if the library does not have it."""
        raise NotImplementedError

    def batch(self, label: str, states: State, n_threads: int) -> Call | None:
        """Call that computes it for many states; None if the library has no batches."""
        return None

    def rollouts(self, start: State, dt: float, n_threads: int) -> dict[str, Call]:
        """Ways to simulate from many states, by what they add to the library's name; none by default.

        `start` holds q and v (B, n) and torques for each step, tau (B, N, n). The answer of a call is q after
        each step, (B, N, n); fixed bases only.
        """
        return {}


def version_of(package: str) -> str:
    """The version of an installed package.

    >>> version_of("no-such-package")
    'unknown'
    """
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"


def find(names: Iterable[str] = LIBRARIES) -> tuple[dict[str, type[Peer]], dict[str, str]]:
    """The libraries that are installed, and for the others why not."""
    found: dict[str, type[Peer]] = {}
    missing: dict[str, str] = {}
    for name in names:
        try:
            with hushed():
                module: Any = importlib.import_module(f"{__name__}.{LIBRARIES[name]}")
            found[name] = module.Library
        except ImportError as error:
            lacking = re.match(r"No module named '([\w.]+)'", str(error))
            missing[name] = f"{lacking[1]} is not installed" if lacking else str(error)
        except Exception as error:  # a broken installation of a peer must not end the run
            missing[name] = f"cannot be imported: {type(error).__name__}: {error}"
    return found, missing


@contextlib.contextmanager
def hushed() -> Iterator[None]:
    """Keep what libraries print and warn of from the terminal; their C code writes past Python."""
    c = ctypes.CDLL(None)
    saved = [os.dup(1), os.dup(2)]
    nowhere = os.open(os.devnull, os.O_WRONLY)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            sys.stdout.flush(), sys.stderr.flush(), c.fflush(None)
            os.dup2(nowhere, 1), os.dup2(nowhere, 2)
            yield
        finally:
            sys.stdout.flush(), sys.stderr.flush(), c.fflush(None)
            os.dup2(saved[0], 1), os.dup2(saved[1], 2)
            for descriptor in (*saved, nowhere):
                os.close(descriptor)
