"""Motion of a robot as HTML that plays in a browser, without a server or network access.

The page is self-contained: the triangles of each body (positions in 16 bits, normals in 8), the poses of
all bodies over time, and a small WebGL program that draws them.
"""

from __future__ import annotations

import base64
import html
import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from helicoid._typing import Array
from helicoid.errors import InputError
from helicoid.model.model import WORLD
from helicoid.pages.html_page import html_document, packaged_text
from helicoid.robot import Robot
from helicoid.robot.collision.scene import Scene
from helicoid.view.drawing.drawing import Part, corners, extent, visual_parts
from helicoid.view.drawing.meshes import Color
from helicoid.view.drawing.triangles import Triangles, cone, creased, rod, sphere, tube, welded
from helicoid.view.ground import FORCE_COLOR, arrows, floor_height, ground_parts
from helicoid.view.motion import PlayedMotion, as_motion, thinned
from helicoid.view.objects import scene_parts
from helicoid.view.poses import body_poses

Theme = Literal["auto", "light", "dark"]

COLORS = ((0.16, 0.42, 0.72), (0.93, 0.49, 0.13), (0.10, 0.60, 0.42), (0.60, 0.35, 0.70))
_SAMPLE_RATE = 60.0  # Hz; the player interpolates between samples
_MAX_FACES = 120_000  # of a robot; meshes with more are simplified
_SPEEDS = (0.1, 0.25, 0.5, 1, 2, 4)


@dataclass(frozen=True)
class Marker:
    """Sphere drawn in the scene, such as a target or a payload.

    `position` (m) is in the frame of `link`, or in the world; it is visible from `start` to `end` (s).
    """

    position: tuple[float, float, float]
    radius: float = 0.02
    color: Color = (0.85, 0.20, 0.25, 1.0)
    link: str = ""
    start: float = -np.inf
    end: float = np.inf


def motion_html(
    robot: Robot,
    trajectory: Any,
    *,
    ghosts: Mapping[str, Any] | None = None,
    title: str = "",
    label: str = "robot",
    trace: str = "",
    markers: Sequence[Marker] = (),
    follow: str = "",
    scene: Scene | Mapping[float, Scene] | None = None,
    theme: Theme = "auto",
) -> str:
    """Motion as an HTML fragment that fills the width of its container.

    `trajectory` has `.t` (s) and `.q`, such as a Trajectory or a Plan, or is one configuration. `ghosts` are
    other motions of the same robot by name, drawn transparent; `label` names the first one in the legend.
    `trace` names a link whose path is drawn, `follow` one that the camera follows. A trajectory with
    contacts is drawn with its ground and its contact forces as red arrows. `scene` is drawn with its objects;
    of several, by the time (s) from which each holds, the one of the time. The theme "auto" follows the
    browser's setting.

    >>> import helicoid as hc
    >>> from helicoid.view import motion_html
    >>> robot = hc.load("planar_2r")
    >>> motion_html(robot, robot.neutral())[:29]
    '<div class="helicoid-player">'
    """
    if theme not in ("auto", "light", "dark"):
        raise InputError(f"theme is 'auto', 'light' or 'dark', got {theme!r}")
    named = {label: trajectory, **(ghosts or {})}
    if len(named) != 1 + len(ghosts or {}):
        raise InputError(f"a ghost has the name {label!r} of the robot itself; pass another label")
    motions = [thinned(as_motion(robot, source), _SAMPLE_RATE) for source in named.values()]
    poses = [body_poses(robot, motion.q) for motion in motions]
    drawn = _PackedScene()
    parts = _simplified(visual_parts(robot))
    size = extent(robot, parts)
    for part in parts:
        drawn.add(part)
    for k, motion in enumerate(motions):
        if trace and len(motion.t) > 1:
            points = robot.pose(trace)(motion.q)[:, :3, 3]
            drawn.add(Part(WORLD, tube(points, 0.0025 * size), (*COLORS[k % len(COLORS)], 1.0)), motion=k)
    for marker in markers:
        drawn.add(_marker_part(robot, marker), window=(marker.start, marker.end))
    points = corners(parts, np.concatenate(poses))
    for part, window in scene_parts(robot, scene, size) if scene is not None else ():
        drawn.add(part, window=window)
        if part.body == WORLD and part.color[3] == 1.0:
            points = np.concatenate([points, part.triangles.vertices])
    low, high = points.min(axis=0), points.max(axis=0)
    floor, body = low[2], robot.model.frame(follow).body if follow else WORLD
    if follow:  # frame the robot, not its whole path
        points = corners(parts, poses[0][:1], origin=False)
        low, high = points.min(axis=0), points.max(axis=0)
    grounds = motions[0].grounds
    for part in ground_parts(grounds, (low + high) / 2, float(np.linalg.norm(high - low))):
        drawn.add(part)
    header = {
        "theme": theme,
        "bodies": robot.n_bodies,
        "center": ((low + high) / 2).tolist(),
        "outline": _outline(points),
        "radius": float(np.linalg.norm(high - low) / 2),
        "floor": floor_height(grounds, floor),
        "follow": body,
        "cell": _round_length(size / 8),
        "spacing": float(1.1 * (high - low)[1] + 0.2 * size),
        "motions": [
            drawn.motion(motion, pose, COLORS[k % len(COLORS)], arrows(robot, motion, size))
            for k, (motion, pose) in enumerate(zip(motions, poses, strict=True))
        ],
        "parts": drawn.parts,
        "arrow": drawn.arrow(size) if any(motion.forces.size for motion in motions) else None,
        "data": drawn.packed(),
    }
    moving = any(len(motion.t) > 1 for motion in motions)
    return _fragment(header, title, list(named) if ghosts else [], moving)


