"""The planner of one robot as a library in C99 with the compiler's vector types, and an example program."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from helicoid.compiler import (
    c_array,
    c_header,
    c_identifier,
    cmake_lists,
    loop_pragma,
    runtime_files,
    write_files,
)
from helicoid.errors import HelicoidError
from helicoid.planning.engine import LANES, OBSTACLE, RUNTIME, Field, RobotTables
from helicoid.planning.kinematics import kinematics_source

if TYPE_CHECKING:
    from helicoid.planning.planner import Planner

_MIN_CAPACITY = 64  # obstacles
_SHAPES = {
    "box": (
        "const double *pose, const double *size",
        "BOX, pose, (double[3]){size[0] / 2, size[1] / 2, size[2] / 2}, 0",
    ),
    "capsule": (
        "const double *pose, double radius, double length",
        "CAPSULE, pose, (double[3]){0, 0, length / 2}, radius",
    ),
    "cylinder": (
        "const double *pose, double radius, double length",
        "CYLINDER, pose, (double[3]){radius, radius, length / 2}, 0",
    ),
}

_DECLARATIONS = """\
#define {P}_NQ {nq}
#define {P}_CAPACITY {capacity} /* obstacles */

enum {{
  {P}_SOLVED,
  {P}_NO_PATH_IN_TIME,
  {P}_FULL,
  {P}_START_TOUCHES,
  {P}_GOAL_TOUCHES,
  {P}_EXHAUSTED,
  {P}_BAD_INPUT
}};

typedef struct {p}_planner {p}_planner;

/* A planner with the scene that was exported; NULL where there is no memory. One for each thread. */
{p}_planner *{p}_create(void);
void {p}_free({p}_planner *planner);

/* Without obstacles; with those of the scene that was exported. */
void {p}_clear({p}_planner *planner);
void {p}_reset({p}_planner *planner);

/* One more obstacle. Poses are R by rows, then p (m): 12 numbers. -1 without room or with a bad number. */
int32_t {p}_add_box({p}_planner *planner, const double *pose, const double *size);
int32_t {p}_add_capsule({p}_planner *planner, const double *pose, double radius, double length);
int32_t {p}_add_cylinder({p}_planner *planner, const double *pose, double radius, double length);
int32_t {p}_add_sphere({p}_planner *planner, const double *centre, double radius);
int32_t {p}_add_plane({p}_planner *planner, const double *normal, double offset);

/* 1 where q ({P}_NQ) is in collision, 0 where it is free, -1 where it is not valid. */
int {p}_in_collision({p}_planner *planner, const double *q);

/* A path from start to goal within some seconds of wall time: the number of its waypoints, and where there is
 * room for them the waypoints, rows of {P}_NQ numbers. Memory is allocated while the trees grow. */
int {p}_plan({p}_planner *planner, const double *start, const double *goal, double seconds, uint64_t seed,
    double *path, int32_t room, int32_t *waypoints);"""

_SOURCE = """\
#define _POSIX_C_SOURCE 200809L
{pragma}#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wpsabi" /* vectors are passed between functions of this file only */
#endif
#define HP_API static __attribute__((unused))
{constants}
#include "runtime/planner.h"
#include "runtime/exported.h"
#include "{p}.h"

{kinematics}
{tables}

struct {p}_planner {{
  hp_instance instance;
}};

{p}_planner *{p}_create(void) {{ return ({p}_planner *)hp_instance_create(&exported); }}
void {p}_free({p}_planner *p) {{ hp_instance_free((hp_instance *)p); }}
void {p}_clear({p}_planner *p) {{ hp_no_obstacles(&p->instance); }}
void {p}_reset({p}_planner *p) {{ hp_instance_reset(&p->instance); }}
{adders}
int32_t {p}_add_sphere({p}_planner *p, const double *centre, double radius) {{
  const double pose[12] = {{1, 0, 0, 0, 1, 0, 0, 0, 1, centre[0], centre[1], centre[2]}};
  return hp_instance_add(&p->instance, SPHERE, pose, (double[3]){{0, 0, 0}}, radius);
}}
int32_t {p}_add_plane({p}_planner *p, const double *normal, double offset) {{
  return hp_instance_plane(&p->instance, normal, offset);
}}
int {p}_in_collision({p}_planner *p, const double *q) {{ return hp_instance_in_collision(&p->instance, q); }}
int {p}_plan({p}_planner *p, const double *start, const double *goal, double seconds, uint64_t seed,
    double *path, int32_t room, int32_t *waypoints) {{
  return hp_instance_plan(&p->instance, start, goal, seconds, seed, path, room, waypoints);
}}
"""

_MAIN = """\
/* Plans a query and prints its path; compares it with the path that Python found, where that was recorded. */
#include "{p}.h"
#include <math.h>
#include <stdio.h>

