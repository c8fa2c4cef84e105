from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from helicoid import InputError
from helicoid.identification.logs.log import Log

HEADER = "t,q1,q2,dq1,dq2,tau1,tau2"
ROWS = ["0,0.1,0.2,1,2,5,6", "0.1,0.2,0.4,1,2,5.5,6.5", "0.2,0.3,0.6,1,2,6,7"]


def written(path: Path, header: str = HEADER, rows: list[str] | None = None) -> Path:
    path.write_text("\n".join([header, *(ROWS if rows is None else rows)]))
    return path


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_columns_are_found_by_name(tmp_path: Path, separator: str) -> None:
    path = tmp_path / "run.csv"
    path.write_text("\n".join(line.replace(",", separator) for line in [HEADER, *ROWS]))
    log = Log.from_csv(path)
    np.testing.assert_array_equal(log.q, [[0.1, 0.2], [0.2, 0.4], [0.3, 0.6]])
    assert log.v is not None and log.tau is not None and log.a is None
    assert log.column("tau", 1) == "tau2"


def test_columns_can_be_named(tmp_path: Path) -> None:
    path = written(tmp_path / "run.csv", "stamp,a,b,dq1,dq2,x,y")
    log = Log.from_csv(path, columns={"t": "stamp", "q": ["b", "a"], "tau": ["x", "y"]})
    np.testing.assert_array_equal(log.q[0], [0.2, 0.1])
    with pytest.raises(InputError, match="has no column 'z'; it has: stamp"):
        Log.from_csv(path, columns={"t": "z"})
    with pytest.raises(InputError, match="found no column for t"):
        Log.from_csv(path)
    with pytest.raises(InputError, match=r"columns maps t, q, .* to names of columns, .*; got \['stamp'\]"):
        Log.from_csv(path, columns=["stamp"])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([*ROWS, "0.3,nan,0,1,2,5,6"], "column 'q1' is nan at sample 3"),
        ([*ROWS, "0.3,0.1,0,1,2,oops,6"], r"column 'tau1' at sample 3 \(line 5\) is 'oops'"),
        ([*ROWS, "0.15,0.1,0,1,2,5,6"], "goes back from 0.2 s at sample 3"),
        ([*ROWS, "0.2,0.1,0,1,2,5,6"], "repeats 0.2 s at sample 3"),
        ([*ROWS, "0.3,0.1"], r"sample 3 \(line 5\) has 2 values, the header 7"),
        ([*ROWS, "", "0.3,0.1"], r"sample 3 \(line 6\) has 2 values, the header 7"),
        (["", *ROWS, "0.3,0.1,0,1,2,oops,6"], r"column 'tau1' at sample 3 \(line 6\) is 'oops'"),
        (ROWS[:1], "at least two samples"),
    ],
)
def test_faults_are_named_by_column_and_sample(tmp_path: Path, rows: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Log.from_csv(written(tmp_path / "run.csv", rows=rows))


def test_what_simulated_sensors_measure_is_a_log() -> None:
    import helicoid as hc

    robot = hc.load("double_pendulum")
    fall = hc.simulate(robot, robot.neutral() + 0.5, [0.0, 0.0], 0.2)
    for recorded in (fall, hc.Sensors(rate=100.0)(fall)):
        log = Log.from_trajectory(recorded)
        np.testing.assert_array_equal(log.q, recorded.q)
        assert log.tau is not None and log.tau.shape == log.q.shape


def test_archives_and_parts(tmp_path: Path) -> None:
    t, q = np.arange(10) / 10, np.arange(20.0).reshape(10, 2)
    np.savez(tmp_path / "run.npz", t=t, q=q, dq=q, tau=q)
    log = Log.from_npz(tmp_path / "run.npz")
    assert len(log[2:-3]) == 5 and len(log.between(0.2, 0.5)) == 4
    np.testing.assert_array_equal(log[2:-3].tau, q[2:-3])
    with pytest.raises(ValueError, match="read-only"):
        log.q[0] = 1.0
    with pytest.raises(InputError, match="slice"):
        log[3]


def test_the_order_of_columns_does_not_matter(tmp_path: Path) -> None:
    log = Log.from_csv(written(tmp_path / "run.csv", "t,q2,q1,dq2,dq1,tau1,tau2"))
    np.testing.assert_array_equal(log.q[0], [0.2, 0.1])
    assert log.v is not None and log.tau is not None
    np.testing.assert_array_equal(log.v[0], [2.0, 1.0])
    np.testing.assert_array_equal(log.tau[0], [5.0, 6.0])
    tenth = Log.from_csv(written(tmp_path / "ten.csv", "t,q10,q9,dq10,dq9,tau10,tau9"))
    np.testing.assert_array_equal(tenth.q[0], [0.2, 0.1])


def test_named_columns_of_all_kinds_follow_those_of_q(tmp_path: Path) -> None:
    path = written(tmp_path / "run.csv", "t,q_hip,q_knee,dq_knee,dq_hip,tau_knee,tau_hip")
    log = Log.from_csv(path)
    assert log.columns["tau"] == ("tau_hip", "tau_knee") and log.columns["v"] == ("dq_hip", "dq_knee")
    turned = Log.from_csv(path, columns={"q": ["q_knee", "q_hip"]})
    assert turned.columns["tau"] == ("tau_knee", "tau_hip")


def test_velocities_may_be_mapped_by_either_name(tmp_path: Path) -> None:
    path = written(tmp_path / "run.csv", "t,q1,q2,x,y,tau1,tau2")
    log = Log.from_csv(path, columns={"dq": ["x", "y"]})
    assert log.v is not None
    np.testing.assert_array_equal(log.v[0], [1.0, 2.0])


def test_commands_are_read_by_name_and_cut_with_the_log(tmp_path: Path) -> None:
    """`q_command_1` is a command, not a position; commands follow slices and archives."""
    file = tmp_path / "run.csv"
    file.write_text("t,q_1,q_2,q_command_1,q_command_2,tau_cmd_1,tau_cmd_2\n0,1,2,3,4,5,6\n1,1,2,3,4,5,6\n")
    log = Log.from_csv(file)
    assert log.q.shape == (2, 2) and log.tau is None
    assert log.q_command is not None and log.q_command.tolist() == [[3, 4], [3, 4]]
    assert log.tau_command is not None and log.tau_command.tolist() == [[5, 6], [5, 6]]
    longer = Log.from_arrays([0, 1, 2], np.zeros((3, 2)), q_command=np.arange(6.0).reshape(3, 2))
    assert longer[1:].q_command.tolist() == [[2, 3], [4, 5]]  # type: ignore[union-attr]
    np.savez(tmp_path / "run.npz", t=longer.t, q=longer.q, q_command=longer.q_command)
    assert np.array_equal(Log.from_npz(tmp_path / "run.npz").q_command, longer.q_command)
    with pytest.raises(InputError, match="q_command"):
        Log.from_arrays([0, 1, 2], np.zeros((3, 2)), q_command=np.zeros((2, 2)))
