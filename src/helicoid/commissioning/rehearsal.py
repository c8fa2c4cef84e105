"""A simulated plant that differs from its description, for rehearsals; plants named on the command line."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from helicoid.errors import InputError
from helicoid.robot import Robot
from helicoid.simulation import Plant

_MASS_ERROR = 0.3
_SHARE_OF_EFFORT = 0.03  # of friction, at the largest velocity


def rehearsal_plant(robot: Robot, seed: int = 0, period: float = 1e-3) -> Plant:
    """The robot in simulation with other masses, friction, rotors and sensor noise than described.

    It stands in the middle of its joints' ranges.

    >>> import helicoid as hc
    >>> plant = rehearsal_plant(hc.load("ur5"))
    >>> plant.measure().q.shape
    (6,)
    """
    rng, limits = np.random.default_rng(seed), robot.limits
    for name, values in (("velocity", limits.velocity), ("effort", limits.effort)):
        if not np.all(np.isfinite(values) & (values > 0)):
            raise InputError(
                f"a rehearsal needs the {name} limits of all joints; {robot.name!r} has {values}"
            )
    scale = np.repeat(rng.uniform(1 - _MASS_ERROR, 1 + _MASS_ERROR, robot.n_bodies), 10)
    share = _SHARE_OF_EFFORT * limits.effort
    true = robot.with_parameters(scale * robot.parameters.values).with_joints(
        friction=share,
        damping=share / np.minimum(limits.velocity, 3.0),
        armature=0.05 * limits.effort / (np.minimum(limits.velocity, 3.0) / 0.3),
    )
    middle = (limits.lower + limits.upper) / 2
    start = np.where(np.isfinite(middle), middle, robot.neutral())
    noise: dict[str, ArrayLike] = {"q": 2e-5, "v": 5e-3, "tau": 0.002 * limits.effort}
    return Plant(true, start, noise=noise, period=period, seed=seed)


def named_plant(specification: str, robot: Robot) -> Any:
    """The plant of `module:name` or `file.py:name`: an object, or a callable that takes the robot.

    Raises:
        InputError: there is none.
    """
    module, _, name = specification.rpartition(":")
    if not module or not name:
        raise InputError(f"a plant is named as module:name or file.py:name; got {specification!r}")
    try:
        found = getattr(_module(module), name)
    except (ImportError, AttributeError, OSError, SyntaxError) as error:
        raise InputError(f"{specification}: {error}") from error
    return (
        found if callable(getattr(found, "measure", None)) and not isinstance(found, type) else found(robot)
    )


def _module(name: str) -> ModuleType:
    if not name.endswith(".py"):
        return importlib.import_module(name)
    path = Path(name)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None or not path.exists():
        raise InputError(f"{name}: there is no such file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module
