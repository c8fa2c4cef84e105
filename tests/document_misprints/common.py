"""Misprints by where they stand, and what their checks share."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

import helicoid as hc
from helicoid.geometry import se3

Array = NDArray[np.float64]
Check = Callable[[np.random.Generator], tuple[bool, bool]]
CHAIN = hc.serial_chain(3)
CĂRĂMIZARU, JOHANNESSEN, GAROFALO = "Cărămizaru", "Johannessen", "Garofalo et al."
SUMMARY, SLIDES = "*Robot Dynamics* summary", "*Robot Dynamics* slides"

MISPRINTS: dict[str, Check] = {}


def misprint(where: str) -> Callable[[Check], Check]:
    def add(check: Check) -> Check:
        MISPRINTS[where] = check
        return check

    return add


def both(truth: Array | float, right: Array | float, printed: Array | float) -> tuple[bool, bool]:
    return bool(np.allclose(truth, right)), bool(np.allclose(truth, printed))


def pose(rng: np.random.Generator) -> Array:
    return np.asarray(se3.exp(rng.normal(size=6)))


def unit(rng: np.random.Generator) -> Array:
    x = rng.normal(size=3)
    return np.asarray(x / np.linalg.norm(x))


def state(rng: np.random.Generator, n: int = 3) -> Array:
    return rng.normal(size=(3, n))
