/* The receding-horizon loop of a controller: one period around the solver.
 *
 * `loop_prepare` shifts the plan by a period and linearises, `loop_feedback` solves for the measured state and leaves in
 * `torque` the torque to apply: that of the new plan, else of the last valid one within half its horizon, else one that
 * brakes. It never fails and gives no NaN. `outcome` has the result of the step. */
#ifndef HELICOID_MPC_LOOP_H
#define HELICOID_MPC_LOOP_H
#include "bound_relaxation.h"
#include "disturbance.h"
#include "limit_filter.h"
#include "restart.h"
#if FEET
#include "contact_phases.h"
#endif

#define OFF_MANIFOLD 0.5      /* largest error of a coordinate: a quaternion of half the unit length is no rounding error */
#define COLD_TOLERANCE 1e-5
#define STEP_TOLERANCE 1e-3 /* excess of hard rows that does not raise their penalty: noise must not raise it */
#define MAX_EXTRA_ITERATIONS 2 /* beyond the set number, where the plan is not ok without */
#define COLD_BUDGETS 20 /* time budgets for the first cold start; a later one has no more than any step */
#define RECOVERY_ITERATIONS 10 /* iteration limit of a cold start within the loop */

/* ---- the applied torque ---- */

/* The torque of node k of a plan for a period, in the state that the robot is in. Returns whether it is finite. */
static int apply_control(mpc *s, const double *state, const double *x, const double *u, int64_t k) {
  const double began = now(), length = s->h[k] * duration_of(s, x), *v = x + k * NXA + (int)s->loop[VELOCITY_AT];
  double planned[NTAU]; /* accelerations, of a robot */
  s->left_out = 0;
  if (s->applied) {
    for (int j = 0; j < NTAU; j++) planned[j] = (v[NXA + j] - v[j]) / length;
    if (x == s->x) update_breakaway(s, planned);
    const double *in[] = {state, u + k * NU, s->theta, s->loop + PERIOD};
    const ptrdiff_t stride[] = {0, 0, 0, 0};
    run(s, s->applied, in, stride, &s->torque, 1);
  } else
    memcpy(s->torque, u + k * NU, NTAU * sizeof(double));
  if (!all_finite(s->torque, NTAU)) return 0;
  if (s->moving) {
    limit_velocities(s, state, planned);
  } else
    clip(s);
  record_duration(s, &s->torquing, now() - began + s->left_out);
  return 1;
}

/* Gravity compensation and damping; zero without a robot, and where the result is not finite. */
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

/* The node of the last valid plan at the present time; -1 in the second half of its horizon. */
static int64_t planned_node(const mpc *s) {
  if (s->outcome[HAS_PLAN] == 0) return -1;
  const double when = s->outcome[FAILURES] * s->loop[PERIOD] / duration_of(s, s->good_x);
  if (when > 0.5 * s->times[s->n]) return -1;
  int64_t node = 0;
  while (node < s->n && s->times[node + 1] <= when * (1 + 1e-9)) node++;
  return node;
}

