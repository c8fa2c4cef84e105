/* One step of differential inverse kinematics: from q and numbers to velocities within limits.
 *
 * Sizes are constants: those of configuration.h, NV, NP numbers, NE rows of tasks, NM general rows, of which the first
 * NC are constraints, NB = NV + NM, STRICT and LEVELS, the rows of each of NL levels, SCALED: v is scaled to its limits.
 * DATA(q, p, first, second, A, lower, upper, errors, damping, wanted, scratch) calls the generated function: H, f of a
 * weighted program, or E, e and damping of levels; wanted is |e|^2 of each. P_... are indices in p,
 * GAINS those of the tasks' gains.
 *
 * `memory` is the state between steps: the last velocity and the one before, the active set, bounds, errors of tasks,
 * status and iterations, shares and changes of levels (see qp_take_share), the mean velocity and the numbers. */
#ifndef HELICOID_DIFFERENTIAL_H
#define HELICOID_DIFFERENTIAL_H
#define QP_N NV
#if STRICT
#include "qp_lexicographic.h"
#else
#include "qp_progress.h"
#define QP_LEVELS_WORK(n, m, t) 0
#endif
#include "configuration.h"

#define MEMORY_FIELDS(F) \
  F(LAST, NV) F(BEFORE, NV) F(STATE, NB) F(LOWER, NB) F(UPPER, NB) F(ERRORS, NE) F(INFO, 2) \
  F(SHARE, NL) F(CHANGE, NLV) F(MEAN, NV) F(NUMBERS, NP)
enum { MEMORY_FIELDS(PLACE) MEMORY };
enum { FIRST = (STRICT ? NE : NV) * NV, SECOND = STRICT ? NE : NV };
enum { STEP_WORK = FIRST + SECOND + NM * NV + 2 * NL + 5 * NB +
                   (STRICT ? QP_LEVELS_WORK(NV, NM, NE) : QP_WORK(NV, NM)) };

#define FADING 0.3 /* time constant (s) with which levels that make no progress, and those after them, come to rest */
#define WEIGHTED_STUCK 1e-5 /* progress below which a weighted sum comes to rest, within about 1e-4 of its minimum */
#define WEIGHTED_WANTED 1e-2 /* |e|^2 of the sum below which it makes progress */
#define AT_REST 1e-3 /* mean velocity (rad/s, m/s) of a robot at rest */
#define STEADY 0.2 /* part of the mean velocity with which a robot moves on */

/* Bounds of v by the acceleration limit; they take precedence over all other limits. */
static void limit_change(const double *p, const double *last, double *lower, double *upper) {
  for (int i = 0; i < NV; i++) {
    const double change = p[P_ACCELERATION + i] * p[P_DT], least = last[i] - change, most = last[i] + change;
    lower[i] = lower[i] < least ? least : lower[i] > most ? most : lower[i];
    upper[i] = upper[i] > most ? most : upper[i] < least ? least : upper[i];
  }
}

/* Bounds of v by the range of joints, lower and upper ones; infinite where the velocity limit is the bound. */
static void ranges(const double *p, const double *lower, const double *upper, double *range) {
  for (int i = 0; i < NV; i++) {
    range[i] = lower[i] > -p[P_VELOCITY + i] ? lower[i] : -INFINITY;
    range[NV + i] = upper[i] < p[P_VELOCITY + i] ? upper[i] : INFINITY;
  }
}

/* Scale v to its limits without changing its direction; a velocity whose bounds exclude zero is clipped. */
static void scale(const double *lower, const double *upper, double *v) {
  double factor = 1;
  for (int i = 0; i < NV; i++) {
    if (v[i] > upper[i] && upper[i] > 0) factor = qp_smaller(factor, upper[i] / v[i]);
    if (v[i] < lower[i] && lower[i] < 0) factor = qp_smaller(factor, lower[i] / v[i]);
  }
  for (int i = 0; i < NV; i++) v[i] = qp_larger(lower[i], qp_smaller(upper[i], factor * v[i]));
}

/* Whether a step of this status has a velocity of its own. */
static int keeps(int status) { return status <= STEP_INFEASIBLE || status == STEP_NO_PROGRESS; }

static double largest(const double *v) {
  double most = 0;
  for (int i = 0; i < NV; i++) most = qp_larger(most, fabs(v[i]));
  return most;
}

/* Whether the robot moves on as it did on average, rather than come to rest. */
static int moves_on(const double *mean, const double *v) {
  double along = 0, squared = 0;
  for (int i = 0; i < NV; i++) {
    along += mean[i] * v[i], squared += mean[i] * mean[i];
  }
  return largest(mean) >= AT_REST && along >= STEADY * squared;
}

/* Time constant (s) of that average: a robot whose errors vanish by their gain comes to rest within it. */
static double mean_time(const double *p) {
  static const int at[] = GAINS;
  double slowest = 3 / FADING;
  for (size_t k = 0; k < sizeof at / sizeof *at; k++)
    if (p[at[k]] > 0) slowest = qp_smaller(slowest, p[at[k]]);
  return 3 / slowest;
}

#if !STRICT
/* Let v fade where the weighted sum makes no progress. Returns whether it makes hardly any; is_fading where v
 * has faded for a while. */
