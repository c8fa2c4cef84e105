"""Motion planning on the problems of MotionBenchMaker: `python -m benchmarks.planning FOLDER`.

FOLDER has `problems.tar.bz2` (a scene and a request a problem, MoveIt's YAML), `panda_spherized.urdf` and
`panda.srdf`, as VAMP ships them. Three planners: VAMP's spheres at 32 checks a radian, VAMP's spheres on
certified edges, and spheres that contain the meshes of example-robot-data's Panda on certified edges (fingers
open by 0.065 m, as the requests state). Processor time of the calls of C, the least of `--repeats`; cylinders
are cylinders. Settings were chosen on the even problems; the odd ones are the default.

`--coal N` checks every so many configurations of N certified paths against the meshes with coal.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib.metadata
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import yaml

import helicoid as hc
from helicoid._typing import Array
from helicoid.geometry import quaternion
from helicoid.planning import Planner
from helicoid.planning.engine import STATUS, address
from helicoid.planning.search import CallContext

INVALID = {("table_pick_panda", 41)}  # starts or ends in collision
FINGERS = 0.065  # m
CHECKS = 1000.0  # a radian, beside coal
LIMIT = 60.0  # s of wall-clock time of a search, much so that the load of the machine does not decide


class Problem(NamedTuple):
    """One query."""

    kind: str
    number: int
    scene: hc.Scene
    start: Array
    goals: Array


def problems(folder: Path, which: str) -> Iterator[Problem]:
    """Problems "odd", "even" or "all" of the archive."""
    with tarfile.open(folder / "problems.tar.bz2") as archive:
        texts = {m.name: archive.extractfile(m).read() for m in archive if m.isfile()}  # type: ignore[union-attr]
    for name in sorted(texts):
        kind, file = Path(name).parts[-2:]
        if not file.startswith("scene"):
            continue
        number = int(file[5:9])
        if (kind, number) in INVALID or (which != "all" and number % 2 != (which == "odd")):
            continue
        request = _yaml(texts[name.replace("scene", "request")])
        state = request["start_state"]["joint_state"]
        joints = [f"panda_joint{k}" for k in range(1, 8)]
        start = dict(zip(state["name"], state["position"], strict=True))
        goals = [
            {one["joint_name"]: one["position"] for one in goal["joint_constraints"]}
            for goal in request["goal_constraints"]
        ]
        at = [[float(goal[joint]) for joint in joints] for goal in goals]
        yield Problem(kind, number, _scene(_yaml(texts[name])), _floats(start, joints), np.array(at))


def _floats(values: dict[str, Any], names: list[str]) -> Array:
    return np.array([float(values[name]) for name in names])


def _yaml(text: bytes) -> Any:
    return yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def _scene(text: Any) -> hc.Scene:
    scene = hc.Scene()
    for one in text["world"]["collision_objects"]:
        for k, (shape, pose) in enumerate(zip(one["primitives"], one["primitive_poses"], strict=True)):
            x, y, z, w = map(float, pose["orientation"])
            T = np.eye(4)
            q = np.array([w, x, y, z])
            T[:3, :3], T[:3, 3] = quaternion.to_matrix(q / np.linalg.norm(q)), pose["position"]
            size = [float(number) for number in shape["dimensions"]]
            made = hc.Box(size) if shape["type"] == "box" else hc.Cylinder(size[1], size[0])
            scene.add(f"{one['id']} {k}", made, T)
    return scene


def spherized(folder: Path) -> hc.Robot:
    """VAMP's Panda: its links are spheres."""
    return hc.load(folder / "panda_spherized.urdf", srdf=folder / "panda.srdf")


def meshed(folder: Path) -> hc.Robot:
    """The Panda of example-robot-data, whose collision geometry are meshes."""
    files = importlib.metadata.files("example-robot-data") or []
    (urdf,) = (
        str(file.locate()) for file in files if str(file).endswith("panda_description/urdf/panda.urdf")
    )
    robot = hc.load(urdf, srdf=folder / "panda.srdf")
    return robot.lock({name: FINGERS for name in robot.joint_names if "finger" in name})


class Row(NamedTuple):
    """Result of one problem: processor times of search and of all (s)."""

    message: str
    search: float
    total: float
    length: float


