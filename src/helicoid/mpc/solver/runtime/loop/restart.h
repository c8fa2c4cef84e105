/* Multi-start escape from a local minimum.
 *
 * An arm that was led to its joint limits may stay there although its target is in reach again: leaving them raises the
 * cost at first, so no descent step does. It need not be at rest: along directions that its target leaves free it may
 * creep for seconds. When the cost of the plan has been constant for half a horizon, to a few percent, a second plan is
 * started from a guess that moves the joints at their limits a part of the way to the middle of their range, then from
 * one that moves all joints there. It takes one iteration per period, before the measurement. Once it is feasible and
 * cheaper by a margin, it replaces the plan. If neither guess leads there, the next attempt waits twice as long, unless
 * the cost has changed much by then, as when the target has moved. */
#ifndef HELICOID_MPC_RESTART_H
#define HELICOID_MPC_RESTART_H
#include "bound_relaxation.h"

#define MIN_PATIENCE 10   /* periods of constant cost before the first restart; at least half a horizon */
#define MAX_PATIENCE 10000
#define MAX_TRIAL_ITERATIONS 20           /* per guess */
#define MAX_COST_RATIO 0.95    /* of a restart that is taken, to the present plan */
#define MIN_COST_CHANGE 0.5    /* ratio to the cost at the last restart: robot or target have moved */
#define MAX_LIMIT_DISTANCE 0.01       /* (of its scale) of a joint that counts as at its limit */

static void swap_numbers(double *a, double *b, int64_t count) {
  for (int64_t i = 0; i < count; i++) {
    const double kept = a[i];
    a[i] = b[i], b[i] = kept;
  }
}

/* Swap the plan and its solver state with the other plan. */
static void swap_plans(mpc *s) {
  const int64_t nodes = s->n + 1;
  double *other = s->restart, warm = s->warm, penalty = s->settings[HARD_PENALTY];
  swap_numbers(s->x, s->other_x, nodes * NXA);
  swap_numbers(s->u, s->other_u, nodes * NU);
  swap_numbers(s->multiplier, s->other_multiplier, nodes * 2 * NRP);
  swap_numbers(s->costate, s->other_costate, nodes * NXP);
  swap_numbers(s->weight, s->other_weight, nodes * NRP);
  swap_numbers(s->settings + REGULARISATION, other + OTHER_DAMPING, 1);
  swap_numbers(s->results + GAP_WEIGHT, other + OTHER_GAP_WEIGHT, 1);
  swap_numbers(&s->damping_floor, other + OTHER_DAMPING_FLOOR, 1);
  set_hard_penalty(s, other[OTHER_PENALTY]);
  s->warm = other[OTHER_WARM] != 0;
  other[OTHER_PENALTY] = penalty, other[OTHER_WARM] = warm;
}

/* Displacement of a position row at the end of a guess. */
static double guessed_move(const mpc *s, int i, int all) {
  const double part = all ? 1 : 0.25; /* of the way */
  const int64_t ahead = next_row(s, i);
  if (s->relaxed_row[i] == 0 || ahead < 0) return 0;
  const double value = s->rows[ahead], low = s->lower[ahead], high = s->upper[ahead];
  if (!isfinite(low) || !isfinite(high)) return 0;
  if (!all && value < high - MAX_LIMIT_DISTANCE && value > low + MAX_LIMIT_DISTANCE) return 0;
  return part * (0.5 * (low + high) - value) / box_scale[i];
}

/* A guess from the present state at constant velocities. Returns 0 if nothing moves. */
static int restart_guess(mpc *s, int all) {
  const int velocities = X_AT((int)(s->loop[VELOCITY_END] - s->loop[VELOCITY_AT]));
  const double end = s->times[s->n];
  int any = 0;
  stationary_guess(s);
  reset(s);
  set_hard_penalty(s, s->settings[HARD_PENALTY]);
  linearise(s);
  memset(s->step, 0, (size_t)((s->n + 1) * NZP) * sizeof(double));
  for (int i = 0; i < NB; i++) {
    const double move = guessed_move(s, i, all);
    if (move == 0) continue;
    any = 1;
    for (int64_t k = 1; k <= s->n; k++) {
      double *step = s->step + k * NZP + box_at[i];
      step[0] = move * s->times[k] / end, step[velocities] = move / end;
    }
  }
  try_step(s, 1);
  memcpy(s->x, s->x_trial, (size_t)((s->n + 1) * NXA) * sizeof(double));
  return any;
}

