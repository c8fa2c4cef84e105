/* Sequential quadratic programming on the nodes. */
#ifndef HELICOID_MPC_SQP_H
#define HELICOID_MPC_SQP_H
#include "damping.h"
#if NONLINEAR || CURVED
#include "filter_search.h"
#endif

#define INITIAL_PENALTY 1e2 /* initial penalty of hard rows, relative to the scale */
#define MAX_DAMPING 1e2  /* relative to the diagonal of the Hessian: the next linearisation starts from no more */

static double largest_gap(const mpc *s) {
  return larger_of(largest_size(s->gap, s->n * VX), largest_size(s->initial_gap, VX));
}

/* Optimality at the linearisation: gradient of the Lagrangian, largest gap, violation, complementarity. */
static void residuals(mpc *s) {
  const vec *const multiplier = CV(s->multiplier), *const rows = CV(s->rows), none = {0};
  const vec *const lower = CV(s->lower), *const upper = CV(s->upper);
  double *const weight = s->row_sum;
  vec worst = {0}, product = {0};
  for (int64_t k = 0; k <= s->n; k++)
    for (int i = 0; i < VR; i++) {
      const int64_t r = k * VR + i;
      const vec low = multiplier[2 * k * VR + i], high = multiplier[(2 * k + 1) * VR + i];
      V(weight)[r] = CV(is_row)[i] * (high - low);
      product = larger(product, choose(high, high * larger(none, upper[r] - rows[r]), none));
      product = larger(product, choose(low, low * larger(none, rows[r] - lower[r]), none));
    }
  row_gradients(s, weight, s->linear);
  for (int64_t k = 0; k <= s->n; k++) {
    double *a = s->linear + k * NZP;
    if (k < s->n) add_transposed(a, s->costate + (k + 1) * NXP, s->h[k], AB_OF(s, k));
    for (int i = 0; i < VU && k < s->n; i++) worst = larger(worst, larger(CV(a)[i], -CV(a)[i]));
    for (int i = 0; i < VX; i++) {
      const vec off = CV(a)[VU + i] - CV(s->costate + k * NXP)[i], size = larger(off, -off);
      worst = larger(worst, k > 0 ? size : choose(CV(s->initial_free)[i], size, (vec){0}));
    }
  }
  s->results[STATIONARITY] = largest(worst);
  s->results[GAP] = largest_gap(s);
  s->results[COMPLEMENTARITY] = largest(product);
}

static void set_hard_penalty(mpc *s, double penalty) {
  s->settings[HARD_PENALTY] = penalty;
  for (int64_t i = 0; i < (s->n + 1) * NRP; i++)
    if (s->hard[i] != 0) s->penalty[i] = s->hard[i] * penalty * s->settings[SCALE];
}

/* Excess of hard rows in the program's solution: zero unless their penalty is too low, or they conflict. */
static double hard_excess(const mpc *s) {
  vec worst = {0};
  FOR_SIDES(s->n) worst = larger(worst, choose(CV(s->hard)[r], CV(s->on)[e] * CV(s->excess)[e], (vec){0}));
  return largest(worst);
}

/* Solve the quadratic program; raise the penalty of hard rows as long as that reduces their excess, and there is time
 * for about as many iterations as a cold start takes. */
static int solve_program(mpc *s) {
  int ok = interior_point(s, s->warm);
  double excess = hard_excess(s);
  while (ok > 0 && !no_time_for(s, 12 * s->iteration.expected + rest_of_step(s)) && excess > s->settings[TOLERANCE] && s->settings[HARD_PENALTY] < s->settings[MAX_PENALTY]) {
    const double before = s->settings[HARD_PENALTY];
    set_hard_penalty(s, 10 * before);
    ok = interior_point(s, 0);
    const double after = hard_excess(s);
    if (ok <= 0 || after > 0.9 * excess) { /* infeasible: the next program keeps the former penalty */
      set_hard_penalty(s, before);
      if (ok == 0) ok = interior_point(s, 0);
      excess = hard_excess(s);
      break;
    }
    excess = after;
  }
  s->results[QP_EXCESS] = excess;
  return ok;
}

static void accept_trial(mpc *s, double alpha) {
  const double size = largest_size(s->step, (s->n + 1) * VZ), moved = largest_size(s->moved, (s->n + 1) * VR);
  memcpy(s->x, s->x_trial, (s->n + 1) * NXA * sizeof(double));
  memcpy(s->u, s->u_trial, s->n * NU * sizeof(double));
  s->results[STEP_SIZE] = alpha * size, s->results[STEP_LENGTH] = alpha;
  s->warm = alpha * moved < 0.5; /* after a longer step other rows are active */
}

/* An SQP iteration after the linearisation, with more damping where no step is accepted. Returns the length of the
 * step. */
