"""Cost of avoiding a scene in a controller: `python -m benchmarks.mpc_scene`.

The task of `benchmarks.mpc`, a Panda with its meshes and all its limits, without a scene and with
`add_scene`: of objects out of reach, of objects that are near, and with one of them in the way, so that rows
are active in every step. Warm steps of controllers that take turns, each on its own simulated course with
the same noise. Processor time, medians.
"""

from __future__ import annotations

import numpy as np

import helicoid as hc
from benchmarks.mpc import panda, task
from benchmarks.self_collision import warm_steps
from helicoid.mpc import Controller

MARGIN = 0.02


def scene(post: tuple[float, float, float], away: float = 0.0) -> hc.Scene:
    """A table, a shelf, a post and a ball around the arm, all moved by some metres."""
    made = hc.Scene()
    made.add("table", hc.Box([0.8, 1.2, 0.05]), [0.6 + away, 0.0, 0.1])
    made.add("shelf", hc.Box([0.3, 1.0, 0.03]), [0.7 + away, 0.0, 0.95])
    made.add("post", hc.Cylinder(0.04, 1.0), np.add(post, [away, 0.0, 0.0]))
    made.add("ball", hc.Sphere(0.06), [0.55 + away, -0.35, 0.4])
    return made


SCENES = {
    "out of reach": scene((0.35, 0.35, 0.6), 5.0),
    "near": scene((0.5, 0.45, 0.6)),
    "in the way": scene((0.35, 0.35, 0.6)),
}


def main() -> None:
    """The table."""
    robot = panda()
    problems = {"without": task(robot)}
    for name, one in SCENES.items():
        problems[name] = task(robot)
        problems[name].add_scene(one, margin=MARGIN)
    controllers = {name: Controller(problem) for name, problem in problems.items()}
    times = {name: np.median(values) for name, values in warm_steps(controllers).items()}
    print(f"{'':14}{'warm step':>12}{'ratio':>8}{'ends at':>12}")
    for name, time in times.items():
        near = np.nan
        if name in SCENES:
            near = robot.distance(controllers[name]._engine["x"][0, :7], SCENES[name], self_collision=False)
        print(f"{name:14}{1e6 * time:9.0f} µs{time / times['without']:8.2f}{1e3 * near:9.0f} mm")


if __name__ == "__main__":
    main()
