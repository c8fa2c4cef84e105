"""Common base of the two libraries that make CasADi functions."""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Callable
from typing import Any

import casadi as ca


def derivative(label: str, tau: Any, q: Any, v: Any, a: Any, options: dict[str, Any]) -> ca.Function:
    """Derivatives of inverse dynamics, as chapter 6 of the urdf2casadi thesis makes them."""
    if label == "dID/dt":
        a_dot = ca.SX.sym("a_dot", a.shape[0])
        rate = ca.jtimes(tau, ca.vertcat(q, v, a), ca.vertcat(v, a, a_dot))
        return ca.Function("rate", [q, v, a, a_dot], [rate], options)
    by = ca.vertcat(q, v, a) if label == "∂ID" else ca.vertcat(q, v)
    return ca.Function("jacobian", [q, v, a], [ca.densify(ca.jacobian(tau, by))], options)


def in_other_thread(make: Callable[[], ca.Function]) -> ca.Function:
    """Make a function that CasADi compiles, in a thread and a folder that are given up afterwards.

    Loading what -Ofast linked makes the thread that does so flush small numbers to zero; it must not be
    this one. The files that CasADi needs meanwhile go to the working directory.
    """
    results: list[Any] = []

    def work() -> None:
        try:
            results.append(make())
        except Exception as error:
            results.append(error)

    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
        finally:
            os.chdir(before)
    if isinstance(results[0], Exception):
        raise results[0]
    return results[0]
