"""An exported controller, compiled as strictly as compilers can be asked to, and called from Python."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from helicoid.compiler.build.toolchain import FLAGS, find_compiler, native_flags, optimisation_limit
from helicoid.mpc import Controller

STRICT = ("-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror")


def strict_flags() -> list[str]:
    """Those of Python, which decide on the last digits, but C99 and no warning."""
    shared = [flag for flag in FLAGS if not flag.startswith(("-std", "-fvisibility"))]
    return [*STRICT, *shared, *optimisation_limit(), *native_flags(find_compiler().is_zig)]


def built(sources: Sequence[Path], target: Path, *options: str) -> Path:
    """A library or program of sources."""
    command = [*find_compiler().command, *strict_flags(), *options, *map(str, sources)]
    done = subprocess.run([*command, "-o", str(target), "-lm"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return target


class Exported:
    """The C library of a controller, as `model`, with the methods that the controller has."""

    def __init__(self, controller: Controller, folder: Path, *options: str) -> None:
        self.problem, self.robot = controller.problem, controller.problem.robot
        files = controller.export_c(folder, name="model")
        sources = [path for path in files if path.suffix == ".c" and path.name != "main.c"]
        self.library = ctypes.CDLL(str(built(sources, folder / "model.so", "-shared", *options)))
        self.library.model_init.restype = ctypes.c_void_p
        self.library.model_missed.restype = ctypes.c_char_p
        self.library.model_status_text.restype = ctypes.c_char_p
        if hasattr(self.library, "model_disturbance"):
            self.library.model_disturbance.restype = ctypes.POINTER(ctypes.c_double)
        header = (folder / "model.h").read_text()
        words = (line.split() for line in header.splitlines() if line.startswith("#define MODEL_"))
        self.sizes = {word[1].removeprefix("MODEL_"): float(word[2]) for word in words if len(word) > 2}
        self.start_again()

    def start_again(self, shift: int = 0) -> None:
        """A new controller, in memory that begins anywhere."""
        size = int(self.sizes["MEMORY"])
        self._memory = ctypes.create_string_buffer(size + shift)
        at = ctypes.addressof(self._memory) + shift
        assert self.library.model_init(ctypes.c_void_p(at), ctypes.c_size_t(size - 200)) is None
        self.handle = ctypes.c_void_p(self.library.model_init(ctypes.c_void_p(at), ctypes.c_size_t(size)))

    def step(self, *state: np.ndarray) -> np.ndarray:
        parts = [np.ascontiguousarray(part, dtype=np.float64) for part in state]
        tau = np.full(int(self.sizes["TORQUE_SIZE"]), np.nan)
        self.library.model_prepare(self.handle)
        self.library.model_feedback(self.handle, *(ctypes.c_void_p(x.ctypes.data) for x in [*parts, tau]))
        return tau

    def set(self, name: str, values: object) -> int:
        numbers = np.atleast_1d(np.asarray(values, dtype=np.float64))
        address = ctypes.c_void_p(numbers.ctypes.data)
        function = getattr(self.library, f"model_set_{name}")
        return int(function(self.handle, address, ctypes.c_size_t(numbers.size)))

    @property
    def ok(self) -> bool:
        return bool(self.library.model_ok(self.handle))

    @property
    def status(self) -> str:
        return str(self.library.model_status_text(self.library.model_status(self.handle)).decode())

    @property
    def applied(self) -> int:
        return int(self.library.model_applied(self.handle))

    @property
    def disturbance(self) -> np.ndarray:
        values = self.library.model_disturbance(self.handle)
        return np.array(values[: int(self.sizes["TORQUE_SIZE"])])

    @property
    def missed(self) -> tuple[str, float, int] | None:
        amount, node = ctypes.c_double(), ctypes.c_int()
        name = self.library.model_missed(self.handle, ctypes.byref(amount), ctypes.byref(node))
        return None if name is None else (name.decode(), amount.value, node.value)

    @property
    def statistics(self) -> dict[str, float]:
        names = ("iterations", "qp_iterations", "seconds", "cost", "violation", "gap", "step_length")
        values = (ctypes.c_double * 8)()
        self.library.model_get_statistics(self.handle, values)
        return dict(zip((*names, "stationarity"), values, strict=True))
