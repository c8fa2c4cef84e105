"""Overhead of a call through JAX and PyTorch: `make bench-bridges` or `python -m benchmarks.bridges`.

Inverse dynamics of a Panda for a batch, and the same with its gradient, as in a step of training: the bare
calls of the compiled functions, which allocate their results, then through each package, in turns and on one
thread. With gradients there is also an operation of PyTorch that fills nothing: what autograd itself
takes. The best of some turns of many calls each, which a busy machine changes least, and what a package adds.
"""

from __future__ import annotations

import argparse
import importlib.util
import timeit
from collections.abc import Callable
from typing import Any

import numpy as np

import helicoid as hc

Calls = dict[str, Callable[[], Any]]

_CALLS_PER_ROUND = 200  # calls


def bare(f: hc.Function, values: Any, seed: Any) -> Calls:
    vjp, out = f.vjp(), np.empty_like(seed)
    return {
        "value": lambda: f(*values),
        "value, out=": lambda: f(*values, out=out),
        "step": lambda: (f(*values), vjp(*values, seed)),
    }


def through_torch(f: hc.Function, values: Any, seed: Any) -> Calls:
    import torch

    class Nothing(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, *xs: Any) -> Any:
            ctx.save_for_backward(*xs)
            return torch.empty_like(xs[0])

        @staticmethod
        def backward(ctx: Any, y_bar: Any) -> Any:
            return tuple(map(torch.empty_like, ctx.saved_tensors))

    g, weights = f.torch(), torch.tensor(seed)
    xs = [torch.tensor(x) for x in values]
    leaves = [x.clone().requires_grad_() for x in xs]
    return {
        "value": lambda: g(*xs),
        "step": lambda: torch.autograd.grad(g(*leaves), leaves, weights),
        "step, nothing": lambda: torch.autograd.grad(Nothing.apply(*leaves), leaves, weights),
    }


def through_jax(f: hc.Function, values: Any, seed: Any) -> Calls:
    import jax

    jax.config.update("jax_enable_x64", True)
    g, weights = f.jax(), jax.numpy.asarray(seed)
    xs = [jax.numpy.asarray(x) for x in values]

    @jax.jit
    def step(xs: Any, weights: Any) -> Any:
        y, pullback = jax.vjp(g, *xs)
        return y, pullback(weights)

    return {
        "value": lambda: g(*xs).block_until_ready(),
        "step": lambda: jax.block_until_ready(step(xs, weights)),
    }


def measure(n: int, rounds: int) -> dict[tuple[str, str], float]:
    """Seconds of one call, by what is computed and by what calls it."""
    hc.set_num_threads(1)
    robot, rng = hc.load("panda"), np.random.default_rng(0)
    values, seed = list(rng.normal(size=(3, n, 7))), rng.normal(size=(n, 7))
    ways = {"bare": bare, "torch": through_torch, "jax": through_jax}
    here = {name: way for name, way in ways.items() if name == "bare" or importlib.util.find_spec(name)}
    made = {name: way(robot.inverse_dynamics, values, seed) for name, way in here.items()}
    calls = {(what, name): call for name, some in made.items() for what, call in some.items()}
    best = dict.fromkeys(calls, np.inf)
    for _ in range(rounds):
        for key, call in calls.items():
            best[key] = min(best[key], *timeit.repeat(call, number=1, repeat=_CALLS_PER_ROUND))
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=4096)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    found = measure(options.samples, options.rounds)
    print(f"{options.samples} samples, one thread; best call of {options.rounds} turns of {_CALLS_PER_ROUND}")
    for (what, name), seconds in sorted(found.items()):
        known = found.get((what, "bare"))
        more = "" if known is None or name == "bare" else f"{seconds / known - 1:+.0%}"
        print(f"{what:14} {name:6} {1e6 * seconds:8.0f} µs  {more}")


if __name__ == "__main__":
    main()
