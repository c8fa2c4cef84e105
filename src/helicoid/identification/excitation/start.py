"""Why no motion can begin and end at a configuration: bounds that it violates at rest."""

from __future__ import annotations

import casadi as ca
import numpy as np

from helicoid._typing import Array
from helicoid.geometry.shapes import Shape
from helicoid.identification.excitation.bounds import ExcitationBounds
from helicoid.identification.excitation.collision import BodySphere, distances
from helicoid.identification.excitation.scene import distance_from, scene_distances
from helicoid.model.model import WORLD
from helicoid.robot import Robot


def start_problem(robot: Robot, bounds: ExcitationBounds, q: Array) -> str:
    """The bound that the robot violates as it stands at q (n), in words; empty where there is none."""
    zero = np.zeros(robot.nv)
    torque = np.abs(np.asarray(robot.inverse_dynamics(q, zero, zero))) / bounds.effort
    k = int(np.argmax(torque))
    if torque[k] > 1:
        return (
            f"holding it takes {torque[k] * bounds.effort[k]:.3g} of torque at "
            f"{robot.model.velocity_names[k]!r}, of {bounds.effort[k]:.3g} that may be used"
        )
    for frame, (low, high) in bounds.boxes.items():
        at = robot.pose(frame)(q)[:3, 3]
        if np.any(at < low) or np.any(at > high):
            return f"{frame!r} is outside of its box, at {np.round(at, 3).tolist()}"
    return _too_near(robot, bounds, q)


def _too_near(robot: Robot, bounds: ExcitationBounds, q: Array) -> str:
    """The two links, or the link and the object, that are nearest, where that is within the clearance."""
    model, around, gaps = robot.model, bounds.around, list[tuple[float, str, str]]()
    if bounds.pairs:
        apart = np.array(ca.evalf(distances(model, bounds.spheres, bounds.pairs, ca.SX(q)))).ravel()
        if apart.min() < bounds.clearance:
            pair = bounds.pairs[int(np.argmin(apart))]
            placed = [(one, _center(robot, one, q)) for one in bounds.spheres if one.body in pair]
            gaps = [
                (float(np.linalg.norm(x - y)) - one.radius - other.radius, one.link, other.link)
                for one, x in placed
                for other, y in placed
                if (one.body, other.body) == pair
            ]
    if not gaps and around is not None:
        apart = np.array(ca.evalf(scene_distances(model, around, ca.SX(q)))).ravel()
        if np.any(apart < bounds.clearance):
            gaps = [
                (_gap(one.shape, one.pose, _center(robot, sphere, q)) - sphere.radius, sphere.link, one.name)
                for sphere in around.spheres
                for one in around.scene.objects.values()
                if frozenset((one.name, model.bodies[sphere.body].name)) not in around.scene.allowed
            ]
    if not gaps:
        return ""
    gap, first, second = min(gaps)
    what = f"{100 * gap:.1f} cm apart" if gap > 0 else f"in collision, {-100 * gap:.1f} cm deep"
    return (
        f"{first!r} and {second!r} are {what} by the spheres that cover them, and "
        f"{100 * bounds.clearance:.1f} cm are kept"
    )


def _center(robot: Robot, sphere: BodySphere, q: Array) -> Array:
    """Center in the world (m), (3,)."""
    if sphere.body == WORLD:
        return sphere.center
    pose = robot.pose(robot.model.bodies[sphere.body].name)(q)
    return np.asarray(pose[:3, 3] + pose[:3, :3] @ sphere.center)


def _gap(shape: Shape, pose: Array, x: Array) -> float:
    """Distance (m) of a point in the world from a shape with this pose."""
    return float(distance_from(shape, ca.DM(pose[:3, :3].T @ (x - pose[:3, 3]))))
