"""A chain of many links, held at one end, falls from the horizontal.

    python examples/falling_chain.py [picture.png]

Simulates 0.75 s without friction and draws the chain every few milliseconds, the path of its tip, and
how well the energy is kept.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.colors import Normalize
from numpy.typing import NDArray

import helicoid as hc

N_LINKS = 24
LENGTH = 1.0  # m, of the whole chain
DURATION, DT = 0.75, 1e-4  # s
SHOWN_EVERY = 0.025  # s


def chain_urdf(n: int, length: float) -> str:
    """A chain along x of n thin rods, 0.1 kg each, hinged about y."""
    side = length / n
    inertia = 0.1 * side**2 / 12
    rods = [
        f'<link name="rod{k}"><inertial><origin xyz="{side / 2} 0 0"/><mass value="0.1"/>'
        f'<inertia ixx="1e-6" ixy="0" ixz="0" iyy="{inertia}" iyz="0" izz="{inertia}"/></inertial></link>'
        for k in range(n)
    ]
    hinges = [
        f'<joint name="hinge{k}" type="continuous"><parent link="{f"rod{k - 1}" if k else "hook"}"/>'
        f'<child link="rod{k}"/><origin xyz="{side if k else 0} 0 0"/><axis xyz="0 1 0"/></joint>'
        for k in range(n)
    ]
    return f'<robot name="chain"><link name="hook"/>{"".join(rods)}{"".join(hinges)}</robot>'


def hinge_points(q: NDArray[np.float64]) -> NDArray[np.float64]:
    """x and z of the hook, the hinges and the tip: (samples, N_LINKS + 1, 2)."""
    angles = np.cumsum(q, axis=1)  # about y: a positive angle turns x downwards
    steps = LENGTH / N_LINKS * np.stack([np.cos(angles), -np.sin(angles)], axis=-1)
    return np.concatenate([np.zeros((len(q), 1, 2)), np.cumsum(steps, axis=1)], axis=1)


def draw(fall: hc.Trajectory) -> plt.Figure:
    """The chain in motion, and the error of its energy below."""
    points = hinge_points(fall.q)
    every = round(SHOWN_EVERY / DT)
    times, colours = fall.t[::every], plt.get_cmap("viridis")
    figure, (scene, below) = plt.subplots(
        2, 1, figsize=(9, 6.6), height_ratios=(5, 1.1), layout="constrained"
    )
    chains = LineCollection(list(points[::every]), array=times, cmap=colours, linewidths=2, capstyle="round")
    scene.add_collection(chains)
    scene.plot(*points[:, -1].T, color="crimson", linewidth=1, label="path of the tip")
    scene.plot(0, 0, "o", color="black", markersize=9, label="hook")
    scene.set(xlabel="x (m)", ylabel="z (m)", aspect="equal", xlim=(-1.06, 1.06), ylim=(-1.06, 0.12))
    scene.set_title(f"A chain of {N_LINKS} links falls, drawn every {1e3 * SHOWN_EVERY:g} ms")
    scene.legend(loc="lower right", frameon=False)
    scale = plt.cm.ScalarMappable(Normalize(0, DURATION), colours)
    figure.colorbar(scale, ax=scene, label="time (s)", aspect=30, shrink=0.82)
    weight = np.ptp(fall.kinetic_energy)
    below.semilogy(fall.t[1:], np.abs(fall.energy[1:] - fall.energy[0]) / weight + 1e-17, color="black")
    below.set(xlabel="time (s)", ylabel="energy error\n(relative)", xlim=(0, DURATION), ylim=(1e-16, 1e-6))
    for axis in (scene, below):
        axis.grid(alpha=0.25)
    return figure


def main() -> None:
    folder = Path(__file__).parent / "output"
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else folder / "falling_chain.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    chain = hc.load(chain_urdf(N_LINKS, LENGTH))
    fall = hc.simulate(chain, duration=DURATION, dt=DT)
    draw(fall).savefig(path, dpi=150)
    print(f"{fall}: the tip reaches {np.abs(np.cumsum(fall.v, axis=1)[:, -1]).max():.0f} rad/s; {path}")


if __name__ == "__main__":
    main()
