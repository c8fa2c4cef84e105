"""Modes of an aircraft about its trim, by name."""

from __future__ import annotations

import numpy as np

from helicoid._typing import Array

_LONGITUDINAL = [0, 2, 4, 7]  # u, w, q, pitch of (u, v, w, p, q, r, roll, pitch)
_MAX_IMAGINARY = 1e-9  # of |λ|, for a real eigenvalue


def name_modes(A: Array) -> dict[str, complex]:
    """Eigenvalues of A (8 × 8, of u, v, w, p, q, r, roll, pitch) by the name of their mode.

    A mode is longitudinal where most of its eigenvector is, with every state scaled by its largest amplitude
    in any mode. Of the longitudinal modes the fast pair is the short period, the slow one the phugoid; of the
    lateral ones the pair is the Dutch roll, the fast real one roll, the slow one the spiral.
    """
    values, vectors = np.linalg.eig(A)
    scale = np.abs(vectors).max(axis=1)
    scaled = np.abs(vectors) / np.where(scale > 0, scale, 1.0)[:, None]
    longitudinal = np.sum(scaled[_LONGITUDINAL] ** 2, axis=0) / np.sum(scaled**2, axis=0)
    order = np.argsort(-longitudinal, kind="stable")
    return {
        **_longitudinal(_without_conjugates(values[order[:4]])),
        **_lateral(_without_conjugates(values[order[4:]])),
    }


def _without_conjugates(values: Array) -> list[complex]:
    """Real eigenvalues and one of each conjugate pair, the fastest first."""
    kept = [complex(x) for x in values if x.imag > _MAX_IMAGINARY * abs(x)]
    kept += [complex(x.real) for x in values if abs(x.imag) <= _MAX_IMAGINARY * abs(x)]
    return sorted(kept, key=lambda x: -abs(x))


def _longitudinal(found: list[complex]) -> dict[str, complex]:
    if len(found) == 2:
        return dict(zip(("short period", "phugoid"), found, strict=True))
    pairs = [x for x in found if x.imag]
    if len(pairs) == 1 and len(found) == 3:
        real = [x for x in found if not x.imag]
        fast = abs(pairs[0]) > max(map(abs, real))
        named, parts = ("short period", "phugoid") if fast else ("phugoid", "short period")
        return {named: pairs[0], f"{parts} 1": real[0], f"{parts} 2": real[1]}
    return {f"longitudinal {k + 1}": x for k, x in enumerate(found)}


def _lateral(found: list[complex]) -> dict[str, complex]:
    pairs, real = [x for x in found if x.imag], [x for x in found if not x.imag]
    if len(pairs) == 1 and len(real) == 2:
        return {"Dutch roll": pairs[0], "roll": real[0], "spiral": real[1]}
    if len(pairs) == 2:
        return {"Dutch roll": pairs[0], "roll and spiral": pairs[1]}
    return {f"lateral {k + 1}": x for k, x in enumerate(found)}
