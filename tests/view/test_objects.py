"""The objects of a scene in the viewer."""

from __future__ import annotations

import numpy as np
import pytest

import helicoid as hc
from helicoid.view.objects import shape_triangles
from helicoid.view.viewer import view
from robot.collision.distances.worlds import CUBE, CUBE_FACES


def test_objects_are_drawn_moved_and_dragged() -> None:
    pytest.importorskip("viser")
    robot, scene = hc.load("planar_2r"), hc.Scene()
    shapes = {
        "box": hc.Box([0.1, 0.2, 0.3]),
        "floor": hc.Plane([0, 0.1, 1], -0.2),
        "cloud": hc.PointCloud(CUBE, 0.01),
        "mesh": hc.Mesh(vertices=CUBE, faces=CUBE_FACES),
    }
    for name, shape in shapes.items():
        scene.add(name, shape)
    with view(robot, scene=scene, block=False) as viewer:
        objects = viewer._objects
        assert objects is not None and list(objects._nodes) == list(shapes)
        scene.move("box", [0.5, 0, 0])
        scene.remove("cloud")
        scene.attach("mesh", robot, "tip", pose=[0, 0, 0.1])
        viewer.update_scene()
        np.testing.assert_allclose(objects._nodes["box"].position, [0.5, 0, 0])
        assert list(objects._nodes) == ["box", "floor", "mesh"]
        objects._nodes["box"].position = (0.7, 0.0, 0.0)
        objects._dragged("box")
        np.testing.assert_allclose(scene.objects["box"].pose[:3, 3], [0.7, 0, 0])
    with pytest.raises(hc.HelicoidError, match="a scene is"):
        view(robot, scene="table", block=False)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "shape",
    [
        hc.Box([0.1, 0.2, 0.3]),
        hc.Sphere(0.1),
        hc.Capsule(0.1, 0.2),
        hc.Cylinder(0.1, 0.2),
        hc.Mesh(vertices=CUBE),
        hc.HeightField(np.zeros((3, 4))),
    ],
    ids=lambda shape: str(shape.kind),
)
def test_triangles_fill_the_bounds_of_a_shape(shape: hc.Box) -> None:
    mesh, (low, high) = shape_triangles(shape, 1.0), shape.bounds
    assert mesh.faces.max() < len(mesh.vertices)
    np.testing.assert_allclose(mesh.vertices.max(axis=0), high, atol=1e-9)
    if shape.kind != "height_field":
        np.testing.assert_allclose(mesh.vertices.min(axis=0), low, atol=1e-9)
