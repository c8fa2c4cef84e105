"""Dynamics in extended precision from the URDF: the reference for rounding errors.

The articulated body algorithm (Featherstone 2008, table 7.1) over all links of the file, fixed ones included,
so that no inertia is merged or moved in double precision. NumPy's `longdouble` has 64 bits of mantissa on
x86-64; `EXTENDED` says whether it has more than double here. All states at once, axis first.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

Array = Any
EXTENDED = bool(np.finfo(np.longdouble).nmant > np.finfo(np.float64).nmant)
GRAVITY = np.array([0, 0, -981], np.longdouble) / 100


@dataclass(frozen=True)
class _Link:
    """A link, its inertia (6, 6) about its own origin, and the joint that carries it."""

    parent: int
    inertia: Array
    joint: str
    kind: str
    rotation: Array
    translation: Array
    axis: Array


class Reference:
    """A robot of revolute, continuous, prismatic and fixed joints, on a fixed or a floating base."""

    def __init__(self, path: Path, joint_names: list[str], base: str) -> None:
        root = ElementTree.parse(path).getroot()
        self._floating = base == "floating"
        self._columns = {name: k for k, name in enumerate(joint_names[int(self._floating) :])}
        inertias = {link.attrib["name"]: _inertia(link) for link in root.findall("link")}
        children: dict[str, list[ElementTree.Element]] = {}
        for joint in root.findall("joint"):
            if joint.find("mimic") is not None or joint.attrib["type"] in ("planar", "floating"):
                raise NotImplementedError(f"joint {joint.attrib['name']}")
            children.setdefault(_the(joint, "parent").attrib["link"], []).append(joint)
        moved = {_the(joint, "child").attrib["link"] for joint in root.findall("joint")}
        (first,) = (name for name in inertias if name not in moved)
        one, nothing = np.eye(3, dtype=np.longdouble), np.zeros(3, np.longdouble)
        kind = "floating" if self._floating else "fixed"
        self._links = [_Link(-1, inertias[first], "", kind, one, nothing, nothing)]
        waiting = [(joint, 0) for joint in children.get(first, [])]
        while waiting:
            joint, parent = waiting.pop()
            name = _the(joint, "child").attrib["link"]
            origin = joint.find("origin")
            axis = joint.find("axis")
            stated = axis is not None and joint.attrib["type"] != "fixed"
            direction = _numbers(axis.get("xyz", "1 0 0") if axis is not None and stated else "1 0 0")
            self._links.append(
                _Link(
                    parent,
                    inertias[name],
                    joint.attrib["name"],
                    joint.attrib["type"],
                    _rpy(origin),
                    _numbers("0 0 0" if origin is None else origin.get("xyz", "0 0 0")),
                    direction / np.sqrt(direction @ direction),
                )
            )
            waiting += [(child, len(self._links) - 1) for child in children.get(name, [])]

    def forward_dynamics(self, q: Array, v: Array, tau: Array) -> Array:
        """a, (N, nv), in Helicoid's order: the base's (ω, v) in the body frame first, if it floats."""
        q, v, tau = (np.asarray(x, np.longdouble) for x in (q, v, tau))
        X, S, V, I, p = [], [], [], [], []
        for link in self._links:
            X.append(self._transform(link, q))
            S.append(self._subspace(link))
            own = self._own(link, v) @ S[-1].T
            V.append(own if link.parent < 0 else _times(X[-1], V[link.parent]) + own)
            I.append(np.broadcast_to(link.inertia, (len(q), 6, 6)))
            p.append(-_times(_crm(V[-1]).swapaxes(1, 2), _times(link.inertia, V[-1])))
        C = [_times(_crm(V[i]), self._own(link, v) @ S[i].T) for i, link in enumerate(self._links)]
        steps = []
        for i in reversed(range(len(self._links))):
            link, U = self._links[i], I[i] @ S[i]
            D = S[i].T @ U
            u = self._own(link, tau) - p[i] @ S[i]
            gain, drive = _solve(D, U.swapaxes(1, 2)), _solve(D, u[..., None])[..., 0]
            steps.append((i, gain, drive))
            if link.parent >= 0:
                Ia = I[i] - U @ gain
                pa = p[i] + _times(Ia, C[i]) + _times(U, drive)
                Xt = X[i].swapaxes(1, 2)
                I[link.parent] = I[link.parent] + Xt @ Ia @ X[i]
                p[link.parent] = p[link.parent] + _times(Xt, pa)
        result, A = np.zeros_like(v), {}
        falling = np.concatenate([np.zeros(3, np.longdouble), -GRAVITY])
        for i, gain, drive in reversed(steps):
            link = self._links[i]
            carried = _times(X[i], falling if link.parent < 0 else A[link.parent]) + C[i]
            a = drive - _times(gain, carried)
            A[i] = carried + a @ S[i].T
            if S[i].shape[1]:
                result[:, self._where(link)] = a
        return result

    def _where(self, link: _Link) -> slice:
        if link.kind == "floating":
            return slice(0, 6)
        start = 6 * self._floating + self._columns[link.joint]
        return slice(start, start + 1)

    def _own(self, link: _Link, x: Array) -> Array:
        return x[:, self._where(link)] if link.kind != "fixed" else np.zeros((len(x), 0), np.longdouble)

    def _subspace(self, link: _Link) -> Array:
        S = np.zeros((6, 1), np.longdouble)
        if link.kind == "fixed":
            return S[:, :0]
        if link.kind == "floating":
            return np.eye(6, dtype=np.longdouble)
        S[3 * (link.kind == "prismatic") :][:3, 0] = link.axis
        return S

    def _transform(self, link: _Link, q: Array) -> Array:
        """The map of twists from the parent to the link, (N, 6, 6)."""
        R = np.broadcast_to(link.rotation, (len(q), 3, 3))
        t = np.broadcast_to(link.translation, (len(q), 3))
        if link.kind == "floating":
            R, t = _quaternion(q[:, 3:7]), q[:, :3]
        elif link.kind != "fixed":
            angle = q[:, 7 * self._floating + self._columns[link.joint]]
            if link.kind == "prismatic":
                t = t + angle[:, None] * (link.rotation @ link.axis)
            else:
                K = _hat(link.axis)
                turn = np.sin(angle)[:, None, None] * K + (1 - np.cos(angle))[:, None, None] * (K @ K)
                R = link.rotation @ (np.eye(3, dtype=np.longdouble) + turn)
        X = np.zeros((len(q), 6, 6), np.longdouble)
        Rt = R.swapaxes(1, 2)
        X[:, :3, :3] = X[:, 3:, 3:] = Rt
        X[:, 3:, :3] = -Rt @ _hat(t)
        return X


def _the(element: ElementTree.Element, tag: str) -> ElementTree.Element:
    found = element.find(tag)
    assert found is not None
    return found


def _numbers(text: str) -> Array:
    # Decimal numbers become double first, as every reader has it: the file is exact, the rest is rounding.
    return np.array([float(x) for x in text.split()], np.longdouble)


def _rpy(origin: ElementTree.Element | None) -> Array:
    r, p, y = _numbers("0 0 0" if origin is None else origin.get("rpy", "0 0 0"))
    (cr, sr), (cp, sp), (cy, sy) = ((np.cos(x), np.sin(x)) for x in (r, p, y))
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ],
        np.longdouble,
    )


def _inertia(link: ElementTree.Element) -> Array:
    """The spatial inertia about the link's origin, (6, 6)."""
    inertial = link.find("inertial")
    if inertial is None:
        return np.zeros((6, 6), np.longdouble)
    origin, entries = inertial.find("origin"), _the(inertial, "inertia").attrib
    m = _numbers(_the(inertial, "mass").attrib["value"])[0]
    c = _hat(_numbers("0 0 0" if origin is None else origin.get("xyz", "0 0 0")))
    xx, xy, xz, yy, yz, zz = (
        _numbers(entries.get(key, "0"))[0] for key in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    )
    R = _rpy(origin)
    at_com = R @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]], np.longdouble) @ R.T
    result = np.zeros((6, 6), np.longdouble)
    result[:3, :3], result[:3, 3:], result[3:, :3] = at_com + m * (c @ c.T), m * c, m * c.T
    result[3:, 3:] = m * np.eye(3)
    return result


