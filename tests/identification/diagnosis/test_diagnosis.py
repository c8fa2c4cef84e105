"""Diagnosis of logs: faults are named, correct logs are not."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.corrupted_logs import GOOD, KINDS, RATE, make, motion, robots
from benchmarks.diagnosis import outcome

import helicoid as hc
from helicoid.identification.diagnosis.diagnosis import diagnose
from helicoid.identification.linear.equations.regression import default_groups
from helicoid.identification.logs.filtering import derivative
from helicoid.identification.logs.preparation import prepare

pytestmark = pytest.mark.filterwarnings("ignore::helicoid.identification.DoubtfulLogWarning")

ARM = hc.serial_chain(3)
TUNED, UNTOUCHED = 2000, 910_000


@pytest.mark.parametrize(("kind", "seed"), [(kind, 6 if kind == "gear" else 3) for kind in KINDS])
def test_what_is_wrong_is_named(kind: str, seed: int) -> None:
    assert outcome(make(ARM, seed, kind))[0] == "named"


@pytest.mark.parametrize("seed", [1, 2])
def test_nothing_is_named_where_nothing_is_wrong(seed: int) -> None:
    assert outcome(make(ARM, seed, ""))[0] == "nothing"


@pytest.mark.parametrize(("name", "seed"), [("ur5", 2063), ("panda", 2064)])
def test_loads_on_robots_whose_description_and_friction_are_wrong(name: str, seed: int) -> None:
    """Bodies that are wrong by percents, unknown friction, noise: body and mass of the load are named."""
    case = make(hc.load(name), seed, GOOD)
    assert 1.5 < case.mass < 5.0
    assert outcome(case)[0] == "named"


def test_sums_that_cancel_choose_no_hypothesis() -> None:
    """Scales of 1e-7, at which S is the difference of numbers of 1e9."""
    assert outcome(make(robots()[4], 2004, "sign"))[0] in ("named", "nothing")


def test_degrees_of_a_small_motion_are_named() -> None:
    """Within the limits of the joints even as degrees."""
    t, q = motion(ARM, np.random.default_rng(4), "many")
    small = 0.1 * (q - q.mean(axis=0)) + 0.5
    v = derivative(small, RATE)
    tau = ARM.inverse_dynamics(small, v, derivative(v, RATE))
    degrees = np.array([1.0, 180 / np.pi, 1.0])
    wrong = hc.Log.from_arrays(t, small * degrees, v * degrees, tau=tau)
    found = diagnose(ARM, prepare(ARM, wrong, 8.0)[0])
    assert found is not None and found.kind == "motion unit" and found.joints == ("joint_2",)
    assert "multiply it by pi/180" in found.text


def test_the_report_has_the_diagnosis() -> None:
    case = make(ARM, 3, "sign")
    result = hc.identify(ARM, case.log, groups=default_groups(), cutoff=8.0, lag=0.0, regularisation=10.0)
    assert "has the other sign: multiply it by -1" in result.diagnosis
    assert any(result.diagnosis in note for note in result.notes)
    first = hc.identification.Assessment(result, result.logs).checks[0]
    assert first.light == "bad" and result.diagnosis in first.answer


def carrying(mass: float, seed: int) -> tuple[hc.Robot, hc.Log]:
    """A UR5 with friction, and the log of one sine a joint with a load that its description lacks."""
    ur5, rng, t = hc.load("ur5"), np.random.default_rng(seed), np.arange(0.0, 10.0, 0.01)
    real = ur5.with_joints(damping=[3, 3, 2, 0.6, 0.6, 0.5], friction=[5, 6, 4, 1, 1, 0.8])
    real = real.with_payload("tool0", mass, [0.02, -0.01, 0.06], 0.002 * mass * np.eye(3))
    w = np.array([0.7, 0.9, 1.1, 1.7, 2.1, 2.9]) * rng.uniform(0.8, 1.2, 6)
    size, phases = np.array([0.8, 0.5, 0.6, 0.8, 0.9, 1.0]), rng.uniform(0, 6.3, 6)
    q = np.array([0.0, -1.2, 1.4, -1.0, -1.5, 0.3]) + size * np.sin(t[:, None] * w + phases)
    v, a = size * w * np.cos(t[:, None] * w + phases), -size * w**2 * np.sin(t[:, None] * w + phases)
    return ur5, hc.Log.from_arrays(t, q, v, a, real.inverse_dynamics(q, v, a, friction=True))


@pytest.mark.parametrize(("mass", "seed"), [(1.0, 0), (2.0, 1), (5.0, 2)])
def test_a_load_that_the_description_lacks_is_named(mass: float, seed: int) -> None:
    """Neither gear ratios nor the currents of drives, which fit as badly."""
    ur5, log = carrying(mass, seed)
    found = diagnose(ur5, prepare(ur5, log, None)[0])
    assert found is None or found.kind == "load", found
    if mass > 1:
        assert found is not None and found.joints == ("wrist_3_link",)
        assert f"a load of about {mass:.2g} kg" in found.text or abs(_mass_in(found.text) / mass - 1) < 0.25


def _mass_in(text: str) -> float:
    return float(text.split("about ")[1].split(" kg")[0])


def test_without_noise_unidentifiable_parameters_stay_at_the_prior() -> None:
    """The base's mass acts on no joint: no robot of a thousand kilograms, and another motion is predicted."""
    ur5, log = carrying(2.0, 3)
    result = hc.identify(ur5, log, progress=False)
    described = sum(body.inertia.mass for body in ur5.model.bodies)
    found = sum(body.inertia.mass for body in result.robot.model.bodies)
    assert described - 1.0 < found < described + 4.0
    assert result.score(carrying(2.0, 4)[1]).overall_relative < 0.02
    assert "a load of about" in result.diagnosis


