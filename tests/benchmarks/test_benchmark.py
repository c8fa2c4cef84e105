"""The harness of the benchmarks: its comparisons, and that a wrong or missing peer is reported, not timed."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.harness import batches, disturbance, limit, registers
from benchmarks.harness.calls import Call, our_call, relative_error
from benchmarks.harness.coordinates import Base, Coordinates
from benchmarks.harness.disturbance import MAX_DISTURBANCE, Watch
from benchmarks.harness.plan import FULL, QUICK, Plan
from benchmarks.harness.processes import measure_memory, measure_start
from benchmarks.harness.registers import clean_registers, leaves_registers_in_use
from benchmarks.harness.run import measure, run, write
from benchmarks.harness.subjects import (
    QUANTITIES,
    State,
    Subject,
    bundled_subject,
    chain_subject,
    plain_urdf,
)
from benchmarks.harness.timing import best_times
from benchmarks.peers import Peer, Unfit
from benchmarks.report import tables
from benchmarks.report.comparison import compare_calls, compare_growth
from benchmarks.report.results import OURS, UNCLEAN, Figure, Results, Timing
from benchmarks.report.targets import outcomes
from rich.console import Console

import helicoid as hc
from benchmarks import peers
from helicoid.compiler.build.cache import KERNEL_HEADERS

TINY = Plan(
    name="tiny",
    robots=("double_pendulum",),
    chains=(1, 2),
    batch_robots=("double_pendulum",),
    batch=100,
    rounds=1,
    batch_rounds=1,
    turn=1e-5,
    quantities=("G", "ID", "M"),
    chain_quantities=("G",),
    libraries=(),
    start=0,
    limit=False,
    memory=(),
)


class Twin(Peer):
    """Helicoid as a peer of itself, whose answers can be spoilt."""

    version = "1"
    factor = 1.0

    def call(self, label: str, state: State) -> Call | None:
        if label == "M":
            return None
        call = our_call(self.subject, QUANTITIES[label], state)
        return replace(call, answer=lambda after: self.factor * call.answer(after))


class Wrong(Twin):
    """Differs by more than a peer may."""

    factor = 1.0 + 1e-5


class Broken(Peer):
    """Fails at a call."""

    def call(self, label: str, state: State) -> Call | None:
        raise RuntimeError("out of order")


class Choosy(Peer):
    """Refuses the robot."""

    def __init__(self, subject: Subject) -> None:
        raise Unfit("too small")


def told(_: str) -> None:
    """Progress without a terminal."""


@pytest.fixture(scope="module")
def pendulum() -> Subject:
    return bundled_subject("double_pendulum")


def by_library(timings: list[Timing], label: str) -> Mapping[str, Timing]:
    return {t.library: t for t in timings if t.quantity == label}


def test_only_peers_that_agree_are_timed(pendulum: Subject) -> None:
    inserted = {"twin": Twin, "wrong": Wrong, "broken": Broken, "choosy": Choosy}
    found = compare_calls(pendulum, ("ID", "M"), inserted, TINY, told)
    rows = by_library(found, "ID")
    assert rows[OURS].seconds is not None and rows[OURS].seconds > 0.0
    assert rows["twin"].seconds is not None and rows["twin"].error == 0.0
    assert rows["wrong"].seconds is None and rows["wrong"].note.startswith("differs by 1e-05")
    assert rows["broken"].seconds is None and "out of order" in rows["broken"].note
    assert rows["choosy"].seconds is None and rows["choosy"].note == "too small"
    assert by_library(found, "M")["twin"].note == "not offered"


def test_wrong_peer_stands_in_the_tables_as_differing(pendulum: Subject) -> None:
    results = Results("tiny", timings=compare_calls(pendulum, ("ID",), {"wrong": Wrong}, TINY, told))
    text = "\n".join(sheet.markdown() for sheet in tables.sheets(results))
    assert "differs by 1e-05" in text


@pytest.mark.slow
def test_missing_peers_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(peers.LIBRARIES, "Nowhere", "nowhere")
    found, missing = peers.find(["Nowhere"])
    assert not found and "is not installed" in missing["Nowhere"]
    hc.set_compile(True)
    console = Console(file=(tmp_path / "log").open("w"), width=100)
    run(replace(TINY, libraries=("Nowhere",)), tmp_path, console)
    console.file.close()
    assert "Nowhere" in (tmp_path / "log").read_text()
    assert "| Nowhere | everything | missing:" in (tmp_path / "tiny.md").read_text(encoding="utf-8")


def test_run_refuses_to_measure_what_is_not_compiled(tmp_path: Path) -> None:
    with pytest.raises(hc.HelicoidError, match="HELICOID_COMPILE"):
        run(TINY, tmp_path, Console(quiet=True))


def test_run_writes_numbers_tables_and_pictures(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    results = Results("tiny")
    measure(TINY, results, {"Pinocchio": Twin}, Console(quiet=True))
    written = write(results, tmp_path)
    names = {path.name for path in written}
    pictures = {f"tiny_{name}.png" for name in ("calls", "batches", "growth", "operations")}
    assert names == {"tiny.json", "tiny.md"} | pictures
    assert all((tmp_path / name).read_bytes().startswith(b"\x89PNG") for name in pictures)
    assert Results.load(tmp_path / "tiny.json") == results
    text = (tmp_path / "tiny.md").read_text(encoding="utf-8")
    assert all(f"]({name})" in text for name in pictures)
    kinds = {(t.kind, t.robot, t.quantity) for t in results.timings if t.library == OURS}
    assert ("call", "double_pendulum", "M") in kinds
    assert ("growth", "chain of 2", "G") in kinds
    assert ("batch", "double_pendulum", "∂ID") in kinds


def test_slow_library_is_left_behind_on_longer_chains() -> None:
    class Slow(Twin):
        def call(self, label: str, state: State) -> Call | None:
            time.sleep(0.01)
            return super().call(label, state)

    plan = replace(TINY, patience=0.005)
    found = compare_growth([chain_subject(1), chain_subject(2)], ("G",), {"slow": Slow}, plan, told)
    assert [t.velocities for t in found if t.library == "slow"] == [1]
    assert [t.velocities for t in found if t.library == OURS] == [1, 2]


def test_batch_that_differs_is_not_timed(pendulum: Subject) -> None:
    class Shifted(Twin):
        def batch(self, label: str, states: State, n_threads: int) -> Call | None:
            call = our_call(self.subject, QUANTITIES[label], states)
            return replace(call, answer=lambda after: call.answer(after) + 1.0)

    found = batches.compare_batches(pendulum, {"shifted": Shifted}, TINY, told, ("ID",))
    shifted = [t for t in found if t.library == "shifted"]
    assert {t.threads for t in shifted} == {1, 2}
    assert all(t.seconds is None and t.note.startswith("differs") for t in shifted)
    assert all(t.seconds for t in found if t.library != "shifted")


def slow(*names: str) -> list[Any]:
    """Parameters of the long suite: each compiles all functions of a robot."""
    return [pytest.param(name, marks=pytest.mark.slow) for name in names]


@pytest.mark.parametrize("name", ["Pinocchio", *slow("MuJoCo", "Drake", "PyBullet", "KDL", "adam")])
def test_installed_peers_agree_with_helicoid(name: str) -> None:
    found, missing = peers.find([name])
    if missing:
        pytest.skip(missing[name])
    timings = compare_calls(bundled_subject("ur5"), tuple(QUANTITIES), found, TINY, told)
    theirs = [t for t in timings if t.library == name]
    assert any(t.seconds for t in theirs)
    assert not [t for t in theirs if t.note.startswith(("differs", "fails"))]


@pytest.mark.parametrize("name", slow("Pinocchio", "MuJoCo", "Drake"))
def test_floating_base_is_translated(name: str) -> None:
    found, missing = peers.find([name])
    if missing:
        pytest.skip(missing[name])
    quadruped = replace(bundled_subject("quadruped"), base="floating")
    timings = compare_calls(quadruped, ("G", "ID", "M", "FD (ABA)", "FD (CRBA)"), found, TINY, told)
    theirs = [t for t in timings if t.library == name]
    assert len([t for t in theirs if t.seconds]) >= 4
    assert not [t for t in theirs if t.note.startswith(("differs", "fails"))]


def test_coordinates_keep_power(pendulum: Subject) -> None:
    floating = replace(pendulum, base="floating")
    state = floating.state()
    for world_linear in (False, True):
        base = Base(q=tuple(range(7)), linear_first=True, world_linear=world_linear, world_angular=True)
        coordinates = Coordinates(floating, list(reversed(floating.joints)), base)
        theirs = coordinates.state(state)
        assert theirs.v @ theirs.tau == pytest.approx(state.v @ state.tau)
        np.testing.assert_allclose(coordinates.force(state, theirs.tau), state.tau)
        np.testing.assert_allclose(coordinates.acceleration(state, theirs.a), state.a)


def test_plain_urdf_keeps_the_dynamics() -> None:
    robot, plain = hc.load("panda"), bundled_subject("panda").robot
    q, v, a = robot.random(0), np.ones(7), -np.ones(7)
    assert "panda_link8" not in plain.link_names and "panda_link7" in plain.link_names
    np.testing.assert_allclose(plain.inverse_dynamics(q, v, a), robot.inverse_dynamics(q, v, a))


def test_plain_urdf_fixes_mimics_and_their_sources() -> None:
    joint = '<joint name="{0}" type="revolute"><parent link="a"/><child link="{0}"/>{1}</joint>'
    mimic = '<mimic joint="b"/>'
    body = '<inertial><mass value="1"/></inertial>'
    links = "".join(f'<link name="{name}">{body}</link>' for name in "abcd")
    joints = joint.format("b", "") + joint.format("c", mimic) + joint.format("d", "<dynamics damping='1'/>")
    text = plain_urdf(f"<robot name='r'>{links}{joints}</robot>")
    assert re.findall(r'<joint name="(\w)" type="(\w+)"', text) == [
        ("b", "fixed"),
        ("c", "fixed"),
        ("d", "revolute"),
    ]
    assert "mimic" not in text and "dynamics" not in text


def test_relative_error_sees_shapes_and_nan() -> None:
    one = [np.ones(2)]
    assert relative_error(one, one) == 0.0
    assert relative_error([np.ones(3)], one) == np.inf
    assert relative_error([np.array([1.0, np.nan])], one) == np.inf


def test_best_times_run_every_call(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []
    calls = {key: Call(f"ran.append('{key}')", {"ran": ran}, lambda _: np.zeros(0)) for key in "ab"}
    times = best_times(calls, rounds=2, turn=1e-6)
    assert set(times) == set(ran) == {"a", "b"}
    assert all(seconds >= 0.0 for seconds in times.values())


def test_flops_of_sincos_are_those_of_the_header() -> None:
    header = (KERNEL_HEADERS / "vector_math.h").read_text(encoding="utf-8")
    body = header.split("HC_HOT void hc_sincos(")[1].split("An odd quadrant")[0]
    code = re.sub(r"/\*.*?\*/|-?0x[0-9a-fp.+-]+|\*sine|\*cosine", "1", body, flags=re.S)
    arithmetic = re.findall(r"\s([*+-])\s", code)
    assert len(arithmetic) == limit.SINCOS_FLOPS


def test_operation_counts_weigh_sine_and_cosine(pendulum: Subject) -> None:
    function = QUANTITIES["G"].function(pendulum.robot)
    plain, whole = limit.operation_counts(function)
    assert 0 < plain <= function.n_operations
    assert whole > plain


def test_multiply_add_loop_computes() -> None:
    one_step = limit.multiply_add_loop()(1, 0.5)
    start = sum(0.5 + i for i in range(limit.ACCUMULATORS)) * limit.native_lanes()
    expected = 0.5 * start + 0.5e-9 * limit.ACCUMULATORS * limit.native_lanes()
    assert one_step == pytest.approx(expected)


def test_targets_are_met_missed_or_unmeasured() -> None:
    def timing(library: str, seconds: float) -> Timing:
        return Timing("call", "ur5", "ID", library, seconds)

    slow = Results("x", timings=[timing(OURS, 1.0), timing("Pinocchio", 2.0)])
    fast = Results("x", timings=[timing(OURS, 1.0), timing("Pinocchio", 9.0)])
    what = "one call, against Pinocchio: ID, FD, M, G"
    for results, met in ((slow, False), (fast, True), (Results("x"), None)):
        assert {o.what: o.met for o in outcomes(results)}[what] is met


def test_memory_that_was_not_seen_is_not_called_good() -> None:
    def outcome(megabytes: float) -> bool | None:
        results = Results("x", figures=[Figure("memory 1000 1", "", megabytes, "MB")])
        return {o.what: o.met for o in outcomes(results)}["memory of a batch call beyond its result"]

    assert outcome(0.1) is True and outcome(50.0) is False and outcome(-48.0) is None


def test_two_threads_count_only_where_two_cores_are_free() -> None:
    threads = [
        Timing("batch", "ur5", "ID", batches.WALL, 1.0),
        Timing("batch", "ur5", "ID", OURS, 0.5, threads=2),
    ]
    for offered, met in ((1.95, True), (1.02, None)):
        results = Results("x", timings=threads, figures=[Figure("second core", "", offered, "×")])
        assert {o.what: o.met for o in outcomes(results)}["two threads against one, large batch"] is met


class Registers:
    """A processor whose registers are seen, or are cleaned before anybody can look."""

    def __init__(self, seen: bool) -> None:
        self._seen, self._dirty = seen, False

    def clean(self) -> None:
        self._dirty = False

    def leave(self) -> None:
        self._dirty = True

    def in_use(self) -> int:
        return int(self._dirty and self._seen)


@pytest.mark.parametrize("kind", ["told", "hidden", "none", "this"])
def test_registers_left_in_use_are_noticed_where_they_are_seen(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some processors and C libraries hide it; then nothing is claimed. The last is the one at hand."""
    if kind != "this":
        pretended = None if kind == "none" else Registers(seen=kind == "told")
        monkeypatch.setattr(registers, "code", lambda: pretended)
    code = registers.code()
    seen = registers.is_seen() if kind == "this" else kind == "told"
    leave = (lambda: None) if code is None else code.leave
    for statement, unclean in (("leave()", seen), ("leave(); clean()", False)):
        call = Call(statement, {"leave": leave, "clean": clean_registers}, lambda _: np.zeros(0))
        assert leaves_registers_in_use(call) is unclean


