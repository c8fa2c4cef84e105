"""One enumeration of results for all controllers."""

from __future__ import annotations

import pickle

import pytest

from helicoid import Status


@pytest.mark.parametrize("status", Status)
def test_every_status_has_a_remedy_and_is_its_word(status: Status) -> None:
    assert status.remedy.endswith(".")
    assert status == status.value
    assert f"{status}" == str(status) == status.value
    assert Status(status.value) is status
    assert pickle.loads(pickle.dumps(status)) is status
    assert {status: 1}[status.value] == 1


@pytest.mark.parametrize(
    ("former", "now"),
    [("solved", Status.OK), ("out of time", Status.TIME_LIMIT), ("unfinished", Status.ITERATION_LIMIT)],
)
def test_former_names_compare_equal_and_warn(former: str, now: Status) -> None:
    with pytest.warns(DeprecationWarning, match=str(now)):
        assert now == former
    with pytest.warns(DeprecationWarning):
        assert not (now != former)  # noqa: SIM202
    with pytest.warns(DeprecationWarning):
        assert Status.SATURATED != former  # noqa: SIM300


def test_statuses_that_are_gone_are_named_where_they_are_compared() -> None:
    with pytest.warns(DeprecationWarning, match=r"motion\.arrived"):
        assert Status.OK != "arrived"
