"""A robot, grounds and contacts as a compiled MuJoCo model."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from helicoid._typing import Array
from helicoid.errors import DoubtfulMotionWarning, InputError, warn
from helicoid.model.mjcf.origin import unedited_origin
from helicoid.model.mjcf.writing.writer import body_name
from helicoid.robot import Robot
from helicoid.robot.loading import mjcf_of
from helicoid.simulation.engines.mujoco.coordinates import Coordinates
from helicoid.simulation.engines.mujoco.library import mujoco_module
from helicoid.simulation.engines.mujoco.parameters import set_moments, set_parameters
from helicoid.simulation.engines.mujoco.world import (
    add_grounds,
    add_points,
    names_of_points,
    overlapping,
    touching_bodies,
)
from helicoid.simulation.ground import ContactPoint, Ground, as_grounds

INTEGRATORS = {
    "rk4": "mjINT_RK4",
    "semi_implicit_euler": "mjINT_EULER",
}
"""MuJoCo's integrators by the names of `simulate`; by default that of the file, or "implicitfast"."""

_MAX_OVERLAP = 1e-3  # m: shapes that overlap by more at the start do not collide
_MAX_CACHED_MODELS = 8


@dataclass(frozen=True, eq=False)
class MujocoWorld:
    """Ground and contacts of a robot, as `simulate` takes them.

    Attributes:
        grounds: none where the model has its own.
        points: contacts of a list; None where all colliding shapes touch.
        contacts: whether anything touches anything.
        end_stops: whether joints stop at their position limits.
    """

    grounds: tuple[Ground, ...]
    points: tuple[ContactPoint, ...] | None
    contacts: bool
    end_stops: bool

    @staticmethod
    def of(ground: Any, contacts: Any, end_stops: bool | None) -> MujocoWorld:
        """From the arguments of `simulate`.

        Raises:
            InputError: one of them is not valid.
        """
        grounds = () if ground is None else as_grounds(ground)
        stops = True if end_stops is None else bool(end_stops)
        if contacts is None or isinstance(contacts, str):
            if contacts not in (None, "collision"):
                raise InputError(f"contacts are a list of hc.ContactPoint, or 'collision'; got {contacts!r}")
            return MujocoWorld(grounds, None, True, stops)
        if not isinstance(contacts, Sequence):
            raise InputError(f"contacts are a list of hc.ContactPoint, or 'collision'; got {contacts!r}")
        if contacts and not grounds:
            raise InputError("contacts need something to touch: simulate(..., ground=hc.Ground())")
        return MujocoWorld(grounds, tuple(contacts), bool(contacts), stops)


@dataclass(frozen=True, eq=False)
class MujocoPlant:
    """A compiled model, its coordinates, and the contacts that are recorded: names, the slot of each geom."""

    model: Any
    coordinates: Coordinates
    contact_names: tuple[str, ...]
    slot: Array


def mujoco_plant(
    robot: Robot,
    world: MujocoWorld,
    step: float,
    qpos: Array,
    method: str | None,
    options: Mapping[str, Any],
    theta: Array,
) -> MujocoPlant:
    """The robot in MuJoCo.

    Args:
        step: of the integrator (s).
        qpos: at which shapes that overlap are looked for, a function of the coordinates.
        options: friction, gravity.
        theta: of a parametric robot.

    Raises:
        InputError: MuJoCo cannot do what is asked.
    """
    mujoco = mujoco_module()
    if method is not None and method not in INTEGRATORS:
        raise InputError(
            f"engine='mujoco' integrates by its own methods: leave method out, or take one of "
            f"{', '.join(INTEGRATORS)}; got {method!r}"
        )
    if robot.constraints.added:
        raise InputError(
            "engine='mujoco' has the loops of a description, but no constraints of robot.with_constraints: "
            f"{', '.join(repr(one.name) for one in robot.constraints.added)}"
        )
    cached: dict[Any, MujocoPlant] = robot.memo("mujoco plants", dict)
    key = world.grounds, world.points, world.contacts
    if key not in cached:
        while len(cached) >= _MAX_CACHED_MODELS:
            del cached[next(iter(cached))]
        cached[key] = _compiled(robot, world, qpos)
    plant = cached[key]
    model, flags = copy.copy(plant.model), mujoco.mjtDisableBit
    model.opt.timestep = step
    if method is not None:
        model.opt.integrator = getattr(mujoco.mjtIntegrator, INTEGRATORS[method])
    model.opt.disableflags |= flags.mjDSBL_AUTORESET | flags.mjDSBL_ACTUATION
    model.jnt_actgravcomp[:] = 0  # without actuators, MuJoCo would leave their compensation of gravity out
    model.opt.disableflags |= 0 if world.contacts else flags.mjDSBL_CONTACT
    model.opt.disableflags |= 0 if world.end_stops else flags.mjDSBL_LIMIT
    if robot.theta.groups:
        set_parameters(model, robot, plant.coordinates, theta)
    if not options.get("friction", True):
        model.dof_damping[:] = model.dof_frictionloss[:] = 0.0
        model.tendon_damping[:] = model.tendon_frictionloss[:] = 0.0
    if not (robot.model.fluid and options.get("friction", True)):
        model.opt.density = model.opt.viscosity = 0.0
    if "gravity" in options:
        model.opt.gravity[:] = options["gravity"]
        model.opt.disableflags &= ~int(flags.mjDSBL_GRAVITY)
    return MujocoPlant(model, plant.coordinates, plant.contact_names, plant.slot)


