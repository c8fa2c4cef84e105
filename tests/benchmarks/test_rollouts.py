"""The benchmark of simulations: peers that move otherwise are reported, and not timed."""

from __future__ import annotations

from dataclasses import replace

import pytest
from benchmarks.harness.calls import Call
from benchmarks.harness.plan import QUICK
from benchmarks.harness.rollouts import CASES, MANY, ONE, _our_call, compare_rollouts, panda_with_fingers
from benchmarks.harness.subjects import State, Subject, bundled_subject
from benchmarks.peers import Peer
from benchmarks.report import tables
from benchmarks.report.results import OURS, Results
from benchmarks.report.targets import outcomes

TINY = replace(QUICK, rollouts=3, batch_rounds=1, turn=1e-5)


class Twin(Peer):
    """Helicoid as a peer of itself, in two ways; one differs."""

    version = "1"

    def rollouts(self, start: State, dt: float, n_threads: int) -> dict[str, Call]:
        same = _our_call(self.subject, start, n_threads)
        return {"": same, ", drifting": replace(same, answer=lambda after: 1.001 * same.answer(after))}


@pytest.fixture(scope="module")
def results() -> Results:
    steps: list[str] = []
    timings = compare_rollouts(bundled_subject("double_pendulum"), {"MuJoCo": Twin}, TINY, steps.append)
    assert len(steps) == len(CASES)
    return Results("tiny", timings=timings)


def test_only_rollouts_that_agree_are_timed(results: Results) -> None:
    for label, n in CASES:
        found = {t.library: t for t in results.timings if (t.quantity, t.threads) == (label, n)}
        assert found[OURS].seconds and found["MuJoCo"].seconds and found["MuJoCo"].error == 0.0
        assert found["MuJoCo, drifting"].seconds is None
        assert found["MuJoCo, drifting"].note.startswith("differs by")


def test_rollouts_stand_in_tables_and_targets(results: Results) -> None:
    sheet = next(sheet for sheet in tables.sheets(results) if sheet.title.startswith("Simulation"))
    assert [row[1].rstrip(" *") for row in sheet.rows] == [f"{ONE}, 1T", f"{MANY}, 1T", f"{MANY}, 2T"]
    assert all(row[-1].startswith("differs") for row in sheet.rows)
    reached = {outcome.what: outcome for outcome in outcomes(results)}
    assert reached["one rollout, against MuJoCo"].met is not None
    assert reached["rollouts side by side, against MuJoCo's rollout"].met is not None


@pytest.mark.slow
@pytest.mark.parametrize("library", ["mujoco", "pinocchio"])
def test_peers_simulate_the_same_motion(library: str) -> None:
    import importlib

    peer = importlib.import_module(f"benchmarks.peers.{library}").Library
    subject: Subject = panda_with_fingers()
    assert subject.robot.nv == 9
    found = compare_rollouts(subject, {library: peer}, TINY, lambda text: None)
    others = [timing for timing in found if timing.library != OURS]
    assert others and all(timing.error is not None and timing.error < 1e-10 for timing in others)
