"""Options of a robot's functions, which change their expressions, and the values that each may have."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from helicoid._typing import Array
from helicoid.arrays import shown
from helicoid.dynamics.physics import SMOOTHING
from helicoid.errors import InputError


@dataclass(frozen=True)
class FunctionOptions:
    """Options that change the expression of a function. Each combination is a Function of its own."""

    gravity: tuple[float, float, float] | None = None
    friction: bool | None = None
    smoothing: float = SMOOTHING
    f_ext: tuple[str, ...] = ()
    expressed_in: str = "body"
    stabilisation: float = 0.0
    restitution: float = 0.0
    parameters: tuple[str, ...] | None = None

    def updated(self, allowed: Iterable[str], name: str, changes: Mapping[str, Any]) -> FunctionOptions:
        """These options with some changed; refused unless the function `name` has them."""
        for option in changes:
            if option not in allowed:
                known = ", ".join(allowed) or "none"
                raise InputError(f"{name} has no option {option!r}; its options are: {known}")
        return replace(self, **{option: _checked(option, value) for option, value in changes.items()})


class _Rule(NamedTuple):
    """Rule of an option: a converter of its value, the message for invalid values, and its meaning."""

    read: Callable[[Any], Any]
    rule: str
    meaning: str


def _checked(option: str, value: Any) -> Any:
    try:
        return RULES[option].read(value)
    except Exception:  # of `__array__` of a foreign type, too
        raise InputError(f"{RULES[option].rule} got {shown(value)}") from None


def _within(condition: Callable[[Array], Any], shape: tuple[int, ...] = ()) -> Callable[[Any], Any]:
    """Numbers of that shape that fulfil a condition, as a float or a tuple of floats."""

    def read(value: Any) -> Any:
        numbers = np.asarray(value, dtype=np.float64)
        if numbers.shape != shape or not np.all(condition(numbers)):
            raise ValueError
        return float(numbers) if shape == () else tuple(map(float, numbers))

    return read


def _one_of(*choices: Any) -> Callable[[Any], Any]:
    def read(value: Any) -> Any:
        for choice in choices:
            if isinstance(value, (type(choice), np.bool_)) and value == choice:
                return choice
        raise ValueError

    return read


def _names(value: Any) -> tuple[str, ...]:
    links = (value,) if isinstance(value, str) else tuple(value)
    if not all(isinstance(link, str) for link in links):
        raise TypeError
    return links


RULES = {
    "gravity": _Rule(
        _within(np.isfinite, (3,)),
        "gravity needs three finite numbers (m/s²),",
        "acceleration of free fall (m/s²), world axes; the description's unless given",
    ),
    "friction": _Rule(
        _one_of(True, False),
        "friction is True or False,",
        "True: with the joints' friction; by default only where friction is part of theta",
    ),
    "smoothing": _Rule(
        _within(lambda x: (x >= 0) & (x < np.inf)),
        "smoothing is a velocity, 0 for the exact sign;",
        "velocity (rad/s, m/s) over which Coulomb friction changes its sign; 0 is the exact sign",
    ),
    "f_ext": _Rule(
        _names,
        "f_ext names links,",
        "wrenches (n, f) (N·m, N) that act on links, such as {'tool0': w}",
    ),
    "expressed_in": _Rule(
        _one_of("body", "world", "world_origin"),
        "expressed_in is 'body', 'world' or 'world_origin',",
        "axes of f_ext: 'body', those of each link, or 'world', both at the link's origin; 'world_origin': "
        "axes and origin of the world",
    ),
    "parameters": _Rule(
        _names,
        "parameters names columns of the regressor,",
        "names of the columns, in order, such as ['link1.mass', 'link2.hx']; all of them unless given",
    ),
    "stabilisation": _Rule(
        _within(lambda x: (x >= 0) & (x < np.inf)),
        "stabilisation is a rate (1/s), 0 for none;",
        "rate (1/s) at which errors of constraints decay (Baumgarte); 0 for none",
    ),
    "restitution": _Rule(
        _within(lambda x: (x >= 0) & (x <= 1)),
        "restitution is from 0 (inelastic) to 1 (elastic),",
        "coefficient from 0 (inelastic) to 1 (elastic), of normal contacts and holonomic rows",
    ),
}
