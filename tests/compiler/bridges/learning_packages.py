"""Common tests of both bridges: arrays, gradients, vmap."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest


class Jax:
    name = "jax"

    def __init__(self) -> None:
        self.jax = pytest.importorskip("jax", reason="jax is not installed: pip install 'helicoid[jax]'")
        self.jax.config.update("jax_enable_x64", True)
        self.vmap = self.jax.vmap

    def array(self, value: Any, dtype: type = np.float64) -> Any:
        return self.jax.numpy.asarray(value, dtype)

    def gradient(self, f: Callable[..., Any], xs: Sequence[Any]) -> list[Any]:
        return list(self.jax.grad(f, tuple(range(len(xs))))(*xs))

    def second(self, f: Callable[..., Any], x: Any) -> Any:
        return self.jax.jacrev(self.jax.grad(f))(x)


class Torch:
    name = "torch"

    def __init__(self) -> None:
        self.torch = pytest.importorskip(
            "torch", reason="torch is not installed: pip install 'helicoid[torch]'"
        )
        self.vmap = self.torch.func.vmap

    def array(self, value: Any, dtype: type = np.float64) -> Any:
        return self.torch.as_tensor(np.asarray(value, dtype))

    def gradient(self, f: Callable[..., Any], xs: Sequence[Any]) -> list[Any]:
        leaves = [x.clone().requires_grad_() for x in xs]
        f(*leaves).backward()
        return [leaf.grad for leaf in leaves]

    def second(self, f: Callable[..., Any], x: Any) -> Any:
        return self.torch.func.jacrev(self.torch.func.grad(f))(x)


def bridge(package: Any, function: Any) -> Callable[..., Any]:
    made: Callable[..., Any] = getattr(function, package.name)()
    return made
