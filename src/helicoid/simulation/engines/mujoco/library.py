"""MuJoCo's shared library: addresses of its functions, headers, and calls that survive its fatal errors."""

from __future__ import annotations

import ctypes
import threading
from functools import cache
from pathlib import Path
from typing import Any

from helicoid.compiler import compile_runtime
from helicoid.errors import HelicoidError, optional_import

REQUIREMENT = "helicoid[mujoco]"
RUNTIME = Path(__file__).parent / "runtime"

_guarding = threading.Lock()
_active = 0
_former: tuple[int | None, int | None] = None, None


def mujoco_module() -> Any:
    """The module `mujoco`.

    Raises:
        HelicoidError: it is not installed.
    """
    return optional_import("mujoco", "engine='mujoco'", REQUIREMENT)


@cache
def shared_library() -> ctypes.CDLL:
    """The library that the module `mujoco` has loaded.

    Raises:
        HelicoidError: it is not where the wheels have it.
    """
    folder = Path(mujoco_module().__file__).parent
    found = [*folder.glob("libmujoco*"), *folder.glob("mujoco.dll")]
    if not found:
        raise HelicoidError(f"engine='mujoco': there is no library of MuJoCo in {folder}")
    return ctypes.CDLL(str(found[0]))


def headers() -> Path:
    """The folder with `mujoco/mujoco.h`."""
    return Path(mujoco_module().__file__).parent / "include"


def address(name: str) -> int:
    """Address of a function of MuJoCo."""
    return int(ctypes.cast(getattr(shared_library(), name), ctypes.c_void_p).value or 0)


def guarded(run: Any, argument: Any) -> None:
    """Call `run(argument)` of a C library, in which MuJoCo is called.

    Raises:
        HelicoidError: MuJoCo ended with a fatal error.
    """
    guard = _guard()
    _install(guard, 1)
    try:
        message = guard.hc_mujoco_guard(ctypes.cast(run, ctypes.c_void_p), argument)
    finally:
        _install(guard, -1)
    if message is not None:
        raise HelicoidError(f"MuJoCo: {message.decode(errors='replace')}")


@cache
def _guard() -> ctypes.CDLL:
    text = '#include "guard.c"\n'
    found = compile_runtime("the simulation in MuJoCo", text, RUNTIME / "guard").library
    found.hc_mujoco_guard.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    found.hc_mujoco_guard.restype = ctypes.c_char_p
    return found


def _install(guard: ctypes.CDLL, change: int) -> None:
    """Handlers of errors and warnings while guarded calls run, of any thread; those before come back."""
    global _active, _former
    with _guarding:
        pointers = [
            ctypes.c_void_p.in_dll(shared_library(), name) for name in ("mju_user_error", "mju_user_warning")
        ]
        if change > 0 and _active == 0:
            _former = pointers[0].value, pointers[1].value
            for pointer, name in zip(pointers, ("hc_mujoco_error", "hc_mujoco_warning"), strict=True):
                pointer.value = ctypes.cast(getattr(guard, name), ctypes.c_void_p).value
        _active += change
        if _active == 0:
            for pointer, value in zip(pointers, _former, strict=True):
                pointer.value = value
