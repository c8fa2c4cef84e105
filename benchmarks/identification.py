"""Identification against Pinocchio and NumPy, ratios measured in one run.

Started by `python -m benchmarks.identification`; with OPENBLAS_NUM_THREADS=1 for a fair comparison on
a machine that does other work too. Rows: the dense regressor of all samples; regressor and least squares,
fused block by block here, a loop and `numpy.linalg.lstsq` there; the semidefinite program; a
million samples streamed.
"""

from __future__ import annotations

import resource
import statistics
import tempfile
import time
from collections.abc import Callable

import numpy as np

import helicoid as hc
from helicoid._typing import Array
from helicoid.dynamics.physics import SMOOTHING
from helicoid.identification.linear.blas import one_blas_thread
from helicoid.identification.linear.equations.regression import Regression
from helicoid.identification.linear.equations.stack import BLOCK, Stack
from helicoid.identification.linear.solving.consistent import consistent
from helicoid.identification.linear.solving.whitened_coordinates import whitened_coordinates
from helicoid.robot import Robot

SAMPLES = 10_000
MANY = 1_000_000
ROUNDS = 5


def states(robot: Robot, n: int, seed: int = 0) -> tuple[Array, Array, Array]:
    """Random configurations, velocities and accelerations of an arm."""
    rng = np.random.default_rng(seed)
    lower, upper = robot.limits.lower, robot.limits.upper
    q = rng.uniform(lower, upper, (n, robot.nq))
    return q, rng.normal(size=(n, robot.nv)), rng.normal(size=(n, robot.nv))


def alternating(*works: Callable[[], object]) -> list[float]:
    """Median time (s) of each function, measured interleaved so that load affects all alike."""
    times: list[list[float]] = [[] for _ in works]
    for _ in range(ROUNDS + 1):
        for own, work in zip(times, works, strict=True):
            start = time.perf_counter()
            work()
            own.append(time.perf_counter() - start)
    return [statistics.median(own[1:]) for own in times]


def stacked(regression: Regression, q: Array, v: Array, a: Array, y: Array) -> Stack:
    """The stack of samples, block by block."""
    stack = Stack.empty(regression)
    for start in range(0, len(q), BLOCK):
        part = slice(start, start + BLOCK)
        stack = stack.added(regression.rows(q[part], v[part], a[part]), y[part])
    return stack


def streamed(regression: Regression, n: int) -> float:
    """Stack n samples that are made as they are needed; the time (s) without making them."""
    stack, spent = Stack.empty(regression), 0.0
    for k in range(0, n, BLOCK * 16):
        q, v, a = states(regression.robot, min(BLOCK * 16, n - k), seed=k)
        y = np.asarray(regression.robot.inverse_dynamics(q, v, a))
        start = time.perf_counter()
        stack = stack + stacked(regression, q, v, a, y)
        spent += time.perf_counter() - start
    return spent


def by_default(robot: Robot, n: int = 20_000, rate: float = 1000.0) -> tuple[float, float]:
    """Processor and wall time (s) of `hc.identify` with its defaults on a log with noise and friction."""
    rng, t = np.random.default_rng(0), np.arange(n) / rate
    low, high = robot.limits.lower, robot.limits.upper
    q, v, a = np.zeros((3, n, robot.nv))
    q += (low + high) / 2
    for h in range(5):
        ω, φ = 0.3 * np.pi * (h + rng.uniform(0.7, 1.3, robot.nv)), rng.uniform(0, 6, robot.nv)
        size = 0.1 * (high - low) * rng.uniform(0.5, 1, robot.nv)
        phase = ω * t[:, None] + φ
        q += size * np.sin(phase)
        v += size * ω * np.cos(phase)
        a -= size * ω**2 * np.sin(phase)
    real = robot.with_parameters(
        robot.parameters.values * np.repeat(rng.uniform(0.8, 1.2, robot.n_bodies), 10)
    )
    tau = np.asarray(real.inverse_dynamics(q, v, a)) + 0.5 * v + 0.8 * np.tanh(v / 0.02)
    tau += 0.02 * np.sqrt(np.mean(tau**2, axis=0)) * rng.normal(size=tau.shape)
    log = hc.Log.from_arrays(t, q, v + 0.003 * rng.normal(size=v.shape), tau=tau)
    hc.identify(robot, log[: n // 5], progress=False)  # compiles what it needs
    cpu, wall = time.process_time(), time.perf_counter()
    hc.identify(robot, log, progress=False)
    return time.process_time() - cpu, time.perf_counter() - wall


def main() -> None:
    """Print the table."""
    import pinocchio as pin

    robot = hc.load("panda")
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/panda.urdf"
        robot.to_urdf(path)
        model = pin.buildModelFromUrdf(path)
    data = model.createData()
    q, v, a = states(robot, SAMPLES)
    tau = np.asarray(robot.inverse_dynamics(q, v, a)) + np.random.default_rng(1).normal(size=v.shape)
    regression = Regression(robot, ("inertia", "viscous", "coulomb", "offset"))
    dense = np.empty((SAMPLES, robot.nv, 10 * robot.n_bodies))
    theirs = np.empty_like(dense)
    stacked = np.zeros((SAMPLES, robot.nv, len(regression.parameters)))

    def loop() -> Array:
        for k in range(SAMPLES):
            theirs[k] = pin.computeJointTorqueRegressor(model, data, q[k], v[k], a[k])
        return theirs

    def solved() -> object:
        stacked[:, :, : dense.shape[2]] = loop()
        diagonal = np.arange(robot.nv)
        for k, columns in enumerate((v, np.tanh(v / SMOOTHING), np.ones_like(v))):
            stacked[:, diagonal, dense.shape[2] + k * robot.nv + diagonal] = columns
        return np.linalg.lstsq(stacked.reshape(-1, stacked.shape[2]), tau.ravel(), rcond=None)

    def fused() -> object:
        with one_blas_thread():
            factor = stacked(regression, q, v, a, tau).combined()
            return np.linalg.lstsq(factor.R, factor.z, rcond=1e-9)

    robot.compile("regressor", "inverse_dynamics", batch=True)
    stack = stacked(Regression(robot), q, v, a, tau)
    full = Regression(robot)
    factor = stack.combined()
    own = whitened_coordinates(full, factor)
    t_dense, t_loop = alternating(lambda: robot.regressor(q, v, a, out=dense), loop)
    t_fused, t_solved = alternating(fused, solved)
    with one_blas_thread():
        (t_program,) = alternating(lambda: consistent(full, factor, own, 10.0))
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        t_many = streamed(full, MANY)
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    t_cpu, t_wall = by_default(robot)
    unknowns = len(regression.parameters)
    print(f"{SAMPLES} samples of a {robot.nv}-joint arm, least squares for {unknowns} parameters")
    print(f"{'':34}{'Helicoid':>10}{'peer':>10}{'ratio':>8}")
    print(f"{'dense regressor':34}{t_dense:9.4f}s{t_loop:9.4f}s{t_loop / t_dense:8.1f}")
    print(f"{'regressor and least squares':34}{t_fused:9.4f}s{t_solved:9.4f}s{t_solved / t_fused:8.1f}")
    print(f"{'semidefinite fit':34}{t_program:9.4f}s")
    print(f"{'hc.identify, 20000 samples':34}{t_wall:9.2f}s   processor time {t_cpu:.2f} s")
    print(f"{f'{MANY} samples streamed':34}{t_many:9.2f}s   memory grew by {grown:.0f} MB")


if __name__ == "__main__":
    main()