def _compiled(robot: Robot, world: MujocoWorld, qpos: Array) -> MujocoPlant:
    """The model with grounds and points; of a robot of ours without contacts of what overlaps at qpos."""
    origin, grounds, points = unedited_origin(robot.model), world.grounds, world.points
    model: Any
    coordinates = Coordinates.of(robot)
    if origin is not None:
        model = origin.compiled
        if grounds or points:
            model = _extended(_spec_of(robot), robot, world)
    else:
        mujoco = mujoco_module()
        written = mjcf_of(robot)
        if robot.model.origin is not None:
            warn(
                DoubtfulMotionWarning(
                    f"{robot.name} was edited since it was read from MJCF: MuJoCo moves what robot.to_mjcf "
                    "writes, without the ground and the options of contacts and solver of that file"
                )
            )
        if written.losses.motion:
            warn(DoubtfulMotionWarning(f"MuJoCo moves without {', '.join(written.losses.motion)}"))

        def described(pairs: Sequence[tuple[str, str]]) -> Any:
            spec = mujoco.MjSpec.from_string(written.text)
            spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
            for number, pair in enumerate(pairs):
                spec.add_exclude(name=f"helicoid_{number}", bodyname1=pair[0], bodyname2=pair[1])
            return _extended(spec, robot, world)

        model = described(())
        if points is None:
            data = mujoco.MjData(model)
            data.qpos[:] = qpos
            mujoco.mj_forward(model, data)
            pairs = overlapping(robot, model, data, _MAX_OVERLAP)
            if pairs:
                shown = ", ".join(f"{a!r} and {b!r}" for a, b in pairs[:5])
                warn(
                    DoubtfulMotionWarning(
                        f"{robot.name}: shapes of links overlap at q0, and do not collide: {shown}"
                        f"{' ...' if len(pairs) > 5 else ''}"
                    )
                )
                model = described(pairs)
        for body, moments in written.losses.moments.items():
            set_moments(model, body_name(body), moments)
    if points is None:
        return MujocoPlant(model, coordinates, *touching_bodies(robot, model))
    slot = np.full(max(model.ngeom, 1), -1)
    for number in range(len(points)):
        slot[model.geom(f"helicoid_contact_{number}").id] = number
    return MujocoPlant(model, coordinates, names_of_points(robot, points) if points else (), slot)


def _extended(spec: Any, robot: Robot, world: MujocoWorld) -> Any:
    names = add_grounds(spec, world.grounds, touching=world.points is None)
    if world.points:
        add_points(spec, robot, world.points, world.grounds, names)
    return spec.compile()


def _spec_of(robot: Robot) -> Any:
    """A copy of the description of a robot that was read from MJCF.

    Raises:
        InputError: only the compiled model is known.
    """
    spec = getattr(robot.model.origin, "spec", None)
    if spec is None:
        raise InputError(
            f"robot {robot.name!r} comes from a compiled MuJoCo model, to which nothing can be added: put "
            'a ground into its scene, <geom type="plane" .../>, and leave ground and contacts out'
        )
    return spec.copy()