static double sqp_step(mpc *s, int attempts) {
  double *reg = s->settings + REGULARISATION;
  const Merit here = merit(s, s->cost, s->gap, s->rows);
  s->results[COST] = here.cost;
  s->results[VIOLATION] = here.violation;
  s->results[DECREASE] = INFINITY; /* until a line search has found the promised decrease */
  if (*reg > MAX_DAMPING) *reg = 0; /* a failed step there says nothing about this linearisation */
  for (int attempt = 0; attempt < attempts; attempt++) {
    const int ok = solve_program(s);
    if (ok > 0 && should_keep_former_plan(s))
      s->late = 1;
    else if (ok > 0) {
      const double alpha = search(s);
      if (alpha > 0) {
        accept_trial(s, alpha);
        adapt_damping(s, alpha);
        return alpha;
      }
    }
    if (s->late || out_of_time(s)) break;
    *reg = larger_of(1e-2, 10 * *reg);
    s->warm = 0;
  }
  return s->results[STEP_LENGTH] = 0;
}

#if CURVED
/* Second derivatives of dynamics and rows, for the multipliers of the last program. */
static void find_curvature(mpc *s) {
  double *weight = s->row_sum;
  for (int64_t k = 0; k < s->n; k++)
    for (int i = 0; i < NRP; i++) {
      const double *l = s->multiplier + 2 * k * NRP + i;
      weight[k * NRP + i] = i < NR ? l[NRP] - l[0] : 0;
    }
  const double *in[] = {s->x, s->u, s->x + NXA, s->costate + NXP, weight, s->parameters, s->theta, s->h};
  const ptrdiff_t stride[] = {NXA, NU, NXA, NXP, NRP, NPAR, 0, 1};
  run(s, s->second_order, in, stride, &s->curvature, s->n);
}

/* Put another share of the curvature into the Hessian. */
static void set_share(mpc *s, double before, double share) {
  for (int64_t i = 0; i < s->n * NZP * NZP; i++) s->hessian[i] += (share - before) * s->curvature[i];
}
#endif

#if NONLINEAR || CURVED
/* The same far from a solution: with the exact Hessian of the Lagrangian; if that is not convex, or its steps are
 * short, with a smaller share of the second derivatives of dynamics and rows, at last with none. Without damping, which
 * `sqp_step` has. */
static double sqp_step_far(mpc *s) {
  static const double shares[] = {1, 0.25, 0};
  double share = 0;
  const Merit here = merit(s, s->cost, s->gap, s->rows);
  s->results[COST] = here.cost, s->results[VIOLATION] = here.violation;
  s->results[DECREASE] = INFINITY;
  s->settings[REGULARISATION] = 0;
#if CURVED
  find_curvature(s);
#endif
  for (int i = CURVED ? 0 : 2; i < 3; i++) {
#if CURVED
    set_share(s, share, shares[i]);
#endif
    share = shares[i];
    const double alpha = solve_program(s) > 0 ? filter_search(s, share > 0 ? 0.25 : 1e-3) : 0;
    if (alpha > 0) {
      accept_trial(s, alpha);
      return alpha;
    }
    if (s->late || out_of_time(s)) break;
    s->warm = 0;
  }
  return s->results[STEP_LENGTH] = 0;
}
/* The second half of the iterations is left to close the gaps. */
#define IS_FAR(it, most) ((most) > 20 && (it) >= FIRST_CURVED && 2 * (it) < (most))
#else
static double sqp_step_far(mpc *s) { return 0 * s->n; }
#define IS_FAR(it, most) 0
#endif

static int optimal(const mpc *s) {
  const double *r = s->results, tolerance = s->settings[TOLERANCE];
  return r[STATIONARITY] < tolerance * s->settings[SCALE] && r[GAP] < tolerance &&
         r[COMPLEMENTARITY] < tolerance * s->settings[SCALE];
}

/* Scale of the cost, from its initial value and its largest curvature. */
static void find_scale(mpc *s) {
  double cost = 0, bend = 0;
  for (int64_t k = 0; k <= s->n; k++) {
    cost += fabs(s->cost[k]);
    for (int i = 0; i < NZP; i++) bend = larger_of(bend, s->hessian[(k * NZP + i) * NZP + i]);
  }
  const double scale = 0.03 * cost + 1e-3 * bend;
  s->settings[SCALE] = isfinite(scale) && scale > 1e-12 ? scale : 1;
  set_hard_penalty(s, s->settings[HARD_PENALTY]);
}

/* Results of the plan that a step of length alpha led to: its cost, gaps and rows are those of the trial; the gradient
 * of the Lagrangian is the one that the step began from, with the multipliers that it found. */
static void evaluate_accepted(mpc *s, double alpha) {
  const Merit there = merit(s, s->trial_cost, s->trial_gap, s->trial_rows);
  const double gap = larger_of(largest_size(s->trial_gap, s->n * VX), (1 - alpha) * largest_size(s->initial_gap, VX));
  residuals(s);
  s->results[COST] = there.cost, s->results[VIOLATION] = there.violation, s->results[GAP] = gap;
  memcpy(s->rows, s->trial_rows, (s->n + 1) * NRP * sizeof(double));
}

