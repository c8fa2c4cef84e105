/* One step of differential inverse kinematics: from q and numbers to velocities within limits.
 *
 * Sizes are constants: those of configuration.h, NV, NP numbers, NE rows of tasks, NM general rows, of which the first
 * NC are constraints, NB = NV + NM, STRICT and LEVELS, the rows of each of NL levels, SCALED: v is scaled to its limits.
 * DATA(q, p, first, second, A, lower, upper, errors, damping, scratch) calls the generated function: H and f of a
 * weighted program, or E, e and damping of levels. P_... are indices in p.
 *
 * `memory` is the state between steps: the last velocity and the one before, the active set, bounds, errors of tasks,
 * status and iterations. */
#ifndef HELICOID_DIFFERENTIAL_H
#define HELICOID_DIFFERENTIAL_H
#define QP_N NV
#if STRICT
#include "qp_lexicographic.h"
#else
#include "qp.h"
#define QP_LEVELS_WORK(n, m, t) 0
#endif
#include "configuration.h"

#define MEMORY_FIELDS(F) \
  F(LAST, NV) F(BEFORE, NV) F(STATE, NB) F(LOWER, NB) F(UPPER, NB) F(ERRORS, NE) F(INFO, 2) F(SHARE, NL) F(CHANGE, NLV)
enum { MEMORY_FIELDS(PLACE) MEMORY };
enum { FIRST = (STRICT ? NE : NV) * NV, SECOND = STRICT ? NE : NV };
enum { STEP_WORK = FIRST + SECOND + NM * NV + NL + 5 * NB +
                   (STRICT ? QP_LEVELS_WORK(NV, NM, NE) : QP_WORK(NV, NM)) };

#define FADING 0.3 /* time constant (s) with which levels that make no progress, and those after them, come to rest */

/* Bounds of v by the acceleration limit; they take precedence over all other limits. */
static void limit_change(const double *p, const double *last, double *lower, double *upper) {
  for (int i = 0; i < NV; i++) {
    const double change = p[P_ACCELERATION + i] * p[P_DT], least = last[i] - change, most = last[i] + change;
    lower[i] = lower[i] < least ? least : lower[i] > most ? most : lower[i];
    upper[i] = upper[i] > most ? most : upper[i] < least ? least : upper[i];
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

static int solve(const double *p, double *memory, double *v, double *work, double *info) {
  double *first = work, *second = first + FIRST, *A = second + SECOND, *damping = A + NM * NV;
  double *multiplier = damping + NL, *low = multiplier + NB, *high = low + NB, *rest = high + NB;
  const int is_free = SCALED;
  for (int i = 0; i < NB; i++) {
    low[i] = is_free && i < NV ? -INFINITY : memory[LOWER + i];
    high[i] = is_free && i < NV ? INFINITY : memory[UPPER + i];
  }
  for (int i = NV + NC; is_free && i < NB; i++) low[i] = -INFINITY, high[i] = INFINITY;
#if STRICT
  static const int rows[] = LEVELS;
  qp_levels s = {0};
  s.n = NV, s.m = NM, s.levels = NL, s.rows = rows, s.E = first, s.e = second, s.A = A, s.lower = low, s.upper = high;
  s.damping = damping, s.center = p + P_NULL_VELOCITY, s.x = v, s.state = memory + STATE, s.multiplier = multiplier;
  s.work = rest, s.max_iterations = 10 * (NB + NE) + 50, s.share = memory + SHARE, s.change = memory + CHANGE;
  s.fading = 1 / (1 + p[P_DT] / FADING);
  const int status = qp_solve_levels(&s);
#else
  qp s = {0};
  s.n = NV, s.m = NM, s.H = first, s.f = second, s.A = A, s.lower = low, s.upper = high;
  s.x = v, s.state = memory + STATE, s.multiplier = multiplier, s.work = rest, s.max_iterations = 10 * NB + 50;
  const int status = qp_solve(&s);
  (void)p, (void)damping;
#endif
  info[1] = s.iterations;
  return status;
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
    double *first = work, *second = first + FIRST, *A = second + SECOND, *damping = A + NM * NV;
    DATA(q, p, first, second, A, lower, upper, memory + ERRORS, damping, scratch);
    limit_change(p, last, lower, upper);
    status = solve(p, memory, v, work, info);
    if (SCALED && status <= QP_INFEASIBLE) scale(lower, upper, v);
  }
  if (status > STEP_INFEASIBLE) { /* the last velocity decays */
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
