"""One planner for all tests of planning: its C is compiled once."""

from __future__ import annotations

import numpy as np
import pytest

import helicoid as hc
from helicoid.planning import Planner
from planning.arms import arm


@pytest.fixture(scope="session")
def planner() -> Planner:
    """Of the small arm, edges certified."""
    return Planner(arm())


@pytest.fixture
def scene() -> hc.Scene:
    """A post, a shelf and a floor around the arm."""
    scene = hc.Scene()
    pose = np.eye(4)
    pose[:3, 3] = 0.9, 0.45, 0.2
    scene.add("shelf", hc.Box([0.4, 0.1, 0.5]), pose)
    scene.add("post", hc.Cylinder(0.08, 1.5), [-0.6, 0.7, 0.0])
    scene.add("floor", hc.Plane([0, 0, 1], -1.0))
    return scene
