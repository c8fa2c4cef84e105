"""Picture of robots of all formats: `python docs/description_pictures.py FOLDER` writes `assets/descriptions.webp`.

FOLDER has the wheels `robosuite` and `dm_control` unpacked; URDF and SDF are of `example-robot-data`. Chromium
draws them, without a window.
"""

from __future__ import annotations

import io
import sys
import sysconfig
import tempfile
import warnings
from pathlib import Path

import numpy as np
from PIL import Image

import helicoid as hc
from helicoid.view import motion_page

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from view.browser import Page, browser  # noqa: E402

SIZE = (480, 480)
HIDDEN = ".bar, .legend { display: none !important }"
HEXAPOD = """<robot name="hexapod" xmlns:xacro="http://www.ros.org/wiki/xacro">
  <link name="trunk"><inertial><mass value="4"/>
      <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>
    <visual><geometry><cylinder radius="0.16" length="0.07"/></geometry>
      <material name="blue"><color rgba="0.2 0.35 0.6 1"/></material></visual></link>
  <xacro:macro name="part" params="name on at turn axis length tilt">
    <link name="${name}"><inertial><mass value="0.3"/>
        <inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>
      <visual><origin xyz="${length / 2} 0 0" rpy="0 ${pi / 2} 0"/>
        <geometry><capsule radius="0.025" length="${length}"/></geometry></visual></link>
    <joint name="${name}_joint" type="continuous"><parent link="${on}"/><child link="${name}"/>
      <origin xyz="${at}" rpy="0 ${tilt} ${turn}"/><axis xyz="${axis}"/></joint>
  </xacro:macro>
  <xacro:macro name="leg" params="k">
    <xacro:property name="turn" value="${k * pi / 3}"/>
    <xacro:part name="coxa_${k}" on="trunk" at="${0.16 * cos(turn)} ${0.16 * sin(turn)} 0" turn="${turn}"
      axis="0 0 1" length="0.08" tilt="0"/>
    <xacro:part name="femur_${k}" on="coxa_${k}" at="0.08 0 0" turn="0" axis="0 1 0" length="0.18" tilt="-0.6"/>
    <xacro:part name="tibia_${k}" on="femur_${k}" at="0.18 0 0" turn="0" axis="0 1 0" length="0.25" tilt="1.7"/>
    <xacro:if value="${k &lt; 5}"><xacro:leg k="${k + 1}"/></xacro:if>
  </xacro:macro>
  <xacro:leg k="0"/>
</robot>"""


def robots(folder: Path) -> dict[str, tuple[hc.Robot, dict[str, float]]]:
    """Robots by format, with the coordinates of joints that are not at their neutral."""
    shared = (
        Path(sysconfig.get_path("purelib"))
        / "cmeel.prefix"
        / "share"
        / "example-robot-data"
        / "robots"
    )
    assets = folder / "robosuite" / "models" / "assets"
    arm = hc.load(assets / "robots" / "panda" / "robot.xml")
    gripper = hc.load(assets / "grippers" / "jaco_three_finger_gripper.xml")
    put_together = arm.attach(gripper, to="right_hand", prefix="gripper_")
    bent = {"joint2": 0.4, "joint4": -1.8, "joint6": 2.2, "joint7": 0.8}
    return {
        "URDF": (
            hc.load(shared / "talos_data" / "robots" / "talos_reduced.urdf"),
            {},
        ),
        "xacro": (hc.load(HEXAPOD), {}),
        "SDF": (
            hc.load(
                shared / "cassie_description" / "robots" / "cassie_v2.sdf",
                ignore=["static"],
            ),
            {},
        ),
        "MJCF": (
            hc.load(folder / "dm_control" / "suite" / "quadruped.xml"),
            {},
        ),
        "put together": (put_together, bent),
    }


def take(page: Page, robot: hc.Robot, joints: dict[str, float]) -> Image.Image:
    """Picture of a robot in the viewer's page."""
    q = np.clip(robot.neutral(), robot.limits.lower, robot.limits.upper)
    for name, value in joints.items():
        q[robot.index(name)[0]] = value
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "robot.html"
        path.write_text(motion_page(robot, q, theme="light"), "utf-8")
        page.open(path.as_uri(), *SIZE)
        page.wait("!!document.querySelector('.helicoid-player')?.dataset.time")
        page.evaluate(
            f"document.head.insertAdjacentHTML('beforeend', `<style>{HIDDEN}</style>`)"
        )
        page.evaluate("new Promise((done) => setTimeout(done, 1500))")
        return Image.open(io.BytesIO(page.png())).convert("RGB")


def main() -> None:
    """Write the picture."""
    warnings.simplefilter("ignore")
    with browser() as page:
        pictures = [
            take(page, *one) for one in robots(Path(sys.argv[1])).values()
        ]
    whole = Image.new(
        "RGB", (len(pictures) * SIZE[0] // 2, SIZE[1] // 2), "white"
    )
    for k, picture in enumerate(pictures):
        whole.paste(
            picture.resize((SIZE[0] // 2, SIZE[1] // 2)), (k * SIZE[0] // 2, 0)
        )
    whole.save(
        ROOT / "docs" / "assets" / "descriptions.webp", quality=85, method=6
    )


if __name__ == "__main__":
    main()
