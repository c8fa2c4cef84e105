"""Ready-made closed loops: batches are what single steps give, and what a textbook says of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import helicoid as hc
from helicoid.study.loops import compiled_loop
from helicoid.study.loops.single_loop import SingleLoop, fresh

ROBOT = hc.load("planar_2r")
PLANT = ROBOT.parametric("payload", payload_link="tip")


def loads(case: Any) -> dict[str, Any]:
    return {
        "theta": hc.payload(case["mass"], [0, 0, 0], np.zeros((3, 3))),
        "delay": 1e-3 * case["late"],
        "set": {"frequency": case["frequency"]},
    }


def study(loop: Any) -> hc.Study:
    made = hc.Study(loop, seed=1)
    made.vary("mass", hc.study.uniform(0.0, 2.0))
    made.grid("late", [0, 1, 2])
    made.grid("frequency", [10.0, 20.0])
    return made


@pytest.fixture(scope="module")
def loop() -> Any:
    law = hc.control.ComputedTorque(ROBOT, frequency=20.0, integral=10.0, dt=1e-3)
    return hc.study.closed_loop(
        law,
        PLANT,
        0.06,
        q0=[0.0, 0.5],
        reference=lambda t: {"q_ref": [0.1 * np.sin(3 * t), 0.5], "v_ref": [0.3 * np.cos(3 * t), 0.0]},
        noise={"q": 1e-4, "v": 1e-3},
        delay=2e-3,
        each=loads,
    )


def test_a_batch_is_what_single_steps_give(loop: Any) -> None:
    cases = study(loop)._sampler.cases(np.arange(6))
    together = loop(cases)
    single = SingleLoop(loop.controller, loop.settings, None, loop.measure)
    for k in range(6):
        alone = single(cases[k])
        assert alone.keys() == together.keys()
        for name, value in alone.items():
            np.testing.assert_allclose(together[name][k], value, rtol=1e-9, atol=1e-12, err_msg=name)


def test_results_do_not_depend_on_the_other_rollouts(loop: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    table = study(loop).run(11, on="here")
    monkeypatch.setattr(compiled_loop, "SIDE_BY_SIDE", 5)
    again = study(loop).run(11, on="here")
    for name in table.results:
        assert np.array_equal(table[name], again[name]), name
    row = table.worst("rms")[0]
    replayed = study(loop).replay(row)
    assert replayed.result["rms"] == row["rms"]
    error = replayed.kept["reference"]["q_ref"] - replayed.trajectory.q
    assert np.sqrt(np.mean(error[1:] ** 2)) == pytest.approx(row["rms"])


def test_a_perfect_model_follows_and_a_load_does_not() -> None:
    law = hc.control.ComputedTorque(ROBOT, frequency=20.0)
    t = np.arange(101) * 1e-3
    q = np.column_stack([0.1 * np.sin(5 * t), 0.5 + 0.05 * np.sin(8 * t)])
    v = np.column_stack([0.5 * np.cos(5 * t), 0.4 * np.cos(8 * t)])
    a = np.column_stack([-2.5 * np.sin(5 * t), -3.2 * np.sin(8 * t)])
    motion = hc.Log.from_arrays(t, q, v, a)  # anything with t, q, v and a
    made = hc.Study(
        hc.study.closed_loop(
            law,
            PLANT,
            0.1,
            q0=q[0],
            v0=v[0],
            reference=motion,
            friction=False,
            each=lambda c: {"theta": load(c)},
        )
    )
    made.grid("mass", [0.0, 1.0])

    def load(case: Any) -> Any:
        return hc.payload(case["mass"], [0, 0, 0], np.zeros((3, 3)))

    table = made.run(on="here")
    assert table["rms"][0] < 2e-4  # what is left is of torques that are held for a period
    assert table["rms"][1] > 20 * table["rms"][0]


def test_a_diverging_rollout_is_nan_and_leaves_the_others_unchanged() -> None:
    law = hc.control.JointImpedance(ROBOT.with_joints(effort=np.inf), stiffness=50.0, damping=5.0)
    made = hc.Study(
        hc.study.closed_loop(
            law,
            ROBOT.with_joints(effort=np.inf),
            0.1,
            q0=[0.0, 0.5],
            reference={"q_ref": [0.1, 0.5]},
            method="semi_implicit_euler",
            each=lambda case: {"set": {"damping": case["damping"]}},
        )
    )
    made.grid("damping", [5.0, 1e7, 5.0])
    table = made.run(on="here")
    assert table["diverged"].tolist() == [0.0, 1.0, 0.0]
    assert np.isnan(table["rms"][1])
    assert table["rms"][0] == table["rms"][2]
    assert table.worst("rms")[0].episode == 1


@pytest.mark.filterwarnings("ignore::helicoid.DoubtfulModelWarning")
def test_a_loop_is_what_mujoco_says() -> None:
    """The same law, load, noise and delay on MuJoCo's arm, whose steps are of the first order."""
    law = hc.control.JointImpedance(ROBOT, stiffness=20.0, damping=4.0)
    loops = [
        hc.study.closed_loop(
            law,
            PLANT,
            0.1,
            q0=[0.0, 0.5],
            reference={"q_ref": [0.1, 0.4]},
            noise={"q": 1e-4},
            substeps=20,
            contacts=contacts,
            engine=engine,
            each=lambda case: {"theta": hc.payload(1.0, [0, 0, 0], np.zeros((3, 3))), "delay": 0.0},
        )
        for engine, contacts in (("helicoid", None), ("mujoco", []))
    ]
    ours, there = (hc.Study(loop).replay(0).trajectory for loop in loops)
    assert not np.array_equal(there.q, ours.q)
    np.testing.assert_allclose(there.q, ours.q, atol=1e-4)
    assert np.abs(ours.q[-1] - ours.q[0]).max() > 0.01


