"""Print the tables and figures of two theses, with our figures beside the published ones.

Chapters 4 to 6 of L. M. G. Johannessen, "Robot Dynamics with URDF & CasADi" (NTNU, 2019), and chapter 6 of
H.-A. Cărămizaru, "Multi-body modeling of robot dynamics and system identification during MPC" (Heidelberg,
2023).
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from benchmarks.harness.run import machine, require_compiling
from benchmarks.harness.subjects import bundled_subject
from benchmarks.peers import find
from benchmarks.report.comparison import Peers, prepared
from benchmarks.report.tables import Sheet
from benchmarks.theses import correctness, derivatives, dynamics, growth, in_c, pages
from benchmarks.theses.extent import FULL, QUICK, Extent, snake
from helicoid.compiler.build.toolchain import find_compiler

PARTS = ("correctness", "dynamics", "growth", "derivatives", "snakes", "c", "ratios", "identification")


def sheets(extent: Extent, peers: Peers, parts: tuple[str, ...] = PARTS) -> Iterator[Sheet]:
    """All tables, one after the other as they are measured."""
    timed = {name: bundled_subject(name) for name in extent.timed}
    symbolic = {}
    if "urdf2casadi" in peers:
        only = {"urdf2casadi": peers["urdf2casadi"]}
        ready = {name: prepared(subject, only)[0] for name, subject in timed.items()}
        symbolic = {name: found["urdf2casadi"] for name, found in ready.items() if found}
    if "correctness" in parts:
        yield correctness.functionality(extent, peers)
        yield from (correctness.differences(name, extent, peers) for name in extent.robots)
    if "dynamics" in parts:
        yield from dynamics.tables(timed, symbolic, peers, extent)
        yield dynamics.heidelberg_functionality()
        yield dynamics.heidelberg_times(peers, extent)
    if "growth" in parts:
        yield dynamics.growth(peers, extent)
    if "derivatives" in parts:
        yield from derivatives.tables("jacobian", timed, symbolic, extent)
        yield from derivatives.tables("rate", timed, symbolic, extent)
    if "snakes" in parts:
        yield derivatives.large_snakes([snake(n // 16) for n in extent.snakes], extent)
    if "c" in parts:
        yield in_c.table(timed, extent)
    if "ratios" in parts:
        yield growth.ratios(extent)
    if "identification" in parts:
        yield growth.identification(extent)


def main() -> None:
    """Print the tables, and write them where asked.

    Raises:
        HelicoidError: functions are not compiled here, and times would say nothing.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks.theses", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="without long chains and large functions")
    parser.add_argument("--longest", type=int, default=60, help="joints of the longest chain of `ratios`")
    parser.add_argument("--minutes", type=float, help="processor time for each derivative of urdf2casadi")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS, help="only these")
    parser.add_argument("--markdown", type=Path, help="folder of the pages in which to replace the tables")
    asked = parser.parse_args()
    require_compiling()
    extent, console = QUICK if asked.quick else FULL, Console()
    chains = tuple(n for n in extent.derivative_chains if n <= asked.longest)
    minutes = extent.minutes if asked.minutes is None else asked.minutes
    extent = replace(extent, derivative_chains=chains, minutes=minutes)
    peers, missing = find(extent.libraries)
    lines = [f"- {key}: {value}" for key, value in machine(find_compiler()).items()]
    lines += [f"- {name} {peer.version}" for name, peer in peers.items()]
    lines += [f"- {name} is missing: {why}" for name, why in missing.items()]
    console.print("\n".join(lines))
    if asked.markdown is not None:
        pages.replace_section(asked.markdown / "index.md", "## Machine\n\n" + "\n".join(lines) + "\n")
    for sheet in sheets(extent, peers, tuple(asked.parts)):
        console.print(sheet.rich(console.width))
        if asked.markdown is not None:
            pages.replace_section(asked.markdown / pages.page_of(sheet.title), sheet.markdown())


if __name__ == "__main__":
    main()
