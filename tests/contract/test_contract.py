"""Every controller keeps every promise of the protocol; `python -m tests.contract` prints the table."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from typing import Any

import pytest
from tests.contract.controllers import CASES, arm
from tests.contract.promises import PROMISES

import helicoid as hc


def _pairs() -> Iterator[Any]:
    for controller, case in CASES.items():
        for promise in PROMISES:
            slow = case.slow or (case.slow_c and promise == "C equals Python")
            marks = [pytest.mark.needs_compiler, *([pytest.mark.slow] if slow else [])]
            yield pytest.param(controller, promise, id=f"{controller}: {promise}", marks=marks)


@pytest.mark.parametrize(("controller", "promise"), list(_pairs()))
def test_promise(controller: str, promise: str) -> None:
    PROMISES[promise](CASES[controller])


# Wrappers of the listed controllers, and a generator of references.
NOT_LISTED = {"Following", "LawFollowing", "OnlineMotion"}


def test_every_controller_is_listed() -> None:
    """Each class with the methods of the protocol, that others do not derive from."""
    methods = ("step", "set", "reset", "following", "export_c")
    modules = [
        importlib.import_module(one.name)
        for one in pkgutil.walk_packages(hc.__path__, "helicoid.")
        if "bridges" not in one.name and not one.name.endswith("__main__")
    ]
    classes = {
        value
        for module in modules
        for name, value in vars(module).items()
        if inspect.isclass(value) and not name.startswith("_") and all(hasattr(value, x) for x in methods)
    } - {hc.control.ControllerProtocol}
    last = {one for one in classes if not any(issubclass(other, one) for other in classes - {one})}
    listed = {name.split(",")[0].split(".")[-1] for name in CASES}
    assert {one.__name__ for one in last} - NOT_LISTED <= listed
    assert listed <= {one.__name__ for one in classes}


GAINS = {
    "gain",
    "stiffness",
    "damping",
    "damping_ratio",
    "frequency",
    "integral",
    "rate",
    "acceleration",
    "jerk",
}
SUBJECTS = ("robot", "vehicle", "problem", "controller")  # of a controller: its first argument


def _constructors() -> Iterator[Any]:
    classes = {type(case.recorded[0]) for case in CASES.values() if not case.slow} | {hc.control.OnlineMotion}
    yield from sorted(classes, key=lambda one: one.__name__)


def test_constructors_have_one_order() -> None:
    """Robot, frame or tasks, gains; times and options follow."""
    for cls in _constructors():
        parameters = list(inspect.signature(cls).parameters.values())
        names = [one.name for one in parameters if one.kind is one.POSITIONAL_OR_KEYWORD]
        assert names[0] in SUBJECTS, cls
        for name in {"frame", "tasks"}.intersection(one.name for one in parameters):
            assert names[1] == name, cls
        if "dt" in names:
            assert not GAINS.intersection(names[names.index("dt") :]), cls


FORMER: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "AdaptiveControl": ((0.002, 5.0, 3.0, 0.5), {"dt": 0.002, "frequency": 5.0, "damping": 3.0, "rate": 0.5}),
    "MomentumObserver": ((0.002, 50.0, "tip"), {"dt": 0.002, "gain": 50.0, "frame": "tip"}),
    "OperationalSpaceControl": (
        ("tip", (1, 1, 1, 1, 1, 0), 5.0),
        {"frame": "tip", "motion": (1, 1, 1, 1, 1, 0), "frequency": 5.0},
    ),
}


@pytest.mark.parametrize("name", FORMER)
def test_former_order_of_arguments_warns(name: str) -> None:
    """It makes the same controller as the present names."""
    cls, (former, named) = getattr(hc.control, name), FORMER[name]
    with pytest.warns(DeprecationWarning, match="the former order will be removed in 0.3"):
        old = cls(arm(), *former)
    new = cls(arm(), **named)
    assert old.period == new.period
    for number in set(named) - {"dt", "frame"}:
        assert (old.number(number) == new.number(number)).all()
    assert getattr(old, "frame", None) == getattr(new, "frame", None)


def test_a_value_given_twice_in_the_former_order_is_an_error() -> None:
    with pytest.warns(DeprecationWarning), pytest.raises(TypeError, match="multiple values for 'frequency'"):
        hc.control.AdaptiveControl(arm(), 0.002, 5.0, 3.0, frequency=4.0)  # type: ignore[misc]