@pytest.mark.parametrize("name", ["panda", "kuka_lwr4"])
def test_total_mass_stays_at_the_description_and_a_load(name: str) -> None:
    """Without noise and with friction: of other arms too, the mass changes by that of the load."""
    robot, rng, t = hc.load(name), np.random.default_rng(3), np.arange(0.0, 10.0, 0.01)
    effort, low, high = robot.limits.effort, robot.limits.lower, robot.limits.upper
    real = robot.with_joints(damping=0.02 * effort, friction=0.03 * effort)
    real = real.with_payload(robot.link_names[-1], 2.0, [0.02, -0.01, 0.06], 0.004 * np.eye(3))
    w, phases = rng.uniform(0.7, 2.9, robot.nv), rng.uniform(0, 6.3, robot.nv)
    size = 0.35 * (np.minimum(high, 2.5) - np.maximum(low, -2.5)) / 2
    q = (low + high) / 2 + size * np.sin(t[:, None] * w + phases)
    v, a = size * w * np.cos(t[:, None] * w + phases), -size * w**2 * np.sin(t[:, None] * w + phases)
    log = hc.Log.from_arrays(t, q, v, a, real.inverse_dynamics(q, v, a, friction=True))
    result = hc.identify(robot, log, progress=False)
    assert result.robot.mass - robot.mass == pytest.approx(2.0, abs=0.3)
    assert result.load is not None and result.load[1] == pytest.approx(2.0, abs=0.2)


@pytest.mark.slow
@pytest.mark.parametrize("chunk", range(10))
def test_many_logs_corrupted_and_clean(chunk: int, capsys: pytest.CaptureFixture[str]) -> None:
    """20 of each in a chunk; every third of a seed that nothing was tuned on."""
    pool = robots()
    counts: dict[str, list[str]] = {}
    for n in range(20 * chunk, 20 * chunk + 20):
        seed = (UNTOUCHED if n % 3 == 2 else TUNED) + n
        robot = pool[n % len(pool)]
        kind = KINDS[(n // 3) % len(KINDS)]
        own = "untouched" if n % 3 == 2 else "tuned"
        told, _ = outcome(make(robot, seed, kind))
        counts.setdefault(f"{own} {told}", []).append(f"{robot.name}:{kind}")
        clean, _ = outcome(make(robot, seed, ""))
        counts.setdefault(f"{own} clean {clean}", []).append(f"{robot.name}:{seed}")
    with capsys.disabled():
        print({key: (len(own), own if "named" not in key else "") for key, own in counts.items()})
    assert not [key for key in counts if "clean" in key and not key.endswith("nothing")]
    named = sum(len(own) for key, own in counts.items() if "clean" not in key and key.endswith(" named"))
    assert named >= 15