@pytest.mark.slow
@pytest.mark.needs_compiler
def test_model_predictive_control_is_an_episode_too() -> None:
    problem = hc.mpc.Problem(ROBOT, horizon=8, dt=0.01)
    problem.add_posture_cost([0.3, 0.5], weight=100.0, end_weight=10.0)
    problem.add_velocity_cost(0.1)
    problem.add_control_cost(1e-4)
    controller = hc.mpc.Controller(problem)
    loop = hc.study.closed_loop(
        controller,
        PLANT,
        0.05,
        q0=[0.25, 0.5],
        each=lambda case: {"theta": hc.payload(case["mass"], [0, 0, 0], np.zeros((3, 3)))},
        measure=lambda loops: {
            "end": np.abs(loops.q[:, -1] - [0.3, 0.5]).max(axis=1),
            "trouble": loops.trouble,
        },
    )
    assert not loop.batch
    made = hc.Study(loop, seed=2)
    made.vary("mass", hc.study.uniform(0.0, 0.5))
    table = made.run(3, on="here")
    theta = hc.payload(table["mass"][1], [0, 0, 0], np.zeros((3, 3)))
    plant = hc.Plant(PLANT, [0.25, 0.5], theta=theta, period=0.01)
    known = hc.mpc.run_on_plant(fresh(controller), plant, 0.05).trajectory
    assert np.array_equal(made.replay(1).trajectory.q, known.q)
    backwards = [made.replay(k).result["end"] for k in (2, 1, 0)]  # no episode leaves anything to the next
    assert backwards[::-1] == table["end"].tolist()


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"reference": {}}, "needs a reference 'q_ref'"),
        ({"reference": {"q_ref": [0.0]}}, "has shape"),
        ({"reference": {"q_ref": [0, 0], "x_ref": [0]}}, "has no reference 'x_ref'"),
        ({"reference": 3}, "reference 'q_ref' has shape"),
        ({"delay": 1.5e-3}, "whole number of periods"),
        ({"noise": {"tau": 1.0}}, "noise is of q and of v"),
        ({"noise": {"q": -1.0}}, "0 or more"),
        ({"method": "stiff"}, "method is one of"),
        ({"substeps": 0}, "substeps"),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_runs(change: dict[str, Any], match: str) -> None:
    law = hc.control.JointImpedance(ROBOT, 10.0, 1.0)
    with pytest.raises(hc.InputError, match=match):
        hc.study.closed_loop(law, ROBOT, 0.1, **{"reference": {"q_ref": [0, 0]}, **change})


def test_what_each_gives_is_checked() -> None:
    law = hc.control.JointImpedance(ROBOT, 10.0, 1.0)
    for given, match in (
        ({"delay": 1e-3}, "at most"),
        ({"mass": 1.0}, "each may give"),
        ({"q0": [0.0]}, "q0"),
    ):
        loop = hc.study.closed_loop(
            law, ROBOT, 0.01, reference={"q_ref": [0, 0]}, each=lambda case, g=given: g
        )
        with pytest.raises(hc.InputError, match=match):
            hc.Study(loop).replay(0)


