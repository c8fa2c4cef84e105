/* Filter line search far from a solution, for forward dynamics and ODEs; it lets gaps open.
 *
 * A point is acceptable if no earlier point had both smaller gaps and a lower cost (Fletcher and Leyffer 2002; rules of
 * Waechter and Biegler 2006). A merit function weighs gaps against cost by the largest multiplier and follows the
 * dynamics closely; here a step may leave them, and return to them at a better place. Where a step is not acceptable, it
 * is tried as a rollout of the system under the feedback of the program, which closes its gaps. */
#ifndef HELICOID_MPC_FILTER_SEARCH_H
#define HELICOID_MPC_FILTER_SEARCH_H
#include "line_search.h"

#define MARGIN 1e-3   /* required improvement, relative to the gaps */
#define MAX_MEAN_GAP 0.15 /* in units of the state: beyond it a plan is far from any motion of the system */
#define MAX_CLOSED_GAP 1e-9

typedef struct {
  double cost, gap; /* objective with the penalties of rows, and sum of gaps */
} Point;

static Point trial_point(const mpc *s, double alpha, double distance) {
  const Merit m = merit(s, s->trial_cost, s->trial_gap, s->trial_rows);
  return (Point){m.cost + m.price, m.gap + (1 - alpha) * distance};
}

static Point point_of_step(mpc *s, double alpha, double distance) {
  try_step(s, alpha);
  evaluate_trial(s);
  return trial_point(s, alpha, distance);
}

/* x = x + dx, along its manifold. */
static void move_state(mpc *s, double *x, const double *dx) {
#if MANIFOLD
  double moved[NXA], *out[] = {moved};
  const double *in[] = {x, dx};
  const ptrdiff_t stride[] = {0, 0};
  run(s, s->retract, in, stride, out, 1);
  memcpy(x, moved, sizeof moved);
#else
  (void)s;
  for (int i = 0; i < NX; i++) x[i] += dx[X_AT(i)];
#endif
}

/* Rollout of the step under the program's feedback u + K dx: gaps shrink to (1 - alpha) times their size. */
static Point point_of_rollout(mpc *s, double alpha, double distance) {
  double dx[NXP] __attribute__((aligned(64))) = {0};
  try_step(s, alpha);
  for (int64_t k = 0; k < s->n; k++) {
    const double *G = s->swept + k * NZP * NZP;
    double *x = s->x_trial + k * NXA, *u = s->u_trial + k * NU, *gap = s->trial_gap + k * NXP;
    for (int i = 0; i < NU; i++)
      for (int j = 0; j < NXP; j++) u[i] -= G[(NUP + j) * NZP + i] * dx[j];
    const double *in[] = {x, u, x + NXA, s->parameters + k * NPAR, s->theta, s->h + k};
    const ptrdiff_t stride[] = {0, 0, 0, 0, 0, 0};
    double *out[] = {s->trial_cost + k, gap, s->trial_rows + k * NRP};
    run(s, s->values, in, stride, out, 1);
    for (int i = 0; i < NXP; i++) {
      const double left = (1 - alpha) * s->gap[k * NXP + i];
      dx[i] = gap[i] - left, gap[i] = left;
    }
    move_state(s, x + NXA, dx);
  }
  evaluate_last(s);
  return trial_point(s, alpha, distance);
}

static int is_dominated(const mpc *s, Point p) {
  for (int i = 0; i < s->filtered; i++)
    if (p.cost >= s->filter[2 * i] && p.gap >= s->filter[2 * i + 1]) return 1;
  return 0;
}

/* Later points that are worse than this one in both are refused. */
static void add_to_filter(mpc *s, Point p) {
  int kept = 0;
  for (int i = 0; i < s->filtered; i++) {
    const double cost = s->filter[2 * i], gap = s->filter[2 * i + 1];
    if (cost < p.cost || gap < p.gap) s->filter[2 * kept] = cost, s->filter[2 * kept + 1] = gap, kept++;
  }
  if (kept == FILTER_SIZE) memmove(s->filter, s->filter + 2, 2 * --kept * sizeof(double));
  s->filter[2 * kept] = p.cost, s->filter[2 * kept + 1] = p.gap;
  s->filtered = kept + 1;
}

/* Whether a step of length alpha is progress: in the cost where gaps are small relative to its promised decrease, else in
 * either. */
static int is_progress(const mpc *s, Point here, Point there, double alpha, double promised, double noise) {
  const double most = larger_of(MAX_MEAN_GAP * NX * (double)s->n, here.gap), price = s->settings[SCALE];
  if (!isfinite(there.cost + there.gap) || there.gap > most || is_dominated(s, there)) return 0;
  if (promised > 0 && here.gap < 1e-2 && alpha * promised > price * here.gap)
    return there.cost <= here.cost - 1e-4 * alpha * promised + noise;
  if (there.gap <= (1 - MARGIN) * here.gap || there.cost <= here.cost - MARGIN * price * here.gap) return 1;
  return here.gap < MAX_CLOSED_GAP && there.gap < MAX_CLOSED_GAP && there.cost <= here.cost + noise;
}

/* A rollout closes gaps at any cost: the decrease of both together must be sufficient. */
static int is_worth_it(const mpc *s, Point here, Point there, double alpha, double promised) {
  const double price = smaller_of(s->results[GAP_WEIGHT], s->settings[SCALE]);
  return here.cost - there.cost + price * (here.gap - there.gap) > 1e-4 * alpha * (promised + price * here.gap);
}

/* Returns the length of the step, 0 when none of at least `shortest` is progress. */
static double filter_search(mpc *s, double shortest) {
  update_weights(s);
  const Merit m = merit(s, s->cost, s->gap, s->rows);
  const double distance = initial_distance(s), promised = promised_decrease(s, m.price);
  const Point here = {m.cost + m.price, m.gap + distance};
  const double noise = 1e-12 * fabs(here.cost) + s->settings[QP_TOLERANCE] * s->settings[SCALE];
  s->results[MERIT] = here.cost + s->results[GAP_WEIGHT] * here.gap;
  s->results[DECREASE] = fabs(promised) + s->results[GAP_WEIGHT] * here.gap;
  for (double alpha = 1; alpha >= shortest; alpha *= 0.5) {
    Point there = point_of_step(s, alpha, distance);
    int good = is_progress(s, here, there, alpha, promised, noise);
    if (!good) {
      there = point_of_rollout(s, alpha, distance);
      good = is_worth_it(s, here, there, alpha, promised) && is_progress(s, here, there, alpha, promised, noise);
    }
    if (good) {
      if (here.gap < MAX_CLOSED_GAP)
        add_to_filter(s, (Point){here.cost, 0});
      else if (alpha * promised <= s->settings[SCALE] * here.gap || here.gap >= 1e-2)
        add_to_filter(s, (Point){here.cost - MARGIN * s->settings[SCALE] * here.gap, (1 - MARGIN) * here.gap});
      return alpha;
    }
    if (no_time_for(s, rest_of_step(s))) {
      s->late = 1;
      return 0;
    }
  }
  return 0;
}
#endif
