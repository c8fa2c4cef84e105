/* Merit function and line search: from the solution of a quadratic program to a step. */
#ifndef HELICOID_MPC_LINE_SEARCH_H
#define HELICOID_MPC_LINE_SEARCH_H
#include "nodes.h"
#include "qp/interior_point.h"

typedef struct {
  double cost, price, gap, violation; /* objective; penalty of exceeded rows; sum of gaps; largest excess of a hard row */
} Merit;

static Merit merit(const mpc *s, const double *cost, const double *gap, const double *rows) {
  const vec none = {0};
  vec price = {0}, worst = {0}, gaps = {0};
  double total = 0;
  for (int64_t k = 0; k <= s->n; k++) total += cost[k];
  for (int64_t r = 0; r < (s->n + 1) * VR; r++) {
    const vec over = larger(none, larger(CV(rows)[r] - V(s->upper)[r], V(s->lower)[r] - CV(rows)[r]));
    price += over * (V(s->weight)[r] + 0.5 * V(s->penalty2)[r] * over);
    worst = larger(worst, choose(V(s->hard)[r], over, none));
  }
  for (int64_t i = 0; i < s->n * VX; i++) gaps += larger(CV(gap)[i], -CV(gap)[i]);
  return (Merit){total, sum(price), sum(gaps), largest(worst)};
}

static double initial_distance(const mpc *s) {
  double total = 0;
  for (int i = 0; i < NXP; i++) total += fabs(s->initial_gap[i]);
  return total;
}

/* Weight of a row in the merit function: the penalty of a soft row, or slightly more than the multiplier of a hard one,
 * which may decrease slowly (Powell 1978) in early iterations. A smaller weight than the program's penalty allows
 * longer steps. */
static void update_weights(mpc *s) {
  const double keep = s->results[ITERATIONS] < 15 ? 0.5 : 1;
  const double largest_costate = largest_size(s->costate, (s->n + 1) * VX);
  double *gap_weight = s->results + GAP_WEIGHT;
  const vec *const multiplier = CV(s->multiplier), *const hard = CV(s->hard), *const penalty = CV(s->penalty);
  vec *const weight = V(s->weight);
  for (int64_t k = 0; k <= s->n; k++)
    for (int i = 0; i < VR; i++) {
      const int64_t r = k * VR + i, e = 2 * k * VR + i;
      const vec both = multiplier[e] - multiplier[e + VR], target = 1.1 * larger(both, -both);
      weight[r] = choose(hard[r], larger(target, keep * weight[r] + (1 - keep) * target), penalty[r]);
    }
  *gap_weight = larger_of(1.1 * largest_costate, keep * *gap_weight + (1 - keep) * 1.1 * largest_costate);
}

/* Second-order correction: solve the program again with the constraints evaluated at the rejected trial point. `step`
 * then holds the corrected step. */
static int correct(mpc *s) {
  const size_t rows = (s->n + 1) * NRP * sizeof(double), steps = (s->n + 1) * NZP * sizeof(double);
  memcpy(s->kept_rows, s->rows, rows);
  memcpy(s->kept_moved, s->moved, rows);
  memcpy(s->kept_gap, s->gap, s->n * NXP * sizeof(double));
  memcpy(s->kept_step, s->step, steps);
  for (int64_t i = 0; i < (s->n + 1) * NRP; i++) s->rows[i] = s->trial_rows[i] - s->moved[i];
  for (int64_t i = 0; i < s->n * NXP; i++) s->gap[i] += s->trial_gap[i];
  const int ok = interior_point(s, 1);
  memcpy(s->rows, s->kept_rows, rows);
  memcpy(s->gap, s->kept_gap, s->n * NXP * sizeof(double));
  return ok > 0;
}

/* The merit function at a step of length alpha, and the achieved decrease of cost and penalties. Gaps are left out of the
 * latter: the dynamics are linear for most robots, so closing them says nothing about the quadratic model, and their
 * weight would dominate. */
static double merit_of_step(mpc *s, Merit here, double alpha, double distance) {
  try_step(s, alpha);
  evaluate_trial(s);
  const Merit m = merit(s, s->trial_cost, s->trial_gap, s->trial_rows);
  s->results[COST_BROUGHT] = here.cost + here.price - m.cost - m.price;
  return m.cost + m.price + s->results[GAP_WEIGHT] * (m.gap + (1 - alpha) * distance);
}

/* Decrease of cost and penalties that the step promises, to first order in the cost. */
static double promised_decrease(const mpc *s, double price_here) {
  double slope = 0, price = 0;
  for (int64_t k = 0; k <= s->n; k++) {
    slope += dot_z(s->gradient + k * NZP, s->step + k * NZP);
    for (int i = 0; i < NR; i++) {
      const int64_t r = k * NRP + i;
      const double at = s->rows[r] + s->moved[r];
      const double over = larger_of(0, larger_of(at - s->upper[r], s->lower[r] - at));
      price += over * (s->weight[r] + 0.5 * s->penalty2[r] * over);
    }
  }
  return price_here - slope - price;
}

/* Line search of the merit function along `step`. Returns the length of the step, 0 when there is none. */
static double search(mpc *s) {
  update_weights(s);
  const Merit here = merit(s, s->cost, s->gap, s->rows);
  const double distance = initial_distance(s), weight = s->results[GAP_WEIGHT];
  const double value = here.cost + here.price + weight * (here.gap + distance);
  const double of_cost = promised_decrease(s, here.price), promised = of_cost + weight * (here.gap + distance);
  const double decrease = larger_of(0, promised);
  /* The program is solved to a tolerance: its error must not look like a failed step. */
  const double noise = 1e-12 * fabs(value) + s->settings[QP_TOLERANCE] * s->settings[SCALE];
  s->results[MERIT] = value;
  s->results[COST_DECREASE] = of_cost;
  s->results[DECREASE] = fabs(promised); /* a promised increase is no convergence */
  for (double alpha = 1; alpha > 1e-4; alpha *= 0.5) {
    const double allowed = value - 1e-4 * alpha * decrease + noise;
    double there = merit_of_step(s, here, alpha, distance);
    if (there <= allowed) return alpha;
    if (no_time_for(s, rest_of_step(s))) {
      s->late = 1;
      return 0;
    }
    if (alpha == 1) {
      const double bend = s->step_curvature;
      if (correct(s) && (there = merit_of_step(s, here, 1, distance)) <= allowed) return 1;
      s->step_curvature = bend;
      memcpy(s->step, s->kept_step, (s->n + 1) * NZP * sizeof(double));
      memcpy(s->moved, s->kept_moved, (s->n + 1) * NRP * sizeof(double));
    }
  }
  return 0;
}
#endif
