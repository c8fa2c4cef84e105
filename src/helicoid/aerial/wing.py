"""Geometry of a wing, and its stall."""

from __future__ import annotations

from dataclasses import dataclass

from helicoid.aerial.checks import check_positive


@dataclass(frozen=True)
class Wing:
    """Wing: area S (m²), span b (m), mean chord c (m), Oswald efficiency e, and stall.

    Beyond the angle `stall` (rad) lift blends into that of a flat plate, with the rate `blend` (1/rad).
    """

    area: float
    span: float
    chord: float
    efficiency: float = 0.9
    stall: float = 0.47
    blend: float = 50.0

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            check_positive(f"a wing's {name}", value)

    @property
    def aspect_ratio(self) -> float:
        """b²/S."""
        return self.span**2 / self.area
