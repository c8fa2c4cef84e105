"""Physics engines beside Helicoid's own, for `hc.simulate(..., engine=...)`: one folder each."""

from __future__ import annotations

from typing import Literal, get_args

Engine = Literal["helicoid", "mujoco"]

ENGINES: tuple[str, ...] = get_args(Engine)
