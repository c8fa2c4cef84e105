"""Tendons of a compiled MuJoCo model."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from helicoid._typing import Array
from helicoid.model.connections.tendons import Branch, Tendon, Via, Wrap
from helicoid.model.mjcf.joints import FRICTION_OFF, JointAddress, disabled
from helicoid.model.mjcf.names import Names, fresh
from helicoid.model.mjcf.placements import placement_of

JOINT, PULLEY, SITE, SPHERE, CYLINDER = range(1, 6)  # mjtWrap


def tendon_names(model: Any) -> list[str]:
    """A name for each tendon, also where MJCF has none."""
    taken = {model.tendon(i).name for i in range(model.ntendon)} - {""}
    return [model.tendon(i).name or fresh(f"tendon_{i}", taken) for i in range(model.ntendon)]


def tendons(model: Any, names: Names, addresses: list[JointAddress]) -> tuple[list[Tendon], list[str]]:
    """The tendons, and what is not supported of each."""
    found, unsupported = [], []
    springs, dampers = (not disabled(model, f"mjDSBL_{flag}") for flag in ("SPRING", "DAMPER"))
    dry = not disabled(model, *FRICTION_OFF)
    armature = getattr(model, "tendon_armature", np.zeros(model.ntendon))
    for i, name in enumerate(tendon_names(model)):
        first = int(model.tendon_adr[i])
        rows = range(first, first + int(model.tendon_num[i]))
        limited = bool(model.tendon_limited[i])
        fixed = [k for k in rows if model.wrap_type[k] == JOINT]
        terms: dict[str, float] = {}
        for k in fixed:
            joint = addresses[int(model.wrap_objid[k])].joints[0]
            terms[joint] = terms.get(joint, 0.0) + float(model.wrap_prm[k])
        branches = () if fixed else _branches(model, names, rows)
        sides = [k for k in rows if model.wrap_type[k] in (SPHERE, CYLINDER) and model.wrap_prm[k] >= 0]
        if any(_side(model, k) is None for k in sides):
            unsupported.append(
                f"<tendon name={name!r}>: its side site is inside of the shape or on another body, "
                "or MuJoCo is older than 4"
            )
        lower, upper = map(float, model.tendon_lengthspring[i])
        shortest, longest = map(float, model.tendon_range[i]) if limited else (-np.inf, np.inf)
        found.append(
            Tendon(
                name,
                terms,
                branches,
                stiffness=float(model.tendon_stiffness[i]) * springs,
                damping=float(model.tendon_damping[i]) * dampers,
                friction=float(model.tendon_frictionloss[i]) * dry,
                armature=float(armature[i]),
                rest=(lower, upper),
                range=(shortest, longest),
            )
        )
    return found, unsupported


def inertia_across_branches(model: Any, tendons: Iterable[Tendon]) -> list[str]:
    """Names of tendons whose armature couples branches of the tree, which MuJoCo leaves out of its M."""
    found = []
    for i, one in enumerate(tendons):
        if not one.armature:
            continue
        first = int(model.tendon_adr[i])
        rows = range(first, first + int(model.tendon_num[i]))
        things = [int(model.wrap_objid[k]) for k in rows]
        if model.wrap_type[first] == JOINT:
            moved = {int(model.jnt_bodyid[j]) for j in things}
        else:
            kinds = [int(model.wrap_type[k]) for k in rows]
            paths = [
                _movers(model, int(model.site_bodyid[thing])) if kind == SITE else set[int]()
                for kind, thing in zip(kinds, things, strict=True)
            ]
            straight = [k for k in range(len(kinds) - 1) if kinds[k] == kinds[k + 1] == SITE]
            moved = set[int]().union(*(paths[k] ^ paths[k + 1] for k in straight))
        if not any(moved <= _movers(model, body) for body in moved):
            found.append(one.name)
    return found


def _movers(model: Any, body: int) -> set[int]:
    """The bodies with joints on the way from a body to the world."""
    found = set()
    while body:
        if model.body_jntnum[body]:
            found.add(body)
        body = int(model.body_parentid[body])
    return found


def _side(model: Any, k: int) -> Array | None:
    """The site on whose side a tendon wraps, seen from the geom; None without one outside of it on its body.

    MuJoCo before version 4 had another rule for sides.
    """
    import mujoco

    geom, site = int(model.wrap_objid[k]), round(float(model.wrap_prm[k]))
    if int(mujoco.__version__.split(".")[0]) < 4:
        return None
    if site < 0 or model.site_bodyid[site] != model.geom_bodyid[geom]:
        return None
    placed = placement_of(model, "geom", geom).inverse @ placement_of(model, "site", site)
    return placed.translation if np.linalg.norm(placed.translation) >= model.geom_size[geom][0] else None


def _branches(model: Any, names: Names, rows: range) -> tuple[Branch, ...]:
    """The path between pulleys, each of which divides what follows it."""
    found, path, divisor = [], list[Via | Wrap](), 1.0
    for k in rows:
        kind, thing = int(model.wrap_type[k]), int(model.wrap_objid[k])
        if kind == PULLEY:
            found.append(Branch(tuple(path), divisor))
            path, divisor = [], float(model.wrap_prm[k])
        elif kind == SITE:
            path.append(Via(names.sites[thing]))
        else:
            path.append(
                Wrap(
                    names.bodies[int(model.geom_bodyid[thing])],
                    "sphere" if kind == SPHERE else "cylinder",
                    float(model.geom_size[thing][0]),
                    placement_of(model, "geom", thing),
                    _side(model, k),
                )
            )
    found.append(Branch(tuple(path), divisor))
    return tuple(branch for branch in found if len(branch.path) > 1)
