"""Bundled robots against published kinematics, closed-form dynamics and the laws of mass."""

from __future__ import annotations

import math
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
import zipfile
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from numpy.typing import NDArray

import helicoid.errors
from helicoid.errors import InputError, ModelError
from helicoid.model import bundled

Array = NDArray[np.float64]

JOINTS = {
    "double_pendulum": 2,
    "kuka_lwr4": 7,
    "pan_tilt_pendulum": 2,
    "panda": 7,
    "planar_2r": 2,
    "quadruped": 12,
    "snake": 16,
    "ur5": 6,
}
RIGHT_ANGLES = {0.0, math.pi / 2, -math.pi / 2, math.pi}
G = 9.81


class Oracle:
    """Pinocchio's model of a URDF text, one real coordinate per joint."""

    def __init__(self, urdf: str) -> None:
        self.model = pin.buildModelFromXML(urdf)
        self.data = self.model.createData()

    def pose(self, frame: str, q: Array, base: str = "universe") -> Array:
        pin.framesForwardKinematics(self.model, self.data, q)
        placements = [self.data.oMf[self.model.getFrameId(name)] for name in (base, frame)]
        return np.array(placements[0].actInv(placements[1]).homogeneous)

    def mass_matrix(self, q: Array) -> Array:
        upper: Array = np.triu(pin.crba(self.model, self.data, q))
        return np.array(upper + np.triu(upper, 1).T)

    def inverse_dynamics(self, q: Array, v: Array, a: Array) -> Array:
        return np.array(pin.rnea(self.model, self.data, q, v, a))

    def gravity(self, q: Array) -> Array:
        return np.array(pin.computeGeneralizedGravity(self.model, self.data, q))


def oracle(name: str) -> Oracle:
    return Oracle(bundled.text(name))


def numbers(element: ElementTree.Element, attribute: str) -> Array:
    return np.array([float(x) for x in element.attrib[attribute].split()])


def inertia_matrix(inertial: ElementTree.Element) -> Array:
    value = inertial.findall("inertia")[0].attrib
    return np.array([[float(value["i" + "".join(sorted(r + c))]) for c in "xyz"] for r in "xyz"])


def states(n: int, count: int = 5) -> list[Array]:
    return list(np.random.default_rng(n).uniform(-math.pi, math.pi, (count, n)))


def rotation_x(angle: float) -> Array:
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[1, 0, 0, 0], [0, c, -s, 0], [0, s, c, 0], [0, 0, 0, 1.0]])


def screw_z(angle: float, length: float) -> Array:
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[c, -s, 0, 0], [s, c, 0, 0], [0, 0, 1, length], [0, 0, 0, 1.0]])


def shift_x(length: float) -> Array:
    shift = np.eye(4)
    shift[0, 3] = length
    return shift


def classic_dh(q: Array, a: list[float], d: list[float], alpha: list[float]) -> Array:
    pose = np.eye(4)
    for angle, ai, di, twist in zip(q, a, d, alpha, strict=True):
        pose = pose @ screw_z(angle, di) @ shift_x(ai) @ rotation_x(twist)
    return pose


# --- the files -------------------------------------------------------------------------------------


def test_names() -> None:
    assert bundled.names() == sorted(JOINTS)


@pytest.mark.parametrize("name", JOINTS)
def test_path_and_text_agree(name: str) -> None:
    assert bundled.path(name).read_text(encoding="utf-8") == bundled.text(name)


def test_unknown_name_suggests_the_nearest() -> None:
    with pytest.raises(ModelError, match="'pandas'; did you mean 'panda'"):
        bundled.text("pandas")
    with pytest.raises(ModelError, match=r"known: double_pendulum, .*, ur5"):
        bundled.path("zzz")


