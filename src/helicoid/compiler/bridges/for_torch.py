"""`Function.torch()`: compiled batch code as an operation of PyTorch, with vjp, jvp and vmap."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch.autograd import forward_ad

from helicoid._typing import Array
from helicoid.compiler.bridges.samples import axes_in_front, evaluate
from helicoid.compiler.evaluation.arguments import bind
from helicoid.errors import InputError

if TYPE_CHECKING:
    from helicoid.compiler.function import Function


# Not public, so it may be gone: then every call is taken for one inside torch.func, right but slower.
_inside_torch_func: Callable[[], bool] = getattr(torch._C, "_are_functorch_transforms_active", lambda: True)


def bridged(of: Function, flat: Function) -> Callable[..., Any]:
    """The function of tensors; see `Function.torch` and `bridges.bridge`."""
    reshaped = any(one.shape != other.shape for one, other in zip(of.outputs, flat.outputs, strict=True))

    def call(*args: Any, **kwargs: Any) -> Any:
        values: Sequence[Any] = bind(of._usage, of.inputs, args, kwargs)
        dtype = torch.float64
        if not all(isinstance(x, torch.Tensor) and x.dtype is dtype and x.is_cpu for x in values):
            values, dtype = _converted(of, values)
        lead = axes_in_front(of._usage, of.inputs, [x.shape for x in values])
        results = _apply(flat, values)
        if reshaped:
            results = [y.reshape(lead + item.shape) for item, y in zip(of.outputs, results, strict=True)]
        if dtype is not torch.float64:
            results = [y.to(dtype) for y in results]
        return of._numeric.pack(results)

    call.__name__, call.__doc__ = of.name, of.__doc__
    return call


def _converted(of: Function, values: Sequence[Any]) -> tuple[list[torch.Tensor], torch.dtype]:
    """Values as tensors of double precision, and the type that results are to have."""
    xs = [_tensor(of, item.name, value) for item, value in zip(of.inputs, values, strict=True)]
    kinds = [x.dtype for x in values if isinstance(x, torch.Tensor) and x.is_floating_point()]
    dtype = functools.reduce(torch.promote_types, kinds) if kinds else torch.float64
    return [x.to(torch.float64) for x in xs], dtype


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


def _apply(
    function: Function, xs: Sequence[torch.Tensor], known: Sequence[Array] = ()
) -> Sequence[torch.Tensor]:
    """Call a function; PyTorch records the call only where it is differentiated or mapped, which takes time.

    Args:
        known: the arrays of the first of xs, where they exist already.
    """
    if _inside_torch_func():
        return _Transformed.apply(function, *xs)
    recorded = torch.is_grad_enabled() and any(x.requires_grad for x in xs)
    if recorded or forward_ad._current_level >= 0:
        return _Recorded.apply(function, *xs)
    return _computed(function, [*known, *_arrays(xs[len(known) :])])


def _arrays(xs: Sequence[torch.Tensor]) -> list[Array]:
    return [x.detach().numpy() if x.requires_grad else x.numpy() for x in xs]


def _computed(function: Function, arrays: Sequence[Array]) -> tuple[torch.Tensor, ...]:
    return tuple(map(torch.from_numpy, evaluate(function, arrays)))


@functools.lru_cache(maxsize=256)
def _pullback(function: Function, needed: tuple[bool, ...]) -> Function:
    names = [item.name for item, want in zip(function.inputs, needed, strict=True) if want]
    return function.vjp(*names)


def _summed(x_bar: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Sum of the gradients over the samples, for an input that all of them share."""
    return x_bar if x_bar.shape == x.shape else x_bar.sum_to_size(x.shape)


def _save(ctx: Any, function: Function, xs: Sequence[torch.Tensor]) -> None:
    ctx.function = function
    ctx.save_for_backward(*xs)
    ctx.save_for_forward(*xs)


class _Recorded(torch.autograd.Function):
    """One call of a function. Its derivatives are calls of others, and so have derivatives themselves."""

    @staticmethod
    def forward(ctx: Any, function: Function, *xs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        _save(ctx, function, xs)
        ctx.arrays = _arrays(xs)
        return _computed(function, ctx.arrays)

    @staticmethod
    def backward(ctx: Any, *y_bars: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        xs, needed = ctx.saved_tensors, ctx.needs_input_grad[1:]  # raises where xs were overwritten meanwhile
        arrays = vars(ctx).pop("arrays", ())  # PyTorch frees xs after the first time, and so do we
        results = _apply(_pullback(ctx.function, needed), [*xs, *y_bars], arrays)
        if all(needed) and [y.shape for y in results] == [x.shape for x in xs]:
            return None, *results
        x_bars = iter(results)
        pairs = zip(xs, needed, strict=True)
        return None, *(_summed(next(x_bars), x) if want else None for x, want in pairs)

    @staticmethod
    def jvp(ctx: Any, _: None, *dxs: torch.Tensor | None) -> Sequence[torch.Tensor]:
        given = [item.name for item, dx in zip(ctx.function.inputs, dxs, strict=True) if dx is not None]
        moving = [dx for dx in dxs if dx is not None]
        return tuple(_apply(ctx.function.jvp(*given), [*ctx.saved_tensors, *moving]))


class _Transformed(torch.autograd.Function):
    """As `_Recorded` inside `torch.func`, which needs `setup_context`: some 40 µs more."""

    @staticmethod
    def forward(function: Function, *xs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return _computed(function, _arrays(xs))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        _save(ctx, inputs[0], inputs[1:])

    backward, jvp = staticmethod(_Recorded.backward), staticmethod(_Recorded.jvp)

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
        results = _apply(function, moved)
        return results, (0,) * len(results)
