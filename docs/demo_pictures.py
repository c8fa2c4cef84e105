"""Pictures of the demonstrations: `python docs/demo_pictures.py` runs two of them and writes the pictures.

`demo.webp` is the top of the report of adaptive MPC, `demo_overview.webp` its 3-D view beside the first two
charts, `planning.webp` the same of the demonstration of motion planning. Chromium draws them, without a window.
"""

from __future__ import annotations

import io
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from view.browser import Page, browser  # noqa: E402

ASSETS = ROOT / "docs" / "assets"
FRACTION = 0.62  # of the motion's duration, at which it is shown
PLANNING_FRACTION = 0.28
OVERVIEW = """
    body { background: #fff }
    main { display: grid; grid-template-columns: 1005px 530px; gap: 18px; max-width: none; padding: 0 }
    .brand, h1, .lead, .figures, .table, .words, .chart p, .chart:nth-child(n+3),
    .helicoid-player .bar, .helicoid-player .legend { display: none !important }
    .stage, .chart { border: none !important; border-radius: 0 !important; margin: 0 }
    .stage .helicoid-player { height: 636px; aspect-ratio: auto }
    .charts { grid-template-columns: 1fr; gap: 0; align-content: space-between }
    .chart { padding: 4px 8px 0 !important }
"""


def take(
    page: Page,
    report: Path,
    width: int,
    height: int,
    style: str = "",
    fraction: float = FRACTION,
) -> Image.Image:
    """Picture of a report at a fraction of its motion, with some more style."""
    page.open(report.resolve().as_uri(), width, height)
    page.wait("!!document.querySelector('.helicoid-player')?.dataset.time")
    page.evaluate(
        f"document.head.insertAdjacentHTML('beforeend', `<style>{style}</style>`)"
    )
    show = "const s = document.querySelector('.bar input'); s.value = {}; s.dispatchEvent(new Event('input'))"
    page.evaluate("{" + show.format(fraction) + "}")
    page.evaluate(
        "new Promise((done) => setTimeout(done, 1000))"
    )  # until the view has its new size
    return Image.open(io.BytesIO(page.png())).convert("RGB")


def demonstration(name: str, folder: str) -> None:
    """Run `helicoid demo name`, which writes its page into the folder."""
    command = [sys.executable, "-m", "helicoid", "demo", name, "-o", folder]
    subprocess.run([*command, "--seed", "0"], check=True)


def main() -> None:
    """Write the pictures."""
    with tempfile.TemporaryDirectory() as folder, browser() as page:
        demonstration("load", folder)
        demonstration("plan", folder)
        report, plan = Path(folder) / "report.html", Path(folder) / "plan.html"
        pictures = {
            "demo.webp": take(page, report, 1228, 1340),
            "demo_overview.webp": take(page, report, 1560, 636, OVERVIEW),
            "planning.webp": take(
                page, plan, 1560, 636, OVERVIEW, PLANNING_FRACTION
            ),
        }
    for name, picture in pictures.items():
        picture.save(ASSETS / name, quality=85, method=6)


if __name__ == "__main__":
    main()
