"""Benchmark of dynamics and simulation against peer libraries; prints tables and writes them to a folder."""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.console import Console

from benchmarks.harness.plan import FULL, QUICK
from benchmarks.harness.run import run

if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="short run of about a minute")
    results = Path(__file__).parent / "results"
    run(QUICK if parser.parse_args().quick else FULL, results, Console())
