/* A robot that gets no nearer though its cost is large may be at a local optimum: is there a better plan elsewhere?
 *
 * An arm that was led to its limits may stay there, though its target is in reach again: to leave them costs more at
 * first, and what looks for a step downhill finds none. It need not stand still: along what its target leaves free it
 * may creep for seconds. So when the cost of the plan has been the same for half a horizon, but for a few percent,
 * another plan is begun from a guess that moves the joints at their limits a part of the way to the middle of their
 * range; then from one that moves all of them there. It takes one iteration in each period, before the measurement.
 * As soon as it is feasible and better by a margin, it replaces the plan. If neither guess leads there, the next
 * search waits twice as long, unless the cost is quite another by then, as when the target has moved. */
#ifndef HELICOID_MPC_ELSEWHERE_H
#define HELICOID_MPC_ELSEWHERE_H
#include "search.h"

#define LEAST_PATIENCE 10   /* periods, and half a horizon, that the cost stays as it is before the first search */
#define MOST_PATIENCE 10000
#define TRIALS 20           /* iterations for each guess */
#define MUCH_BETTER 0.95    /* of the cost where it is */
#define ANOTHER_COST 0.5    /* of the one at the last search: the robot is elsewhere, or its target */
#define AT_LIMIT 0.01       /* of a limit's scale */

static void exchange_numbers(double *a, double *b, int64_t count) {
  for (int64_t i = 0; i < count; i++) {
    const double kept = a[i];
    a[i] = b[i], b[i] = kept;
  }
}

/* The plan and what the solver keeps of it change places with the other plan. */
static void exchange_plans(mpc *s) {
  const int64_t nodes = s->n + 1;
  double *other = s->elsewhere, warm = s->warm, penalty = s->settings[HARD_PENALTY];
  exchange_numbers(s->x, s->other_x, nodes * NXA);
  exchange_numbers(s->u, s->other_u, nodes * NU);
  exchange_numbers(s->multiplier, s->other_multiplier, nodes * 2 * NRP);
  exchange_numbers(s->costate, s->other_costate, nodes * NXP);
  exchange_numbers(s->weight, s->other_weight, nodes * NRP);
  exchange_numbers(s->settings + REGULARISATION, other + OTHER_DAMPING, 1);
  exchange_numbers(s->results + GAP_WEIGHT, other + OTHER_GAP_WEIGHT, 1);
  exchange_numbers(&s->steady, other + OTHER_STEADY, 1);
  set_hard_penalty(s, other[OTHER_PENALTY]);
  s->warm = other[OTHER_WARM] != 0;
  other[OTHER_PENALTY] = penalty, other[OTHER_WARM] = warm;
}

/* What becomes of a row of place along a guess: where it would be at the end, relative to now. */
static double guessed_move(const mpc *s, int i, int all) {
  const double part = all ? 1 : 0.25; /* of the way */
  const int64_t ahead = row_ahead(s, i);
  if (s->returning[i] == 0 || ahead < 0) return 0;
  const double value = s->rows[ahead], low = s->lower[ahead], high = s->upper[ahead];
  if (!isfinite(low) || !isfinite(high)) return 0;
  if (!all && value < high - AT_LIMIT && value > low + AT_LIMIT) return 0;
  return part * (0.5 * (low + high) - value) / box_scale[i];
}

/* A guess from where the robot is, at constant velocities. Returns 0 if it moves nothing. */
static int guess_elsewhere(mpc *s, int all) {
  const int velocities = X_AT((int)(s->loop[VELOCITY_END] - s->loop[VELOCITY_AT]));
  const double end = s->times[s->n];
  int any = 0;
  first_guess(s);
  mpc_reset(s);
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

/* After a step: for how long does the plan cost the same? How often to search begins anew once a target was reached. */
static void see_rest(mpc *s) {
  double *other = s->elsewhere;
  const double cost = s->results[COST], half = 0.5 * s->times[s->n] / s->loop[PERIOD];
  const int reached = cost <= s->settings[SCALE], same = !differ(cost, other[SAME_COST], MUCH_BETTER);
  if (reached || other[PATIENCE] == 0) other[PATIENCE] = other[OWN_PATIENCE] = larger_of(LEAST_PATIENCE, half);
  if (differ(cost, other[SEARCHED_COST], ANOTHER_COST)) other[PATIENCE] = other[OWN_PATIENCE];
  if (!same) other[SAME_COST] = cost;
  other[SAME_FOR] = same ? other[SAME_FOR] + 1 : 0;
  other[COST_HERE] = cost, other[RESTATED] = 0;
}

/* One iteration of the plan that is elsewhere. Returns whether it is worth going there. */
static int improve_elsewhere(mpc *s) {
  double *other = s->elsewhere;
  const int begins = other[TRIED] == 0;
  if (begins && !guess_elsewhere(s, other[GUESS] != 0)) return 0;
  s->late = 0;
  linearise(s);
  see_initial(s);
  const double length = improve(s, 2); /* without a step, the next period tries with more damping */
  other[TRIED] = other[TRIED] < TRIALS ? other[TRIED] + 1 : 0;
  if (!(length > 0)) return 0;
  see_accepted(s, length);
  return s->results[COST] < MUCH_BETTER * other[COST_HERE] && s->results[GAP] <= PLAN_TOLERANCE &&
         s->results[VIOLATION] <= PLAN_TOLERANCE;
}

/* The next search is later. One that was in vain counts as long as the cost is about the same; one that was not, until a
 * target is reached, since a robot whose model is wrong must not go to and fro between two plans. */
static void end_search(mpc *s, int found) {
  double *other = s->elsewhere;
  other[PATIENCE] = smaller_of(2 * other[found ? OWN_PATIENCE : PATIENCE], MOST_PATIENCE);
  if (found) other[OWN_PATIENCE] = other[PATIENCE];
  other[GUESS] = other[TRIED] = 0, other[SAME_FOR] = 1;
  other[SEARCHED_COST] = other[COST_HERE];
}

/* Before a step, with a plan that begins now; `within` its time only if the step has its own left afterwards. */
static void look_elsewhere(mpc *s, int within) {
  double *other = s->elsewhere, measured[NXA];
  const double budget = s->settings[BUDGET], own = larger_of(2 * s->results[SECONDS], shortest_step(s));
  if (s->loop[LOOKS_ELSEWHERE] == 0 || (within && no_time_for(s, 2 * own))) return;
  if (other[RESTATED] != 0 && other[SAME_FOR] > other[PATIENCE]) { /* what the plan costs by other numbers */
    linearise(s);
    other[COST_HERE] = merit(s, s->cost, s->gap, s->rows).cost, other[RESTATED] = 0;
  }
  if (other[COST_HERE] <= s->settings[SCALE] || other[SAME_FOR] <= other[PATIENCE]) {
    other[TRIED] = other[GUESS] = 0;
    return;
  }
  /* It begins where the plan expects the robot: what was measured is of the period before. */
  memcpy(measured, s->initial, sizeof measured);
  memcpy(s->initial, s->x, sizeof measured);
  exchange_plans(s);
  if (within && budget > 0) s->settings[BUDGET] = budget - own;
  const int better = improve_elsewhere(s);
  s->settings[BUDGET] = budget;
  if (!better) exchange_plans(s);
  memcpy(s->initial, measured, sizeof measured);
  if (!better && other[TRIED] == 0) other[GUESS] += 1; /* the next, if there is one */
  if (better || other[GUESS] > 1) end_search(s, better);
}
#endif
