/* A robot that stands still though its cost is large may stand at a local optimum: is there a better plan elsewhere?
 *
 * An arm that was led to its limits may rest there, though its target is in reach again: to leave them costs more at
 * first, and what looks for a step downhill finds none. So when the plan has stood still for a while, another one is
 * begun from a guess that moves the joints at their limits a part of the way to the middle of their range; then from
 * one that moves all of them there. It takes one iteration in each period, before the measurement. As soon as it is feasible and better by a
 * margin, it replaces the plan. If neither guess leads there, the next search waits twice as long. */
#ifndef HELICOID_MPC_ELSEWHERE_H
#define HELICOID_MPC_ELSEWHERE_H
#include "search.h"

#define STILL 0.02          /* (rad/s, m/s) below which velocities of a plan are none */
#define FIRST_PATIENCE 10   /* periods that it stands still before the first search */
#define MOST_PATIENCE 10000
#define TRIALS 20           /* iterations for each guess */
#define MUCH_BETTER 0.95    /* of the cost of standing still */
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
  set_hard_penalty(s, other[OTHER_PENALTY]);
  s->warm = other[OTHER_WARM] != 0;
  other[OTHER_PENALTY] = penalty, other[OTHER_WARM] = warm;
}

/* What becomes of a row of place along a guess: where it would be at the end, relative to now. */
static double guessed_move(const mpc *s, int i, int all) {
  const double part = all ? 1 : 0.25; /* of the way */
  const double value = s->rows[NRP + i], low = s->lower[NRP + i], high = s->upper[NRP + i];
  if (s->returning[i] == 0 || !isfinite(low) || !isfinite(high)) return 0;
  if (!all && value < high - AT_LIMIT && value > low + AT_LIMIT) return 0;
  return part * (0.5 * (low + high) - value) / box_scale[i];
}

/* A guess from where the robot stands, at constant velocities. Returns 0 if it moves nothing. */
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

static int stands_still(const mpc *s) {
  for (int64_t k = 0; k <= s->n; k++)
    for (int i = (int)s->loop[VELOCITY_AT]; i < (int)s->loop[VELOCITY_END]; i++)
      if (!(fabs(s->x[k * NXA + i]) < STILL)) return 0;
  return 1;
}

/* After a step: remember what standing still costs. */
static void see_rest(mpc *s) {
  double *other = s->elsewhere;
  const int large = s->results[COST] > s->settings[SCALE];
  if (!large || other[PATIENCE] == 0) other[PATIENCE] = FIRST_PATIENCE;
  other[REST_COST] = s->results[COST];
  other[STILL_FOR] = large && stands_still(s) ? other[STILL_FOR] + 1 : 0;
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
  return s->results[COST] < MUCH_BETTER * other[REST_COST] && s->results[GAP] <= PLAN_TOLERANCE &&
         s->results[VIOLATION] <= PLAN_TOLERANCE;
}

/* Before a step, with a plan that begins now; `within` its time only if the step has its own left afterwards. */
static void look_elsewhere(mpc *s, int within) {
  double *other = s->elsewhere;
  const double budget = s->settings[BUDGET], own = larger_of(2 * s->results[SECONDS], shortest_step(s));
  if (s->loop[LOOKS_ELSEWHERE] == 0 || (within && no_time_for(s, 2 * own))) return;
  if (other[STILL_FOR] <= other[PATIENCE]) {
    other[TRIED] = other[GUESS] = 0;
    return;
  }
  exchange_plans(s);
  if (within && budget > 0) s->settings[BUDGET] = budget - own;
  const int better = improve_elsewhere(s);
  s->settings[BUDGET] = budget;
  if (!better) exchange_plans(s);
  if (!better && other[TRIED] == 0) other[GUESS] += 1; /* the next, if there is one */
  if (better || other[GUESS] > 1) {
    other[STILL_FOR] = other[GUESS] = other[TRIED] = 0;
    other[PATIENCE] = smaller_of(2 * other[PATIENCE], MOST_PATIENCE);
  }
}
#endif
