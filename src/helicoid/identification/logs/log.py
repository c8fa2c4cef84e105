"""Log of a robot: times, motion, and torques or wrenches."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array
from helicoid.arrays import file_name, float_array, shown
from helicoid.errors import InputError
from helicoid.identification.logs.columns import COMMANDS, KINDS, PREFIXES, TIMES, chosen_columns
from helicoid.pages.tables import table
from helicoid.simulation.trajectory.archive import MAX_BYTES, read_archive

if TYPE_CHECKING:
    from helicoid.robot import Robot


class DoubtfulLogWarning(UserWarning):
    """A log that can be used, but is likely wrong in some column, unit or time."""


@dataclass(frozen=True, eq=False)
class Log:
    """A recording: t (N,) s, q (N, nq), v and a (N, nv), tau (N, nv), as measured and never changed.

    `v` and `a` may be None: they are then derived from q when the log is used. `wrenches` maps links to
    six-axis readings (N, 6), moment then force, about the link's own origin in its own axes (a sensor with an
    offset is a frame of `robot.with_frame`): the wrench that the joint of the link's body transmits. A log
    needs torques or wrenches to identify from, and neither to predict for. `f_ext` maps links to known
    external wrenches on them (N, 6), at the link's origin in its axes: a contact during the log. Commands
    that were sent with a sample are `q_command`, `v_command` and `tau_command` (N, nv), see
    `hc.identify_from_commands`. `columns` names the columns of each array in messages, `source` the file.

    >>> import helicoid as hc
    >>> log = hc.Log.from_arrays([0.0, 0.1, 0.2], q=[[0.0], [0.1], [0.2]], tau=[[1.0], [1.1], [1.2]])
    >>> log
    Log(3 samples, 0.2 s, q[1] tau[1])
    >>> len(log.between(0.05, 0.2))
    2
    """

    t: Array
    q: Array
    v: Array | None = None
    a: Array | None = None
    tau: Array | None = None
    wrenches: Mapping[str, Array] = field(default_factory=dict)
    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    source: str = "log"
    f_ext: Mapping[str, Array] = field(default_factory=dict)
    q_command: Array | None = None
    v_command: Array | None = None
    tau_command: Array | None = None

    def __post_init__(self) -> None:
        t = _numbers(self.t, "t", self.source)
        if t.ndim != 1 or len(t) < 2:
            raise InputError(f"{self.source}: t needs at least two times in one axis, got shape {t.shape}")
        object.__setattr__(self, "t", t)
        for kind in KINDS:
            values = getattr(self, kind)
            if values is not None:
                object.__setattr__(self, kind, self._checked(values, kind))
        for name in ("wrenches", "f_ext"):
            if not isinstance(getattr(self, name), Mapping):
                raise InputError(f"{name} maps links to arrays; got {shown(getattr(self, name))}")
            for link in getattr(self, name):
                if not isinstance(link, str):
                    raise InputError(f"{name} maps links to arrays by name, such as 'tool0'; got {link!r}")
            object.__setattr__(self, name, self._checked_wrenches(name))
        self._check_times()

    def _checked_wrenches(self, name: str) -> dict[str, Array]:
        found = {
            link: self._checked(values, f"{'wrench of' if name == 'wrenches' else 'f_ext on'} {link}")
            for link, values in getattr(self, name).items()
        }
        for link, values in found.items():
            if values.shape[1] != 6:
                raise InputError(f"{self.source}: a wrench has 6 columns, {link!r} has {values.shape[1]}")
        return found

    def _checked(self, values: ArrayLike, kind: str) -> Array:
        array = _numbers(values, kind, self.source)
        if array.ndim != 2 or len(array) != len(self.t):
            raise InputError(
                f"{self.source}: {kind} needs one row a sample, shape ({len(self.t)}, n); got {array.shape}"
            )
        bad = np.argwhere(~np.isfinite(array))
        if len(bad):
            sample, column = (int(k) for k in bad[0])
            raise InputError(
                f"{self.source}: column {self.column(kind, column)!r} is {array[sample, column]} at sample "
                f"{sample} (t = {self.t[sample]:g} s), {len(bad)} such values in all: cut them out, for "
                "example with log[a:b], or repair them"
            )
        return array

    def _check_times(self) -> None:
        bad = np.flatnonzero(~np.isfinite(self.t))
        if len(bad):
            raise InputError(f"{self.source}: column 't' is {self.t[bad[0]]} at sample {bad[0]}")
        backwards = np.flatnonzero(np.diff(self.t) <= 0)
        if len(backwards):
            k = int(backwards[0])
            how = "repeats" if self.t[k + 1] == self.t[k] else "goes back from"
            raise InputError(
                f"{self.source}: column 't' {how} {self.t[k]:g} s at sample {k + 1} ({len(backwards)} such "
                "places): times must grow; sort the rows and drop the repeated ones"
            )

    def column(self, kind: str, k: int) -> str:
        """The name of a column in the file: `log.column("tau", 0)`."""
        names = self.columns.get(kind, ())
        return names[k] if k < len(names) else f"{kind}[{k}]"

    def __len__(self) -> int:
        return len(self.t)

    def __getitem__(self, part: slice) -> Log:
        """Some of the samples, in order: `log[500:-100]`."""
        if not isinstance(part, slice):
            raise InputError(f"a log is cut with a slice such as log[500:-100], not {part!r}")
        cut = {kind: getattr(self, kind) for kind in ("t", *KINDS)}
        kept: dict[str, Any] = {
            kind: None if values is None else values[part] for kind, values in cut.items()
        }
        for name in ("wrenches", "f_ext"):
            kept[name] = {link: w[part] for link, w in getattr(self, name).items()}
        return replace(self, **kept)

    def between(self, start: float, end: float) -> Log:
        """The samples with start <= t <= end (s)."""
        first, last = np.searchsorted(self.t, start, "left"), np.searchsorted(self.t, end, "right")
        return self[int(first) : int(last)]

    @property
    def rate(self) -> float:
        """Samples a second, on average over the log (Hz)."""
        return float((len(self) - 1) / (self.t[-1] - self.t[0]))

    def __repr__(self) -> str:
        held = [
            f"{kind}[{getattr(self, kind).shape[1]}]" for kind in KINDS if getattr(self, kind) is not None
        ]
        held += [f"wrench[{link}]" for link in self.wrenches] + [f"f_ext[{link}]" for link in self.f_ext]
        return f"Log({len(self)} samples, {self.t[-1] - self.t[0]:g} s, {' '.join(held)})"

    def _repr_html_(self) -> str:
        """Columns and their ranges, for notebooks."""
        held = {kind: getattr(self, kind) for kind in KINDS if getattr(self, kind) is not None}
        held |= {f"wrench of {link}": values for link, values in self.wrenches.items()}
        rows = [
            [kind, self.column(kind, k), f"{values[:, k].min():.4g}", f"{values[:, k].max():.4g}"]
            for kind, values in held.items()
            for k in range(values.shape[1])
        ]
        title = f"{self.source}: {len(self)} samples, {self.t[-1] - self.t[0]:g} s at {self.rate:.4g} Hz"
        return table(title, ["", "column", "least", "most"], rows)

    @staticmethod
    def from_arrays(
        t: ArrayLike,
        q: ArrayLike,
        v: ArrayLike | None = None,
        a: ArrayLike | None = None,
        tau: ArrayLike | None = None,
        wrenches: Mapping[str, ArrayLike] | None = None,
        source: str = "log",
        f_ext: Mapping[str, ArrayLike] | None = None,
        q_command: ArrayLike | None = None,
        v_command: ArrayLike | None = None,
        tau_command: ArrayLike | None = None,
    ) -> Log:
        """From arrays: t (N,), the others one row a sample."""
        arrays: dict[str, Any] = {name: x for name, x in (("v", v), ("a", a), ("tau", tau)) if x is not None}
        arrays |= {name: x for name, x in (("wrenches", wrenches), ("f_ext", f_ext)) if x is not None}
        commands = zip(COMMANDS, (q_command, v_command, tau_command), strict=True)
        arrays |= {name: x for name, x in commands if x is not None}
        return Log(t, q, **arrays, source=source)  # type: ignore[arg-type]

    @staticmethod
    def from_trajectory(trajectory: Any, source: str = "trajectory") -> Log:
        """From anything with t, q, v, a and tau: the result of a simulation, or what `Sensors` measured."""
        if not (hasattr(trajectory, "t") and hasattr(trajectory, "q")):
            raise InputError(f"a trajectory has t and q; got {shown(trajectory)}")
        optional = {kind: getattr(trajectory, kind, None) for kind in ("v", "a", "tau")}
        optional["wrenches"] = getattr(trajectory, "wrenches", None)
        return Log.from_arrays(trajectory.t, trajectory.q, **optional, source=source)

    @staticmethod
    def from_csv(path: str | os.PathLike[str], columns: Mapping[str, Any] | None = None) -> Log:
        """From a text file with a line of column names; commas, semicolons, tabs or spaces between.

        Columns are found by name: t, q*, dq*, ddq*, tau*, q_command* (or position*, velocity*, ...). Those of
        a kind are in the order of their numbers, or, where they end in names, all kinds in the order of q in
        the file. `columns` says it otherwise: {"t": "stamp", "q": ["j1", "j2"]}.
        """
        name = file_name(path)
        try:
            with open(name, encoding="utf-8-sig") as file:
                lines = {k: line for k, line in enumerate(file.read().splitlines(), 1) if line.strip()}
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{name}: cannot be read as text: {error}") from None
        if len(lines) < 3:
            raise InputError(f"{name}: needs a line of column names and at least two samples")
        first = lines.pop(next(iter(lines)))
        comma = next((c for c in (",", ";", "\t") if c in first), None)
        header = [cell.strip().strip('"').lstrip("#").strip() for cell in first.split(comma)]
        rows = {at: line.split(comma) for at, line in lines.items()}
        for k, (at, row) in enumerate(rows.items()):
            if len(row) != len(header):
                raise InputError(
                    f"{name}: sample {k} (line {at}) has {len(row)} values, the header {len(header)} names"
                )
        return _from_table(header, _parsed(rows, header, name), columns, name)

    @staticmethod
    def from_dataframe(
        frame: Any, columns: Mapping[str, Any] | None = None, source: str = "DataFrame"
    ) -> Log:
        """From a pandas DataFrame, columns found as in `from_csv`."""
        names = [str(name) for name in frame.columns]
        return _from_table(names, np.asarray(frame.to_numpy(), dtype=np.float64), columns, source)

    @staticmethod
    def from_npz(path: str | os.PathLike[str], max_bytes: float = MAX_BYTES) -> Log:
        """From a NumPy archive that holds t, q, tau and perhaps v, a (also called dq, ddq).

        Arrays "wrench[tool0]" and "f_ext[tool0]" are `wrenches` and `f_ext` of a link. A file that would
        expand to more than `max_bytes` is refused before it does.
        """
        name = file_name(path)
        held = read_archive(name, max_bytes)
        arrays: dict[str, Any] = {}
        for kind in ("t", *KINDS):
            keys = [key for key in (*PREFIXES.get(kind, TIMES), kind) if key in held]
            if keys:
                arrays[kind] = held[keys[0]]
        for kind, start in (("wrenches", "wrench["), ("f_ext", "f_ext[")):
            own = {key[len(start) : -1]: x for key, x in held.items() if key.startswith(start)}
            if own:
                arrays[kind] = own
        if not {"t", "q"} <= arrays.keys():
            raise InputError(f"{name}: needs arrays t and q (and tau, v, a); it holds {', '.join(held)}")
        return Log.from_arrays(**arrays, source=name)

    @staticmethod
    def from_bag(
        path: str | os.PathLike[str],
        topic: str | None = None,
        *,
        joints: Sequence[str] | None = None,
        robot: Robot | None = None,
        max_bytes: float = MAX_BYTES,
    ) -> Log:
        """From sensor_msgs/JointState in a bag: .bag (ROS 1), a folder (ROS 2), .mcap or .db3.

        Columns are in the order of `joints`, or of the joints of `robot`, or else of the first message.
        `topic` may be left out where only one has such messages. Times are those of the messages' headers (of
        the bag where they have none), counted from the first sample; positions, velocities and efforts
        become q, v and tau (rad, rad/s, N·m; m, m/s, N), and what was not recorded None. A bag whose messages
        take more than `max_bytes` once expanded is refused.

        Needs rosbags: `pip install 'helicoid[bags]'`. For example
        `hc.Log.from_bag("run1.mcap", "/joint_states", robot=robot)`.
        """
        from helicoid.identification.logs.bags import read_bag

        return read_bag(path, topic, joints, robot, max_bytes)


def _numbers(values: Any, what: str, source: str) -> Array:
    array = np.array(float_array(values, f"{source}: {what} is not an array of real numbers"))
    array.setflags(write=False)
    return array


def _parsed(rows: dict[int, list[str]], header: list[str], name: str) -> Array:
    """The numbers of rows, by their lines in the file."""
    try:
        return np.array(list(rows.values()), dtype=np.float64)
    except ValueError:
        for k, (at, row) in enumerate(rows.items()):
            for column, cell in zip(header, row, strict=True):
                try:
                    float(cell)
                except ValueError:
                    raise InputError(
                        f"{name}: column {column!r} at sample {k} (line {at}) is {cell.strip()!r}, "
                        "not a number"
                    ) from None
        raise


def _from_table(header: list[str], table: Array, columns: Mapping[str, Any] | None, name: str) -> Log:
    chosen = chosen_columns(header, columns, name)
    held: dict[str, Any] = {
        kind: table[:, [header.index(one) for one in names]] for kind, names in chosen.items() if names
    }
    named = {kind: names for kind, names in chosen.items() if names}
    return Log(held.pop("t")[:, 0], **held, columns=named, source=name)