static void fall_back(mpc *s, int status, int reason) {
  s->outcome[FAILURES] += 1;
  s->outcome[OK] = 0, s->outcome[STEP_STATUS] = status, s->outcome[REASON] = reason;
  if (LACKS_RATE && status == STEP_NOT_FINITE) reset_disturbance(s); /* it has no bounds and may be the cause */
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

/* Largest excess of a hard row in the plan, in scaled units. */
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

/* The previous control of the next step is that of this one, once there is one. */
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
    fall_back(s, STEP_NOT_FINITE, INVALID_PLAN);
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

/* Copy a measured state to `initial`, projected onto the joints' manifold. Returns 0 if it is invalid. */
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

static void cold_start(mpc *s, const double *x) {
  const int first = s->outcome[PHASE] == NEW, known = (int)s->loop[N_MEASURED];
  const double budget = s->loop[LOOP_BUDGET], most = s->loop[COLD_ITERATIONS];
  s->outcome[PHASE] = LOST;
  if (!measure(s, x)) {
    drop_previous_state(s);
    fall_back(s, STEP_BAD_MEASUREMENT, INVALID_STATE);
    return;
  }
  if (first) reset_disturbance(s);
  s->restart[SAME_FOR] = s->restart[GUESS] = s->restart[TRIED] = 0;
  update_disturbance(s);
  apply_disturbance(s);
  memset(s->initial + known, 0, (size_t)(NXA - known) * sizeof(double));
  if (s->loop[DURATION_START] > 0) s->initial[known] = s->loop[DURATION_START];
  stationary_guess(s);
  s->settings[TOLERANCE] = COLD_TOLERANCE, s->settings[BUDGET] = first ? COLD_BUDGETS * budget : budget;
  reset(s);
  hold_previous(s, 0);
  const int status = sqp_solve(s, (int64_t)(first ? most : smaller_of(RECOVERY_ITERATIONS, most)));
  /* At least one: a problem that is solved at once was iterated. */
  s->outcome[RAN] = status == SOLVED ? larger_of(1, s->results[ITERATIONS]) : s->results[ITERATIONS];
  s->settings[BUDGET] = budget;
  if (first) s->delay = 0; /* with cold caches */
  const int useless = status == NOT_FINITE || status == NO_PROGRESS || (status == TIME_LIMIT && s->outcome[RAN] < 1);
  if (useless || (s->results[STEP_LENGTH] == 0 && s->results[GAP] > PLAN_TOLERANCE)) {
    const int stuck = status == SOLVED || status == INFEASIBLE;
    fall_back(s, stuck ? STEP_NO_PROGRESS : step_status[status], status);
    return;
  }
  s->outcome[PHASE] = PLANNED;
  apply_plan(s, status);
}

/* Whether the plan violates rows that the program meets, or the dynamics: another iteration would help. */
static int needs_another_iteration(const mpc *s) {
  return s->results[QP_EXCESS] <= s->settings[TOLERANCE] && !meets_constraints(s);
}

/* One iteration for the measured state. */
static int iterate_plan(mpc *s) {
  const double damping = s->settings[REGULARISATION];
  const int status = sqp_feedback(s);
  hold_damping(s, damping, s->restart[SAME_FOR] > 0);
  return status;
}

/* The iterations of a step, as many as the budget allows, until none makes progress. */
static int improve_plan(mpc *s) {
  s->settings[TOLERANCE] = STEP_TOLERANCE;
  find_initial_gap(s);
  const int yielded = relax_bounds(s);
  const int first = iterate_plan(s);
  int status = first;
  double programs = s->results[QP_ITERATIONS]; /* interior-point iterations in all of them */
  s->outcome[RAN] = 1;
  while (status == SOLVED && (s->outcome[RAN] < s->loop[STEP_ITERATIONS] ||
                              (s->outcome[RAN] < s->loop[STEP_ITERATIONS] + MAX_EXTRA_ITERATIONS && needs_another_iteration(s)))) {
    if (no_time_for(s, s->linearisation.expected + s->results[SECONDS])) break; /* the duration of the one before */
    linearise(s);
    status = iterate_plan(s);
    s->outcome[RAN] += 1, programs += s->results[QP_ITERATIONS];
  }
  s->results[QP_ITERATIONS] = programs;
  if (yielded) restore_bounds(s);
  return status == NOT_FINITE ? NOT_FINITE : first;
}

/* Shift the plan of the last step by one period. */
static void loop_advance(mpc *s) {
  if (s->outcome[PHASE] != PLANNED) return;
  loop_shift(s);
#if FEET
  advance_phases(s, s->loop[PERIOD]);
  carry_forces(s);
#endif
  s->outcome[PHASE] = SHIFTED;
}

/* The preparation phase, before the measurement: shift the plan and linearise around it. `within` the time of a step
 * there may be no time left for a restart, nor for the step: then neither is begun. Returns whether it is complete. */
static int prepare_step(mpc *s, int within) {
  double *phase = s->outcome + PHASE;
  loop_advance(s);
  if (*phase == SHIFTED) {
    apply_disturbance(s);
    if (within && no_time_for(s, shortest_step(s))) return 0;
    try_restart(s, within);
    linearise(s);
    *phase = PREPARED;
  }
  return !within || !no_time_for(s, shortest_rest(s));
}

static void loop_prepare(mpc *s) {
  s->started = now();
  prepare_step(s, 0);
}

/* The feedback phase, for the measurement x. Before the first plan an invalid state gives no torque and no plan. */
static int loop_feedback(mpc *s, const double *x) {
  const double began = s->started = now();
  s->outcome[RAN] = 0;
  if (s->outcome[PHASE] == NEW && !measure(s, x)) {
    s->outcome[OK] = 0, s->outcome[STEP_STATUS] = STEP_BAD_MEASUREMENT, s->outcome[REASON] = INVALID_STATE;
    s->outcome[FALLBACK] = BRAKING;
    memset(s->torque, 0, NTAU * sizeof(double));
  } else if (s->outcome[PHASE] == NEW || s->outcome[PHASE] == LOST) {
#if FEET
    if (s->outcome[PHASE] == LOST) advance_phases(s, s->loop[PERIOD]);
#endif
    cold_start(s, x);
  } else {
    const int ready = prepare_step(s, 1);
    s->outcome[PHASE] = PLANNED;
    if (!measure(s, x)) {
      drop_previous_state(s);
      fall_back(s, STEP_BAD_MEASUREMENT, INVALID_STATE);
    } else if (!ready) {
      update_disturbance(s);
      fall_back(s, STEP_TIME_LIMIT, TIME_LIMIT);
    } else {
      update_disturbance(s);
      const int status = improve_plan(s);
      track_cost(s);
      if (status == SOLVED)
        apply_plan(s, status);
      else
        fall_back(s, step_status[status], status);
    }
  }
  const double ended = now();
  decay_delay(s);
  if (s->outcome[STEP_STATUS] == STEP_TIME_LIMIT) lower_expected_durations(s);
  s->outcome[STEP_SECONDS] = ended - began;
  return (int)s->outcome[STEP_STATUS];
}

/* A cold start now, for the plan of the step that follows. */
static int loop_start(mpc *s, const double *x) {
  s->outcome[PHASE] = NEW;
  const int status = loop_feedback(s, x);
  if (s->outcome[PHASE] == PLANNED) s->outcome[PHASE] = SHIFTED;
  drop_previous_state(s); /* this torque is not applied */
  return status;
}

/* Numbers were set: the linearisation has the former ones. */
static void loop_changed(mpc *s) {
  s->restart[NUMBERS_CHANGED] = 1;
  if (s->outcome[PHASE] == PREPARED) s->outcome[PHASE] = SHIFTED;
}
#endif