def _quaternion(q: Array) -> Array:
    w, x, y, z = (q / np.sqrt((q * q).sum(1))[:, None]).T
    u = _hat(np.stack([x, y, z], 1))
    return np.eye(3, dtype=np.longdouble) + 2 * w[:, None, None] * u + 2 * u @ u


def _hat(w: Array) -> Array:
    K = np.zeros((*w.shape, 3), np.longdouble)
    K[..., 0, 1], K[..., 0, 2], K[..., 1, 2] = -w[..., 2], w[..., 1], -w[..., 0]
    return K - K.swapaxes(-1, -2)


def _crm(V: Array) -> Array:
    X = np.zeros((len(V), 6, 6), np.longdouble)
    X[:, :3, :3] = X[:, 3:, 3:] = _hat(V[:, :3])
    X[:, 3:, :3] = _hat(V[:, 3:])
    return X


def _times(A: Array, x: Array) -> Array:
    return (A @ x[..., None])[..., 0]


def _solve(D: Array, B: Array) -> Array:
    """D⁻¹ B of symmetric positive definite D, (N, n, n): LAPACK has no extended precision."""
    n = D.shape[1]
    D, B = D.copy(), np.broadcast_to(B, (len(D), *B.shape[1:])).copy()
    for k in range(n):
        for i in range(k + 1, n):
            factor = D[:, i, k] / D[:, k, k]
            D[:, i] -= factor[:, None] * D[:, k]
            B[:, i] -= factor[:, None] * B[:, k]
    for k in reversed(range(n)):
        for i in range(k + 1, n):
            B[:, k] -= D[:, k, i, None] * B[:, i]
        B[:, k] /= D[:, k, k, None]
    return B
