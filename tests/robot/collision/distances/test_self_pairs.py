"""Pairs of links that never or always meet: certificates against dense samples."""

from __future__ import annotations

import numpy as np
import pytest

import helicoid as hc
from robot.collision.arms import capsule_arm, collision, urdf

pytestmark = pytest.mark.needs_compiler


def test_what_never_or_always_meets_does_so_in_all_samples(rng: np.random.Generator) -> None:
    big, rod = collision('<sphere radius="0.3"/>', 0.0), collision('<capsule radius="0.03" length="0.2"/>')
    robot = hc.load(urdf([big, big, big, rod, rod], length=0.25))
    pairs = robot.self_collision_pairs()
    assert pairs.always == (("link_0", "link_2"),)
    Q = robot.random(rng, 2000)
    for one in Q[:100]:
        assert ("link_0", "link_2") not in {near.names for near in robot.closest(one)}
    listed = {*pairs.checked, *pairs.never, *pairs.always, *pairs.neighbours}
    assert len(listed) == 10
    # The spheres of links 0 and 2 are never more than 0.1 + 0.25 apart, less than their radii.
    assert ("link_2", "link_4") in {*pairs.checked, *pairs.never}


def test_rods_that_cannot_reach_each_other_never_meet(rng: np.random.Generator) -> None:
    rod = collision('<capsule radius="0.03" length="0.1"/>')
    robot = hc.load(urdf([rod, rod, rod]).replace("2.9", "1.0"))
    pairs = robot.self_collision_pairs()
    assert pairs.never == (("link_0", "link_2"),) and not pairs.checked
    assert robot.distance(robot.random(rng, 1000)).min() > 0
    assert not robot.in_collision(robot.random(rng, 100)).any()


def test_links_that_can_meet_are_checked() -> None:
    pairs = capsule_arm(3).self_collision_pairs()
    assert ("link_1", "link_3") in pairs.checked and not pairs.always


def test_disabled_pairs_are_listed() -> None:
    rod = collision('<capsule radius="0.03" length="0.1"/>')
    srdf = '<robot name="arm"><disable_collisions link1="link_0" link2="link_2" reason="Never"/></robot>'
    pairs = hc.load(urdf([rod, rod, rod]), srdf=srdf).self_collision_pairs()
    assert pairs.disabled == (("link_0", "link_2"),) and len(pairs.neighbours) == 2