static int differ(double a, double b, double share) { return a < share * b || b < share * a; }

/* After a step: count periods of constant cost. The patience is reset once a target was reached. */
static void track_cost(mpc *s) {
  double *other = s->restart;
  const double cost = s->results[COST], half = 0.5 * s->times[s->n] / s->loop[PERIOD];
  const int reached = cost <= s->settings[SCALE], same = !differ(cost, other[SAME_COST], MAX_COST_RATIO);
  if (reached || other[PATIENCE] == 0) other[PATIENCE] = other[OWN_PATIENCE] = larger_of(MIN_PATIENCE, half);
  if (differ(cost, other[SEARCHED_COST], MIN_COST_CHANGE)) other[PATIENCE] = other[OWN_PATIENCE];
  if (!same) other[SAME_COST] = cost;
  other[SAME_FOR] = same ? other[SAME_FOR] + 1 : 0;
  other[COST_HERE] = cost, other[NUMBERS_CHANGED] = 0;
}

/* One iteration of the other plan. Returns whether it is feasible and cheaper by the margin. */
static int improve_restart(mpc *s) {
  double *other = s->restart;
  const int begins = other[TRIED] == 0;
  if (begins && !restart_guess(s, other[GUESS] != 0)) return 0;
  s->late = 0;
  linearise(s);
  find_initial_gap(s);
  const double length = sqp_step(s, 2); /* without a step, the next period has more damping */
  other[TRIED] = other[TRIED] < MAX_TRIAL_ITERATIONS ? other[TRIED] + 1 : 0;
  if (!(length > 0)) return 0;
  evaluate_accepted(s, length);
  return s->results[COST] < MAX_COST_RATIO * other[COST_HERE] && s->results[GAP] <= PLAN_TOLERANCE &&
         s->results[VIOLATION] <= PLAN_TOLERANCE;
}

/* The next restart waits longer: after a failed one while the cost is about the same; after a successful one until a
 * target is reached, since a robot with a wrong model must not alternate between two plans. */
static void end_restart(mpc *s, int found) {
  double *other = s->restart;
  other[PATIENCE] = smaller_of(2 * other[found ? OWN_PATIENCE : PATIENCE], MAX_PATIENCE);
  if (found) other[OWN_PATIENCE] = other[PATIENCE];
  other[GUESS] = other[TRIED] = 0, other[SAME_FOR] = 1;
  other[SEARCHED_COST] = other[COST_HERE];
}

/* Before a step, with a plan that begins now; `within` its time only if enough is left for the step itself. */
static void try_restart(mpc *s, int within) {
  double *other = s->restart, measured[NXA];
  const double budget = s->settings[BUDGET], own = larger_of(2 * s->results[SECONDS], shortest_step(s));
  if (s->loop[USES_RESTARTS] == 0 || (within && no_time_for(s, 2 * own))) return;
  if (other[NUMBERS_CHANGED] != 0 && other[SAME_FOR] > other[PATIENCE]) { /* the cost of the plan with the new numbers */
    linearise(s);
    other[COST_HERE] = merit(s, s->cost, s->gap, s->rows).cost, other[NUMBERS_CHANGED] = 0;
  }
  if (other[COST_HERE] <= s->settings[SCALE] || other[SAME_FOR] <= other[PATIENCE]) {
    other[TRIED] = other[GUESS] = 0;
    return;
  }
  /* It begins in the planned state: the measured one is of the period before. */
  memcpy(measured, s->initial, sizeof measured);
  memcpy(s->initial, s->x, sizeof measured);
  swap_plans(s);
  if (within && budget > 0) s->settings[BUDGET] = budget - own;
  const int better = improve_restart(s);
  s->settings[BUDGET] = budget;
  if (!better) swap_plans(s);
  memcpy(s->initial, measured, sizeof measured);
  if (!better && other[TRIED] == 0) other[GUESS] += 1; /* the next guess, if there is one */
  if (better || other[GUESS] > 1) end_restart(s, better);
}
#endif
