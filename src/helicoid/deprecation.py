"""Former names that still work for one version, with a warning that gives the present one."""

from __future__ import annotations

import functools
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
    >>> with warnings.catch_warnings(record=True) as told:
    ...     warnings.simplefilter("always")
    ...     print(law(damping=0.7), told[0].message)
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


def former_attribute(former: str, now: str) -> Any:
    """Read-only attribute under its former name: `details = former_attribute("details", "message")`."""

    def read(self: Any) -> Any:
        warn_renamed(f"{type(self).__name__}.{former}", now)
        return getattr(self, now)

    return property(read, doc=f"Former name of `{now}`.")
