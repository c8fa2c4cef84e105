/* The loop of a controller: what one period does around the solver.
 *
 * `loop_prepare` moves the plan on by a period and linearises, `loop_feedback` solves for what was measured and
 * leaves in `torque` what to apply: that of the new plan, else of the last good one as long as it reaches, else one
 * that brakes. It never fails and gives no NaN. `outcome` says what became of the step. */
#ifndef HELICOID_MPC_LOOP_H
#define HELICOID_MPC_LOOP_H
#include "keeping.h"
#include "disturbance.h"
#include "search.h" /* and the functions of solver.c, which includes this */
#if FEET
#include "switching.h"
#endif

#define PLAN_TOLERANCE 0.01   /* what a plan that is ok may exceed hard rows (scaled) and miss the dynamics by */
#define OFF_MANIFOLD 0.5      /* by how much a coordinate may be off: a quaternion of half the length is no rounding */
#define COLD_TOLERANCE 1e-5
#define STEP_TOLERANCE 1e-3   /* what hard rows may be exceeded by before their price rises: noise must not raise it */
#define MORE_ITERATIONS 2     /* that a step may take beyond those asked for, if its plan is not ok without */
#define COLD_SHARE 20         /* budgets that the first start may take; one in the loop has no more than any step */
#define HASTY_ITERATIONS 10   /* of a start in the middle of the loop, which must not hold it up for long */

/* ---- one period later ---- */

/* x = before + fraction (after - before) along the manifold, for all nodes. */
static void interpolate(mpc *s) {
  const int64_t n = s->n;
#if MANIFOLD
  double *moves = s->linear; /* free at this time */
  const double *between[] = {s->x_before, s->x_after}, *from[] = {s->x_before, moves};
  const ptrdiff_t states[] = {NXA, NXA}, steps[] = {NXA, NXP};
  run(s, s->local, between, states, &moves, n + 1);
  for (int64_t k = 0; k <= n; k++)
    for (int i = 0; i < NXP; i++) moves[k * NXP + i] *= s->fraction[k];
  run(s, s->retract, from, steps, &s->x, n + 1);
#else
  for (int64_t k = 0; k <= n; k++)
    for (int i = 0; i < NXA; i++) {
      const double before = s->x_before[k * NXA + i];
      s->x[k * NXA + i] = before + s->fraction[k] * (s->x_after[k * NXA + i] - before);
    }
#endif
}

/* States and controls interpolated in time; at the end the last ones stay. Nodes only move towards the first, so
 * controls and multipliers can be replaced in place. */
static void shift_by_time(mpc *s, double period) {
  const int64_t n = s->n;
  const double *t = s->times;
  for (int64_t k = 0; k <= n; k++) {
    const double later = smaller_of(t[k] + period, t[n]);
    int64_t i = k < n ? k : n - 1;
    while (i < n - 1 && t[i + 1] <= later) i++;
    const double f = (later - t[i]) / (t[i + 1] - t[i]);
    memcpy(s->x_before + k * NXA, s->x + i * NXA, NXA * sizeof(double));
    memcpy(s->x_after + k * NXA, s->x + (i + 1) * NXA, NXA * sizeof(double));
    s->fraction[k] = f;
    if (k == n) break;
    /* An interval's control belongs to its middle; nothing to interpolate in the last. */
    const int64_t next = i + 1 < n ? i + 1 : n - 1, nearest = f > 0.5 ? next : i;
    for (int j = 0; j < NU; j++) s->u[k * NU + j] = (1 - f) * s->u[i * NU + j] + f * s->u[next * NU + j];
    if (nearest != k)
      memcpy(s->multiplier + 2 * k * NRP, s->multiplier + 2 * nearest * NRP, 2 * NRP * sizeof(double));
  }
  interpolate(s);
}

/* By what a trajectory stretches the grid: its duration (s) where that is free, or 1. */
static double duration_of(const mpc *s, const double *x) {
  return s->loop[DURATION_START] > 0 ? x[(int)s->loop[N_MEASURED]] : 1;
}

#include "returning.h"

static void loop_shift(mpc *s) {
  if (s->loop[WHOLE_NODES] != 0)
    mpc_shift(s);
  else
    shift_by_time(s, s->loop[PERIOD] / duration_of(s, s->x));
}

/* ---- what is applied ---- */

