from __future__ import annotations

from threadpoolctl import threadpool_info

from helicoid.identification.linear.blas import one_blas_thread


def threads() -> list[int]:
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


def test_the_number_of_threads_is_one_inside_and_as_before_outside() -> None:
    before = threads()
    with one_blas_thread():
        assert before
        assert set(threads()) == {1}
    assert threads() == before