def test_calls_that_leave_registers_in_use_are_reported() -> None:
    def outcome(note: str) -> tuple[bool | None, str]:
        results = Results("x", timings=[Timing("batch", "ur5", "ID", OURS, 1.0, note=note)])
        found = next(o for o in outcomes(results) if "vector registers" in o.what)
        return found.met, found.detail

    assert outcome("") == (True, "")
    assert outcome(UNCLEAN) == (False, "ur5 ID (batch)")


def test_disturbed_measurements_are_marked() -> None:
    def text(others: float) -> str:
        timing = Timing("call", "ur5", "ID", OURS, 1.0, others=others)
        return "\n".join(sheet.markdown() for sheet in tables.sheets(Results("x", timings=[timing])))

    assert "| ID * |" in text(0.9) and "during 1 of 1 measurements" in text(0.9)
    assert "| ID |" in text(0.0) and "*" not in text(0.0)


def test_others_at_work_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = {"wall": 100.0, "ours": 5.0, "all": 50.0}
    monkeypatch.setattr(disturbance.time, "perf_counter", lambda: clock["wall"])
    monkeypatch.setattr(disturbance, "_our_seconds", lambda: clock["ours"])
    monkeypatch.setattr(disturbance, "_all_seconds", lambda: clock["all"])
    watch = Watch()
    clock.update(wall=102.0, ours=7.0, all=53.5)  # in two seconds two of ours, three and a half of all
    assert watch.others() == pytest.approx(0.75) and watch.others() > MAX_DISTURBANCE


