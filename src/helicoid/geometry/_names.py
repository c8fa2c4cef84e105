"""The words that name a frame in arguments, checked."""

from __future__ import annotations

from typing import Literal, TypeAlias

from helicoid.errors import InputError

Frame: TypeAlias = Literal["body", "world"]


def check_frame(expressed_in: str) -> None:
    """An InputError unless the word is "body" or "world"."""
    if expressed_in not in ("body", "world"):
        raise InputError(f'expressed_in is {expressed_in!r}; "body" or "world" is right')
