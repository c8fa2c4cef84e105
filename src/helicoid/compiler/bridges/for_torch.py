"""`Function.torch()`: compiled batch code as an operation of PyTorch, with vjp, jvp and vmap."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from helicoid.compiler.bridges.samples import axes_in_front, evaluate
from helicoid.compiler.evaluation.arguments import bind
from helicoid.errors import InputError

if TYPE_CHECKING:
    from helicoid.compiler.function import Function


def bridged(of: Function, flat: Function) -> Callable[..., Any]:
    """The function of tensors; see `Function.torch` and `bridges.bridge`."""

    def call(*args: Any, **kwargs: Any) -> Any:
        values = bind(of._usage, of.inputs, args, kwargs)
        xs = [_tensor(of, item.name, value) for item, value in zip(of.inputs, values, strict=True)]
        lead = axes_in_front(of._usage, of.inputs, [tuple(x.shape) for x in xs])
        kinds = [x.dtype for x in values if isinstance(x, torch.Tensor) and x.is_floating_point()]
        dtype = functools.reduce(torch.promote_types, kinds) if kinds else torch.float64
        results = _Call.apply(flat, *(x.to(torch.float64) for x in xs))
        shaped = [y.reshape(lead + item.shape).to(dtype) for item, y in zip(of.outputs, results, strict=True)]
        return of._numeric.pack(shaped)

    call.__name__, call.__doc__ = of.name, of.__doc__
    return call


def _tensor(of: Function, name: str, value: Any) -> torch.Tensor:
    where = f"{of._usage}: input '{name}'"
    if not isinstance(value, torch.Tensor):
        try:
            # Not as PyTorch does it, which would round the numbers of a list to single precision.
            value = torch.as_tensor(np.asarray(value, np.float64))
        except (TypeError, ValueError) as error:
            raise InputError(f"{where} must be a tensor or an array of real numbers: {error}") from error
    if value.device.type != "cpu":
        raise InputError(f"{where} is on {value.device}; functions compute on the CPU: pass {name}.cpu()")
    if value.is_complex() or value.dtype == torch.bool:
        raise InputError(f"{where} must be real numbers; got {value.dtype}")
    return value


class _Call(torch.autograd.Function):
    """One call of a function. Its derivatives are calls of others, and so have derivatives themselves."""

    @staticmethod
    def forward(function: Function, *xs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return tuple(torch.from_numpy(y) for y in evaluate(function, [x.detach().numpy() for x in xs]))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.function, *xs = inputs
        ctx.save_for_backward(*xs)
        ctx.save_for_forward(*xs)

    @staticmethod
    def backward(ctx: Any, *y_bars: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        xs, needed = ctx.saved_tensors, ctx.needs_input_grad[1:]
        names = [item.name for item, want in zip(ctx.function.inputs, needed, strict=True) if want]
        x_bars = iter(_Call.apply(ctx.function.vjp(*names), *xs, *y_bars))
        # What all samples share has the sum of their gradients.
        pairs = zip(xs, needed, strict=True)
        return None, *(next(x_bars).sum_to_size(x.shape) if want else None for x, want in pairs)

    @staticmethod
    def jvp(ctx: Any, _: None, *dxs: torch.Tensor | None) -> tuple[torch.Tensor, ...]:
        given = [item.name for item, dx in zip(ctx.function.inputs, dxs, strict=True) if dx is not None]
        moving = [dx for dx in dxs if dx is not None]
        results: tuple[torch.Tensor, ...] = _Call.apply(ctx.function.jvp(*given), *ctx.saved_tensors, *moving)
        return results

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], function: Function, *xs: torch.Tensor) -> Any:
        own = [len(item.shape) for item in function.inputs]
        at = in_dims[1:]
        axes = max(x.ndim - (d is not None) - n for x, d, n in zip(xs, at, own, strict=True))
        moved = []
        for x, d, n in zip(xs, at, own, strict=True):
            if d is not None:
                x = x.movedim(d, 0)
                missing = axes - (x.ndim - 1 - n)
                x = x.reshape(x.shape[0], *[1] * missing, *x.shape[1:])
            moved.append(x)
        results = _Call.apply(function, *moved)
        return results, (0,) * len(results)
