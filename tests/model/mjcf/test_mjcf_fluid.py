"""Fluid forces of MJCF: those of MuJoCo, in all dynamics, kept by edits and written back."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest
from benchmarks.mjcf import TOLERANCE, Comparison
from numpy.testing import assert_allclose

import helicoid as hc
from helicoid.dynamics.forces.fluid import fluid_torque
from helicoid.robot.function import FunctionSpec

OPTIONS = {
    "water": 'density="1000"',
    "oil": 'density="900" viscosity=".4"',
    "honey": 'viscosity="8"',
    "wind": 'density="1.2" viscosity="2e-5" wind="3 -2 1"',
}
BOX = '<geom type="box" size=".1 .2 .3" pos=".1 .1 .1" euler="20 30 40"/>'
ELLIPSOID = (
    '<geom type="ellipsoid" size=".1 .2 .3" pos=".1 0 .2" euler="10 20 30" fluidshape="ellipsoid" '
    'fluidcoef="{}" contype="0" conaffinity="0"/>'
)
FISH = """<mujoco><option {option}/><worldbody><body name="head"><freejoint/>{head}
  <body name="fin" pos="0 .2 .3"><joint name="j" damping=".1"/>{fin}
    <body name="spike"><geom type="sphere" size=".1" pos=".1 .1 .1" {spike}/>
      <body name="tail" pos=".1 0 0"><joint type="ball"/>
      <geom type="cylinder" size=".1 .2" fluidshape="ellipsoid"/></body>
