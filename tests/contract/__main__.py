"""Print the table of controllers and promises as Markdown: `python -m tests.contract [--slow]`."""

from __future__ import annotations

import sys
import traceback

from tests.contract.controllers import CASES
from tests.contract.promises import PROMISES


def main() -> int:
    """Check everything and print a row per controller; the number of broken promises."""
    broken = []
    print(f"| controller | {' | '.join(PROMISES)} |")
    print(f"|---|{'---|' * len(PROMISES)}")
    for name, case in CASES.items():
        if case.slow and "--slow" not in sys.argv:
            continue
        cells = []
        for promise, check in PROMISES.items():
            try:
                cells.append(check(case) or "✓")
            except Exception:
                cells.append("✗")
                broken.append((name, promise, traceback.format_exc()))
        print(f"| {name} | {' | '.join(cells)} |", flush=True)
    for name, promise, error in broken:
        print(f"\n{name}: {promise}\n{error}", file=sys.stderr)
    return len(broken)


if __name__ == "__main__":
    sys.exit(min(main(), 1))
