"""`Function.jax()`: compiled batch code as a custom call of XLA, with vjp, vmap and jit."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from helicoid.compiler.bridges.samples import axes_in_front, evaluate
from helicoid.compiler.bridges.xla_ffi import TARGET, kernel_number
from helicoid.compiler.evaluation.arguments import bind
from helicoid.errors import HelicoidError, InputError

if TYPE_CHECKING:
    from helicoid.compiler.function import Function

_NO_DOUBLES = (
    "{name}.jax() computes in double precision, which JAX has turned off: call "
    'jax.config.update("jax_enable_x64", True) before the first array is made, or set JAX_ENABLE_X64=1'
)


def bridged(of: Function, flat: Function) -> Callable[..., Any]:
    """The function of JAX arrays; see `Function.jax` and `bridges.bridge`."""
    core = functools.cache(lambda: _differentiable(flat))

    def run(*given: Any) -> Any:
        lead = axes_in_front(of._usage, of.inputs, [x.shape for x in given])
        dtype = jnp.result_type(*given) if given else jnp.float64
        dtype = dtype if jnp.issubdtype(dtype, jnp.floating) else jnp.float64
        xs, axes = _in_a_row(of, [x.astype(jnp.float64) for x in given], lead)
        results = (jax.vmap(core(), axes) if 0 in axes else core())(*xs)
        shaped = [
            y.reshape(lead + item.shape).astype(dtype) for item, y in zip(of.outputs, results, strict=True)
        ]
        return of._numeric.pack(shaped)

    compiled = jax.jit(run)

    @functools.wraps(run)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not jax.config.jax_enable_x64:
            raise HelicoidError(_NO_DOUBLES.format(name=of.name))
        values = bind(of._usage, of.inputs, args, kwargs)
        if not all(type(x) is _array_type() and x.dtype == np.float64 for x in values):
            values = tuple(_array(of, item.name, x) for item, x in zip(of.inputs, values, strict=True))
        return compiled(*values)

    call.__name__, call.__doc__ = of.name, of.__doc__
    return call


@functools.cache
def _array_type() -> Any:
    """The concrete type of JAX arrays: comparing with it is faster than `isinstance(value, jax.Array)`."""
    return type(jnp.zeros(()))


def _array(of: Function, name: str, value: Any) -> Any:
    try:
        array = value if isinstance(value, jax.Array) else jnp.asarray(value)
    except (TypeError, ValueError) as error:
        raise InputError(f"{of._usage}: input '{name}' must be an array of real numbers: {error}") from error
    if jnp.issubdtype(array.dtype, jnp.floating) or jnp.issubdtype(array.dtype, jnp.integer):
        return array
    raise InputError(f"{of._usage}: input '{name}' must be real numbers; got {array.dtype}")


def _in_a_row(of: Function, xs: list[Any], lead: tuple[int, ...]) -> tuple[list[Any], list[int | None]]:
    """Inputs with one axis in front, or none where all samples share them, and that axis for `jax.vmap`."""
    rows: list[Any] = []
    axes: list[int | None] = []
    for item, x in zip(of.inputs, xs, strict=True):
        shared = all(n == 1 for n in x.shape[: x.ndim - len(item.shape)])
        whole = x if shared else jnp.broadcast_to(x, lead + item.shape)
        rows.append(whole.reshape(item.shape if shared else (math.prod(lead), *item.shape)))
        axes.append(None if shared else 0)
    return rows, axes


def _differentiable(function: Function) -> Callable[..., Any]:
    """A function of one sample, whose gradient is again one: gradients of gradients need no more."""
    call = _custom_call(function)
    vjp = functools.cache(lambda: _differentiable(function.vjp()))
    core = jax.custom_vjp(call)
    core.defvjp(lambda *xs: (core(*xs), xs), lambda xs, y_bars: vjp()(*xs, *y_bars))
    differentiable: Callable[..., Any] = core
    return differentiable


def _custom_call(function: Function) -> Callable[..., Any]:
    """Compiled code where there is some, else a call back to Python."""
    results = tuple(jax.ShapeDtypeStruct(item.shape, jnp.float64) for item in function.outputs)
    number = kernel_number(function)
    if number is None:

        def host(*xs: Any) -> Any:
            return tuple(evaluate(function, [np.asarray(x) for x in xs]))

        return lambda *xs: jax.pure_callback(host, results, *xs, vmap_method="expand_dims")
    attributes = {"kernel": np.int64(number), "rank": np.int64(len(function.outputs[0].shape))}
    call = jax.ffi.ffi_call(TARGET, results, vmap_method="expand_dims")
    return lambda *xs: call(*xs, **attributes)