def motion_page(robot: Robot, trajectory: Any, *, title: str = "", **options: Any) -> str:
    """Motion as a stand-alone HTML page that fills the window; options as in `motion_html`.

    >>> import helicoid as hc
    >>> from helicoid.view import motion_page
    >>> motion_page(hc.load("planar_2r"), [0.1, 0.2], title="Two links")[:15]
    '<!DOCTYPE html>'
    """
    player = motion_html(robot, trajectory, title=title or robot.name, **options)
    # Placed after the player's style, which it overrides.
    style = (
        "html, body { margin: 0; height: 100%; } body > .helicoid-player { height: 100%; border-radius: 0; }"
    )
    return html_document(title or robot.name, f"{player}\n<style>{style}</style>")


class _PackedScene:
    """Scene data: all arrays in one block of bytes, with their offsets."""

    def __init__(self) -> None:
        self.parts: list[dict[str, Any]] = []
        self._block = bytearray()

    def add(self, part: Part, motion: int = -1, window: tuple[float, float] = (-np.inf, np.inf)) -> None:
        mesh, normals = creased(part.triangles)
        low = mesh.vertices.min(axis=0)
        span = np.maximum(np.ptp(mesh.vertices, axis=0), 1e-9)
        self.parts.append(
            {
                "body": part.body,
                "motion": motion,
                "color": [round(float(x), 4) for x in part.color],
                "from": max(window[0], -1e9),
                "until": min(window[1], 1e9),
                "low": low.tolist(),
                "span": span.tolist(),
                "vertices": len(mesh.vertices),
                "faces": len(mesh.faces),
                "positions": self._put(np.round((mesh.vertices - low) / span * 65535), "<u2"),
                "normals": self._put(np.round(normals * 127), "<i1"),
                "indices": self._put(mesh.faces, "<u4"),
            }
        )

    def arrow(self, size: float) -> dict[str, Any]:
        """Arrow along z: a shaft of unit length, to be scaled, and a head of fixed length."""
        radius = 0.008 * size
        self.add(
            Part(WORLD, rod(np.zeros(3), np.array([0, 0, 1.0]), radius, "cylinder"), (*FORCE_COLOR, 1.0))
        )
        self.add(Part(WORLD, cone(3.0 * radius, 8 * radius), (*FORCE_COLOR, 1.0)))
        head, shaft = self.parts.pop(), self.parts.pop()
        return {"shaft": shaft, "head": head}

    def motion(
        self, motion: PlayedMotion, poses: Array, color: tuple[float, float, float], arrows: Array
    ) -> dict[str, Any]:
        return {
            "arrows": arrows.shape[1],
            "ends": self._put(arrows, "<f4"),
            "color": color,
            "samples": len(motion.t),
            "times": self._put(motion.t, "<f4"),
            "poses": self._put(poses, "<f4"),
        }

    def _put(self, values: Any, kind: str) -> int:
        self._block.extend(b"\0" * (-len(self._block) % 4))
        offset = len(self._block)
        self._block.extend(np.asarray(values).astype(kind).tobytes())
        return offset

    def packed(self) -> str:
        return base64.b64encode(zlib.compress(bytes(self._block), 9)).decode("ascii")


