"""Generated C and the C runtimes under sanitizers, and on another processor.

Programs in C without Python: exported functions with their own check, a kernel with its batches, the solver
of a controller, a whole exported controller. `make test-sanitize` runs them, built here with gcc's
sanitizers, and for aarch64 by zig, run by qemu. What a machine has no tools for is skipped, and says which.
"""

from __future__ import annotations

import functools
import importlib.util
import platform
import shutil
import struct
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import helicoid as hc
from helicoid.compiler.build.cache import KERNEL_HEADERS
from helicoid.compiler.build.toolchain import FLAGS
from helicoid.compiler.code.c_source import c_source
from helicoid.compiler.code.program import Program
from helicoid.compiler.function import Function
from helicoid.compiler.symbolic.expressions import flat_function
from helicoid.mpc import Controller
from helicoid.mpc.solver import kernels
from helicoid.mpc.solver.memory import Memory
from mpc.legged import hop, hopper
from random_graphs import every_operation

pytestmark = [pytest.mark.slow, pytest.mark.needs_compiler]
HERE = Path(__file__).parent


@dataclass(frozen=True)
class Machine:
    """How to compile for it and how to run what came out."""

    compiler: tuple[str, ...]
    run: tuple[str, ...] = ()
    lanes: int = 4

    def built(self, sources: list[Path], target: Path, *options: str) -> Path:
        flags = [flag for flag in FLAGS if flag not in ("-fPIC", "-fvisibility=hidden")]
        command = [
            *self.compiler,
            *flags,
            f"-I{KERNEL_HEADERS}",
            *options,
            *map(str, sources),
            "-o",
            str(target),
            "-lm",
        ]
        done = subprocess.run([*command, "-lm"], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return target

    def output(self, program: Path, given: bytes = b"") -> bytes:
        done = subprocess.run([*self.run, str(program)], input=given, capture_output=True, check=False)
        assert done.returncode == 0, (done.stdout + done.stderr).decode(errors="replace")[-3000:]
        return done.stdout


@functools.cache
def machine(name: str) -> Machine:
    if name == "this":
        return Machine(("cc", "-march=native"))
    if name == "sanitizers":
        if shutil.which("gcc") is None:
            pytest.skip("there is no gcc, whose sanitizers are used")
        strict = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-g")
        return Machine(("gcc", "-march=native", *strict))
    emulator = shutil.which("qemu-aarch64") or shutil.which("qemu-aarch64-static")
    if emulator is None:
        pytest.skip("there is no qemu-aarch64 (Debian and Ubuntu have it in qemu-user)")
    if importlib.util.find_spec("ziglang") is None:
        pytest.skip("there is no zig (pip install ziglang)")
    zig = (sys.executable, "-m", "ziglang", "cc", "-target", "aarch64-linux-musl", "-fno-sanitize=undefined")
    return Machine((*zig, "-static"), (emulator,), lanes=2)


@pytest.fixture(params=["sanitizers", "aarch64"])
def other(request: pytest.FixtureRequest) -> Machine:
    return machine(request.param)


def numbers(data: bytes) -> Any:
    return np.frombuffer(data, np.float64)


def assert_same(found: bytes, wanted: bytes) -> None:
    """The same numbers to 1e-12 of the largest, NaN where there is NaN."""
    a, b = numbers(found), numbers(wanted)
    assert a.shape == b.shape and np.array_equal(np.isfinite(a), np.isfinite(b))
    finite = np.isfinite(b)
    assert np.max(np.abs(a[finite] - b[finite])) <= 1e-12 * max(1.0, np.abs(b[finite]).max())


def test_exported_functions_check_themselves(other: Machine, tmp_path: Path) -> None:
    robot = hc.load("planar_2r")
    functions = [robot.inverse_dynamics, robot.forward_dynamics, robot.pose(robot.link_names[-1])]
    for function in functions:
        files = function.export_c(tmp_path / function.name)
        sources = [path for path in files if path.suffix == ".c"]
        told = other.output(other.built(sources, tmp_path / f"{function.name}.out", f"-I{files[0].parent}"))
        assert told.decode().startswith("correct")


def kernel(function: Function, on: Machine, folder: Path) -> Path:
    folder.mkdir()
    flat = flat_function(function.casadi, function.inputs, function.outputs)
    texts = c_source(Program.from_casadi(flat), on.lanes, scalar=True, batch=True)
    units = [folder / f"unit{k}.c" for k in range(len(texts))]
    for path, text in zip(units, texts, strict=True):
        path.write_text(text)
    return on.built([*units, HERE / "kernel_driver.c"], folder / "kernel")


@pytest.mark.parametrize("name", ["planar_2r", "double_pendulum", "every operation"])
def test_a_kernel_gives_the_same_numbers(
    other: Machine, tmp_path: Path, rng: np.random.Generator, name: str
) -> None:
    n = 7  # neither one nor a whole number of groups of lanes
    if name == "every operation":
        every = every_operation()
        x, y = every.sx_in()
        function = Function.from_expressions("every", {"x": x, "y": y}, {"z": every(x, y)})
        values = [rng.uniform(0.1, 0.9, (n, *item.shape)) for item in function.inputs]
    else:
        robot = hc.load(name, base="floating" if name == "double_pendulum" else "fixed")
        function = robot.inverse_dynamics if name == "double_pendulum" else robot.forward_dynamics
        q = np.stack([robot.random(rng) for _ in range(n)])
        values = [q, *(rng.normal(size=(n, robot.nv)) for _ in function.inputs[1:])]
    given = struct.pack("q", n) + b"".join(value.astype(np.float64).tobytes() for value in values)
    wanted, found = (
        on.output(kernel(function, on, tmp_path / str(k)), given)
        for k, on in enumerate([machine("this"), other])
    )
    assert_same(found, wanted)


def reaching(position: bool = False) -> hc.mpc.Problem:
    problem = hc.mpc.Problem(hc.load("planar_2r"), horizon=8, dt=0.05)
    if position:
        problem.add_position_cost("tip", [0.4, 0.0, 0.9], 10.0, 100.0)
    problem.add_posture_cost([0.3, 0.5], 10.0, 100.0)
    problem.add_velocity_cost(0.1, 1.0)
    problem.add_control_cost(1e-3)
    problem.add_limits()
    return problem


def solver(problem: Any, on: Machine, folder: Path) -> Path:
    """The program of a problem: its solver and the functions of its nodes in one."""
    folder.mkdir()
    stages = problem.stages
    driver = (HERE / "solver_driver.c").read_text()
    text = kernels._text(stages)  # with the lanes of this machine, which decide where numbers lie
    main = folder / "main.c"
    main.write_text(f"{text}\n{driver}")
    objects = []
    for k, make in enumerate([stages.stage, stages.values, stages.end, stages.end_values]):
        texts = c_source(Program.from_casadi(make()), on.lanes, scalar=False, batch=True)
        assert len(texts) == 1, "several units would share names with other kernels"
        source = folder / f"kernel{k}.c"
        source.write_text(texts[0])
        objects.append(
            on.built([source], folder / f"kernel{k}.o", "-c", f"-Dhelicoid_kernel_entry=kernel{k}")
        )
    return on.built([main, *objects], folder / "solver", f"-I{kernels.RUNTIME}")


def test_the_solver_of_a_controller_gives_the_same_numbers(other: Machine, tmp_path: Path) -> None:
    compiled = reaching()._compiled
    engine = compiled.engine
    Memory.of(engine).copy_from(compiled.memory)
    engine["x"][...] = engine["initial"][...] = 0.0
    engine.set(tolerance=1e-9, qp_tolerance=1e-11, budget=0.0)
    names = (*kernels.LAYOUT.fields("NODE_FIELDS"), *kernels.LAYOUT.fields("ONCE_FIELDS"))
    given = [struct.pack("q", engine.intervals)]
    for name in names:
        values = engine[name].ravel()
        given += [struct.pack("q", len(name)), name.encode(), struct.pack("q", values.size), values.tobytes()]
    wanted, found = (
        on.output(solver(compiled, on, tmp_path / str(k)), b"".join(given))
        for k, on in enumerate([machine("this"), other])
    )
    assert_same(found, wanted)


@functools.cache
def recorded_loop() -> tuple[bytes, bytes]:
    """A loop in Python with targets that jump and sensors that fail: what the driver reads and writes."""
    controller, robot = Controller(reaching(position=True)), hc.load("planar_2r")
    rng = np.random.default_rng(3)
    x, given, answers = np.array([0.3, 0.8, 0.0, 0.0]), [], []
    for k in range(250):
        if k % 50 == 0:
            target = [0.7 * rng.uniform(-1, 1), 0.0, 1.2 * rng.uniform(-1, 1)]
        measured = x + 1e-4 * rng.normal(size=4)
        if k == 60 or 150 <= k < 170:
            measured[k % 4] = np.nan
        controller.set(position=target)
        tau = controller.step(measured[:2], measured[2:])
        given.append([*target, *measured])
        answers.append([*tau, *controller._engine["outcome"][[1, 2, 4]]])
        v = x[2:] + 0.05 * robot.forward_dynamics(x[:2], x[2:], tau)
        x = np.concatenate([x[:2] + 0.05 * v, v])
    return np.array(given).tobytes(), np.array(answers).tobytes()


@functools.cache
def recorded_jump() -> tuple[bytes, bytes]:
    """The same of a leg that jumps: its foot comes and goes, on ground that rises; blind for a while."""
    controller, (_, q) = Controller(hop()), hopper()
    rng = np.random.default_rng(3)
    x, given, answers = np.concatenate([q, np.zeros(4)]), [], []
    for k in range(40):
        measured = x + 1e-4 * rng.normal(size=8)
        if 20 <= k < 24:
            measured[k % 8] = np.nan
        height = 1e-4 * k
        controller.set(ground_height=height)
        tau = controller.step(measured[:4], measured[4:])
        given.append([height, 0.0, 0.0, *measured])
        answers.append([*tau, *controller._engine["outcome"][[1, 2, 4]]])
        x = controller._engine["x"][1].copy()
    return np.array(given).tobytes(), np.array(answers).tobytes()


def test_contact_phases_on_another_machine(other: Machine, tmp_path: Path) -> None:
    given, wanted = recorded_jump()
    program = exported_controller(other, tmp_path, "-DWITH_FEET", problem=hop())
    found, expected = (numbers(answers).reshape(-1, 7) for answers in (other.output(program, given), wanted))
    np.testing.assert_array_equal(found[:, 4:], expected[:, 4:])
    assert np.median(np.abs(found - expected)) < 1e-12 and np.abs(found - expected).max() < 1e-3


def exported_controller(on: Machine, folder: Path, *options: str, problem: Any = None) -> Path:
    files = Controller(problem or reaching(position=True)).export_c(folder, name="model")
    sources = [path for path in files if path.suffix == ".c" and path.name != "main.c"]
    strict = ("-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror")
    return on.built(
        [*sources, HERE / "controller_driver.c"], folder / "run", f"-I{folder}", *strict, *options
    )


def assert_nearly_same(found: bytes, wanted: bytes) -> None:
    """All steps end alike; most torques are the same, few differ by what a tolerance leaves open."""
    a, b = (numbers(answers).reshape(-1, 5) for answers in (found, wanted))
    np.testing.assert_array_equal(a[:, 2:], b[:, 2:])
    assert np.median(np.abs(a - b)) < 1e-13 and np.abs(a - b).max() < 1e-3


def test_an_exported_controller_on_another_machine(other: Machine, tmp_path: Path) -> None:
    """Without fused operations two processors round alike, and a whole loop is the same to the last digit.

    With them, and beside Python, which has them, the last digit decides whether a quadratic program takes one
    more iteration: such a step may differ by what its tolerance leaves open.
    """
    given, wanted = recorded_loop()
    found = other.output(exported_controller(other, tmp_path / "fused"), given)
    assert_nearly_same(found, wanted)
    if other.run:
        here, there = (
            on.output(exported_controller(on, tmp_path / name, "-ffp-contract=off"), given)
            for on, name in ((machine("this"), "here"), (other, "there"))
        )
        np.testing.assert_array_equal(numbers(there), numbers(here))


def test_an_exported_controller_under_valgrind(tmp_path: Path) -> None:
    if shutil.which("valgrind") is None:
        pytest.skip("there is no valgrind")
    given, wanted = recorded_loop()
    program = exported_controller(machine("this"), tmp_path / "native", "-g")
    np.testing.assert_array_equal(numbers(machine("this").output(program, given)), numbers(wanted))
    known = ("-march=x86-64-v2",) if platform.machine() == "x86_64" else ()  # it knows no AVX-512
    program = exported_controller(machine("this"), tmp_path, "-g", *known)
    checked = Machine((), ("valgrind", "-q", "--error-exitcode=9", "--leak-check=full"))
    assert checked.output(program, given[: 170 * 7 * 8])


def test_an_exported_controller_without_vectors(tmp_path: Path) -> None:
    """As for a compiler that knows none of gcc's extensions."""
    given, wanted = recorded_loop()
    found = machine("this").output(exported_controller(machine("this"), tmp_path, "-DPLAIN_C"), given)
    assert_nearly_same(found, wanted)
