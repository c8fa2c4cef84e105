/* Relaxation of position bounds that the measured state exceeds: a return within a few periods, not in one.
 *
 * A hard row c(q) <= b that is exceeded now by e > 0, growing at the rate w, could be met at the next node by one
 * acceleration, which leaves the velocity -w - 2 e / h. If model or sensors are not exact, the next period begins
 * outside again, at that velocity, and the robot chatters from one side to the other. So within a step the bound is
 * relaxed along the critically damped return
 *   e(t) = (e + (w + r e) t) exp(-r t),   r = RETURN_RATE / period,
 * which is zero for rows well inside. A row about to cross its bound slowly (e < 0 < w) would chatter for the same
 * reason: its bound is relaxed likewise, if the return exceeds it by at most MAX_SLIGHT_EXCESS. Where torques cannot
 * follow, rows are exceeded as little as possible. `ok` and `status` of a step refer to the bounds before relaxation.
 *
 * For an ODE or a vehicle the relative degree of a row is not known. There every bound is first widened by
 * MAX_SLIGHT_EXCESS (of the row's scale, or of half the range between its bounds), which decays with the rate
 * WIDENING_RATE / period, and by the present excess: a state at a bound, slightly off the model's prediction, is not
 * thrown back. */
#ifndef HELICOID_MPC_BOUND_RELAXATION_H
#define HELICOID_MPC_BOUND_RELAXATION_H
#include "trajectory.h"

#define RETURN_RATE 0.8
#define MAX_SLIGHT_EXCESS 1e-3 /* of a row's scale */
#define WIDENING_RATE 0.4

/* Index of row i at the second node, the first whose bounds a plan can meet, which may be the last node. Negative if
 * there is none. */
static int64_t next_row(const mpc *s, int i) {
  const int64_t last = (int64_t)s->relaxed_row[i] - 1;
  return s->n > 1 ? NRP + i : last < 0 ? -1 : NRP + last;
}

/* Value and rate of row i in the measured state, by the linearisation at the first node. */
static void measured_row(const mpc *s, int i, double *value, double *rate) {
  const double *v = s->initial + (int)s->loop[VELOCITY_AT];
  const int nv = (int)(s->loop[VELOCITY_END] - s->loop[VELOCITY_AT]);
  *value = s->rows[i], *rate = 0;
  if (i < NB) {
    const int at = box_at[i] - NUP;
    *value += box_scale[i] * s->initial_gap[at];
    for (int j = 0; j < nv; j++)
      if (X_AT(j) == at) *rate = box_scale[i] * v[j];
    return;
  }
  const double *J = s->jacobian + (int64_t)(i - NB) * NZP + NUP;
  for (int j = 0; j < NX; j++) *value += J[X_AT(j)] * s->initial_gap[X_AT(j)];
  for (int j = 0; j < nv; j++) *rate += J[X_AT(j)] * v[j];
}

#if LACKS_RATE
/* Size of the bounded quantity: the scale of the row, or less where bounds are closer to each other, or to zero. */
static double size_of(double low, double high) {
  const double half = isfinite(low) && isfinite(high) ? 0.5 * (high - low) : isfinite(low) ? fabs(low) : fabs(high);
  return smaller_of(half, 1);
}

/* Widen the bounds of row i at all nodes after the first, by the present excess above and below. */
static void relax_row(mpc *s, int i, double above, double below, double rate) {
  (void)rate;
  const double stretch = duration_of(s, s->x) / s->loop[PERIOD];
  const double slightly = MAX_SLIGHT_EXCESS * size_of(s->lower[next_row(s, i)], s->upper[next_row(s, i)]);
  const int last = (int)s->relaxed_row[i] - 1; /* -2: none */
  for (int64_t k = 1; k <= s->n; k++) {
    const double t = s->times[k] * stretch, more = slightly * exp(-WIDENING_RATE * t), left = exp(-RETURN_RATE * t);
    if (k == s->n && last < 0) break;
    const int64_t row = k * NRP + (k < s->n ? i : last);
    s->upper[row] += more + left * larger_of(above, 0), s->lower[row] -= more + left * larger_of(below, 0);
  }
}

static int needs_relaxation(const mpc *s, double above, double below, double rate) {
  (void)s, (void)rate;
  return above > -INFINITY || below > -INFINITY;
}
#else
/* Excess e(t) of a row on its return. */
static double returned(double excess, double rate, double r, double t) {
  return (excess + (rate + r * excess) * t) * exp(-r * t);
}

/* Whether a row exceeds a bound, or is about to do so slightly. */
static int exceeds(const mpc *s, double excess, double rate) {
  const double r = RETURN_RATE / s->loop[PERIOD], farthest = returned(excess, rate, r, 1 / r);
  return excess > 0 || (rate > 0 && farthest > 0 && farthest < MAX_SLIGHT_EXCESS);
}

/* Relax one bound of row i at all nodes after the first by the excess of the return; `sign` is 1 for the upper one. */
static void relax_bound(mpc *s, int i, double *bound, double sign, double excess, double rate) {
  const double r = RETURN_RATE / s->loop[PERIOD], stretch = duration_of(s, s->x);
  const int last = (int)s->relaxed_row[i] - 1; /* -2: none */
  for (int64_t k = 1; k <= s->n; k++) {
    const double t = s->times[k] * stretch, path = returned(excess, rate, r, t);
    if (k == s->n && last < 0) break;
    if (path > 0) bound[k * NRP + (k < s->n ? i : last)] += sign * path;
  }
}

static void relax_row(mpc *s, int i, double above, double below, double rate) {
  if (exceeds(s, above, rate))
    relax_bound(s, i, s->upper, 1, above, rate);
  else
    relax_bound(s, i, s->lower, -1, below, -rate);
}

static int needs_relaxation(const mpc *s, double above, double below, double rate) {
  return exceeds(s, above, rate) || exceeds(s, below, -rate);
}
#endif

/* Relax exceeded bounds for one step. Returns whether there were any. */
static int relax_bounds(mpc *s) {
  const size_t bytes = (size_t)((s->n + 1) * NRP) * sizeof(double);
  int any = 0;
  for (int i = 0; i < NB + NG; i++) {
    const int64_t ahead = next_row(s, i);
    if (s->relaxed_row[i] == 0 || ahead < 0) continue;
    double value, rate;
    measured_row(s, i, &value, &rate);
    const double above = value - s->upper[ahead], below = s->lower[ahead] - value;
    if (!needs_relaxation(s, above, below, rate)) continue;
    if (!any) memcpy(s->own_lower, s->lower, bytes), memcpy(s->own_upper, s->upper, bytes);
    any = 1;
    relax_row(s, i, above, below, rate);
  }
  return any;
}

static void restore_bounds(mpc *s) {
  const size_t bytes = (size_t)((s->n + 1) * NRP) * sizeof(double);
  memcpy(s->lower, s->own_lower, bytes), memcpy(s->upper, s->own_upper, bytes);
}
#endif
