"""The full benchmark beside peers: `make bench`, or `python benchmarks/run.py`; `--quick` for a short one."""

from __future__ import annotations

import sys
from pathlib import Path

from rich.console import Console

from benchmarks.harness.plan import FULL, QUICK
from benchmarks.harness.run import run

if __name__ == "__main__":
    results = Path(__file__).parent / "results"
    run(QUICK if "--quick" in sys.argv[1:] else FULL, results, Console())