@pytest.mark.skipif(not Path("/proc/stat").exists(), reason="what others use is read from Linux's /proc")
def test_all_processors_are_counted_with_us() -> None:
    ours, everything = disturbance._our_seconds(), disturbance._all_seconds()
    while disturbance._our_seconds() < ours + 0.1:
        sum(range(1000))
    assert disturbance._all_seconds() - everything >= 0.05  # counted in steps of 10 ms


@pytest.mark.slow
def test_what_runs_in_other_processes() -> None:
    figures = {figure.key: figure.value for figure in measure_start(1)}
    assert {"import", "expression", "cold", "cached"} <= set(figures)
    assert all(value > 0.0 for value in figures.values())


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read from Linux's /proc")
@pytest.mark.slow
def test_memory_includes_the_result_of_the_batch() -> None:
    found = measure_memory(replace(TINY, memory=(200_000,)))
    assert [figure.key for figure in found] == ["memory 200000 1", "memory 200000 2"]
    assert all(-1.0 < figure.value < 5.0 for figure in found)


def test_plans_measure_known_things() -> None:
    for plan in (QUICK, FULL):
        assert set(plan.quantities) | set(plan.chain_quantities) <= set(QUANTITIES)
        assert set(plan.robots) - {"talos"} <= set(hc.robots())
        assert set(plan.batch_robots) <= set(plan.robots)


def test_tables_fit_80_columns_and_keep_every_number() -> None:
    results = Results.load(Path(__file__).parents[2] / "benchmarks/results/full.json")
    for sheet in tables.sheets(results):
        if sheet.shown == 0:
            continue
        console = Console(width=80)
        with console.capture() as captured:
            console.print(sheet.rich(console.width))
        printed = captured.get()
        assert max(len(line.rstrip()) for line in printed.splitlines()) <= 80, sheet.title
        numbers = set(printed.split())
        for row in sheet.rows:
            for cell in row[1 : sheet.shown]:
                assert set(cell.split()) <= numbers, (sheet.title, row)


def test_scripts_that_benchmarks_hand_to_other_interpreters_are_there() -> None:
    """They are named in code only: one that is left behind in a move is missed when the benchmark is run."""
    folder = Path(__file__).parents[2] / "benchmarks"
    for path in folder.rglob("*.py"):
        for name in re.findall(r'with_name\("(\w+\.py)"\)', path.read_text(encoding="utf-8")):
            compile(path.with_name(name).read_text(encoding="utf-8"), name, "exec")
