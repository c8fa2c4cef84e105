"""Crocoddyl on the task of `benchmarks.mpc`, run by an interpreter that has it; prints JSON.

It needs a version of Pinocchio of its own, so it imports nothing of Helicoid: standard input has the task.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from typing import Any

import numpy as np


def build(task: dict[str, Any]) -> Any:
    """The shooting problem: forward dynamics, semi-implicit Euler, with torque limits or without."""
    crocoddyl: Any = importlib.import_module("crocoddyl")
    pin: Any = importlib.import_module("pinocchio")

    whole = pin.buildModelFromUrdf(task["urdf"])
    lock = [i for i, name in enumerate(whole.names) if "finger" in name]
    model = pin.buildReducedModel(whole, lock, pin.neutral(whole))
    state = crocoddyl.StateMultibody(model)
    actuation = crocoddyl.ActuationModelFull(state)
    q0 = np.array(task["q0"])
    x0 = np.concatenate([q0, np.zeros(model.nv)])
    frame = model.getFrameId(task["frame"])

    def action(weights: dict[str, float], dt: float) -> Any:
        costs = crocoddyl.CostModelSum(state)
        residual = crocoddyl.ResidualModelFrameTranslation(state, frame, np.array(task["target"]))
        costs.addCost("position", crocoddyl.CostModelResidual(state, residual), weights["position"])
        error = crocoddyl.ResidualModelState(state, x0)
        split = np.concatenate([np.full(7, weights["posture"]), np.full(7, weights["velocity"])])
        weighted = crocoddyl.ActivationModelWeightedQuad(split)
        costs.addCost("state", crocoddyl.CostModelResidual(state, weighted, error), 1.0)
        if weights["torque"]:
            data = model.createData()
            hold = pin.computeGeneralizedGravity(model, data, q0)
            effort = crocoddyl.ResidualModelControl(state, hold)
            costs.addCost("torque", crocoddyl.CostModelResidual(state, effort), weights["torque"])
        made = crocoddyl.DifferentialActionModelFreeFwdDynamics(state, actuation, costs)
        if task["limit"]:
            made.u_lb, made.u_ub = -np.array(task["limit"]), np.array(task["limit"])
        return crocoddyl.IntegratedActionModelEuler(made, dt)

    running = action(task["path"], task["dt"])
    problem = crocoddyl.ShootingProblem(x0, [running] * task["nodes"], action(task["end"], 0.0))
    problem.nthreads = 1
    solver = (crocoddyl.SolverBoxFDDP if task["limit"] else crocoddyl.SolverFDDP)(problem)
    data = model.createData()
    hold = pin.computeGeneralizedGravity(model, data, q0)
    return problem, solver, x0, hold


def measure(task: dict[str, Any]) -> dict[str, Any]:
    """Times (s) of cold solutions and of warm steps, the cost, and the iterations of a cold solution."""
    problem, solver, x0, hold = build(task)
    n, rng = task["nodes"], np.random.default_rng(0)
    solver.th_stop = 1e-9
    cold, warm = [], []
    for _ in range(task["repeat"]):
        problem.x0 = x0
        start = time.perf_counter()
        solver.solve([x0] * (n + 1), [hold] * n, 100, False)
        cold.append(time.perf_counter() - start)
    result = {"cost": solver.cost, "iterations": solver.iter}
    xs, us, x = list(solver.xs), list(solver.us), x0
    for _ in range(task["steps"]):
        x = np.array(xs[1]) + task["noise"] * rng.normal(size=len(x0))
        xs, us = [x, *xs[2:], xs[-1]], [*us[1:], us[-1]]
        problem.x0 = x
        start = time.perf_counter()
        solver.solve(xs, us, 1, False)
        warm.append(time.perf_counter() - start)
        xs, us = list(solver.xs), list(solver.us)
    return {**result, "cold": cold, "warm": warm}


if __name__ == "__main__":
    json.dump([measure(task) for task in json.load(sys.stdin)], sys.stdout)
