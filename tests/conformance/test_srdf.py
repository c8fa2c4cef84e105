"""Named postures of SRDF files, against Pinocchio's reference configurations."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from pinocchio_peer import Pinocchio
from real_robots import FILES, load, named

from helicoid.model.urdf.srdf import beside

WITH_SRDF = [name for name, path in FILES.items() if beside(path)]
QUICK = {"a1.urdf", "panda.urdf", "talos_reduced.urdf", "ur5_robot.urdf", "centauro.urdf"}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name.split("/")[-1] in QUICK else pytest.mark.slow)
        for name in WITH_SRDF
        if not name.endswith("alex_psyonic_hands.urdf")  # faulty, which test_pinocchio.py says in detail
    ],
)
def test_postures_are_pinocchios_reference_configurations(name: str) -> None:
    robot = load(name, "floating")
    peer = Pinocchio(FILES[name], robot, "floating")
    pin.loadReferenceConfigurations(peer.model, str(beside(FILES[name])), False)
    theirs = {one.key(): one.data() for one in peer.model.referenceConfigurations}
    assert set(robot.postures) == set(theirs)
    for key, q in robot.postures.items():
        ours = peer.q(q[None])[0]
        for joint, joint_name in list(zip(peer.model.joints, peer.model.names, strict=True))[1:]:
            if joint_name not in peer.coupled:  # Pinocchio takes mimic joints as stated, we as they must be
                part = slice(joint.idx_q, joint.idx_q + joint.nq)
                np.testing.assert_allclose(ours[part], theirs[key][part], atol=1e-9, err_msg=joint_name)


def test_a_quadruped_stands_by_its_name() -> None:
    robot = load(named("a1.urdf"), "floating")
    q = robot.postures["standing"]
    assert q[2] == 0.26 and q[3] == 1.0
    feet = [robot.pose(name)(q)[2, 3] for name in robot.link_names if name.endswith("_foot")]
    assert len(feet) == 4 and np.all(np.abs(feet) < 0.05)
