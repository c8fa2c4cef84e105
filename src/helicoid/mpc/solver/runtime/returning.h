/* How a robot that is outside of a limit of its place returns to it: quickly, but not in a single period.
 *
 * A hard row c(q) <= b that is exceeded now by e > 0, growing at the rate w, could be met at the next node by one
 * acceleration, which leaves the velocity -w - 2 e / h. If the model is not exact or the sensors are not, the next
 * period begins outside again, at that velocity, and the robot chatters from one side to the other. So within a step
 * the bound gives way along the critically damped return
 *   e(t) = (e + (w + r e) t) exp(-r t),   r = RETURN_RATE / period,
 * which is zero, and the bound as it was, for all that is well inside. What is about to cross a bound slowly (e < 0 < w)
 * would chatter for the same reason: it may do so along the same path, if that exceeds the bound by SLIGHTLY at most.
 * Where torques cannot follow it, rows are exceeded by
 * as little as they can. What a step says of its plan is by the bounds as they are.
 *
 * Of an ODE or a vehicle nobody knows after how many integrations a control reaches a row of its state. There every bound
 * is wider by SLIGHTLY at first (of the row's scale, or of the room between its bounds), which fades with the rate SLOWLY / period, and by what is exceeded now: a state that
 * rests at a bound, and is a little aside of where the model led it, is not thrown back. */
#ifndef HELICOID_MPC_RETURNING_H
#define HELICOID_MPC_RETURNING_H
#include "nodes.h"

#define RETURN_RATE 0.8
#define SLIGHTLY 1e-3 /* of a row's scale */
#define SLOWLY 0.4

/* Where the bounds of row i are that a plan can keep: at the second node, which may be the last. Negative if there are
 * none. */
static int64_t row_ahead(const mpc *s, int i) {
  const int64_t last = (int64_t)s->returning[i] - 1;
  return s->n > 1 ? NRP + i : last < 0 ? -1 : NRP + last;
}

/* Value and rate of row i in the measured state, by the linearisation at the first node. */
static void row_now(const mpc *s, int i, double *value, double *rate) {
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
/* The size of what a row bounds: its scale, or less where bounds are closer to each other, or to zero. */
static double size_of(double low, double high) {
  const double half = isfinite(low) && isfinite(high) ? 0.5 * (high - low) : isfinite(low) ? fabs(low) : fabs(high);
  return smaller_of(half, 1);
}

/* Widen the bounds of row i at all nodes behind the first: it may be so far above and below them now. */
static void yield_row(mpc *s, int i, double above, double below, double rate) {
  (void)rate;
  const double stretch = duration_of(s, s->x) / s->loop[PERIOD];
  const double slightly = SLIGHTLY * size_of(s->lower[row_ahead(s, i)], s->upper[row_ahead(s, i)]);
  const int last = (int)s->returning[i] - 1; /* -2 stands for none */
  for (int64_t k = 1; k <= s->n; k++) {
    const double t = s->times[k] * stretch, more = slightly * exp(-SLOWLY * t), left = exp(-RETURN_RATE * t);
    if (k == s->n && last < 0) break;
    const int64_t row = k * NRP + (k < s->n ? i : last);
    s->upper[row] += more + left * larger_of(above, 0), s->lower[row] -= more + left * larger_of(below, 0);
  }
}

static int gives_way(const mpc *s, double above, double below, double rate) {
  (void)s, (void)rate;
  return above > -INFINITY || below > -INFINITY;
}
#else
/* How far outside a row is on its return after some time. */
static double returned(double excess, double rate, double r, double t) {
  return (excess + (rate + r * excess) * t) * exp(-r * t);
}

/* Whether a row is outside of a bound, or about to be slightly. */
static int yields(const mpc *s, double excess, double rate) {
  const double r = RETURN_RATE / s->loop[PERIOD], farthest = returned(excess, rate, r, 1 / r);
  return excess > 0 || (rate > 0 && farthest > 0 && farthest < SLIGHTLY);
}

/* Add to one bound of row i, at all nodes behind the first, how far the return is outside of it: `sign` 1 for upper. */
static void yield_bound(mpc *s, int i, double *bound, double sign, double excess, double rate) {
  const double r = RETURN_RATE / s->loop[PERIOD], stretch = duration_of(s, s->x);
  const int last = (int)s->returning[i] - 1; /* -2 stands for none */
  for (int64_t k = 1; k <= s->n; k++) {
    const double t = s->times[k] * stretch, path = returned(excess, rate, r, t);
    if (k == s->n && last < 0) break;
    if (path > 0) bound[k * NRP + (k < s->n ? i : last)] += sign * path;
  }
}

static void yield_row(mpc *s, int i, double above, double below, double rate) {
  if (yields(s, above, rate))
    yield_bound(s, i, s->upper, 1, above, rate);
  else
    yield_bound(s, i, s->lower, -1, below, -rate);
}

static int gives_way(const mpc *s, double above, double below, double rate) {
  return yields(s, above, rate) || yields(s, below, -rate);
}
#endif

/* Let bounds give way for one step. Returns whether any did. */
static int yield_bounds(mpc *s) {
  const size_t bytes = (size_t)((s->n + 1) * NRP) * sizeof(double);
  int any = 0;
  for (int i = 0; i < NB + NG; i++) {
    const int64_t ahead = row_ahead(s, i);
    if (s->returning[i] == 0 || ahead < 0) continue;
    double value, rate;
    row_now(s, i, &value, &rate);
    const double above = value - s->upper[ahead], below = s->lower[ahead] - value;
    if (!gives_way(s, above, below, rate)) continue;
    if (!any) memcpy(s->own_lower, s->lower, bytes), memcpy(s->own_upper, s->upper, bytes);
    any = 1;
    yield_row(s, i, above, below, rate);
  }
  return any;
}

static void restore_bounds(mpc *s) {
  const size_t bytes = (size_t)((s->n + 1) * NRP) * sizeof(double);
  memcpy(s->lower, s->own_lower, bytes), memcpy(s->upper, s->own_upper, bytes);
}
#endif