static int rest(const qp *s, const double *p, const double *range, const double *damping, double fading,
                double *memory, int *is_fading) {
  const double wanted = damping[NL];
  double fall = 0;
  for (int i = 0; i < NV; i++) {
    const double f = s->f[i] + *damping * p[P_NULL_VELOCITY + i];
    fall -= s->x[i] * (qp_row(NV, s->H + i * NV, s->x) - *damping * s->x[i] + 2 * f);
  }
  const int may_rest = wanted > WEIGHTED_WANTED && !qp_is_limited(NV, s->state, s->x, range);
  const int is_stuck = may_rest && fall < WEIGHTED_STUCK * wanted;
  double base[NV] = {0};
  if (qp_may_be_zero(NB, s->lower, s->upper))
    qp_take_share(NV, memory + SHARE, memory + CHANGE, s->x, base, fading, is_stuck, 0);
  *is_fading = is_stuck && memory[SHARE] < QP_FADED;
  return may_rest && fall < QP_STUCK * wanted;
}
#endif

static int solve(const double *p, const double *range, double *memory, double *v, double *work, double *info) {
  double *first = work, *second = first + FIRST, *A = second + SECOND, *damping = A + NM * NV;
  double *multiplier = damping + 2 * NL, *low = multiplier + NB, *high = low + NB, *left = high + NB;
  const double fading = 1 / (1 + p[P_DT] / FADING);
  const int is_free = SCALED;
  int is_new = 0; /* a new target or another number: a new attempt */
  for (int i = 0; i < NB; i++) {
    low[i] = is_free && i < NV ? -INFINITY : memory[LOWER + i];
    high[i] = is_free && i < NV ? INFINITY : memory[UPPER + i];
  }
  for (int i = NV + NC; is_free && i < NB; i++) low[i] = -INFINITY, high[i] = INFINITY;
  for (int i = 0; i < NP; i++)
    if (memory[NUMBERS + i] != p[i]) memory[NUMBERS + i] = p[i], memory[SHARE] = is_new = 1;
#if STRICT
  static const int rows[] = LEVELS;
  qp_levels s = {0};
  s.n = NV, s.m = NM, s.levels = NL, s.rows = rows, s.E = first, s.e = second, s.A = A, s.lower = low, s.upper = high;
  s.damping = damping, s.center = p + P_NULL_VELOCITY, s.x = v, s.state = memory + STATE, s.multiplier = multiplier;
  s.work = left, s.max_iterations = 10 * (NB + NE) + 50, s.share = memory + SHARE, s.change = memory + CHANGE;
  s.fading = fading, s.range = range;
  int status = qp_solve_levels(&s);
  const int is_slow = s.is_slow, is_fading = s.is_fading;
#else
  qp s = {0};
  s.n = NV, s.m = NM, s.H = first, s.f = second, s.A = A, s.lower = low, s.upper = high;
  s.x = v, s.state = memory + STATE, s.multiplier = multiplier, s.work = left, s.max_iterations = 10 * NB + 50;
  int status = qp_solve(&s);
  int is_fading = 0;
  const int is_slow = status == QP_OK && rest(&s, p, range, damping, fading, memory, &is_fading);
#endif
  info[1] = s.iterations;
  if (status > QP_INFEASIBLE) return status;
  const double part = p[P_DT] / (p[P_DT] + mean_time(p));
  for (int i = 0; i < NV; i++) memory[MEAN + i] += part * (v[i] - memory[MEAN + i]);
  if (status != QP_OK || is_new) return status;
  const int has_stalled = (is_slow && moves_on(memory + MEAN, v)) || (is_fading && largest(v) >= AT_REST);
  return has_stalled ? STEP_NO_PROGRESS : status;
}

/* For any q, v is finite and within limits, and memory has the status. work has STEP_WORK doubles. */
static int differential_step(const double *q, const double *p, double *v, double *memory, double *work,
                             void *scratch) {
  double *last = memory + LAST, *info = memory + INFO, *lower = memory + LOWER, *upper = memory + UPPER;
  int status;
  (void)scratch;
  memcpy(memory + BEFORE, last, NV * sizeof(double));
  if (!is_configuration(q)) {
    status = STEP_BAD_MEASUREMENT;
  } else {
    double *first = work, *second = first + FIRST, *A = second + SECOND, *damping = A + NM * NV, range[2 * NV];
    DATA(q, p, first, second, A, lower, upper, memory + ERRORS, damping, damping + NL, scratch);
    ranges(p, lower, upper, range);
    limit_change(p, last, lower, upper);
    status = solve(p, range, memory, v, work, info);
    if (SCALED && keeps(status)) scale(lower, upper, v);
  }
  if (!keeps(status)) { /* the last velocity decays */
    const double rate = p[P_APPROACH] * p[P_DT], share = rate >= 0 && rate <= 1 ? rate : 1;
    for (int i = 0; i < NV; i++) {
      const double change = p[P_ACCELERATION + i] * p[P_DT], most = change >= 0 ? change : INFINITY;
      const double wanted = -share * last[i];
      v[i] = last[i] + qp_larger(-most, qp_smaller(most, wanted));
      if (fabs(v[i]) < 1e-9) v[i] = 0;
    }
    memset(memory + STATE, 0, NB * sizeof(double));
    info[1] = 0;
  }
  memcpy(last, v, NV * sizeof(double));
  info[0] = status;
  return status;
}
#endif