def test_readable_from_a_zipped_package(tmp_path: Path) -> None:
    archive = tmp_path / "helicoid.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr("helicoid/__init__.py", "")
        packed.writestr("helicoid/model/__init__.py", "")
        packed.write(helicoid.errors.__file__, "helicoid/errors.py")
        for file in Path(bundled.__file__).parent.glob("*.*"):
            packed.write(file, f"helicoid/model/bundled/{file.name}")
    script = (
        f"import sys; sys.path.insert(0, {str(archive)!r})\n"
        "from helicoid.model import bundled as b\n"
        "assert '.zip' in b.__file__\n"
        "print(*b.names(), all(b.path(n).read_text(encoding='utf-8') == b.text(n) for n in b.names()))"
    )
    run = subprocess.run([sys.executable, "-I", "-c", script], capture_output=True, text=True, check=False)
    assert run.stdout.split() == [*sorted(JOINTS), "True"], run.stderr


@pytest.mark.parametrize("name", JOINTS)
def test_joints_are_complete(name: str) -> None:
    root = ElementTree.fromstring(bundled.text(name))
    moving = [joint for joint in root.findall("joint") if joint.get("type") != "fixed"]
    assert root.get("name") == name
    assert len(moving) == JOINTS[name]
    for joint in moving:
        limit = joint.findall("limit")[0]
        assert np.linalg.norm(numbers(joint.findall("axis")[0], "xyz")) == 1
        assert numbers(limit, "velocity") > 0 and numbers(limit, "effort") > 0
        if joint.get("type") == "revolute":
            assert numbers(limit, "lower") < numbers(limit, "upper")


@pytest.mark.parametrize("name", JOINTS)
def test_turns_are_right_angles_to_the_last_bit(name: str) -> None:
    root = ElementTree.fromstring(bundled.text(name))
    assert {float(x) for origin in root.iter("origin") for x in numbers(origin, "rpy")} <= RIGHT_ANGLES


@pytest.mark.parametrize("name", JOINTS)
def test_every_inertia_belongs_to_a_body(name: str) -> None:
    root = ElementTree.fromstring(bundled.text(name))
    moved = {j.findall("child")[0].get("link") for j in root.findall("joint") if j.get("type") != "fixed"}
    massive = {link.get("name"): link.findall("inertial")[0] for link in root.findall("link[inertial]")}
    assert moved <= massive.keys()
    for link, inertial in massive.items():
        inertia = inertia_matrix(inertial)
        # The second moments of mass about the center, the upper block of the pseudo-inertia.
        spread = np.linalg.eigvalsh(np.trace(inertia) / 2 * np.eye(3) - inertia)
        assert numbers(inertial.findall("mass")[0], "value") > 0
        if name == "planar_2r":
            assert not inertia.any()
        else:
            assert spread.min() > 0, link


TOTAL_MASS = {"ur5": 18.4, "kuka_lwr4": 16.0, "panda": 16.69, "quadruped": 13.74}


@pytest.mark.parametrize(("name", "mass"), TOTAL_MASS.items())
def test_total_mass(name: str, mass: float) -> None:
    floating = pin.buildModelFromXML(bundled.text(name), pin.JointModelFreeFlyer())
    assert pin.computeTotalMass(floating) == pytest.approx(mass, abs=0.01)


# --- published kinematics --------------------------------------------------------------------------


def test_ur5_has_its_denavit_hartenberg_parameters() -> None:
    robot, h = oracle("ur5"), math.pi / 2
    for q in states(6):
        expected = classic_dh(
            q, [0, -0.425, -0.39225, 0, 0, 0], [0.089159, 0, 0, 0.10915, 0.09465, 0.0823], [h, 0, 0, h, -h, 0]
        )
        np.testing.assert_allclose(robot.pose("tool0", q, base="base"), expected, atol=1e-14)


def test_kuka_has_its_denavit_hartenberg_parameters() -> None:
    robot, h = oracle("kuka_lwr4"), math.pi / 2
    for q in states(7):
        expected = classic_dh(q, [0] * 7, [0.3105, 0, 0.4, 0, 0.39, 0, 0.078], [h, -h, -h, h, h, -h, 0])
        np.testing.assert_allclose(robot.pose("flange", q), expected, atol=1e-14)


