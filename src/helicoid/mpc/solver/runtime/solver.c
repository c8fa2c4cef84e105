/* Sequential quadratic programming on the nodes, and what Python calls. */
#include "damping.h"
#if NONLINEAR || CURVED
#include "filter.h"
#endif

#ifndef EXPORTED
#define EXPORTED __attribute__((visibility("default")))
#endif
#define FIRST_PENALTY 1e2 /* of hard rows, relative to the scale */
#define MOST_DAMPING 1e2  /* in proportion to the diagonal of the Hessian: what one linearisation leaves to the next */

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

/* How much the program's solution exceeds hard rows: zero unless their penalty is too low, or they conflict. */
static double hard_excess(const mpc *s) {
  vec worst = {0};
  FOR_SIDES(s->n) worst = larger(worst, choose(CV(s->hard)[r], CV(s->on)[e] * CV(s->excess)[e], (vec){0}));
  return largest(worst);
}

/* The quadratic program; a higher price for hard rows as long as that makes its solution exceed them less, and there
 * is time for about as many iterations as a program from scratch takes. */
static int solve_program(mpc *s) {
  int ok = interior_point(s, s->warm);
  double excess = hard_excess(s);
  while (ok > 0 && !no_time_for(s, 12 * s->iteration.expected + rest_of_step(s)) && excess > s->settings[TOLERANCE] && s->settings[HARD_PENALTY] < s->settings[MAX_PENALTY]) {
    const double before = s->settings[HARD_PENALTY];
    set_hard_penalty(s, 10 * before);
    ok = interior_point(s, 0);
    const double after = hard_excess(s);
    if (ok <= 0 || after > 0.9 * excess) { /* it cannot be helped: the next program need not try as hard */
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
  s->warm = alpha * moved < 0.5; /* farther away, other rows matter */
}

/* Everything of an iteration after the linearisation, with more damping where there is no step. Returns the
 * length of the step. */
static double improve(mpc *s, int attempts) {
  double *reg = s->settings + REGULARISATION;
  const Merit here = merit(s, s->cost, s->gap, s->rows);
  s->results[COST] = here.cost;
  s->results[VIOLATION] = here.violation;
  s->results[DECREASE] = INFINITY; /* as long as no search has found what a step promises */
  if (*reg > MOST_DAMPING) *reg = 0; /* what made no step there says nothing of this linearisation */
  for (int attempt = 0; attempt < attempts; attempt++) {
    const int ok = solve_program(s);
    if (ok > 0 && better_give_up(s))
      s->late = 1;
    else if (ok > 0) {
      const double alpha = search(s);
      if (alpha > 0) {
        accept_trial(s, alpha);
        adapt(s, alpha);
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
/* How dynamics and rows bend, for the multipliers of the last program. */
static void find_curvature(mpc *s) {
  double *weight = s->row_sum;
  for (int64_t k = 0; k < s->n; k++)
    for (int i = 0; i < NRP; i++) {
      const double *l = s->multiplier + 2 * k * NRP + i;
      weight[k * NRP + i] = i < NR ? l[NRP] - l[0] : 0;
    }
  const double *in[] = {s->x, s->u, s->x + NXA, s->costate + NXP, weight, s->parameters, s->theta, s->h};
  const ptrdiff_t stride[] = {NXA, NU, NXA, NXP, NRP, NPAR, 0, 1};
  run(s, s->bend, in, stride, &s->curvature, s->n);
}

/* Put another share of the curvature into the Hessian. */
static void set_share(mpc *s, double before, double share) {
  for (int64_t i = 0; i < s->n * NZP * NZP; i++) s->hessian[i] += (share - before) * s->curvature[i];
}
#endif

#if NONLINEAR || CURVED
/* The same far from a solution. First with the whole Hessian of the Lagrangian; if that is not convex, or its steps
 * are short, with less of how dynamics and rows bend, at last with none of it. No damping: `improve` has that. */
static double stride(mpc *s) {
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
/* What is left after half of the iterations must do to close the gaps. */
#define IS_FAR(it, most) ((most) > 20 && (it) >= FIRST_CURVED && 2 * (it) < (most))
#else
static double stride(mpc *s) { return 0 * s->n; }
#define IS_FAR(it, most) 0
#endif

static int optimal(const mpc *s) {
  const double *r = s->results, tolerance = s->settings[TOLERANCE];
  return r[STATIONARITY] < tolerance * s->settings[SCALE] && r[GAP] < tolerance &&
         r[COMPLEMENTARITY] < tolerance * s->settings[SCALE];
}

/* The size of the cost, from what it is at the start and how it bends. */
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

/* What is known of the plan that a step of length alpha led to: its cost, gaps and rows are those of the trial;
 * the gradient of the Lagrangian is the one that the step began from, with the multipliers that it found. */
static void see_accepted(mpc *s, double alpha) {
  const Merit there = merit(s, s->trial_cost, s->trial_gap, s->trial_rows);
  const double gap = larger_of(largest_size(s->trial_gap, s->n * VX), (1 - alpha) * largest_size(s->initial_gap, VX));
  residuals(s);
  s->results[COST] = there.cost, s->results[VIOLATION] = there.violation, s->results[GAP] = gap;
  memcpy(s->rows, s->trial_rows, (s->n + 1) * NRP * sizeof(double));
}

EXPORTED void mpc_prepare(mpc *s) { linearise(s); }

/* The program for the measured state, and one step. What it takes counts from when `started` says. */
static int feedback(mpc *s) {
  const double began = now();
  s->late = 0;
  s->results[QP_ITERATIONS] = 0;
  see_initial(s);
  const double length = improve(s, 2); /* not more: a loop waits */
  if (length > 0)
    see_accepted(s, length);
  else if (s->late) /* no time for the gradient */
    s->results[STATIONARITY] = NAN, s->results[GAP] = largest_gap(s);
  else
    residuals(s);
  if (length > 0) learn(s, &s->search, now() - s->solved);
  s->results[SECONDS] = now() - began;
  s->results[ITERATIONS] = 1;
  s->results[STATUS] = length > 0 ? SOLVED : s->late || out_of_time(s) ? TIME_LIMIT : NO_PROGRESS;
  return (int)s->results[STATUS];
}

/* Iterate until the residuals are below the tolerance. */
static int solve(mpc *s, int64_t max_iterations) {
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
    see_initial(s);
    residuals(s);
    const Merit here = merit(s, s->cost, s->gap, s->rows);
    s->results[COST] = here.cost, s->results[VIOLATION] = here.violation;
    if (!isfinite(here.cost + here.price + here.gap)) {
      status = NOT_FINITE;
      break;
    }
    /* Rows that are not met yet, though the program could: another iteration. */
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
    double length = IS_FAR(it, max_iterations) ? stride(s) : 0;
    if (length == 0 && !s->late) length = improve(s, 8);
    if (length > 0) learn(s, &s->search, now() - s->solved);
    /* Where Gauss-Newton converges slowly, the cost is there long before the gradient is. */
    if (s->results[DECREASE] < 1e-2 * s->settings[TOLERANCE] * s->settings[SCALE] &&
        here.violation < s->settings[TOLERANCE] && !s->late) {
      if (length > 0) see_accepted(s, length);
      if (s->results[VIOLATION] >= s->settings[TOLERANCE]) continue; /* what was met where the step began is not now */
      status = SOLVED;
      break;
    }
    if (length == 0) {
      status = s->late ? TIME_LIMIT : here.violation < s->settings[TOLERANCE] ? NO_PROGRESS : INFEASIBLE;
      break;
    }
    if (no_time_for(s, shortest_step(s))) {
      see_accepted(s, length);
      s->results[ITERATIONS] = (double)(it + 1);
      status = TIME_LIMIT;
      break;
    }
  }
  s->results[STATUS] = status;
  s->results[SECONDS] = now() - began;
  return status;
}

EXPORTED int mpc_feedback(mpc *s) {
  s->started = now();
  return feedback(s);
}
EXPORTED int mpc_solve(mpc *s, int64_t max_iterations) {
  s->started = now();
  return solve(s, max_iterations);
}

/* Forget what earlier solutions left: multipliers, penalties, regularisation. */
EXPORTED void mpc_reset(mpc *s) {
  memset(s->multiplier, 0, 2 * (s->n + 1) * NRP * sizeof(double));
  memset(s->weight, 0, (s->n + 1) * NRP * sizeof(double));
  memset(s->costate, 0, (s->n + 1) * NXP * sizeof(double));
  s->results[GAP_WEIGHT] = 0;
  s->settings[REGULARISATION] = s->steady = 0;
  s->settings[HARD_PENALTY] = FIRST_PENALTY;
  s->warm = 0;
}

/* Move everything that belongs to a node by one node towards the first. */
EXPORTED void mpc_shift(mpc *s) {
  const int64_t n = s->n;
#define SHIFT(field, size, count) \
  memmove(s->field, s->field + (size), (count) * (size) * sizeof(double))
  SHIFT(x, NXA, n);
  SHIFT(u, NU, n - 1);
  SHIFT(costate, NXP, n);
  /* The rows of the last node are others than those of the nodes before: it keeps its own. */
  SHIFT(multiplier, 2 * NRP, n - 1);
#undef SHIFT
}

#include "loop.h"

EXPORTED void mpc_loop_prepare(mpc *s) { loop_prepare(s); }
EXPORTED void mpc_loop_shift(mpc *s) { loop_go_on(s); }
EXPORTED int mpc_loop_feedback(mpc *s, const double *x) { return loop_feedback(s, x); }
EXPORTED int mpc_loop_start(mpc *s, const double *x) { return loop_start(s, x); }
EXPORTED void mpc_loop_changed(mpc *s) { loop_changed(s); }

/* The feedback of the first node: du = K dx, NU rows of NX. */
EXPORTED void mpc_gains(const mpc *s, double *K) {
  for (int i = 0; i < NU; i++)
    for (int j = 0; j < NX; j++) K[i * NX + j] = -s->swept[(NUP + X_AT(j)) * NZP + i];
}

#define COUNT(name) +1
enum { N_KERNELS = KERNELS(COUNT) };
#undef COUNT
#define ROOM(count) ((((size_t)(count)) * 8 + 63) / 64 * 64)

/* Bytes of a problem with n intervals, whose work area comes after `head`; `kernels` in the order of KERNELS. */
static size_t bytes_of(int64_t n, const helicoid_kernel *const *kernels, size_t *head, size_t *work) {
  size_t scratch = 64;
  for (int i = 0; i < N_KERNELS; i++)
    if (kernels[i] && (size_t)kernels[i]->batch_work > scratch) scratch = (size_t)kernels[i]->batch_work;
  *head = (sizeof(mpc) + 63) / 64 * 64;
  *work = ROOM(scratch / 8 + 8);
  size_t total = *head + *work;
#define ADD(name, size) total += ROOM((n + 1) * (int64_t)(size));
  NODE_FIELDS(ADD)
#undef ADD
#define ADD(name, size) total += ROOM(size);
  ONCE_FIELDS(ADD) FEET_FIELDS(ADD)
#undef ADD
  return total;
}

/* A problem in memory of bytes_of(...), aligned to 64. */
static mpc *place(void *memory, int64_t n, const helicoid_kernel *const *kernels) {
  size_t head, work;
  const size_t total = bytes_of(n, kernels, &head, &work);
  mpc *s = memory;
  char *at = (char *)memory + head;
  memset(memory, 0, total);
  make_units();
  s->n = n;
#define PLACE(name) s->name = *kernels++;
  KERNELS(PLACE)
#undef PLACE
  s->work = at;
  at += work;
#define PLACE(name, size) s->name = (double *)at, at += ROOM((n + 1) * (int64_t)(size));
  NODE_FIELDS(PLACE)
#undef PLACE
#define PLACE(name, size) s->name = (double *)at, at += ROOM(size);
  ONCE_FIELDS(PLACE) FEET_FIELDS(PLACE)
#undef PLACE
  s->outcome[STEP_STATUS] = STEP_NOT_STARTED;
  return s;
}

#ifndef WITHOUT_ALLOCATION
EXPORTED size_t mpc_bytes(int64_t n, const helicoid_kernel *const *kernels) {
  size_t head, work;
  return bytes_of(n, kernels, &head, &work);
}

EXPORTED mpc *mpc_create(int64_t n, const helicoid_kernel *const *kernels) {
  void *memory = aligned_alloc(64, mpc_bytes(n, kernels));
  return memory ? place(memory, n, kernels) : 0;
}

EXPORTED void mpc_destroy(mpc *s) { free(s); }
#endif

/* The address of a field by its name, and how many doubles it has for a node (or in all). */
EXPORTED double *mpc_field(mpc *s, const char *name, int64_t *size) {
#define FIND(field, count)          \
  if (!strcmp(name, #field)) {      \
    *size = (count);                \
    return s->field;                \
  }
  NODE_FIELDS(FIND) ONCE_FIELDS(FIND)
#undef FIND
  return 0;
}