/* The torque of node k of a plan for a period, in the state that the robot is in. Returns whether it is finite. */
static int apply_control(mpc *s, const double *state, const double *x, const double *u, int64_t k) {
  const double began = now();
  s->left_out = 0;
  if (s->applied) {
    const double *in[] = {state, u + k * NU, s->theta, s->loop + PERIOD};
    const ptrdiff_t stride[] = {0, 0, 0, 0};
    run(s, s->applied, in, stride, &s->torque, 1);
  } else
    memcpy(s->torque, u + k * NU, NTAU * sizeof(double));
  if (!all_finite(s->torque, NTAU)) return 0;
  if (s->moving) {
    const double length = s->h[k] * duration_of(s, x), *v = x + k * NXA + (int)s->loop[VELOCITY_AT];
    double planned[NTAU];
    for (int j = 0; j < NTAU; j++) planned[j] = (v[NXA + j] - v[j]) / length;
    keep_speeds(s, state, planned);
  } else
    clip(s);
  learn(s, &s->torquing, now() - began + s->left_out);
  return 1;
}

/* Gravity compensation and damping; nothing where there is no robot, nor where a state gives no number. */
static void brake(mpc *s) {
  memset(s->torque, 0, NTAU * sizeof(double));
  if (s->braking) {
    const double *in[] = {s->initial, s->theta};
    const ptrdiff_t stride[] = {0, 0};
    run(s, s->braking, in, stride, &s->torque, 1);
  }
  for (int j = 0; j < NTAU; j++)
    if (!isfinite(s->torque[j])) s->torque[j] = 0;
  clip(s);
}

/* The node of the last good plan that belongs to now; -1 in the second half of its horizon. */
static int64_t planned_node(const mpc *s) {
  if (s->outcome[HAS_PLAN] == 0) return -1;
  const double when = s->outcome[FAILURES] * s->loop[PERIOD] / duration_of(s, s->good_x);
  if (when > 0.5 * s->times[s->n]) return -1;
  int64_t node = 0;
  while (node < s->n && s->times[node + 1] <= when * (1 + 1e-9)) node++;
  return node;
}

static void give_up(mpc *s, int status, int reason) {
  s->outcome[FAILURES] += 1;
  s->outcome[OK] = 0, s->outcome[STEP_STATUS] = status, s->outcome[REASON] = reason;
  if (LACKS_RATE && status == STEP_NOT_FINITE) forget_disturbance(s); /* its bounds are not known: it may be the cause */
  const int64_t node = planned_node(s);
  if (node >= 0) {
    const double *x = all_finite(s->initial, NXA) ? s->initial : s->good_x + node * NXA;
    if (apply_control(s, x, s->good_x, s->good_u, node)) {
      s->outcome[FALLBACK] = OLD_PLAN;
      return;
    }
  }
  s->outcome[FALLBACK] = BRAKING, s->outcome[PHASE] = LOST;
  brake(s);
}

/* How much the plan exceeds its worst hard row, in scaled units. */
static double worst_violation(const mpc *s) {
  double worst = 0;
  for (int64_t k = 0; k <= s->n; k++)
    for (int i = 0; i < NR; i++) {
      const int64_t r = k * NRP + i;
      if (s->hard[r] != 0) worst = larger_of(larger_of(s->rows[r] - s->upper[r], s->lower[r] - s->rows[r]), worst);
    }
  return worst;
}

static int meets_constraints(const mpc *s) {
  return worst_violation(s) <= PLAN_TOLERANCE && s->results[GAP] <= PLAN_TOLERANCE;
}

/* The control before the next one is that of this step, once there is one. */
static void hold_previous(mpc *s, int known) {
  if (s->loop[HAS_PREVIOUS] == 0) return;
  memcpy(s->initial + NXA - NU, s->u, NU * sizeof(double));
  for (int i = NX - NU; i < NX; i++) s->initial_free[X_AT(i)] = !known;
}

static const int step_status[] = {
    [SOLVED] = STEP_OK, [ITERATION_LIMIT] = STEP_ITERATION_LIMIT, [INFEASIBLE] = STEP_INFEASIBLE,
    [NOT_FINITE] = STEP_NOT_FINITE, [NO_PROGRESS] = STEP_NO_PROGRESS, [TIME_LIMIT] = STEP_TIME_LIMIT};

static void apply_plan(mpc *s, int status) {
  if (!apply_control(s, s->initial, s->x, s->u, 0)) {
    give_up(s, STEP_NOT_FINITE, NO_NUMBER);
    return;
  }
  const int ok = meets_constraints(s);
  s->outcome[OK] = ok, s->outcome[STEP_STATUS] = ok ? step_status[status] : STEP_INFEASIBLE;
  s->outcome[REASON] = status, s->outcome[FALLBACK] = NEW_PLAN, s->outcome[FAILURES] = 0;
  hold_previous(s, 1);
  memcpy(s->good_x, s->x, (size_t)((s->n + 1) * NXA) * sizeof(double));
  memcpy(s->good_u, s->u, (size_t)(s->n * NU) * sizeof(double));
  s->outcome[HAS_PLAN] = 1;
}