def test_errors_of_loops_that_run_step_by_step() -> None:
    """Against a reference of the law, of one row per step, and of the posture task of a controller."""
    law = hc.control.JointImpedance(ROBOT, stiffness=50.0, damping=5.0)
    ik = hc.control.DifferentialIK(ROBOT, [hc.control.PostureTask([0.0, 0.5])], dt=1e-3)
    rows = np.linspace([0.0, 0.5], [0.1, 0.4], 21)
    t = 1e-3 * np.arange(21)
    ramp = {"t": t, "q_ref": rows}
    for controller, reference in ((law, ramp), (law, {"q_ref": rows}), (ik, {"t": t, "posture": rows})):
        loop = hc.study.closed_loop(
            controller, ROBOT, 0.02, q0=[0.0, 0.5], reference=reference, targets=lambda t: {}
        )
        assert not loop.batch
        replay = hc.Study(loop).replay(0)
        error = np.abs(rows - replay.trajectory.q)
        assert replay.result["rms"] == pytest.approx(np.sqrt(np.mean(error[1:] ** 2)), rel=1e-12)
        assert replay.result["peak"] == error[1:].max() and replay.result["final"] == error[-1].max()
        assert np.array_equal(replay.kept["reference"]["q_ref"], rows)


def test_a_reference_that_fails_is_trouble_and_no_error() -> None:
    def reference(t: float) -> Any:
        if t > 0.005:
            raise ValueError("no reference here")
        return {"q_ref": [0.0, 0.5]}

    law = hc.control.JointImpedance(ROBOT, stiffness=50.0, damping=5.0)
    loop = hc.study.closed_loop(law, ROBOT, 0.01, reference=reference, targets=lambda t: {})
    result = hc.Study(loop).replay(0).result
    assert result["trouble"] == pytest.approx(0.4) and "rms" not in result


@pytest.mark.needs_compiler
def test_every_kind_of_controller_is_an_episode() -> None:
    """Compiled laws of arms and vehicles in batches; all others step by step."""

    class Own:
        period = 2e-3

        def step(self, q: Any, v: Any) -> Any:
            return -2.0 * v

    vehicle = hc.aerial.load("hummingbird")
    flight = hc.aerial.GeometricControl(vehicle).following(position=[0.1, 0.0, 0.0])
    ik = hc.control.DifferentialIK(ROBOT, [hc.control.PostureTask([0.2, 0.4])], dt=0.01)
    observer = hc.control.MomentumObserver(ROBOT, dt=1e-3)
    law = hc.control.JointImpedance(ROBOT, 10.0, 1.0).following([0.1, 0.5])
    for controller, plant, batch in (
        (law, PLANT, True),
        (flight, vehicle, True),
        (ik, ROBOT, False),
        (observer, ROBOT, False),
        (Own(), ROBOT, False),
    ):
        loop = hc.study.closed_loop(controller, plant, 0.02, noise={"q": 1e-5})
        assert loop.batch is batch
        table = hc.Study(loop, seed=3).run(3, on="here")
        assert table["diverged"].tolist() == [0, 0, 0]
    with pytest.raises(hc.InputError, match=r"Own has no following\(reference\)"):
        hc.study.closed_loop(Own(), ROBOT, 0.02, reference=[0.1, 0.5])
        assert hc.Study(loop, seed=3).replay(1).trajectory.q.shape[0] == len(loop.settings.times)


def test_a_vehicle_in_batches_equals_its_steps() -> None:
    vehicle = hc.aerial.load("hummingbird")
    law = hc.aerial.GeometricControl(vehicle)
    flight = law.following(position=[0.1, 0.0, 0.0])
    options: dict[str, Any] = {
        "noise": {"q": 1e-4, "v": 1e-3},
        "delay": 2e-3,
        "measure": lambda x: {"q": x.q[:, -1, 0]},
    }
    together = hc.study.closed_loop(flight, vehicle, 0.05, **options)

    class Steps:
        def step(self, q: Any, v: Any) -> Any:
            return law.step(q, v, position=[0.1, 0.0, 0.0])

    alone = hc.study.closed_loop(Steps(), vehicle, 0.05, **options)
    first, second = (hc.Study(one, seed=5).run(2, on="here") for one in (together, alone))
    np.testing.assert_allclose(first["q"], second["q"], rtol=0, atol=1e-10)