def measured(planner: Planner, problem: Problem, repeats: int) -> tuple[Row, Any]:
    """The least times of the C of a query, and its path."""
    planner.update(problem.scene)
    path = planner.plan(problem.start, problem.goals, LIMIT)
    if not path.success:
        return Row(path.message, np.inf, np.inf, np.inf), path
    planner = path.planner  # with finer spheres where start or goal need them
    library, best = planner._library, (np.inf, np.inf)
    space, settings = ctypes.byref(planner._space), ctypes.byref(planner._settings)
    a, b = (planner._configurations("end", end) for end in (problem.start, problem.goals))
    with CallContext(planner) as given:
        for _ in range(repeats):
            began = time.thread_time()
            ends = address(a), 1, address(b), len(b)
            status = library.planner_begin(*given, space, settings, *ends, 0, np.inf, 0)
            if STATUS[status] == "running":
                library.planner_advance(*given, space, settings, LIMIT)
            found = time.thread_time()
            library.planner_simplify(*given, space, planner.passes, planner.least)
            best = min(best, (time.thread_time() - began, found - began))
    return Row("", best[1], best[0], path.length), path


def summary(name: str, rows: list[Row]) -> str:
    """One line of the table."""
    solved = np.array([row[1:] for row in rows if not row.message])
    search, total, length = np.median(solved, axis=0) * (1e6, 1e6, 1)
    p95, p99, most = np.percentile(solved[:, 1] * 1e6, [95, 99, 100])
    return (
        f"| {name} | {len(solved)} of {len(rows)} | {search:.0f} | {total:.0f} | {p95:.0f} | {p99:.0f} | "
        f"{most:.0f} | {length:.2f} |"
    )


def timed(paths: list[Any]) -> str:
    """Milliseconds of corners and timing under the robot's torque limits, accelerations up to 10 rad/s²."""
    found, touching = [], 0
    for path, _, planning in paths:
        path.timed(acceleration=10.0)
        began = time.thread_time()
        motion = path.timed(acceleration=10.0)
        found.append(planning + time.thread_time() - began)
        touching += int(path.planner.in_collision(motion.q).any())
    middle, worst = np.median(found) * 1e3, np.percentile(found, 95) * 1e3
    return f"timed motions: {middle:.2f} ms median, {worst:.2f} ms p95 with planning, {touching} with contact"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--which", choices=("odd", "even", "all"), default="odd")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--tolerance", type=float, default=0.01, help="of the containing spheres (m)")
    parser.add_argument("--coal", type=int, default=0, metavar="N")
    given = parser.parse_args()
    every = list(problems(given.folder, given.which))
    print("| | solved | search (µs) | total (µs) | p95 | p99 | maximum | length |")
    print("|---|---|---|---|---|---|---|---|")
    planners = {
        "VAMP's spheres, 32 checks a radian": Planner(spherized(given.folder), certify=False),
        "VAMP's spheres, certified": Planner(spherized(given.folder)),
    }
    began = time.process_time()
    robot, limits = meshed(given.folder), spherized(given.folder).limits
    bounds = limits.lower, limits.upper
    planners["containing spheres, certified"] = Planner(robot, tolerance=given.tolerance, bounds=bounds)
    built = time.process_time() - began
    unsolved: list[str] = []
    paths = []
    for name, planner in planners.items():
        rows = []
        for problem in every:
            row, path = measured(planner, problem, given.repeats)
            rows.append(row)
            if row.message:
                unsolved.append(f"{name}: {problem.kind} {problem.number}: {row.message[:150]}")
            elif name.startswith("containing"):
                paths.append((path, problem.scene, row.total))
        print(summary(name, rows), flush=True)
    print(*unsolved, sep="\n")
    print(f"planner with containing spheres: {planner.body.n_spheres} spheres, built in {built:.1f} s")
    print(timed(paths[:: max(1, len(paths) // 100)]))
    if given.coal:
        from benchmarks.planning_coal import contacts

        chosen = paths[:: max(1, len(paths) // given.coal)]
        touching = [contacts(path, scene, CHECKS) for path, scene, _ in chosen]
        print(f"coal: {sum(n for n, _ in touching)} of {sum(m for _, m in touching)} configurations touch")


if __name__ == "__main__":
    main()
