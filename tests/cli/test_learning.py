"""Commands of identification, in a process of their own: their output is true, and mistakes are reported."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import helicoid as hc
from helicoid.cli.app import app

GAINS = np.array([12.0, 7.0])
LOAD = 2.0, [0.1, 0.05, 0.02], np.diag([0.01, 0.02, 0.015])
FIXED = "--groups inertia,viscous,coulomb --cutoff none --lag 0 --regularisation 1"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A described arm, and logs of one that is heavier and rubs: bare twice, loaded, and both in amperes."""
    folder = tmp_path_factory.mktemp("logs")
    described = hc.load("planar_2r")
    described.to_urdf(folder / "arm.urdf")
    real = described.with_parameters(1.2 * described.parameters.values).with_joints(damping=0.3, friction=0.5)
    t = np.arange(300) / 50.0
    for name, robot, unit, seed in (
        ("bare", real, 1.0, 1),
        ("other", real, 1.0, 2),
        ("loaded", real.with_payload("tip", *LOAD), 1.0, 3),
        ("bare_amperes", real, GAINS, 1),
        ("loaded_amperes", real.with_payload("tip", *LOAD), GAINS, 3),
    ):
        ω = np.random.default_rng(seed).uniform(0.5, 4.0, (3, 2))
        phase = ω * t[:, None, None] + [1.0, 2.0]
        q, v, a = (np.sum(x, axis=1) for x in (np.sin(phase), ω * np.cos(phase), -(ω**2) * np.sin(phase)))
        tau = robot.inverse_dynamics(q, v, a, friction=True) / unit
        np.savez(folder / f"{name}.npz", t=t, q=q, v=v, a=a, tau=tau)
    return folder


def called(folder: Path, words: str) -> str:
    """What a process of its own prints, in the folder of the logs."""
    command = [sys.executable, "-m", "helicoid", *words.split()]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def row(text: str, name: str) -> list[float]:
    """The numbers of the line that begins with a name."""
    line = next(line for line in text.splitlines() if line.split()[: len(name.split())] == name.split())
    return [float(x) for x in re.findall(r"(?<![\w.])-?\d+\.?\d*(?:e[+-]\d+)?(?![\w.])", line)]


def test_the_mass_of_a_payload_is_identified(folder: Path) -> None:
    """An upright gravity and two parallel axes: of the center, z cannot be told."""
    text = called(folder, "payload arm.urdf loaded.npz --link tip --bare bare.npz -o carrying.urdf")
    assert row(text, "mass kg")[0] == pytest.approx(2.0, rel=0.02)
    assert row(text, "center x m")[0] == pytest.approx(0.1, abs=0.01)
    extra = hc.load(folder / "carrying.urdf").mass - 1.2 * hc.load("planar_2r").mass
    assert extra == pytest.approx(2.0, abs=0.5)  # not all masses of the bare arm are identifiable


def test_a_wrist_sensor_weighs_the_load(folder: Path) -> None:
    """An archive with readings of a force/torque sensor, offset included, and no torques."""
    log = np.load(folder / "loaded.npz")
    motion = [log[name] for name in "qva"]
    readings = hc.load("planar_2r").with_payload("tip", *LOAD).sensor_wrench("tip")(*motion) + 0.5
    noise = 0.05 * np.random.default_rng(0).normal(size=readings.shape)
    arrays = dict(zip("qva", motion, strict=True)) | {"wrench[tip]": readings + noise}
    np.savez(folder / "wrist.npz", t=log["t"], **arrays)
    text = called(folder, "payload arm.urdf wrist.npz --link tip")
    said = re.search(
        r"(\S+) ± (\S+) kg \(95 % interval\) from the force/torque sensor at tip, in \S+ s", text
    )
    assert said is not None, text
    mass, half = (float(x) for x in said.groups())
    assert mass == pytest.approx(2.0, abs=2 * half) and half < 0.05
    assert "--bare" not in text  # friction and torques have no part in it


def test_gains_are_found_and_taken(folder: Path) -> None:
    """From the mass of a load alone; `identify` then takes amperes."""
    text = called(folder, "gains arm.urdf bare_amperes.npz loaded_amperes.npz --link tip --mass 2")
    assert [row(text, f"joint_{k}")[0] for k in (1, 2)] == pytest.approx(list(GAINS), rel=0.01)
    option = next(word for word in text.split() if word.startswith("--gains="))
    told = invoked(folder, f"identify arm.urdf bare_amperes.npz {option} {FIXED} -o in_torques")
    assert "can be trusted" in told
    found = hc.load(folder / "in_torques" / "identified.urdf")
    log = hc.Log.from_npz(folder / "other.npz")
    off = found.inverse_dynamics(log.q, log.v, log.a, friction=True) - log.tau
    assert np.sqrt(np.mean(off**2)) < 0.03 * np.sqrt(np.mean(log.tau**2))


def invoked(folder: Path, words: str, code: int = 0) -> str:
    """As `called`, in this process: a second less."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        done = CliRunner().invoke(app, words.split())
    assert done.exit_code == code, done.output
    return re.sub(r"\s+", " ", done.output)


def test_several_logs_bounds_and_a_friction_model(folder: Path) -> None:
    words = f"identify arm.urdf bare.npz other.npz --validate loaded.npz -o both {FIXED}"
    words += " --mass link_2=0.5:0.7 --com link_2=-1,-1,-1:0.3,1,1"
    said = invoked(folder, f"{words} --friction sigmoid")
    assert "not tried" not in said  # a log to validate with says how well it predicts
    invoked(folder, words)
    body = next(b for b in hc.load(folder / "both" / "identified.urdf").model.bodies if b.name == "link_2")
    assert 0.5 - 1e-6 <= body.inertia.mass <= 0.7 + 1e-6
    assert body.inertia.com[0] <= 0.3 + 1e-6


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("identify arm.urdf bare.npz --mass link_2", "--mass: expected LINK=MIN:MAX"),
        ("identify arm.urdf bare.npz --mass link_2=3:2", "the lower bound exceeds the upper bound"),
        ("identify arm.urdf bare.npz --mass nobody=1:2", "called 'nobody'; there are: link_1"),
        ("identify arm.urdf bare.npz --com link_2=0,0:1,1", "--com: expected 3 numbers"),
        ("identify arm.urdf bare.npz --mass link_2=1:2 --estimator huber", "bounds go with the estimator"),
        ("identify arm.urdf bare.npz --cutoff low", "--cutoff: expected a frequency"),
        ("identify arm.urdf bare.npz --groups inertia,glue", "glue"),
        ("identify arm.urdf bare.npz --gains 1,x", "--gains: expected numbers"),
        ("identify arm.urdf bare.npz --gains 1,2,3", "expected 2 finite numbers"),
        ("identify arm.urdf bare.npz --strength -1", "regularisation"),
        ("identify arm.urdf bare.npz --friction glue", "no friction model"),
        ("payload arm.urdf loaded.npz --link nothing", "nothing"),
        ("payload arm.urdf none.npz --link tip", "there is no such file"),
        ("gains arm.urdf bare_amperes.npz loaded_amperes.npz --link tip --mass -1", "above 0"),
        ("gains arm.urdf bare_amperes.npz loaded_amperes.npz --link base --mass 1", "base"),
        ("gains arm.urdf bare_amperes.npz bare.npz --link tip --mass 1 --inertia 1,1,1", "give com too"),
    ],
)  # fmt: skip
def test_invalid_options_are_reported(folder: Path, words: str, message: str) -> None:
    assert message in invoked(folder, words, code=1)
