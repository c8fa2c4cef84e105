from __future__ import annotations

from helicoid.identification.threads import _controls, one_blas_thread


def test_the_number_of_threads_is_one_inside_and_as_before_outside() -> None:
    before = [getter() for getter, _ in _controls()]
    with one_blas_thread():
        assert all(getter() == 1 for getter, _ in _controls())
    assert [getter() for getter, _ in _controls()] == before
