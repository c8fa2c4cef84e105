"""Closed mechanisms that several tests use: a four-bar linkage, a Stewart platform and a delta robot."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

GROUND, CRANK, COUPLER, ROCKER = 1.0, 0.35, 0.9, 0.75  # m, Grashof: the crank turns fully


def _link(name: str, mass: float, com: str, moment: float) -> str:
    return f"""<link name="{name}"><inertial><origin xyz="{com}"/><mass value="{mass}"/>
      <inertia ixx="{moment}" ixy="0" ixz="0" iyy="{moment}" iyz="0" izz="{moment}"/></inertial></link>"""


def _bar(name: str, length: float) -> str:
    return _link(name, length, f"{length / 2} 0 0", length**3 / 12)  # 1 kg/m


def _pivot(name: str, parent: str, child: str, x: float) -> str:
    return f"""<joint name="{name}" type="continuous"><parent link="{parent}"/><child link="{child}"/>
      <origin xyz="{x} 0 0"/><axis xyz="0 -1 0"/></joint>"""


def four_bar_urdf(loop: str = "line") -> str:
    """In the x-z plane, angles from x towards z; the coupler's end is hinged to the rocker's by a loop."""
    return f"""<robot name="four_bar">
      <link name="ground"/>{_bar("crank", CRANK)}{_bar("coupler", COUPLER)}{_bar("rocker", ROCKER)}
      {_pivot("crank_joint", "ground", "crank", 0)}{_pivot("coupler_joint", "crank", "coupler", CRANK)}
      {_pivot("rocker_joint", "ground", "rocker", GROUND)}
      <helicoid>
        <loop name="hinge" kind="{loop}" link_a="coupler" link_b="rocker" xyz_a="{COUPLER} 0 0"
          rpy_a="1.5707963267948966 0 0" xyz_b="{ROCKER} 0 0" rpy_b="1.5707963267948966 0 0"/>
      </helicoid>
    </robot>"""


def four_bar_angles(crank: float) -> Array:
    """Absolute angles of crank, coupler and rocker by the law of cosines, the rocker above the ground."""
    to_pivot = GROUND - CRANK * np.exp(1j * crank)
    d = abs(to_pivot)
    at_coupler = np.arccos((COUPLER**2 + d**2 - ROCKER**2) / (2 * COUPLER * d))
    coupler = np.angle(to_pivot) + at_coupler
    end = CRANK * np.exp(1j * crank) + COUPLER * np.exp(1j * coupler)
    return np.array([crank, coupler, np.angle(end - GROUND)])


def four_bar_rates(angles: Array, ω: float, α: float) -> tuple[Array, Array]:
    """Absolute angular velocities and accelerations from the derivatives of the vector loop.

    a e^{iθ₂} + b e^{iθ₃} = g + c e^{iθ₄}, whose derivatives are linear in the rates of θ₃ and θ₄.
    """
    a, b, c = (
        length * np.exp(1j * angle) for length, angle in zip((CRANK, COUPLER, ROCKER), angles, strict=True)
    )
    matrix = np.array([[(1j * b).real, -(1j * c).real], [(1j * b).imag, -(1j * c).imag]])

    def solved(right: complex) -> Array:
        return np.linalg.solve(matrix, [right.real, right.imag])

    v = np.concatenate([[ω], solved(-1j * a * ω)])
    acceleration = solved(-1j * a * α + a * ω**2 + b * v[1] ** 2 - c * v[2] ** 2)
    return v, np.concatenate([[α], acceleration])


def joint_angles(absolute: Array) -> Array:
    """The coordinates of the joints: the coupler turns against the crank. Works on rates too."""
    return np.array([absolute[0], absolute[1] - absolute[0], absolute[2]])


BASE_POINTS = np.array([[np.cos(t), np.sin(t), 0.0] for t in np.radians([-20, 20, 100, 140, 220, 260])])
PLATFORM_POINTS = 0.6 * np.array(
    [[np.cos(t), np.sin(t), 0.0] for t in np.radians([-50, 50, 70, 170, 190, 290])]
)
PLATFORM_MASS = 20.0


def stewart_urdf(leg_mass: float) -> str:
    """Six legs (universal, prismatic); the platform sits on one by a ball joint, on the others by loops."""
    parts = [
        '<robot name="stewart"><link name="base"/>',
        _link("platform", PLATFORM_MASS, "0.05 0.02 0.1", 1.0),
    ]
    loops = []
    for k, (foot, top) in enumerate(zip(BASE_POINTS, PLATFORM_POINTS, strict=True)):
        parts += [_link(f"{part}{k}", leg_mass / 2, "0 0 0.3", leg_mass / 20) for part in ("lower", "upper")]
        parts.append(f"""<joint name="universal{k}" type="universal"><parent link="base"/>
          <child link="lower{k}"/><origin xyz="{foot[0]} {foot[1]} 0"/><axis xyz="1 0 0"/>
          <helicoid axis2="0 1 0"/></joint>""")
        parts.append(f"""<joint name="leg{k}" type="prismatic"><parent link="lower{k}"/>
          <child link="upper{k}"/><axis xyz="0 0 1"/>
          <limit lower="0" upper="2" velocity="1" effort="1000"/></joint>""")
        end = " ".join(map(str, top))
        if k == 0:
            parts.append(
                '<joint name="ball" type="spherical"><parent link="upper0"/><child link="hub"/></joint>'
            )
            back = " ".join(map(str, -top))
            parts.append(f"""<link name="hub"/><joint name="mount" type="fixed"><parent link="hub"/>
              <child link="platform"/><origin xyz="{back}"/></joint>""")
        else:
            loops.append(
                f'<loop name="ball{k}" kind="point" link_a="upper{k}" link_b="platform" xyz_b="{end}"/>'
            )
    return "".join([*parts, "<helicoid>", *loops, "</helicoid></robot>"])


DELTA_BASE, DELTA_ARM, DELTA_ROD, DELTA_PLATFORM, DELTA_WIDTH = 0.2, 0.3, 0.7, 0.06, 0.05  # m


def delta_urdf() -> str:
    """Three driven arms, two rods on each (a parallelogram), a platform that loops hold to all six rods."""
    parts, loops = ['<robot name="delta"><link name="base"/>', _link("platform", 0.4, "0 0 0", 1e-3)], []
    for k in range(3):
        angle = 2 * np.pi * k / 3
        c, s = np.cos(angle), np.sin(angle)
        parts.append(_link(f"arm{k}", 0.5, f"0 0 {-DELTA_ARM / 2}", 4e-3))
        parts.append(f"""<joint name="motor{k}" type="continuous"><parent link="base"/><child link="arm{k}"/>
          <origin xyz="{DELTA_BASE * c} {DELTA_BASE * s} 0" rpy="0 0 {angle}"/><axis xyz="0 1 0"/></joint>""")
        for side, y in (("left", DELTA_WIDTH), ("right", -DELTA_WIDTH)):
            rod = f"{side}{k}"
            parts.append(_link(rod, 0.1, f"0 0 {-DELTA_ROD / 2}", 4e-3))
            parts.append(f"""<joint name="{rod}_joint" type="universal"><parent link="arm{k}"/>
              <child link="{rod}"/><origin xyz="0 {y} {-DELTA_ARM}"/><axis xyz="0 1 0"/>
              <helicoid axis2="1 0 0"/></joint>""")
            end = f"{DELTA_PLATFORM * c - y * s} {DELTA_PLATFORM * s + y * c} 0"
            loops.append(f"""<loop name="{rod}_ball" kind="point" link_a="{rod}" link_b="platform"
              xyz_a="0 0 {-DELTA_ROD}" xyz_b="{end}"/>""")
    parts.append('<joint name="free" type="floating"><parent link="base"/><child link="platform"/></joint>')
    return "".join([*parts, "<helicoid>", *loops, "</helicoid></robot>"])
