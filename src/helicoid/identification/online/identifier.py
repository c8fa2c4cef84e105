"""Online identification: recursive least squares in square-root information form.

The information on the base parameters δβ is a triangular factor, min ‖R δβ - z‖². A sample adds rows, which
Householder reflections fold in (Golub and Van Loan, section 6.5.3):

    [ √λ R   √λ z ]        [ R'  z' ]
    [ Y/σ   δτ/σ ]   ->   [ 0   e  ]     with ‖e‖² = δτᵀ (σ² + Y P Yᵀ)⁻¹ δτ of the innovation.

No covariance is ever subtracted from, so that none can become indefinite; memory and time are constant.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import block_diag, lapack, solve_triangular

from helicoid._typing import Array
from helicoid.arrays import float_array, real_number, shown
from helicoid.errors import InputError
from helicoid.identification.identifiability import prior
from helicoid.identification.identifiability.base_equations import BaseEquations, with_theta
from helicoid.identification.linear.blas import one_blas_thread
from helicoid.identification.linear.solving.whitening import usual_sizes
from helicoid.identification.online.change_detector import ChangeDetector
from helicoid.identification.online.projection import consistent_set
from helicoid.robot import Robot
from helicoid.robot.frames import several_links

_BLOCK = 8  # columns that LAPACK reflects at once: fastest for 7 rows and 40 to 90 columns
_MAX_INNOVATION = 16.0  # times the usual ‖e‖²: larger ones are weighted down
_NOT_FINITE = "a sample holds numbers that are not finite; it was left out"
_PRIOR_ROWS = 8  # of the prior that are restored at a time
_MAX_SQUARES = 100.0  # times the usual squares of the rows: a sample beyond is refused
_SQUARES_GROWTH = 1.5  # of the usual squares with each refused sample: faster motions are soon accepted
_MIN_SAMPLES_SINCE_REFUSED = 10  # before the estimate is trustworthy again
_SQUARES_GAIN = 0.02  # weight of a sample in the mean of the squares


class OnlineIdentifier:
    """Estimates the parameters θ of a parametric robot from its torques, sample by sample.

    Args:
        robot: where the parameters start from, with its friction and armature.
        groups: what is unknown, any of "inertia", "friction", "armature", "payload", as in
            `robot.parametric`, whose θ this estimates. ("payload",) identifies a load and nothing else.
            Where joints have friction, name "friction" too: all that is not unknown is taken as described.
        payload_link: the link that carries the payload; by default the only tip.
        noise: σ of the measured torques (N·m, N), a number or one a velocity; by default 1 % of the limits.
        spread: prior σ of bodies: the relative error of every mass element of the description.
        forgetting: λ, the weight of a sample after the next one; 1 forgets nothing. Directions that are not
            excited fall back to the description and no further.
        cutoff: of the filter (rad/s) that `update_without_acceleration` uses.
        wrenches: links whose joints have six-axis sensors, in place of joint torques: `update` then takes
            their wrenches (n, f), about each link's origin in its axes, and `noise` is theirs, six each.
        bias: whether each channel of these sensors has a constant offset that is estimated too, see
            `wrench_offsets`; by default it has none, and one that it has is taken for mass.

    >>> import numpy as np
    >>> import helicoid as hc
    >>> robot = hc.load("planar_2r")
    >>> loaded = robot.with_payload("tip", 0.5, [0, 0, 0], np.zeros((3, 3)))
    >>> identifier = hc.OnlineIdentifier(robot, ("payload",), payload_link="tip")
    >>> rng = np.random.default_rng(0)
    >>> for _ in range(200):
    ...     q, v, a = rng.normal(size=(3, 2))
    ...     identifier.update(q, v, a, loaded.inverse_dynamics(q, v, a))
    >>> print(identifier.theta[0].round(2), identifier.trustworthy)
    0.5 True
    """

    def __init__(
        self,
        robot: Robot,
        groups: str | Sequence[str] = ("inertia",),
        *,
        payload_link: str | None = None,
        noise: ArrayLike | None = None,
        spread: float = 0.3,
        forgetting: float = 0.9995,
        cutoff: float = 20.0,
        wrenches: Sequence[str] = (),
        bias: bool = False,
    ) -> None:
        rule = "forgetting lies between 0.5 and 1 (no forgetting)"
        forgetting = real_number(forgetting, rule, 0.5, 1.0, above=True)
        spread = real_number(spread, "spread is a number above zero, at most 1e6", 0.0, 1e6, above=True)
        cutoff = real_number(cutoff, "cutoff is a frequency (Hz) above zero", 0.0, above=True)
        if not isinstance(groups, (str, tuple, list)):
            raise InputError(f"groups are names such as 'inertia' or 'payload'; got {shown(groups)}")
        named = (groups,) if isinstance(groups, str) else tuple(groups)
        links = several_links("wrenches", wrenches)
        if not isinstance(bias, (bool, np.bool_)):
            raise InputError(f"bias is True or False; got {shown(bias)}")
        if bias and not links:
            raise InputError("bias is that of force/torque sensors: name them, wrenches=[...]")
        self._equations = BaseEquations(robot, named, payload_link, wrenches=links, bias=bool(bias))
        self._sigma = prior.noise(robot, noise, len(self._equations.wrenches))
        self._per_sigma = 1 / self._sigma
        self._forgetting, self._cutoff = forgetting, cutoff
        base = self._equations.identifiability
        if base.rank == 0:
            what = "wrenches" if wrenches else "torques"
            raise InputError(f"the {what} of robot {robot.name!r} identify nothing of {', '.join(named)}")
        self._offsets = self._equations.offsets  # the first unknowns: all else is marginal to them
        r, nv = self._offsets + base.rank, self._equations.rows
        self._prior = prior.covariance(self._equations, spread)
        S = base.base @ self._prior @ base.base.T
        self._gain = np.linalg.solve(S, base.base @ self._prior).T  # θ - θ_nominal = gain δβ on average
        of_bodies = np.linalg.cholesky(np.linalg.inv(S)).T  # RᵀR = S⁻¹
        self._R_prior = block_diag(np.diag(1 / prior.offset_sigma(self._equations)), of_bodies)
        self._consistent = consistent_set(self._equations, self._prior)
        self._base, self._prior_information = self._consistent.whitened(base.base, self._prior, of_bodies)
        self._rows = np.empty((r + 1, nv))
        self._block = np.empty((nv, r + 1), order="F")  # what LAPACK overwrites
        self._backup = np.empty((r + 1, r + 1), order="F")
        self._filtered: Array | None = None
        self._filtered_torque, self._last_torque = np.zeros(nv), np.zeros(nv)
        self._last_input = np.zeros((r + 1, nv))
        self.change = ChangeDetector(nv)
        self._restart(np.zeros(r))
        self.n_samples = 0
        self.n_refused = 0
        self._usual_squares = self._expected_squares()
        self._since_refused = 1000

    def __repr__(self) -> str:
        robot, groups = self._equations.robot, self._equations.groups
        state = "trustworthy" if self.trustworthy else "not yet trustworthy"
        return f"OnlineIdentifier({robot.name!r}, {', '.join(groups)}, {self.n_samples} samples, {state})"

    def _expected_squares(self) -> float:
        """The squares of [Y δτ] / σ to begin with: at random configurations, at the robot's usual speeds."""
        robot, rng = self._equations.robot, np.random.default_rng(0)
        speed = usual_sizes(robot)[1]
        squares = []
        for _ in range(16):
            v, a = rng.uniform(-1, 1, (2, robot.nv)) * speed
            rows = np.array(self._equations.torque_rows(robot.random(rng), v, 5.0 * a))
            squares.append(float(np.sum((rows * self._per_sigma) ** 2)))
        return float(np.mean(squares))

    def _refused(self, rows: Array) -> bool:
        """Whether rows [Yᵀ; δτᵀ] / σ are far beyond what is usual; then they are left out.

        Innovations alone do not show it: an acceleration of 1e10 predicts a torque of that size.
        """
        with np.errstate(over="ignore"):
            squares = float(np.sum(rows * rows))
        self._since_refused += 1
        if not squares <= _MAX_SQUARES * self._usual_squares:
            self.n_refused += 1
            self._since_refused = 0
            self._usual_squares *= _SQUARES_GROWTH
            return True
        self._usual_squares += _SQUARES_GAIN * (squares - self._usual_squares)
        return False

    # Samples --------------------------------------------------------------------------------------------

    def update(self, q: ArrayLike, v: ArrayLike, a: ArrayLike, tau: ArrayLike) -> None:
        """One sample: coordinates, velocities, accelerations and measured torques (nq, nv, nv, nv).

        With `wrenches`, `tau` are the sensors' readings instead, (sensors, 6) or one after the other.
        """
        rows, measured = self._rows, self._torque(tau)
        self._equations.torque_rows(q, v, a, out=rows)
        with np.errstate(invalid="ignore"):  # infinity less infinity, refused below
            np.subtract(measured, rows[-1], out=rows[-1])
        self._learn(rows)

    def update_without_acceleration(self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, dt: float) -> None:
        """One sample, `dt` (s) after the last: torque and momentum pass the same filter ω/(s + ω).

        τ = d/dt p + r gives H τ = ω p + H (r - ω p), with neither acceleration nor derivative.
        """
        if self._equations.wrenches:
            raise InputError("wrenches are used with measured accelerations: call update(q, v, a, wrenches)")
        dt = real_number(dt, "dt is the time since the last sample (s), above zero", 0.0, above=True)
        ω, torque = self._cutoff, self._torque(tau).copy()
        momentum, rate = self._equations.momentum_rows(q, v)
        with np.errstate(over="ignore", invalid="ignore"):
            held = rate - ω * momentum
            here = np.vstack([held[:-1], torque - held[-1]]) * self._per_sigma
        if not (np.isfinite(held).all() and np.isfinite(torque).all()):
            raise InputError(_NOT_FINITE)
        if self._refused(here):
            self._filtered = None  # the filter starts again at the next sample
            return
        if self._filtered is None:
            # From here on the equation holds exactly, whatever the state is at the start.
            self._filtered = -ω * momentum
            self._filtered_torque = np.zeros(len(torque))
        else:
            keep, mix = (2 - ω * dt) / (2 + ω * dt), ω * dt / (2 + ω * dt)
            self._filtered = keep * self._filtered + mix * (held + self._last_input)
            self._filtered_torque = keep * self._filtered_torque + mix * (torque + self._last_torque)
        self._last_input, self._last_torque = held, torque
        rows = ω * momentum + self._filtered
        rows[-1] = self._filtered_torque - rows[-1]
        self._learn(rows)

    def update_window(self, q: ArrayLike, v: ArrayLike, a: ArrayLike, tau: ArrayLike) -> None:
        """A window of samples (N, ...) with the last estimate as prior mean.

        min Σ ‖(Y θ - τ)/σ‖² + ‖θ - θ_last‖²: earlier windows enter by θ_last alone.
        """
        motion = (
            np.atleast_2d(float_array(x, f"{name} must be numbers"))
            for name, x in zip("qva", (q, v, a), strict=True)
        )
        rows = self._equations.torque_rows(*motion)
        measured = float_array(tau, "tau must be numbers")
        if measured.shape != (len(rows), self._rows.shape[1]):
            raise InputError(f"tau: expected {len(rows)} rows of {self._rows.shape[1]}, got {measured.shape}")
        rows[:, -1] = measured - rows[:, -1]
        if not np.isfinite(rows).all():
            raise InputError(_NOT_FINITE)
        block = np.concatenate(list(np.moveaxis(rows * self._per_sigma, 1, 2)))
        self._restart(self._delta())
        self._fold(np.asfortranarray(block.copy()))
        self.n_samples += len(rows)
        self._invalidate_results()
        root = solve_triangular(self._R[:-1, :-1], block[:, :-1].T, trans="T", check_finite=False)
        n = len(block)
        self.change.add_window(
            len(rows),
            self._R[-1, -1] ** 2 / n,
            float(np.sum(root**2)) / n,
            float(np.sum(block[:, -1] ** 2)) / n,
        )

    def _torque(self, tau: ArrayLike) -> Array:
        torque = float_array(tau, "tau must be numbers")
        if self._equations.wrenches and torque.shape == (len(self._equations.wrenches), 6):
            torque = torque.ravel()
        if torque.shape != self._sigma.shape:
            what = "numbers of wrenches" if self._equations.wrenches else "torques"
            raise InputError(f"tau: expected {len(self._sigma)} {what}, got an array of shape {torque.shape}")
        return torque

    def _learn(self, rows: Array) -> None:
        """Fold in (r + 1, nv) rows [Yᵀ; δτᵀ] of one sample."""
        with np.errstate(over="ignore"):
            rows *= self._per_sigma
        R = self._R
        if not np.isfinite(rows).all():
            raise InputError(_NOT_FINITE)
        if self._refused(rows):
            return
        if self._forgetting < 1.0:
            R *= np.sqrt(self._forgetting)
        R[-1, -1] = 0.0  # where the innovation will be
        before = self._information()
        np.copyto(self._backup, R)
        np.copyto(self._block, rows.T)
        self._fold(self._block)
        squared = float(R[-1, -1] ** 2)
        if not squared < np.inf:
            np.copyto(R, self._backup)
            raise InputError(_NOT_FINITE)
        limit = _MAX_INNOVATION * len(self._sigma) * self.change.scale
        if squared > limit:  # Huber's weight, after the fact: an outlier must not move the estimate far
            np.copyto(R, self._backup)
            np.multiply(rows.T, np.sqrt(limit / squared), out=self._block)
            self._fold(self._block)
        self.n_samples += 1
        self._invalidate_results()
        nominal = float(rows[-1] @ rows[-1])
        if self.change.add(squared, self._information() - before, nominal):
            delta, spread = self._delta(), self._offset_spread()
            self._restart(delta)
            if self._offsets:  # a load changes, not its sensor
                own = slice(self._offsets)
                self._R[own, own] = np.linalg.cholesky(np.linalg.inv(spread @ spread.T)).T
                self._R[own, -1] = self._R[own, own] @ delta[own]
        elif self._forgetting < 1.0 and self.n_samples % _PRIOR_ROWS == 0:
            self._renew()

    def _fold(self, block: Array) -> None:
        """R becomes the triangular factor of [R; block], in place."""
        lapack.dtpqrt(0, min(_BLOCK, len(self._R)), self._R, block, overwrite_a=1, overwrite_b=1)

    def _renew(self) -> None:
        """Restore some rows of the prior by the weight that forgetting has taken since their last turn."""
        r = len(self._R_prior)
        period = -(-r // _PRIOR_ROWS)
        start = _PRIOR_ROWS * (self.n_samples // _PRIOR_ROWS % period)
        rows = self._R_prior[start : start + _PRIOR_ROWS]
        block = np.zeros((len(rows), r + 1), order="F")
        block[:, :-1] = np.sqrt(1 - self._forgetting ** (_PRIOR_ROWS * period)) * rows
        self._fold(block)

    def _restart(self, delta: Array) -> None:
        """Reset the information to that of the prior, with δβ as its mean."""
        r = len(delta)
        self._R = np.zeros((r + 1, r + 1), order="F")
        self._R[:r, :r] = self._R_prior
        self._R[:r, r] = self._R_prior @ delta

    def _information(self) -> float:
        """log det of the information matrix RᵀR."""
        return 2.0 * float(np.log(np.abs(self._R.diagonal()[:-1])).sum())

    @property
    def _marginal(self) -> Array:
        """The factor of the information on δβ, whatever the offsets before it are."""
        return self._R[self._offsets : -1, self._offsets : -1]

    def _delta(self) -> Array:
        r = len(self._R) - 1
        return np.asarray(lapack.dtrtrs(self._R[:r, :r], self._R[:r, r])[0], np.float64)

    def _invalidate_results(self) -> None:
        for name in ("estimate", "theta", "covariance"):
            self.__dict__.pop(name, None)

    # Results --------------------------------------------------------------------------------------------

    @property
    def parametric(self) -> Robot:
        """`robot.parametric(*groups)`: the robot whose functions take `theta`."""
        return self._equations.parametric

    @property
    def names(self) -> tuple[str, ...]:
        """The names of θ."""
        return self.parametric.parameters.names

    @cached_property
    def estimate(self) -> Array:
        """Posterior mean of θ, in the order of `names`; it may be physically inconsistent."""
        return np.asarray(self._equations.nominal + self._gain @ self._delta()[self._offsets :], np.float64)

    @property
    def wrench_offsets(self) -> dict[str, Array]:
        """Offset of each force/torque sensor, (6,) by link, moment then force; empty without `bias`."""
        return self._equations.by_sensor(self._delta()[: self._offsets])

    @property
    def wrench_offset_sigmas(self) -> dict[str, Array]:
        """σ of each element of `wrench_offsets`."""
        spread = np.linalg.norm(self._offset_spread(), axis=1) * np.sqrt(self.change.scale)
        return self._equations.by_sensor(spread)

    def _offset_spread(self) -> Array:
        """A root (offsets, unknowns) of the covariance of the offsets."""
        R = self._R[:-1, :-1]
        return np.asarray(solve_triangular(R, np.eye(len(R)), check_finite=False)[: self._offsets])

    @cached_property
    def theta(self) -> Array:
        """θ for a controller: the physically consistent θ nearest to `estimate`, with friction >= 0.

        Nearest in the metric of `covariance`: well identified directions change least.
        """
        members, estimate = self._consistent, self.estimate
        if members.contains(estimate):
            return estimate
        with one_blas_thread():
            rows = self._marginal @ self._base
            return members.nearest(estimate, self._prior_information + rows.T @ rows / self.change.scale)

    @cached_property
    def covariance(self) -> Array:
        """The covariance of `estimate`, (θ, θ). In unidentifiable directions it is that of the prior."""
        root = solve_triangular(self._marginal, np.eye(len(self._marginal)), check_finite=False)
        base = self._equations.identifiability.base
        prior_part = base @ self._prior @ base.T
        posterior = root @ root.T * self.change.scale
        return np.asarray(self._prior + self._gain @ (posterior - prior_part) @ self._gain.T, np.float64)

    @property
    def standard_deviations(self) -> Array:
        """σ of each element of `estimate`."""
        return np.sqrt(np.diag(self.covariance))

    @property
    def trustworthy(self) -> bool:
        """Whether `theta` is reliable enough for a controller.

        True when, over the last 50 samples and since the last change, the uncertainty of the parameters adds
        less than a tenth to the variance of the predicted torques, and these are as near to the measured ones
        as twice the noise, or else twice as near (in squares) as those of the description; and no sample was
        refused recently as implausible (`n_refused` counts them).
        """
        return self.change.trustworthy and self._since_refused >= _MIN_SAMPLES_SINCE_REFUSED

    @property
    def robot(self) -> Robot:
        """The robot with `theta` in place of its own values."""
        return with_theta(self._equations, self.theta)
