"""Operation counts, which are independent of the machine, beside the published counts of urdf2casadi.

Run with `make bench`, or `python benchmarks/operations.py`. The published counts (see
`benchmarks.report.published`) are of the nodes of the expression graph, its symbols and constants included,
so our nodes stand beside our operations. Where urdf2casadi is installed it is counted too, on the same file;
its chains of many joints take minutes and are left out.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

from rich.console import Console

import helicoid as hc
from benchmarks.report import published
from benchmarks.report.tables import Sheet
from benchmarks.theses.derivatives import JACOBIANS

FUNCTIONS = {
    "G": "gravity",
    "C": "coriolis",
    "ID": "inverse_dynamics",
    "M": "mass_matrix",
    "FD (CRBA)": "forward_dynamics_crba",
    "FD (ABA)": "forward_dynamics",
}
TIPS = {"pan_tilt_pendulum": "tip", "ur5": "tool0", "snake": "link_16"}
console = Console()


def main() -> None:
    """Print all tables."""
    robots_table()
    derivatives_table()
    chain_table()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", hc.DoubtfulModelWarning)
        closed_form_table()
        humanoid()


def robots_table() -> None:
    """Three robots, six functions."""
    columns = (
        "robot",
        "function",
        "ours",
        "our nodes",
        "urdf2casadi, published",
        "share",
        "urdf2casadi, here",
    )
    rows = []
    for name, counts in published.ROBOTS.items():
        robot, peer = hc.load(name), urdf2casadi_nodes(name)
        for (label, attribute), theirs in zip(FUNCTIONS.items(), counts, strict=True):
            function = getattr(robot, attribute)
            ours = function.n_operations
            row = (
                str(ours),
                str(function.casadi.n_nodes()),
                str(theirs),
                f"{ours / theirs:.0%}",
                peer(label),
            )
            rows.append((name, label, *row))
    _show("Operations of one evaluation", columns, rows)


def derivatives_table() -> None:
    """Jacobians, each by the cheapest function that gives it."""
    title, rows = "Operations of Jacobians with respect to all inputs", []
    columns = ("robot", "Jacobian", "ours", "urdf2casadi, published", "share")
    for name, counts in published.JACOBIANS.items():
        robot = hc.load(name)
        for label, theirs in zip(published.LABELS, counts, strict=True):
            count = JACOBIANS[label].make(robot).n_operations
            rows.append((name, f"∇{label}", str(count), str(theirs), f"{count / theirs:.0%}"))
    _show(title, columns, rows)


def closed_form_table() -> None:
    """M, C and g, alone and with their rates, beside the equations evaluated as they are written."""
    title, rows = "Operations of the closed form", []
    columns = ("robot", "as written, M, C, g", "M, C, g", "with their rates", "ratio")
    sources: list[str | Path] = ["ur5", "panda"]
    path = example_robot("simple_humanoid_description/urdf/simple_humanoid.urdf")
    if path is not None:
        sources.append(path)
    for source in sources:
        robot = hc.load(source)
        alone, both = robot.closed_form.n_operations, robot.closed_form_dot.n_operations
        row = (str(as_written(robot)), str(alone), str(both), f"{both / alone:.2f}")
        rows.append((f"{robot.name}, {robot.nv} joints", *row))
    _show(title, columns, rows)


def _show(title: str, columns: Sequence[str], rows: Sequence[tuple[str, ...]]) -> None:
    console.print(Sheet(title, tuple(columns), rows).rich(console.width))


def as_written(robot: hc.Robot) -> int:
    """Operations of equations 6, 27 and 28 of Garofalo et al. (2013) with dense matrices, Ad and Λ given."""

    def product(rows: int, inner: int, columns: int) -> int:
        return rows * columns * (2 * inner - 1)

    n = robot.nv
    jacobian = product(6, 6, n) + 6 * n  # J = Ad⁻¹ J_p + Ξ
    jacobian_dot = 2 * product(6, 6, n) + 6 * n  # J̇ = Ad⁻¹ J̇_p - adj Ad⁻¹ J_p
    mass = product(6, 6, n) + product(n, 6, n) + n * n  # + Jᵀ (Λ J)
    skew = product(6, n, 1) + 2 * product(6, 6, 6) + 36  # V = J v, Λ adj - adjᵀ Λ
    coriolis = 2 * product(6, 6, n) + 6 * n + product(n, 6, n) + n * n  # + Jᵀ (... J + Λ J̇)
    gravity = 2 * product(6, 6, 1) + product(n, 6, 1) + n  # + Jᵀ (Λ (Ad⁻¹ γ))
    return robot.n_bodies * (jacobian + jacobian_dot + mass + skew + coriolis + gravity)


def urdf2casadi_nodes(name: str) -> Callable[[str], str]:
    """A function from a label to the node count of urdf2casadi as installed, on our file."""
    try:
        from urdf2casadi import urdfparser
    except ImportError:
        console.print("urdf2casadi is not installed: its own count is missing")
        return lambda label: "not installed"
    from helicoid.model import bundled

    parser = urdfparser.URDFparser()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        parser.from_string(bundled.text(name))
    gravity = [0, 0, -9.81]
    root, tip = "base_link", TIPS[name]
    builders = {
        "G": lambda: parser.get_gravity_rnea(root, tip, gravity),
        "C": lambda: parser.get_coriolis_rnea(root, tip),
        "ID": lambda: parser.get_inverse_dynamics_rnea(root, tip, gravity=gravity),
        "M": lambda: parser.get_inertia_matrix_crba(root, tip),
        "FD (CRBA)": lambda: parser.get_forward_dynamics_crba(root, tip, gravity),
        "FD (ABA)": lambda: parser.get_forward_dynamics_aba(root, tip, gravity),
    }
    return lambda label: str(builders[label]().n_nodes())


def chain_table() -> None:
    """Growth with the number of joints of a UR5-like chain."""
    rows = []
    chains = {n: hc.serial_chain(n) for n in published.JOINTS}
    for label, known in published.CHAINS.items():
        counts = [getattr(chains[n], FUNCTIONS[label]).n_operations for n in published.JOINTS]
        cells = [f"{ours} / {theirs}" for ours, theirs in zip(counts, known, strict=True)]
        rows.append((label, *cells))
    columns = ("function", *map(str, published.JOINTS))
    _show("Operations of a chain of n joints: ours / published", columns, rows)


def humanoid() -> None:
    """Build times of every dynamics function of a humanoid with 50 velocities."""
    path = example_robot("talos_data/robots/talos_full_v2.urdf")
    if path is None:
        return
    robot = hc.load(path, base="floating")
    title, rows = f"Talos, {robot.nv} velocities, floating", []
    whole = 0.0
    names = [*FUNCTIONS.values(), "bias", "mass_matrix_inverse", "kinetic_energy", "potential_energy"]
    for attribute in [*names, "center_of_mass", "com_jacobian", "inverse_dynamics_derivatives"]:
        start = time.perf_counter()
        operations = getattr(robot, attribute).n_operations
        spent = time.perf_counter() - start
        whole += spent
        rows.append((attribute, str(operations), f"{spent:.2f}"))
    rows.append(("all", "", f"{whole:.2f}"))
    _show(title, ("function", "operations", "built in (s)"), rows)


def example_robot(path: str) -> Path | None:
    """Path of a file of example-robot-data, if it is installed."""
    try:
        import pinocchio  # its wheel knows where the robots lie
    except ImportError:
        console.print("pinocchio and example-robot-data are not installed: no humanoid")
        return None
    found = Path(pinocchio.__file__).parents[4] / "share/example-robot-data/robots" / path
    if not found.exists():
        console.print("example-robot-data is not installed: no humanoid")
        return None
    return found


if __name__ == "__main__":
    os.environ.setdefault("COLUMNS", "120")
    main()
