"""Studies in one process: numbers that depend on the seed alone, errors as rows, going on, replaying."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import helicoid as hc
from helicoid.study import episode_queue
from helicoid.study.results.folder import StudyError, StudyWarning
from helicoid.study.results.table import StudyTable


def throw(case: Any) -> dict[str, Any]:
    """A number that takes all that is random."""
    case.keep(trajectory=[case.index, case["speed"]])
    return {
        "reach": case["speed"] ** 2 + case.rng.normal(),
        "both": np.array([case["gain"], case.rng.random()]),
    }


def throw_many(cases: Any) -> dict[str, Any]:
    """The same for many at once."""
    noise = np.array([[case.rng.normal(), case.rng.random()] for case in cases])
    cases.keep(trajectory=len(cases))
    return {"reach": cases["speed"] ** 2 + noise[:, 0], "both": np.column_stack([cases["gain"], noise[:, 1]])}


def study(episode: Any = throw, batch: bool = False, seed: int = 5) -> hc.Study:
    made = hc.Study(episode, seed=seed, batch=batch)
    made.vary("speed", hc.study.normal(2.0, 0.5))
    made.grid("gain", [4, 6, 8])
    return made


def numbers(table: StudyTable) -> Any:
    """Everything but the time it took."""
    return table.to_dataframe().drop(columns=["seconds"])


@pytest.fixture(scope="module")
def table() -> StudyTable:
    return study().run(100, on="here")


def test_numbers_are_the_same_whatever_the_chunks(table: StudyTable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(episode_queue, "CHUNK_TIME", 1e-9)
    assert numbers(study().run(100, on="here")).equals(numbers(table))


def test_a_batch_gives_what_single_episodes_give(table: StudyTable) -> None:
    assert numbers(study(throw_many, batch=True).run(100, on="here")).equals(numbers(table))


def test_another_seed_gives_other_numbers(table: StudyTable) -> None:
    assert not np.any(study(seed=6).run(100, on="here")["reach"] == table["reach"])


def test_columns_and_rows(table: StudyTable) -> None:
    assert table.columns == ("episode", "speed", "gain", "reach", "both[0]", "both[1]", "seconds", "error")
    assert table.results == ("reach", "both[0]", "both[1]")
    assert np.array_equal(table["both[0]"], table["gain"])
    assert table[-1].episode == 99
    assert [row["gain"] for row in table[:3]] == [4, 6, 8]
    with pytest.raises(hc.InputError, match="there are: episode, speed"):
        table["reech"]


def test_quantiles_and_worst(table: StudyTable) -> None:
    assert table.quantiles("reach", 0.5)[0.5] == np.quantile(table["reach"], 0.5, method="inverted_cdf")
    worst = table.worst("reach", 5)
    assert [row["reach"] for row in worst] == sorted(table["reach"])[::-1][:5]
    assert table.worst("reach", least=True)[0]["reach"] == table["reach"].min()


def test_replay_gives_the_same_number_and_the_trajectory(table: StudyTable) -> None:
    row = table.worst("reach")[0]
    for one in (study(), study(throw_many, batch=True)):
        again = one.replay(row)
        assert again.result["reach"] == row["reach"]
        assert again.case.index == row.episode
    assert study().replay(row).trajectory == [row.episode, row["speed"]]
    with pytest.warns(StudyWarning, match=r"the table has"):
        study(seed=9).replay(row)


def test_an_episode_that_raises_is_a_row() -> None:
    def fragile(case: Any) -> dict[str, float]:
        if case.index % 10 == 3:
            raise ValueError(f"broken {case['gain']}")
        return throw(case)

    with pytest.warns(StudyWarning, match=r"4 of 40 episodes failed: .*ValueError: broken"):
        found = study(fragile).run(40, on="here")
    assert found.failed["episode"].tolist() == [3, 13, 23, 33]
    assert found.n_failed == 4
    assert math.isnan(found["reach"][3])
    assert found[3]["reach"] is None
    assert found[3]["speed"] == study().case(3)["speed"]
    assert 3 not in [row.episode for row in found.worst("reach", 40)]
    with pytest.raises(ValueError, match="broken"):
        study(fragile).replay(3)


class _Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize("error", [ValueError("half a character: \ud800"), _Unspeakable()])
def test_an_error_that_cannot_be_written_is_a_row_too(error: Exception, tmp_path: Path) -> None:
    def episode(case: Any) -> dict[str, float]:
        raise error

    with pytest.warns(StudyWarning, match="2 of 2 episodes failed"):
        table = hc.Study(episode, seed=0).run(2, on="here", out=tmp_path / "out", progress=False)
    assert table.n_failed == 2


def test_a_batch_that_raises_is_searched_for_the_failing_cases(table: StudyTable) -> None:
    def fragile(cases: Any) -> dict[str, Any]:
        if set(cases.indices.tolist()) & {17, 50, 51}:
            raise ValueError("no")
        return throw_many(cases)

    with pytest.warns(StudyWarning):
        found = study(fragile, batch=True).run(100, on="here")
    assert found.failed["episode"].tolist() == [17, 50, 51]
    good = [k for k in range(100) if k not in (17, 50, 51)]
    assert np.array_equal(found["reach"][good], table["reach"][good])


@pytest.mark.parametrize(
    "given", [3.0, {"x": "word"}, {"speed": 1.0}, {"error": 1.0}, {"x": np.zeros((2, 2))}, {1: 2.0}]
)
def test_what_is_no_result_ends_the_study_and_says_why(given: Any) -> None:
    with pytest.raises(hc.HelicoidError, match="episode"):
        study(lambda case: given).run(3, on="here")


def test_a_stopped_study_is_resumed(table: StudyTable, tmp_path: Path) -> None:
    ran: list[int] = []

    def counted(case: Any) -> dict[str, Any]:
        ran.append(case.index)
        return throw(case)

    def stop(what: str, done: float) -> None:
        if done > 0.4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt, match=r"of 100 episodes are done; run the study again"):
        study(counted).run(100, on="here", out=tmp_path, progress=stop)
    before = hc.study.read(tmp_path)
    assert 40 < len(before) < 100
    assert before.planned == 100
    assert "of 100 episodes" in repr(before)
    finished = set(before["episode"].tolist())
    ran.clear()
    found = study(counted).run(100, on="here", out=tmp_path)
    assert finished.isdisjoint(ran)
    assert numbers(found).equals(numbers(table))


def test_a_study_can_be_made_longer(tmp_path: Path) -> None:
    first = study().run(20, on="here", out=tmp_path)
    longer = study().run(50, on="here", out=tmp_path)
    assert numbers(longer).equals(numbers(study().run(50, on="here")))
    assert numbers(study().run(20, on="here", out=tmp_path)).equals(numbers(first))


def test_a_changed_study_is_refused(tmp_path: Path) -> None:
    study().run(5, on="here", out=tmp_path)
    with pytest.raises(StudyError, match="seed is 5 there and 6 here"):
        study(seed=6).run(5, on="here", out=tmp_path)
    with pytest.raises(StudyError, match="code of the episode differs"):
        study(lambda case: {"reach": 1.0}).run(5, on="here", out=tmp_path)


def test_grids_alone_give_the_number_of_cases() -> None:
    plain = hc.Study(lambda case: {"sum": case["a"] + case["b"]})
    plain.grid("a", [1, 2, 3])
    plain.grid("b", [10, 20])
    assert plain.run(on="here")["sum"].tolist() == [11, 21, 12, 22, 13, 23]


@pytest.mark.parametrize(
    "call",
    [
        lambda: hc.Study(3),
        lambda: hc.Study(throw, seed=-1),
        lambda: study().vary("speed", hc.study.uniform(0, 1)),
        lambda: study().vary("error", hc.study.uniform(0, 1)),
        lambda: study().vary("x", 3.0),
        lambda: study().grid("x", []),
        lambda: study().run(),
        lambda: study().run(0, on="here"),
        lambda: study().run(3, on="nowhere"),
        lambda: study().run(3, on="here", workers=2),
        lambda: study().run(3, workers=0),
        lambda: study().run(3, on="here", time_limit=1.0),
        lambda: study().run(3, time_limit=-1.0),
        lambda: study().replay(-1),
        lambda: study(lambda case: {"x": 1.0}).replay(0).trajectory,
    ],
)
def test_wrong_calls_are_refused(call: Any) -> None:
    with pytest.raises(hc.InputError):
        call()


def test_results_that_are_nan_are_worst() -> None:
    diverging = hc.Study(lambda case: {"rms": math.nan if case.index == 4 else case.index})
    found = diverging.run(10, on="here")
    assert found.n_failed == 0
    assert found.worst("rms")[0].episode == 4
    assert found.quantiles("rms", [0.5, 1.0])[1.0] == math.inf


def test_what_a_table_shows(table: StudyTable) -> None:
    assert "100 episodes" in repr(table)
    assert "reach" in table._repr_html_()
    figure = table.plot("reach")
    assert len(figure.axes) == 3
    with pytest.raises(hc.InputError, match="there are: reach"):
        table.plot("speed")


def test_the_former_name_of_the_table_warns() -> None:
    with pytest.warns(DeprecationWarning, match="hc.study.Table is called hc.study.StudyTable now"):
        assert hc.study.Table is StudyTable


def test_there_is_no_study_in_an_empty_folder(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="no study in this folder"):
        hc.study.read(tmp_path)


def test_an_empty_folder_name_is_refused() -> None:
    with pytest.raises(hc.InputError, match="out is a folder"):
        hc.Study(lambda case: {"one": 1.0}).run(1, on="here", out="")
