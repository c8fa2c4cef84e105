/* Time budget: before each costly operation, its expected duration tells whether it would end within the budget.
 *
 * Durations of the same work differ, since other processes interrupt it now and then. A single long one says nothing
 * about the next, and would cost steps for long if it were believed. So the expected duration is the shorter one of the
 * last two; it rises at once and falls slowly. The excess of long ones is kept apart as the `delay` that may occur
 * again, and held in reserve. */
#ifndef HELICOID_MPC_CLOCK_H
#define HELICOID_MPC_CLOCK_H
#include "layout.h"

#define MAX_RESERVE 0.15 /* of the budget: more would leave too little for steps without interruption */
#define MAX_DELAY 0.5    /* of the budget: a longer one, as when another program runs, is ignored */
#define DELAY_DECAY 0.02   /* share of the delay lost per step */
#define LOWERING_SHARE 0.2         /* of the expected duration beyond the least, after each missed deadline */
#define MIN_RUNS 2           /* runs after which the least duration is representative */
#define MAX_OVERRUN 1.1     /* of the budget: beyond it a step is late */

/* Seconds of a monotonic clock: of POSIX, or of the function that HELICOID_NOW names. */
#ifdef HELICOID_NOW
double HELICOID_NOW(void);
static inline double now(void) { return HELICOID_NOW(); }
#else
static inline double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
#endif

/* Whether the budget leaves no time for an operation of so many seconds. */
static inline int no_time_for(const mpc *s, double seconds) {
  const double budget = s->settings[BUDGET], reserve = smaller_of(s->delay, MAX_RESERVE * budget);
  return budget > 0 && now() - s->started + seconds + reserve > budget;
}
static inline int out_of_time(const mpc *s) { return no_time_for(s, 0); }

/* Expected duration after the last interior-point iteration; least duration of a step after its linearisation, and with
 * it. */
static inline double rest_of_step(const mpc *s) { return s->search.expected + s->torquing.expected; }
static inline double shortest_rest(const mpc *s) { return s->iteration.expected + rest_of_step(s); }
static inline double shortest_step(const mpc *s) { return s->linearisation.expected + shortest_rest(s); }

/* A program is solved, but its line search would end late and the former plan would not: an iteration was interrupted.
 * Where both are late, the new plan is preferred. */
static inline int should_keep_former_plan(const mpc *s) {
  if (!(s->settings[BUDGET] > 0)) return 0;
  const double ends = now() - s->started + s->torquing.expected, latest = MAX_OVERRUN * s->settings[BUDGET];
  return ends <= latest && ends + s->search.expected > latest;
}

static inline void record_duration(mpc *s, duration *one, double took) {
  if (one->seen == 0) one->expected = one->least = one->before = took;
  const double most = one->expected > 0 ? 3 * one->expected : took; /* two in a row may be interrupted */
  const double longer = took - one->expected, usual = smaller_of(smaller_of(took, one->before), most);
  if (longer > s->delay && longer < MAX_DELAY * s->settings[BUDGET]) s->delay = longer;
  const double share = larger_of(0.1, one->seen > 0 ? 1 / one->seen : 1); /* the first one ran with cold caches */
  one->expected = larger_of(usual, one->expected + share * (usual - one->expected));
  one->least += took < one->least ? took - one->least : 0.01 * (smaller_of(took, 2 * one->least) - one->least);
  one->before = took, one->seen += 1;
}
/* After a missed deadline: operations that do not run are not measured, so their expected durations approach the least
 * one; those that ran only once, with cold caches, may take less. */
static inline void lower_expected(duration *one) {
  const double possible = one->seen < MIN_RUNS ? 0 : 1.1 * one->least;
  one->expected = smaller_of(one->expected, one->expected + LOWERING_SHARE * (possible - one->expected));
}
static inline void lower_expected_durations(mpc *s) {
  lower_expected(&s->linearisation), lower_expected(&s->iteration), lower_expected(&s->search), lower_expected(&s->torquing), lower_expected(&s->round);
}
static inline void decay_delay(mpc *s) { s->delay *= 1 - DELAY_DECAY; }
#endif
