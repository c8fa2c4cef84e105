"""Former names that still work for one version, with a warning that gives the present one."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

_REMOVAL = "the former name will be removed in 0.3"


def warn_renamed(former: str, now: str, stacklevel: int = 3) -> None:
    """Warn that a name has changed, at the line of the caller's caller."""
    warnings.warn(f"{former} is called {now} now; {_REMOVAL}", DeprecationWarning, stacklevel=stacklevel)


def renamed_arguments(**names: str) -> Callable[[F], F]:
    """Let a function take keyword arguments by their former names: `former="now"`.

    >>> @renamed_arguments(damping="damping_ratio")
    ... def law(damping_ratio=1.0):
    ...     return damping_ratio
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     print(law(damping=0.7), caught[0].message)
    0.7 damping is called damping_ratio now; the former name will be removed in 0.3
    """

    def decorate(function: F) -> F:
        @functools.wraps(function)
        def call(*arguments: Any, **keywords: Any) -> Any:
            for former, now in names.items():
                if former in keywords:
                    if now in keywords:
                        raise TypeError(f"{former} and {now} are the same argument: give {now} alone")
                    warn_renamed(former, now)
                    keywords[now] = keywords.pop(former)
            return function(*arguments, **keywords)

        return call  # type: ignore[return-value]

    return decorate


def former_order(*names: str) -> Callable[[F], F]:
    """Let a constructor take positional arguments in their former order, given from the first one that moved.

    The argument that stood first, `names[0]`, is a required keyword now: a call without that keyword uses the
    former order. Positional arguments before it are the same in both orders.

    >>> class Law:
    ...     @former_order("dt", "gain")
    ...     def __init__(self, robot, gain=1.0, *, dt):
    ...         self.gain, self.dt = gain, dt
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     law = Law("arm", 0.01, 5.0)
    >>> law.gain, law.dt
    (5.0, 0.01)
    >>> print(caught[0].message)
    Law(robot, dt, gain) is called Law(robot, gain, *, dt) now; the former order will be removed in 0.3
    """

    def decorate(function: F) -> F:
        parameters = list(inspect.signature(function).parameters.values())[1:]  # without self
        common = next(k for k, one in enumerate(parameters) if one.name in names)
        fixed = [one.name for one in parameters[:common]]

        @functools.wraps(function)
        def call(self: Any, *arguments: Any, **keywords: Any) -> Any:
            moved = arguments[common:]
            if names[0] not in keywords and 0 < len(moved) <= len(names):
                law, order = (
                    type(self).__name__,
                    [one.name for one in parameters[common:] if one.name in names],
                )
                former = ", ".join([*fixed, *names])
                now = ", ".join([*fixed, *(name for name in order if name != names[0]), "*", names[0]])
                warnings.warn(
                    f"{law}({former}) is called {law}({now}) now; the former order will be removed in 0.3",
                    DeprecationWarning,
                    stacklevel=2,
                )
                arguments, named = arguments[:common], dict(zip(names, moved, strict=False))
                if repeated := named.keys() & keywords.keys():
                    raise TypeError(f"{law} got multiple values for {sorted(repeated)[0]!r}")
                keywords |= named
            return function(self, *arguments, **keywords)

        return call  # type: ignore[return-value]

    return decorate


def former_attribute(former: str, now: str) -> Any:
    """Read-only attribute under its former name: `details = former_attribute("details", "message")`."""

    def read(self: Any) -> Any:
        warn_renamed(f"{type(self).__name__}.{former}", now)
        return getattr(self, now)

    return property(read, doc=f"Former name of `{now}`.")