/* Solve the program for the measured state and take one step. The time budget counts from `started` on. */
static int sqp_feedback(mpc *s) {
  const double began = now();
  s->late = 0;
  s->results[QP_ITERATIONS] = 0;
  find_initial_gap(s);
  const double length = sqp_step(s, 2); /* no more attempts in a control loop */
  if (length > 0)
    evaluate_accepted(s, length);
  else if (s->late) /* no time left for the gradient */
    s->results[STATIONARITY] = NAN, s->results[GAP] = largest_gap(s);
  else
    residuals(s);
  if (length > 0) record_duration(s, &s->search, now() - s->solved);
  s->results[SECONDS] = now() - began;
  s->results[ITERATIONS] = 1;
  s->results[STATUS] = length > 0 ? SOLVED : s->late || out_of_time(s) ? TIME_LIMIT : NO_PROGRESS;
  return (int)s->results[STATUS];
}

/* Iterate until the residuals are below the tolerance. */
static int sqp_solve(mpc *s, int64_t max_iterations) {
  const double began = now();
  s->late = 0;
  s->results[QP_ITERATIONS] = 0;
  int status = ITERATION_LIMIT;
  int64_t it = 0;
  s->filtered = 0;
  for (;; it++) {
    s->results[ITERATIONS] = (double)it;
    if (it == 0 && no_time_for(s, shortest_step(s))) {
      status = TIME_LIMIT;
      break;
    }
    linearise(s);
    if (it == 0 && !s->warm) find_scale(s);
    find_initial_gap(s);
    residuals(s);
    const Merit here = merit(s, s->cost, s->gap, s->rows);
    s->results[COST] = here.cost, s->results[VIOLATION] = here.violation;
    if (!isfinite(here.cost + here.price + here.gap)) {
      status = NOT_FINITE;
      break;
    }
    /* Rows that are violated though the program meets them need another iteration. */
    if (it > 0 && optimal(s) &&
        (here.violation < s->settings[TOLERANCE] || s->results[QP_EXCESS] > s->settings[TOLERANCE])) {
      status = here.violation < s->settings[TOLERANCE] ? SOLVED : INFEASIBLE;
      break;
    }
    if (it >= max_iterations) break;
    if (out_of_time(s)) {
      status = TIME_LIMIT;
      break;
    }
    double length = IS_FAR(it, max_iterations) ? sqp_step_far(s) : 0;
    if (length == 0 && !s->late) length = sqp_step(s, 8);
    if (length > 0) record_duration(s, &s->search, now() - s->solved);
    /* Where Gauss-Newton converges slowly, the cost converges long before the gradient does. */
    if (s->results[DECREASE] < 1e-2 * s->settings[TOLERANCE] * s->settings[SCALE] &&
        here.violation < s->settings[TOLERANCE] && !s->late) {
      if (length > 0) evaluate_accepted(s, length);
      if (s->results[VIOLATION] >= s->settings[TOLERANCE]) continue; /* met where the step began, but not where it led */
      status = SOLVED;
      break;
    }
    if (length == 0) {
      status = s->late ? TIME_LIMIT : here.violation < s->settings[TOLERANCE] ? NO_PROGRESS : INFEASIBLE;
      break;
    }
    if (no_time_for(s, shortest_step(s))) {
      evaluate_accepted(s, length);
      s->results[ITERATIONS] = (double)(it + 1);
      status = TIME_LIMIT;
      break;
    }
  }
  s->results[STATUS] = status;
  s->results[SECONDS] = now() - began;
  return status;
}

/* Reset the warm start: multipliers, penalties, regularisation. */
static void reset(mpc *s) {
  memset(s->multiplier, 0, 2 * (s->n + 1) * NRP * sizeof(double));
  memset(s->weight, 0, (s->n + 1) * NRP * sizeof(double));
  memset(s->costate, 0, (s->n + 1) * NXP * sizeof(double));
  s->results[GAP_WEIGHT] = 0;
  s->settings[REGULARISATION] = s->damping_floor = 0;
  s->settings[HARD_PENALTY] = INITIAL_PENALTY;
  s->warm = 0;
}

/* Shift all quantities of a node by one node towards the first. */
static void shift_nodes(mpc *s) {
  const int64_t n = s->n;
#define SHIFT(field, size, count) \
  memmove(s->field, s->field + (size), (count) * (size) * sizeof(double))
  SHIFT(x, NXA, n);
  SHIFT(u, NU, n - 1);
  SHIFT(costate, NXP, n);
  /* The last node has other rows than those before: its multipliers stay. */
  SHIFT(multiplier, 2 * NRP, n - 1);
#undef SHIFT
}
#endif