def test_panda_has_its_craig_parameters() -> None:
    robot, h = oracle("panda"), math.pi / 2
    a = [0, 0, 0, 0.0825, -0.0825, 0, 0.088, 0]
    d = [0.333, 0, 0.316, 0, 0.384, 0, 0, 0.107]
    alpha = [0, -h, h, h, -h, h, h, 0]
    for q in states(7):
        expected = np.eye(4)
        for angle, ai, di, twist in zip([*q, 0.0], a, d, alpha, strict=True):
            expected = expected @ rotation_x(twist) @ shift_x(ai) @ screw_z(angle, di)
        np.testing.assert_allclose(robot.pose("panda_link8", q), expected, atol=1e-14)


def test_snake_axes_alternate_and_meet_in_one_point() -> None:
    robot = oracle("snake")
    for q in states(16, count=2):
        turns = [np.eye(4)]
        for i, angle in enumerate(q):
            axes = [0, 1, 2, 3] if i % 2 == 0 else [1, 2, 0, 3]  # z, or y in the place of z
            turns.append(turns[-1] @ screw_z(angle, 0)[np.ix_(axes, axes)])
        for i in range(1, 17):
            np.testing.assert_allclose(robot.pose(f"link_{i}", q), turns[i], atol=1e-14)


# --- dynamics in closed form -----------------------------------------------------------------------


def test_planar_2r_is_the_textbook_arm() -> None:
    robot, rng = oracle("planar_2r"), np.random.default_rng(2)
    l1, l2, m1, m2 = 1.0, 0.8, 1.5, 1.0
    for q in states(2):
        (t1, t2), v, a = q, rng.normal(size=2), rng.normal(size=2)
        c2, s2 = math.cos(t2), math.sin(t2)
        coupling = m2 * (l1 * l2 * c2 + l2**2)
        inner = m1 * l1**2 + m2 * (l1**2 + 2 * l1 * l2 * c2 + l2**2)
        mass = np.array([[inner, coupling], [coupling, m2 * l2**2]])
        coriolis = m2 * l1 * l2 * s2 * np.array([-2 * v[0] * v[1] - v[1] ** 2, v[0] ** 2])
        outer = m2 * G * l2 * math.cos(t1 + t2)
        gravity = np.array([(m1 + m2) * l1 * G * math.cos(t1) + outer, outer])
        tip = [l1 * math.cos(t1) + l2 * math.cos(t1 + t2), 0, l1 * math.sin(t1) + l2 * math.sin(t1 + t2)]

        np.testing.assert_allclose(robot.mass_matrix(q), mass, atol=1e-13)
        np.testing.assert_allclose(robot.gravity(q), gravity, atol=1e-13)
        np.testing.assert_allclose(robot.inverse_dynamics(q, v, a), mass @ a + coriolis + gravity, atol=1e-13)
        np.testing.assert_allclose(robot.pose("tip", q)[:3, 3], tip, atol=1e-14)


def test_pan_tilt_pendulum_in_closed_form() -> None:
    robot = oracle("pan_tilt_pendulum")
    m, r, length, lever = 1.0, 0.04, 0.4, 0.2
    axial, transverse = m * r**2 / 2, m * (3 * r**2 + length**2) / 12
    for q in states(2):
        c, s = math.cos(q[1]), math.sin(q[1])
        about_pan, about_tilt = (
            axial + axial * s**2 + (transverse + m * lever**2) * c**2,
            transverse + m * lever**2,
        )
        np.testing.assert_allclose(robot.mass_matrix(q), np.diag([about_pan, about_tilt]), atol=1e-8)
        np.testing.assert_allclose(robot.gravity(q), [0, -m * G * lever * c], atol=1e-13)


