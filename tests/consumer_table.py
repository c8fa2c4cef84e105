"""The table of `docs/explanation/what-counts.md`: which properties of a robot count for which consumer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import helicoid as hc
from consumers import CONSUMERS, TILTED_GRAVITY, VARIANTS


@dataclass(frozen=True)
class Entry:
    """One cell: "counts", "option" (with arguments), "refused" or "no" (with a note that says why)."""

    answer: str = "counts"
    text: str = "yes"
    option: tuple[tuple[str, Any], ...] = ()


YES = Entry()
NOTES = {
    "smooth": 'end stops need `method="time_stepping"` with `end_stops=True`; no method limits velocities',
    "between links": "links do not touch each other in `hc.simulate`; contacts are with the ground",
    "equations": "limits and shapes are no part of the equations of motion",
    "saturation": "derivatives hold torques as they acted",
    "reference": "a law tracks its reference, which keeps these limits and distances: plan it with MPC, "
    "`time_optimal` or `DifferentialIK`",
    "no inertia": "the law has no inertial term: a spring, a damper and the torque at rest",
    "kinematic": "the output is a joint velocity, found by kinematics alone",
    "geometric": "found by kinematics and shapes alone",
    "whole body": "distances between links are no rows of its program; keep them in the tasks",
    "measured": "the observer is given the torque and the motion that were measured",
    "mounting": "gravity is -9.81 m/s² along z of the world; a tilted base is described by a fixed joint at "
    "the root",
    "path": "the path is given; check it for collisions before",
    "log": "a log is a motion that took place, and limits do not change its equations",
}


def no(note: str) -> Entry:
    return Entry("no", note)


def option(text: str, **arguments: Any) -> Entry:
    return Entry("option", f"`{text}`", tuple(arguments.items()))


def refused(where: str = "", **arguments: Any) -> Entry:
    return Entry("refused", f"refused {where}".strip(), tuple(arguments.items()))


_GRAVITY = option("gravity=", gravity=TILTED_GRAVITY)
_THETA = option('parametric("gravity")', gravity=TILTED_GRAVITY)
_FRICTION = option("friction=True", friction=True)
_COMPENSATED = option('friction="measured"', friction="measured")
_SATURATE = option("saturate=True", saturate=True)
LIMITS = "position and velocity limits"


def _simulated(limits: Entry) -> dict[str, Entry]:
    return {
        "gravity vector": _GRAVITY,
        "effort limits": _SATURATE,
        LIMITS: limits,
        "collision pairs": no("between links"),
    }


_EQUATIONS = {
    "gravity vector": _GRAVITY,
    **dict.fromkeys(("effort limits", LIMITS, "collision pairs"), no("equations")),
}
_MPC = {
    "gravity vector": _THETA,
    "effort limits": option("add_limits()", limits=True),
    LIMITS: option("add_limits()", limits=True),
    "collision pairs": option("add_self_collision()", self_collision=True),
}
_LAW = {
    "friction": _COMPENSATED,
    "gravity vector": _THETA,
    LIMITS: no("reference"),
    "collision pairs": no("reference"),
}
_DYNAMIC = ("friction", "joint springs", "elastic elements", "armature", "drives", "gravity vector")

EXCEPTIONS: dict[str, dict[str, Entry]] = {
    'hc.simulate, "rk4"': _simulated(no("smooth")),
    'hc.simulate, "stiction"': _simulated(no("smooth")),
    'hc.simulate, "time_stepping"': _simulated(option("end_stops=True", end_stops=True)),
    'hc.simulate, engine="mujoco"': {"gravity vector": _GRAVITY, "effort limits": _SATURATE},
    "Trajectory.sensitivity": {**_EQUATIONS, "effort limits": no("saturation")},
    "robot.inverse_dynamics_derivatives": {**_EQUATIONS, "friction": _FRICTION},
    "robot.inverse_dynamics.export_c": {**_EQUATIONS, "friction": _FRICTION},
    'hc.mpc.Problem, "inverse_dynamics"': _MPC,
    'hc.mpc.Problem, "forward_dynamics"': _MPC,
    "hc.mpc.Problem, add_scene": {**_MPC, "collision pairs": YES},
    "ComputedTorque": _LAW,
    "JointImpedance": {**_LAW, "armature": no("no inertia"), "drives": no("no inertia")},
    "TaskSpaceControl": _LAW,
    "OperationalSpaceControl": _LAW,
    "AdaptiveControl": {
        **_LAW,
        "drives": refused("with `full_rotor`"),
        "gravity vector": refused(gravity=TILTED_GRAVITY),
    },
    "PrioritisedInverseDynamics": _LAW,
    "WholeBody": {
        "friction": _COMPENSATED,
        "gravity vector": _THETA,
        "collision pairs": no("whole body"),
    },
    "DifferentialIK": {
        **dict.fromkeys((*_DYNAMIC, "effort limits"), no("kinematic")),
        "collision pairs": option("self_distance=", self_distance=0.3),
    },
    "InverseKinematics": {
        **dict.fromkeys((*_DYNAMIC, "effort limits"), no("geometric")),
        "collision pairs": option("scene=", scene=hc.Scene()),
    },
    "hc.plan": dict.fromkeys((*_DYNAMIC, "effort limits"), no("geometric")),
    "PlannedPath.timed": {"friction": _FRICTION, "gravity vector": no("mounting")},
    "MomentumObserver": {
        "friction": _COMPENSATED,
        "gravity vector": _THETA,
        **dict.fromkeys(("effort limits", LIMITS, "collision pairs"), no("measured")),
    },
    "hc.control.time_optimal": {
        "friction": _FRICTION,
        "gravity vector": no("mounting"),
        "collision pairs": no("path"),
    },
    "hc.excitation": {"gravity vector": no("mounting")},
    "hc.identify": {
        "friction": option('groups=("inertia", "viscous")', groups=("inertia", "viscous")),
        "gravity vector": no("mounting"),
        **dict.fromkeys(("effort limits", LIMITS, "collision pairs"), no("log")),
    },
}


def entry(consumer: str, prop: str) -> Entry:
    """Fluids take energy as friction does, and count where it counts; so do dampers between links."""
    return EXCEPTIONS[consumer].get("friction" if prop == "fluid forces" else prop, YES)


def markdown() -> str:
    """The table and its notes."""
    used: list[str] = []
    lines = [
        "| consumer | " + " | ".join(VARIANTS) + " |",
        "|---|" + "---|" * len(VARIANTS),
    ]
    for consumer in CONSUMERS:
        cells = []
        for prop in VARIANTS:
            one = entry(consumer, prop)
            if one.answer != "no":
                cells.append(one.text)
                continue
            if one.text not in used:
                used.append(one.text)
            cells.append(f"no ({used.index(one.text) + 1})")
        lines.append(f"| `{consumer}` | " + " | ".join(cells) + " |")
    notes = [f"{k}. {NOTES[name][0].upper()}{NOTES[name][1:]}." for k, name in enumerate(used, start=1)]
    return "\n".join([*lines, "", *notes])


if __name__ == "__main__":
    print(markdown())
