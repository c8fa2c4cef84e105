"""The planner of a robot as C: strict C99, and the path that Python finds."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

import helicoid as hc
from helicoid.planning import Planner
from planning.arms import arm_urdf

pytestmark = pytest.mark.needs_compiler
START, GOAL = np.array([-0.3, 0.0, 0.2, 0.0]), np.array([1.3, 0.3, -0.2, 0.3])
STRICT = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-O1", "-lm"]


def built(files: list[Path], folder: Path, main: Path | None = None) -> str:
    """Output of the example program, or of another one with the library."""
    sources = [str(path) for path in files if path.suffix == ".c" and (main is None or path.name != "main.c")]
    program = folder / "program"
    sources += [] if main is None else [str(main), f"-I{folder}"]
    subprocess.run(["cc", *sources, "-o", str(program), *STRICT], check=True)
    return subprocess.run([program], capture_output=True, text=True, check=True).stdout


def test_the_exported_planner_finds_the_path_of_python(
    planner: Planner, scene: hc.Scene, tmp_path: Path
) -> None:
    planner.update(scene)
    path = planner.plan(START, GOAL, 20)
    files = planner.export_c(tmp_path, "arm")
    lines = built(files, tmp_path).splitlines()
    found = np.array([row.split() for row in lines[1:-1]], dtype=float)
    np.testing.assert_allclose(found, path.q, atol=1e-3)
    assert lines[0] == f"status 0, {len(path.q)} waypoints"
    assert {"arm.h", "arm.c", "main.c", "CMakeLists.txt"} <= {file.name for file in files}


_SCENE = """
#include "turning.h"
#include <stdio.h>
int main(void) {
  const double pose[12] = {1, 0, 0, 0, 1, 0, 0, 0, 1, 0.4, 0, 0}, size[3] = {0.1, 0.1, 0.1};
  const double up[3] = {0, 0, 1};
  const double q[2] = {0, 0}, other[2] = {3, 0}, bad[2] = {0.0 / 1.0, 1e40}, centre[3] = {0.4, 0, 0};
  double path[200];
  int32_t n = 0;
  turning_planner *p = turning_create();
  printf("%d ", turning_in_collision(p, q));
  turning_add_box(p, pose, size);
  printf("%d ", turning_in_collision(p, q));
  printf("%d %d ", turning_in_collision(p, other), turning_in_collision(p, bad));
  turning_clear(p);
  printf("%d ", turning_in_collision(p, q));
  turning_add_capsule(p, pose, 0.05, 0.1), turning_add_cylinder(p, pose, 0.05, 0.1);
  printf("%d ", turning_in_collision(p, q));
  turning_clear(p), turning_add_sphere(p, centre, 0.05);
  printf("%d ", turning_in_collision(p, q));
  turning_clear(p), turning_add_plane(p, up, -0.05);
  printf("%d ", turning_in_collision(p, q));
  turning_clear(p), turning_add_plane(p, up, -0.07);
  printf("%d ", turning_in_collision(p, q));
  turning_reset(p), turning_add_box(p, pose, size);
  printf("%d ", turning_plan(p, q, other, 1.0, 0, path, 100, &n));
  printf("%d ", turning_plan(p, bad, other, 1.0, 0, path, 100, &n));
  printf("%d %d", turning_add_sphere(p, centre, -1), n);
  turning_free(p);
  return 0;
}
"""


def test_obstacles_of_an_exported_planner_change_at_run_time(tmp_path: Path) -> None:
    planner = Planner(hc.load(arm_urdf(2, "continuous")))
    planner.plan([0.0, 0.0], [1.0, 0.0])
    files = planner.export_c(tmp_path / "c", "turning")
    main = tmp_path / "main.c"
    main.write_text(_SCENE)
    assert built(files, tmp_path / "c", main) == "0 1 0 -1 0 1 1 1 0 3 6 -1 0"


def test_without_a_query_there_is_nothing_to_export(tmp_path: Path) -> None:
    with pytest.raises(hc.HelicoidError, match="plan first"):
        Planner(hc.load(arm_urdf(2))).export_c(tmp_path)