def test_double_pendulum_in_closed_form() -> None:
    robot = oracle("double_pendulum")
    m1, l1, m2, l2, r = 1.0, 1.0, 0.8, 0.8, 0.05
    i1, i2 = (m * (3 * r**2 + length**2) / 12 for m, length in ((m1, l1), (m2, l2)))
    for t1, t2 in states(2):
        # Pinocchio describes a continuous joint by the cosine and sine of its angle.
        q = np.array([math.cos(t1), math.sin(t1), math.cos(t2), math.sin(t2)])
        outer, cross = i2 + m2 * l2**2 / 4, m2 * l1 * l2 / 2 * math.cos(t2)
        inner = i1 + m1 * l1**2 / 4 + m2 * l1**2 + 2 * cross + outer
        g2 = m2 * G * l2 / 2 * math.sin(t1 + t2)
        g1 = (m1 / 2 + m2) * G * l1 * math.sin(t1) + g2
        mass = [[inner, cross + outer], [cross + outer, outer]]
        np.testing.assert_allclose(robot.mass_matrix(q), mass, atol=1e-8)
        np.testing.assert_allclose(robot.gravity(q), [g1, g2], atol=1e-13)


def test_quadruped_legs_mirror_each_other() -> None:
    model = pin.buildModelFromXML(bundled.text("quadruped"), pin.JointModelFreeFlyer())
    data, rng = model.createData(), np.random.default_rng(12)
    assert [name[:2] for name in list(model.names)[2::3]] == ["FL", "FR", "RL", "RR"]

    def mirrored(x: Array) -> Array:
        """Image in the x-z plane: a twist (linear first) turns some signs, left and right legs swap."""
        legs = x[6:].reshape(4, 3)[[1, 0, 3, 2]] * [-1, 1, 1]
        return np.concatenate([x[:6] * [1, -1, 1, -1, 1, -1], legs.ravel()])

    def torques(legs: Array, v: Array, a: Array) -> Array:
        return np.array(pin.rnea(model, data, np.concatenate([[0, 0, 0, 0, 0, 0, 1], legs[6:]]), v, a))

    for q, v, a in rng.normal(size=(5, 3, 18)):
        expected = mirrored(torques(q, v, a))[6:]
        np.testing.assert_allclose(torques(*map(mirrored, (q, v, a)))[6:], expected, rtol=1e-12, atol=1e-12)


# --- serial chains ---------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 5, 6, 7, 13, 60])
def test_serial_chain_has_n_joints_in_order(n: int) -> None:
    robot = Oracle(bundled.serial_chain_urdf(n))
    assert list(robot.model.names)[1:] == [f"joint_{i + 1}" for i in range(n)]
    assert np.linalg.eigvalsh(robot.mass_matrix(states(n)[0])).min() > 0


def test_serial_chain_of_six_is_the_ur5() -> None:
    chain, ur5 = Oracle(bundled.serial_chain_urdf(6)), oracle("ur5")
    for q in states(6):
        v, a = q[::-1].copy(), np.roll(q, 2)
        np.testing.assert_allclose(chain.inverse_dynamics(q, v, a), ur5.inverse_dynamics(q, v, a), atol=1e-12)
        np.testing.assert_allclose(chain.pose("tool0", q), ur5.pose("tool0", q), atol=1e-14)


def test_serial_chain_joins_arms_end_to_end() -> None:
    chain, ur5 = Oracle(bundled.serial_chain_urdf(12)), oracle("ur5")
    for q in states(12):
        expected = ur5.pose("tool0", q[:6]) @ ur5.pose("tool0", q[6:])
        np.testing.assert_allclose(chain.pose("tool0", q), expected, atol=1e-14)


@pytest.mark.parametrize("n", range(1, 12))
def test_serial_chain_tip_is_where_the_next_joint_would_be(n: int) -> None:
    chain, longer = Oracle(bundled.serial_chain_urdf(n)), Oracle(bundled.serial_chain_urdf(n + 1))
    q = states(n)[0]
    following = f"link_{n + 1}" if n % 6 else f"flange_{n}"
    np.testing.assert_allclose(chain.pose("tool0", q), longer.pose(following, np.append(q, 0.0)), atol=1e-14)


@pytest.mark.parametrize("n", [0, -3, 2.0, 2.5, "3", None, True])
def test_serial_chain_refuses_what_is_not_a_count(n: object) -> None:
    with pytest.raises(InputError, match="whole number of joints, 1 or more; got"):
        bundled.serial_chain_urdf(n)  # type: ignore[arg-type]