def _simplified(parts: list[Part]) -> list[Part]:
    """Simplify parts to at most `_MAX_FACES` in total, by vertex clustering with growing cells."""
    edge = max((float(np.ptp(part.triangles.vertices, axis=0).max()) for part in parts), default=1.0)
    cell = edge / 2000
    while sum(len(part.triangles.faces) for part in parts) > _MAX_FACES:
        parts = [_clustered(part, cell) for part in parts]
        cell *= 1.25
    return parts


def _clustered(part: Part, cell: float) -> Part:
    coarse = welded(part.triangles, cell)
    return part._replace(triangles=coarse) if len(coarse.faces) else part


def _marker_part(robot: Robot, marker: Marker) -> Part:
    ball = sphere(marker.radius)
    ball = Triangles(ball.vertices + np.asarray(marker.position, dtype=np.float64), ball.faces)
    if not marker.link:
        return Part(WORLD, ball, marker.color)
    body, placement = robot.model.frame(marker.link)
    return Part(body, ball.moved(placement), marker.color)


def _outline(points: Array) -> list[list[float]]:
    """Extreme points in 26 directions, which the camera has to keep in view."""
    directions = np.array([[x, y, z] for x in (-1, 0, 1) for y in (-1, 0, 1) for z in (-1, 0, 1)])
    return np.unique(points[np.argmax(points @ directions.T, axis=0)], axis=0).round(4).tolist()


def _round_length(length: float) -> float:
    """Round up to 1, 2 or 5 times a power of ten."""
    power = 10.0 ** np.floor(np.log10(length))
    return float(power * next(step for step in (1, 2, 5, 10) if step * power >= length))


def _fragment(header: dict[str, Any], title: str, names: Iterable[str], moving: bool) -> str:
    style, program = packaged_text("helicoid.view.player", "player.css", "player.js")
    legend = "".join(
        f'<button title="show or hide"><i style="background:{_css(motion["color"])}"></i>'
        f"{html.escape(name)}</button>"
        for name, motion in zip(names, header["motions"], strict=False)
    )
    speeds = "".join(f'<option value="{s}"{" selected" * (s == 1)}>{s:g}×</option>' for s in _SPEEDS)
    apart = '<button class="apart">side by side</button>' if legend else ""
    bar = (
        '<div class="bar"><button class="play" aria-label="play or pause"></button>'
        '<input type="range" min="0" max="1" step="any" value="0" aria-label="time"><output></output>'
        f'<select aria-label="speed">{speeds}</select>{apart}</div>'
    )
    content = json.dumps(header, separators=(",", ":")).replace("</", "<\\/")
    return (
        f'<div class="helicoid-player">\n<style>\n{style}</style>\n'
        '<canvas tabindex="0" aria-label="the robot in 3-D"></canvas>\n'
        + (f'<div class="title">{html.escape(title)}</div>\n' if title else "")
        + (f'<div class="legend">{legend}</div>\n' if legend else "")
        + (bar + "\n" if moving else "")
        + f'<script type="application/json">{content}</script>\n<script>\n{program}</script>\n</div>'
    )


def _css(color: Sequence[float]) -> str:
    return "#" + "".join(f"{round(255 * x):02x}" for x in color)
