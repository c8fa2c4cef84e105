"""Result of a commissioning, and its record on disk."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from helicoid._typing import Array
from helicoid.commissioning.controllers import CommissionedControllers
from helicoid.commissioning.delay import LoopDelay
from helicoid.commissioning.margins import LoopMargins
from helicoid.commissioning.plant.recording import Recording
from helicoid.commissioning.status import CommissioningStatus
from helicoid.commissioning.validation import Validation
from helicoid.errors import HelicoidError
from helicoid.identification.result import Identification
from helicoid.robot import Robot

REPORT, RECORD = "report.html", "commissioning.json"


@dataclass(frozen=True)
class CommissioningStep:
    """A step of the procedure: its name, what came of it, and its figures."""

    name: str
    outcome: str
    figures: Mapping[str, Any] = field(default_factory=dict)


@dataclass(eq=False)
class Commissioning:
    """Result of `hc.commission`, complete or up to the step that was doubtful.

    Attributes:
        nominal: the robot as described.
        out: the folder with recordings, `identified.urdf`, `identification.html`, `report.html` and
            `commissioning.json`.
        status: a `CommissioningStatus`, which has a `remedy`.
        message: one sentence on it.
        steps: the steps that were completed.
        recordings: motions by name, up to a stop.
        delay: of the loop.
        identification: of the last model, a result of `hc.identify`.
        validation: predictions and tracking of a motion that was not fitted.
        frequency: ω of the joint loops (rad/s); `margins` are theirs, for an inertia that is wrong by a share
            `uncertainty`.
        detects: least torque from outside that the observer detects at each joint (N·m, N).
        controllers: None where the procedure stopped before.
        settings: of the motions.
        simulated: whether the plant was `hc.Plant`: a rehearsal.
    """

    nominal: Robot
    out: Path
    period: float
    status: CommissioningStatus = CommissioningStatus.OK
    message: str = ""
    steps: list[CommissioningStep] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    recordings: dict[str, Recording] = field(default_factory=dict)
    delay: LoopDelay | None = None
    identification: Identification | None = None
    validation: Validation | None = None
    frequency: float = 0.0
    uncertainty: float = 0.0
    margins: LoopMargins | None = None
    detects: Array = field(default_factory=lambda: np.zeros(0))
    controllers: CommissionedControllers | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    simulated: bool = False

    @property
    def success(self) -> bool:
        """Whether every step ended without doubt."""
        return self.status == CommissioningStatus.OK and self.controllers is not None

    @property
    def remedy(self) -> str:
        """What to do about the status."""
        return self.status.remedy

    @property
    def robot(self) -> Robot:
        """The identified robot; the described one where the procedure stopped before."""
        return self.nominal if self.identification is None else self.identification.robot

    @property
    def report(self) -> Path:
        """The HTML page."""
        return self.out / REPORT

    def keep_stopped(self, recording: Recording | None) -> None:
        """Save the samples of a motion that broke off, if there are any."""
        if recording is not None and len(recording):
            recording.save(self.out / "stopped.npz")
            self.recordings["stopped"] = recording

    def write(self) -> None:
        """Write the record and the page, with whatever there is.

        Raises:
            HelicoidError: they cannot be written.
        """
        from helicoid.commissioning.report import report_page
        from helicoid.pages.html_page import write_page

        record = {
            "robot": self.nominal.name,
            "settings": _plain(dict(self.settings)),
            "status": str(self.status),
            "message": self.message,
            "remedy": self.remedy,
            "steps": [
                {"name": one.name, "outcome": one.outcome, "figures": _plain(dict(one.figures))}
                for one in self.steps
            ],
            "notes": self.notes,
        }
        try:
            (self.out / RECORD).write_text(json.dumps(record, indent=1, ensure_ascii=False), encoding="utf-8")
        except OSError as error:
            raise HelicoidError(f"{self.out}: cannot be written: {error}") from error
        write_page(self.report, report_page(self))

    def __repr__(self) -> str:
        done = ", ".join(one.name for one in self.steps) or "nothing"
        return f"Commissioning({self.nominal.name!r}, {self.status}: {self.message}; completed: {done})"


def remove_former(out: Path) -> None:
    """Remove what a former commissioning left in a folder: files of different runs must not be mixed."""
    recordings = [f"{name}.npz" for name in ("first_motion", "excitation", "validation", "stopped")]
    for name in (*recordings, "identified.urdf", "identification.html", RECORD, REPORT):
        with suppress(OSError):
            (out / name).unlink()


def _plain(value: Any) -> Any:
    """Numbers and lists as JSON has them; infinity and NaN become None."""
    if isinstance(value, dict):
        return {key: _plain(x) for key, x in value.items()}
    if isinstance(value, np.ndarray | list | tuple):
        return [_plain(x) for x in np.asarray(value).tolist()]
    if isinstance(value, float | np.floating):
        return float(value) if np.isfinite(value) else None
    return value
