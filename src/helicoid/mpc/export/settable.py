"""The numbers that `Controller.set` takes, as tables and functions of C."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from helicoid.compiler import c_number, c_text, distinct_identifiers
from helicoid.mpc.export.contacts import Contacts
from helicoid.mpc.solver.memory import Memory
from helicoid.mpc.solver.nodes.stage import ConstraintRow


@dataclass(frozen=True)
class Setter:
    """One function: its C name, its parameters, what it calls, and what the header says of it."""

    name: str
    parameters: str
    call: str
    meaning: str

    @property
    def prototype(self) -> str:
        """The declaration without its semicolon, for the controller's own type `{0}`."""
        return f"int {self.name}({{0}}_controller *controller, {self.parameters})"


class Settable:
    """Tables for runtime/numbers.h, and the functions that use them."""

    def __init__(self, prefix: str, memory: Memory, contacts: Contacts | None) -> None:
        self._memory, self._nodes = memory, len(memory.lower)
        self._numbers: list[str] = []
        self._bounds: list[str] = []
        self._rows: list[str] = []
        wanted = self._parameters() + self._constraints()
        wanted += [] if contacts is None else contacts.setters()
        names = distinct_identifiers([f"{prefix}_set_{name}" for name, *_ in wanted])
        self.setters = [Setter(c_name, *rest) for c_name, (_, *rest) in zip(names, wanted, strict=True)]

    def tables(self) -> str:
        """The tables as C."""
        parts = []
        for kind, name, rows in (
            ("Numbers", "numbers", self._numbers),
            ("Bounds", "bounds", self._bounds),
            ("BoundRow", "bound_rows", self._rows),
        ):
            if rows:
                parts.append(f"static const {kind} {name}[] = {{\n  {{" + "},\n  {".join(rows) + "}};")
        return "\n".join(parts)

    def _parameters(self) -> list[tuple[str, str, str, str]]:
        """Targets, weights and parameters of one's own, by node; and θ."""
        found = []
        values = "const double *values, size_t count"
        stages = self._memory.stages
        weights = {cost.weight.name for cost in stages.costs}
        column = 0
        for parameter in stages.parameters:
            size = parameter.symbol.numel()
            for name, nodes in parameter.settable.items():
                first, end, _ = nodes.indices(self._nodes)
                is_weight = parameter.name in weights
                call = f"set_numbers((mpc *)controller, numbers + {len(self._numbers)}, values, count)"
                self._numbers.append(f"{column}, {size}, {first}, {end - first}, {int(is_weight)}")
                kind = "weight, not negative" if is_weight else "target or parameter"
                counts = {1: "for all", size: "", size * (end - first): f"for each of {end - first} nodes"}
                text = f"{c_text(name)}: {kind}; {_counts(counts)}"
                found.append((name, values, call, text))
            column += size
        if self._memory.theta.size:
            text = f"theta, the parameters of the model; count is {self._memory.theta.size}"
            found.append(("theta", values, "set_theta((mpc *)controller, values, count)", text))
        return found

    def _constraints(self) -> list[tuple[str, str, str, str]]:
        found = []
        stages, last = self._memory.stages, self._nodes - 1
        sections: list[tuple[int, int, list[ConstraintRow]]] = [
            (0, last, stages.path_rows),
            (last, last + 1, stages.end_rows),
        ]
        everywhere = dict.fromkeys(row.constraint for *_, rows in sections for row in rows)
        for constraint in everywhere:
            if constraint.role is not None:  # its bounds follow the phases
                continue
            rows = [
                f"{k}, {row.element}, {int(not row.at_first) if first == 0 else first}, {end}, "
                f"{c_number(constraint.scale[row.element])}"
                for first, end, section in sections
                for k, row in enumerate(section)
                if row.constraint is constraint
            ]
            where = f"(mpc *)controller, bounds + {len(self._bounds)}, bound_rows"
            self._bounds.append(f"{constraint.size}, {len(self._rows)}, {len(rows)}")
            self._rows += rows
            name, size = constraint.name, constraint.size
            about = f"bounds of the constraint {c_text(name)}; {_counts({1: 'for all', size: ''})}"
            one, both = "const double *values, size_t count", "const double *lower, const double *upper"
            calls = {
                f"{name}_lower": (one, "values, count, NULL, 0", f"lower {about}; -INFINITY for none"),
                f"{name}_upper": (one, "NULL, 0, values, count", f"upper {about}; INFINITY for none"),
                f"{name}_bounds": (
                    f"{both}, size_t count",
                    "lower, count, upper, count",
                    f"both {about}, of each",
                ),
            }
            found += [(n, p, f"set_bounds({where}, {a})", text) for n, (p, a, text) in calls.items()]
        return found


def _counts(counts: dict[int, str]) -> str:
    """The counts of numbers that a function takes, in words."""
    texts = [
        f"{count} ({text})" if text and len(counts) > 1 else f"{count}" for count, text in counts.items()
    ]
    return f"count is {' or '.join(texts)}"


def definitions(prefix: str, setters: Sequence[Setter]) -> str:
    """The functions of the setters."""
    return "\n".join(
        f"{setter.prototype.format(prefix)} {{\n  return {setter.call};\n}}\n" for setter in setters
    )