/* ---- steps ---- */

/* Put a measured state where the solver reads it, with what rounding left of a quaternion's length taken off.
 * Returns 0 if it is of no use. */
static int measure(mpc *s, const double *x) {
  const int known = (int)s->loop[N_MEASURED];
  if (!all_finite(x, known)) return 0;
  const double *values = x;
#if MANIFOLD
  double *here = s->x_before, *near = s->x_after, *still = s->linear;
  memset(here, 0, NXA * sizeof(double));
  memcpy(here, x, (size_t)known * sizeof(double));
  memset(still, 0, NXP * sizeof(double));
  const double *in[] = {here, still};
  const ptrdiff_t stride[] = {0, 0};
  run(s, s->retract, in, stride, &near, 1);
  for (int i = 0; i < known; i++)
    if (!(fabs(near[i] - x[i]) < OFF_MANIFOLD)) return 0;
  values = near;
#endif
  memcpy(s->initial, values, (size_t)known * sizeof(double));
  return 1;
}

/* Where a search from scratch starts: standing still, which torques or forces must hold up. */
static void first_guess(mpc *s) {
  const int64_t n = s->n;
  memset(s->u, 0, (size_t)(n * NU) * sizeof(double));
  for (int64_t k = 0; k <= n; k++) {
    memcpy(s->x + k * NXA, s->initial, NXA * sizeof(double));
    for (int i = (int)s->loop[VELOCITY_AT]; k > 0 && i < (int)s->loop[VELOCITY_END]; i++) s->x[k * NXA + i] = 0;
  }
  if (!s->holding) return;
  const double *in[] = {s->initial, s->theta};
  const ptrdiff_t stride[] = {0, 0};
  run(s, s->holding, in, stride, &s->u, 1);
  for (int64_t k = 1; k < n; k++) memcpy(s->u + k * NU, s->u, NU * sizeof(double));
}

static void start_from_scratch(mpc *s, const double *x) {
  const int first = s->outcome[PHASE] == NEW, known = (int)s->loop[N_MEASURED];
  const double budget = s->loop[LOOP_BUDGET], most = s->loop[COLD_ITERATIONS];
  s->outcome[PHASE] = LOST;
  if (!measure(s, x)) {
    lose_sight(s);
    give_up(s, STEP_BAD_MEASUREMENT, NO_STATE);
    return;
  }
  if (first) forget_disturbance(s);
  s->elsewhere[SAME_FOR] = s->elsewhere[GUESS] = s->elsewhere[TRIED] = 0;
  see_motion(s);
  count_disturbance(s);
  memset(s->initial + known, 0, (size_t)(NXA - known) * sizeof(double));
  if (s->loop[DURATION_START] > 0) s->initial[known] = s->loop[DURATION_START];
  first_guess(s);
  s->settings[TOLERANCE] = COLD_TOLERANCE, s->settings[BUDGET] = first ? COLD_SHARE * budget : budget;
  mpc_reset(s);
  hold_previous(s, 0);
  const int status = solve(s, (int64_t)(first ? most : smaller_of(HASTY_ITERATIONS, most)));
  /* What the first step solved was one, though the count of those before it is none. */
  s->outcome[RAN] = status == SOLVED ? larger_of(1, s->results[ITERATIONS]) : s->results[ITERATIONS];
  s->settings[BUDGET] = budget;
  if (first) s->delay = 0; /* all was new to the processor */
  const int useless = status == NOT_FINITE || status == NO_PROGRESS || (status == TIME_LIMIT && s->outcome[RAN] < 1);
  if (useless || (s->results[STEP_LENGTH] == 0 && s->results[GAP] > PLAN_TOLERANCE)) {
    const int stuck = status == SOLVED || status == INFEASIBLE;
    give_up(s, stuck ? STEP_NO_PROGRESS : step_status[status], status);
    return;
  }
  s->outcome[PHASE] = PLANNED;
  apply_plan(s, status);
}

/* Whether the plan misses rows that the program could meet, or the dynamics: another iteration would help. */
static int needs_more(const mpc *s) {
  return s->results[QP_EXCESS] <= s->settings[TOLERANCE] && !meets_constraints(s);
}

#include "elsewhere.h"

/* One iteration for the measured state. */
static int iterate_plan(mpc *s) {
  const double damping = s->settings[REGULARISATION];
  const int status = feedback(s);
  keep_steady(s, damping, s->elsewhere[SAME_FOR] > 0);
  return status;
}