</body></body></body></worldbody></mujoco>"""
MIXED = {
    "option": OPTIONS["oil"],
    "head": ELLIPSOID.format(".5 .25 1.5 1 1") + '<geom type="capsule" size=".1 .2"/>',
    "fin": BOX,
    "spike": "",
}


def compared(text: str, rng: np.random.Generator) -> hc.Robot:
    robot = hc.load(text)
    comparison = Comparison(robot, mujoco.MjModel.from_xml_string(text))
    for _ in range(3):
        errors = comparison.errors(rng)
        assert max(errors.values()) < TOLERANCE, errors
    return robot


def drag(robot: hc.Robot, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    return np.asarray(robot.function(FunctionSpec("fluid", fluid_torque, "q v -> tau[nv]"))(q, v))


@pytest.mark.parametrize("option", OPTIONS)
def test_boxes(option: str, rng: np.random.Generator) -> None:
    text = FISH.format(option=OPTIONS[option], head=BOX, fin=BOX, spike="")
    assert [one.ellipsoid is None for one in compared(text, rng).model.fluid] == [True, True, True, False]


@pytest.mark.parametrize("one", range(-1, 5))
def test_each_coefficient_of_ellipsoids(one: int, rng: np.random.Generator) -> None:
    numbers = " ".join("1" if k == one else "0" for k in range(5))
    compared(FISH.format(**MIXED | {"head": ELLIPSOID.format(numbers)}), rng)


@pytest.mark.parametrize("option", OPTIONS)
def test_boxes_beside_ellipsoids(option: str, rng: np.random.Generator) -> None:
    compared(FISH.format(**MIXED | {"option": OPTIONS[option]}), rng)


@pytest.mark.parametrize(("spring", "count"), [("enable", 4), ("disable", 0)])
def test_flags(spring: str, count: int, rng: np.random.Generator) -> None:
    flags = f'damper="disable" spring="{spring}"'
    text = FISH.format(**MIXED).replace("<worldbody>", f"<option><flag {flags}/></option><worldbody>")
    assert len(compared(text, rng).model.fluid) == count


def test_ignored_fluid_exerts_nothing() -> None:
    robot = hc.load(FISH.format(**MIXED), ignore=["fluid"])
    assert robot.model.fluid == ()
    assert np.all(robot.bias(robot.neutral(), np.ones(robot.nv), friction=True)[:6] != 0)


@pytest.mark.parametrize("spike", ["", 'fluidshape="ellipsoid"'])
@pytest.mark.parametrize("fin", [BOX, BOX + BOX.replace(".2", ".15")])
def test_a_written_file_has_the_same_fluid(
    spike: str, fin: str, tmp_path: Path, rng: np.random.Generator
) -> None:
    """Of merged bodies too, of which each has a box of its own; and at rest no force."""
    robot = hc.load(FISH.format(**MIXED | {"spike": spike, "fin": fin}))
    robot.to_mjcf(tmp_path / "back.xml")
    back = hc.load(tmp_path / "back.xml")
    assert len(back.model.fluid) == len(robot.model.fluid) == 4
    for _ in range(3):
        q, v, a = robot.random(rng), rng.normal(size=robot.nv), rng.normal(size=robot.nv)
        ours = robot.inverse_dynamics(q, v, a, friction=True)
        assert_allclose(back.inverse_dynamics(q, v, a, friction=True), ours, rtol=1e-10, atol=1e-10)
        assert np.abs(drag(robot, q, v)).max() > 1e-2 * np.abs(ours).max()
    assert_allclose(drag(robot, q, 0 * v), 0.0, atol=1e-20)


def test_the_same_motion_as_in_mujoco(rng: np.random.Generator) -> None:
    rk4 = '<option integrator="RK4" timestep=".002"><flag contact="disable"/></option><option '
    text = FISH.format(**MIXED).replace("<option ", rk4, 1)
    robot = hc.load(text)
    q, v = robot.random(rng), rng.normal(size=robot.nv)
    ours = hc.simulate(robot, q, v, 0.1, dt=0.002, method="rk4")
    theirs = hc.simulate(robot, q, v, 0.1, dt=0.002, engine="mujoco")
    dry = hc.simulate(hc.load(text, ignore=["fluid"]), q, v, 0.1, dt=0.002, engine="mujoco")
    assert_allclose(ours.v[-1], theirs.v[-1], atol=1e-7)
    assert np.abs(dry.v[-1] - theirs.v[-1]).max() > 0.1


def test_derivatives_of_a_long_chain(rng: np.random.Generator) -> None:
    """From 12 velocities on these are compiled as loops."""
    links, tail = "", ""
    for k in range(12):
        links += f'<body name="b{k}" pos="0 .1 .2"><joint name="j{k}" axis="0 1 .3"/>{BOX}'
        tail += "</body>"
    robot = hc.load(f"<mujoco><option density='10'/><worldbody>{links}{tail}</worldbody></mujoco>")
    q, v, a = robot.random(rng), rng.normal(size=robot.nv), rng.normal(size=robot.nv)
    dq, dv, _ = robot.inverse_dynamics_derivatives(q, v, a, friction=True)

    def tau(dx: np.ndarray, dw: np.ndarray) -> np.ndarray:
        return np.asarray(robot.inverse_dynamics(robot.integrate(q, dx), v + dw, a, friction=True))

    h, zero = 1e-5, np.zeros(robot.nv)
    for k in (0, 5, 11):
        step = h * np.eye(robot.nv)[k]
        for ours, ends in ((dq, (step, zero)), (dv, (zero, step))):
            difference = (tau(*ends) - tau(*(-one for one in ends))) / (2 * h)
            assert_allclose(ours[:, k], difference, atol=1e-6 * np.abs(ours).max())


def test_derivatives_at_rest_are_finite() -> None:
    robot = hc.load(FISH.format(**MIXED))
    still = np.zeros(robot.nv)
    for one in robot.inverse_dynamics_derivatives(robot.neutral(), still, still, friction=True):
        assert np.all(np.isfinite(one))


def test_edits_keep_the_fluid(tmp_path: Path, rng: np.random.Generator) -> None:
    fish = hc.load(FISH.format(**MIXED), base="floating")
    both = hc.load("planar_2r").attach(fish, to="tip", prefix="left_")
    assert [one.link for one in both.model.fluid] == [f"left_{one.link}" for one in fish.model.fluid]
    assert [one.link for one in both.detach("left_spike").model.fluid] == ["left_head", "left_fin"]
    locked = fish.lock({"j": 0.3})
    q, v = fish.random(rng), rng.normal(size=fish.nv)
    q[7], v[6] = 0.3, 0.0
    kept = np.delete(np.arange(fish.nv), 6)
    assert_allclose(drag(locked, np.delete(q, 7), v[kept]), drag(fish, q, v)[kept], atol=1e-10)
    with pytest.warns(hc.DoubtfulModelWarning, match="forces of a fluid"):
        fish.to_urdf(tmp_path / "fish.urdf")


def test_inertia_is_no_parameter_where_mujoco_takes_the_fluid_from_it() -> None:
    fish = hc.load(FISH.format(**MIXED), base="floating")
    robot = hc.load("planar_2r").attach(fish, to="tip").parametric("inertia")
    q, v, theta = robot.neutral(), np.zeros(robot.nv), robot.theta.values
    with pytest.raises(hc.HelicoidError, match="takes the forces of a fluid from the inertia"):
        hc.simulate(robot, q, v, 0.01, theta=theta, engine="mujoco")
