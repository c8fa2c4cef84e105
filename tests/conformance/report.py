"""Prints how far Helicoid and Pinocchio are apart: `python tests/conformance/report.py`, a few minutes.

The worst error of each quantity over all robots; which robots have badly conditioned or nearly singular
states, so that their accelerations are compared less strictly; and which have no forward dynamics at all.
"""

from __future__ import annotations

from collections import defaultdict

from comparison import BAD, FORWARD, GOOD, dynamics_errors, forward_errors, is_singular
from real_robots import BASES, FILES, load

import helicoid as hc

N = 100


def main() -> None:
    """One line for each finding."""
    worst: dict[str, tuple[float, str]] = defaultdict(lambda: (0.0, "none"))
    for name in FILES:
        for base in BASES:
            case = f"{name}, {base} base"
            try:
                load(name, base)
            except hc.RobotDescriptionError as fault:
                print(f"{case}: cannot be read: {fault}")
                continue
            for quantity, error in dynamics_errors(name, base, N).items():
                worst[quantity] = max(worst[quantity], (error, case))
            if is_singular(name, base):
                print(f"{case}: M is singular in every state, no forward dynamics")
                continue
            forward = forward_errors(name, base, N)
            strict, nearly = forward.condition <= GOOD, forward.condition > BAD
            for method in FORWARD:
                error = forward.errors[method][strict].max()
                worst[method] = max(worst[method], (error, case))
            if not strict.all():
                loosest = max(float(forward.errors[method].max()) for method in FORWARD)
                print(
                    f"{case}: {N - strict.sum()} of {N} states are badly conditioned, {nearly.sum()} of them "
                    f"nearly singular (condition number up to {forward.condition.max():.1e}, "
                    f"error up to {loosest:.1e})"
                )
    for quantity, (error, case) in worst.items():
        print(f"{quantity:22} {error:.1e}  {case}")


if __name__ == "__main__":
    main()