/* The iterations of a step, as many as the budget has time for, until one brings nothing more. */
static int improve_plan(mpc *s) {
  s->settings[TOLERANCE] = STEP_TOLERANCE;
  see_initial(s);
  const int yielded = yield_bounds(s);
  const int first = iterate_plan(s);
  int status = first;
  double programs = s->results[QP_ITERATIONS]; /* iterations of the interior point in all of them */
  s->outcome[RAN] = 1;
  while (status == SOLVED && (s->outcome[RAN] < s->loop[STEP_ITERATIONS] ||
                              (s->outcome[RAN] < s->loop[STEP_ITERATIONS] + MORE_ITERATIONS && needs_more(s)))) {
    if (no_time_for(s, s->linearisation.expected + s->results[SECONDS])) break; /* as long as the one before */
    linearise(s);
    status = iterate_plan(s);
    s->outcome[RAN] += 1, programs += s->results[QP_ITERATIONS];
  }
  s->results[QP_ITERATIONS] = programs;
  if (yielded) restore_bounds(s);
  return status == NOT_FINITE ? NOT_FINITE : first;
}

/* The plan of the last step, a period later. */
static void loop_go_on(mpc *s) {
  if (s->outcome[PHASE] != PLANNED) return;
  loop_shift(s);
#if FEET
  advance_phases(s, s->loop[PERIOD]);
  carry_forces(s);
#endif
  s->outcome[PHASE] = SHIFTED;
}

/* What can be done before the measurement: shift the plan and linearise around it. `within` the time of a step there
 * may be none for another plan, nor for this one: then nothing that leads nowhere is begun. Returns whether all is
 * ready. */
static int get_ready(mpc *s, int within) {
  double *phase = s->outcome + PHASE;
  loop_go_on(s);
  if (*phase == SHIFTED) {
    count_disturbance(s);
    if (within && no_time_for(s, shortest_step(s))) return 0;
    look_elsewhere(s, within);
    linearise(s);
    *phase = PREPARED;
  }
  return !within || !no_time_for(s, shortest_rest(s));
}

static void loop_prepare(mpc *s) {
  s->started = now();
  get_ready(s, 0);
}

/* What needs the measurement x. Before the first plan a state of no use changes nothing: no torque, no plan. */
static int loop_feedback(mpc *s, const double *x) {
  const double began = s->started = now();
  s->outcome[RAN] = 0;
  if (s->outcome[PHASE] == NEW && !measure(s, x)) {
    s->outcome[OK] = 0, s->outcome[STEP_STATUS] = STEP_BAD_MEASUREMENT, s->outcome[REASON] = NO_STATE;
    s->outcome[FALLBACK] = BRAKING;
    memset(s->torque, 0, NTAU * sizeof(double));
  } else if (s->outcome[PHASE] == NEW || s->outcome[PHASE] == LOST) {
#if FEET
    if (s->outcome[PHASE] == LOST) advance_phases(s, s->loop[PERIOD]);
#endif
    start_from_scratch(s, x);
  } else {
    const int ready = get_ready(s, 1);
    s->outcome[PHASE] = PLANNED;
    if (!measure(s, x)) {
      lose_sight(s);
      give_up(s, STEP_BAD_MEASUREMENT, NO_STATE);
    } else if (!ready) {
      see_motion(s);
      give_up(s, STEP_TIME_LIMIT, TIME_LIMIT);
    } else {
      see_motion(s);
      const int status = improve_plan(s);
      see_rest(s);
      if (status == SOLVED)
        apply_plan(s, status);
      else
        give_up(s, step_status[status], status);
    }
  }
  const double ended = now();
  forget_delay(s);
  if (s->outcome[STEP_STATUS] == STEP_TIME_LIMIT) doubt_all(s);
  s->outcome[STEP_SECONDS] = ended - began;
  return (int)s->outcome[STEP_STATUS];
}

/* Solve from scratch now, for the plan of the step that follows. */
static int loop_start(mpc *s, const double *x) {
  s->outcome[PHASE] = NEW;
  const int status = loop_feedback(s, x);
  if (s->outcome[PHASE] == PLANNED) s->outcome[PHASE] = SHIFTED;
  lose_sight(s); /* nobody applies this torque */
  return status;
}

/* Numbers were set: what was linearised had the old ones. */
static void loop_changed(mpc *s) {
  s->elsewhere[RESTATED] = 1;
  if (s->outcome[PHASE] == PREPARED) s->outcome[PHASE] = SHIFTED;
}
#endif
