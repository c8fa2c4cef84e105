"""What JAX and PyTorch add to a call: `make bench-bridges`, or `python -m benchmarks.bridges` where they are.

Inverse dynamics of a Panda for a batch, and its gradient: the bare call of the compiled function, then
through each package, in turns and on one thread. Medians over rounds, and the part that the package adds.
"""

from __future__ import annotations

import argparse
import importlib.util
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import helicoid as hc

Calls = dict[str, Callable[[], Any]]


def bare(f: hc.Function, values: Any, seed: Any) -> Calls:
    vjp = f.vjp()
    return {"value": lambda: f(*values), "gradient": lambda: vjp(*values, seed)}


def through_torch(f: hc.Function, values: Any, seed: Any) -> Calls:
    import torch

    g, weights = f.torch(), torch.tensor(seed)
    xs = [torch.tensor(x) for x in values]
    leaves = [x.clone().requires_grad_() for x in xs]
    y = g(*leaves)
    return {
        "value": lambda: g(*xs),
        "gradient": lambda: torch.autograd.grad(y, leaves, weights, retain_graph=True),
    }


def through_jax(f: hc.Function, values: Any, seed: Any) -> Calls:
    import jax

    jax.config.update("jax_enable_x64", True)
    g, weights = f.jax(), jax.numpy.asarray(seed)
    xs = [jax.numpy.asarray(x) for x in values]
    pullback = jax.jit(jax.vjp(g, *xs)[1])
    return {
        "value": lambda: jax.block_until_ready(g(*xs)),
        "gradient": lambda: jax.block_until_ready(pullback(weights)),
    }


def measure(n: int, rounds: int, each: int) -> dict[tuple[str, str], float]:
    """Seconds of one call, by what is computed and by what calls it."""
    hc.set_num_threads(1)
    robot, rng = hc.load("panda"), np.random.default_rng(0)
    values, seed = list(rng.normal(size=(3, n, 7))), rng.normal(size=(n, 7))
    ways = {"bare": bare, "torch": through_torch, "jax": through_jax}
    here = {name: way for name, way in ways.items() if name == "bare" or importlib.util.find_spec(name)}
    made = {name: way(robot.inverse_dynamics, values, seed) for name, way in here.items()}
    times: dict[tuple[str, str], list[float]] = {}
    for _ in range(rounds):
        for what in ("value", "gradient"):
            for name, calls in made.items():
                began = time.perf_counter()
                for _ in range(each):
                    calls[what]()
                times.setdefault((what, name), []).append((time.perf_counter() - began) / each)
    return {key: float(np.median(found)) for key, found in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=4096)
    parser.add_argument("--rounds", type=int, default=101)
    options = parser.parse_args()
    found = measure(options.samples, options.rounds, 5)
    for (what, name), seconds in found.items():
        more = seconds / found[what, "bare"] - 1
        print(f"{what:10} {name:6} {1e6 * seconds:8.0f} µs  {'' if name == 'bare' else f'{more:+.0%}'}")


if __name__ == "__main__":
    main()