{arrays}

int main(void) {{
  static double path[1000 * {P}_NQ];
  int32_t n;
  double worst = 0;
  {p}_planner *planner = {p}_create();
  if (!planner) return 2;
  const int status = {p}_plan(planner, start, goal, 10.0, {seed}, path, 1000, &n);
  printf("status %d, %d waypoints\\n", status, (int)n);
  for (int i = 0; i < n; i++)
    for (int j = 0; j < {P}_NQ; j++) printf(j + 1 < {P}_NQ ? "%.9g " : "%.9g\\n", path[i * {P}_NQ + j]);
  {p}_free(planner);
  if (status != {P}_SOLVED || n != {recorded}) return 1;
  for (int k = 0; k < n * {P}_NQ; k++) worst = fmax(worst, fabs(path[k] - expected[k]));
  printf("largest difference from Python: %g\\n", worst);
  return worst > 1e-3;
}}
"""


def export_planner(planner: Planner, folder: Path, name: str | None) -> list[Path]:
    """Write the library; see `Planner.export_c`."""
    if planner.manifold is not None:
        raise HelicoidError("a planner with constraints or closed loops is not written as C")
    if planner._last is None:
        raise HelicoidError("export_c writes the last query as its example: plan first")
    query, robot = planner._last, planner.robot
    path = planner.plan(query.start[0], query.goal, time_limit=10.0)
    if path.success:
        path = planner.plan(query.start[0], path.q[-1], time_limit=10.0)
    planner._last = query
    if not path.success:
        raise HelicoidError(
            f"export_c writes the last query as its example, which has no path: {path.message}"
        )
    p = c_identifier(name or robot.name)
    capacity = max(_MIN_CAPACITY, 2 * planner._obstacles.padded)
    names = {"p": p, "P": p.upper(), "nq": robot.nq, "capacity": capacity}
    numbers = {
        "NQ": robot.nq,
        "SLOTS": max(1, len(planner._slots)),
        "LANES": LANES,
        "CURVED": int(planner.space.is_curved),
    }
    adders = "\n".join(
        f"int32_t {p}_add_{kind}({p}_planner *p, {parameters}) {{\n"
        f"  return hp_instance_add(&p->instance, {arguments});\n}}"
        for kind, (parameters, arguments) in _SHAPES.items()
    )
    source = _SOURCE.format(
        **names,
        pragma=loop_pragma(),
        constants="\n".join(f"#define HP_{key} {value}" for key, value in numbers.items()),
        kinematics=kinematics_source(robot.model, planner._slots),
        tables="\n".join(_tables(planner, capacity)),
        adders=adders,
    )
    ends = {"start": query.start[0], "goal": path.q[-1], "expected": path.q}
    main = _MAIN.format(
        **names, seed=0, recorded=len(path.q), arrays="\n".join(c_array(key, q) for key, q in ends.items())
    )
    about = [
        f"Motion planner of {robot.name}: RRT-Connect on certified edges.",
        "Needs gcc 9 or clang 10, or newer.",
    ]
    texts = {
        f"{p}.h": c_header(p, about, [_DECLARATIONS.format(**names)], "#include <stdint.h>\n"),
        f"{p}.c": source,
        "main.c": main,
        "CMakeLists.txt": cmake_lists(
            p, [f"{p}.c"], "A motion planner, and a program that plans.", "example"
        ),
    }
    return write_files(folder, {**texts, **runtime_files(RUNTIME, "*.[ch]")})


def _tables(planner: Planner, capacity: int) -> Iterator[str]:
    """Robot, scene, space and settings as constants."""
    body, obstacles, space = planner.body, planner._obstacles, planner.space
    for key, values in body.tables.items():
        yield _constant(f"robot_{key}", values)
    pointers = {key: f"robot_{key}" for key in body.tables}
    yield _structure("hp_robot", "robot", {**_numbers(RobotTables, body.struct), **pointers})
    yield from _scene(planner)
    for key in ("lower", "upper", "weight", "turn"):
        yield _constant(f"space_{key}", np.asarray(getattr(space, key), np.float32))
    yield _constant("space_kind", space.kind)
    own = {key: f"space_{key}" for key in ("lower", "upper", "weight", "turn", "kind")}
    yield _structure("hp_space", "space", {**_numbers(type(planner._space), planner._space), **own})
    settings = _numbers(type(planner._settings), planner._settings)
    yield _structure("hp_settings", "settings", settings)
    ignored = "NULL"
    if planner._ignored is not None:
        ignored = "scene_ignored"
        yield _constant(ignored, planner._ignored)
    fields = {
        **{key: f"&{key}" for key in ("robot", "space", "settings")},
        "world": "&scene",
        "ignored": ignored,
        "margin": _float(planner.margin),
        "least": _float(planner.least),
        "passes": str(planner.passes),
        "capacity": str(capacity),
    }
    assert obstacles.padded <= capacity
    yield _structure("hp_exported", "exported", fields)


def _scene(planner: Planner) -> Iterator[str]:
    obstacles = planner._obstacles
    rows = []
    for row in obstacles.table:
        parts = {key: _list(np.ravel(row[key])) for key in ("R", "p", "half")}
        single = {key: str(int(row[key])) for key in ("kind", "field")} | {"radius": _float(row["radius"])}
        rows.append("{" + ", ".join(f".{key} = {value}" for key, value in {**single, **parts}.items()) + "}")
    assert OBSTACLE.names is not None
    yield f"static const hp_obstacle scene_obstacle[] = {{{', '.join(rows) or '{.kind = 0}'}}};"
    low, high = np.zeros((2, 3, max(1, obstacles.padded)), np.float32)
    low[:], high[:] = np.inf, -np.inf
    low[:, : len(obstacles.table)], high[:, : len(obstacles.table)] = obstacles.bounds
    for k in range(3):
        yield _constant(f"scene_low_{k}", low[k])
        yield _constant(f"scene_high_{k}", high[k])
    fields = []
    for k, arrays in enumerate(obstacles.fields):
        one = obstacles.struct.field[k]
        values = _numbers(Field, one)
        if len(arrays) == 2:
            yield _constant(f"field_{k}_first", arrays[0])
            values["first"] = f"field_{k}_first"
        yield _constant(f"field_{k}_points", arrays[-1])
        values["points"] = f"field_{k}_points"
        fields.append("{" + ", ".join(f".{key} = {value}" for key, value in values.items()) + "}")
    yield f"static const hp_field scene_field[] = {{{', '.join(fields) or '{.n = {0}}'}}};"
    boxes = {
        f"{side}": "{" + ", ".join(f"scene_{side}_{k}" for k in range(3)) + "}" for side in ("low", "high")
    }
    counts = {"n": str(obstacles.struct.n), "padded": str(obstacles.padded)}
    yield _structure(
        "hp_world", "scene", {**counts, "obstacle": "scene_obstacle", **boxes, "field": "scene_field"}
    )


def _numbers(kind: type[ctypes.Structure], struct: Any) -> dict[str, str]:
    """The fields of a structure that are numbers or arrays of them."""
    found = {}
    for name, of in kind._fields_:  # type: ignore[misc]
        value = getattr(struct, name)
        if isinstance(value, ctypes.Array):
            items = list(value)
            found[name] = "{" + ", ".join(str(x) if isinstance(x, int) else _float(x) for x in items) + "}"
        elif of not in (ctypes.c_void_p,) and not hasattr(of, "contents"):
            found[name] = _float(value) if isinstance(value, float) else f"{value}"
    return found


def _constant(name: str, values: NDArray[Any]) -> str:
    flat = np.ravel(values)
    kinds = {"float32": "float", "int32": "int32_t", "uint8": "uint8_t"}
    return f"static const {kinds[str(flat.dtype)]} {name}[] = {_list(flat)};"


def _list(flat: NDArray[Any]) -> str:
    texts = [_float(x) if flat.dtype.kind == "f" else str(int(x)) for x in flat] or ["0"]
    lines = [", ".join(texts[k : k + 8]) for k in range(0, len(texts), 8)]
    return "{" + ",\n  ".join(lines) + "}"


def _float(value: float) -> str:
    """A float32, exactly."""
    number = float(np.float32(value))
    if np.isinf(number):
        return "INFINITY" if number > 0 else "-INFINITY"
    return f"{number.hex()}f"


def _structure(kind: str, name: str, values: dict[str, str]) -> str:
    inside = ",\n  ".join(f".{key} = {value}" for key, value in values.items())
    return f"static const {kind} {name} = {{\n  {inside}}};"
