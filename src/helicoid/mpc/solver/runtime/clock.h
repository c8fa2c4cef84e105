/* What is there time for? Before anything that takes long, the clock and what it took so far say whether it would end
 * within the budget.
 *
 * Times of the same work differ. On a processor with other things to do it is interrupted, now and then: one long time
 * says nothing of the next, and would cost steps for long if it were believed. So what is expected is the shorter one of
 * the last two, more at once, less little by little. How much longer something took is remembered apart, as the
 * `delay` that may come again, and kept in reserve. */
#ifndef HELICOID_MPC_CLOCK_H
#define HELICOID_MPC_CLOCK_H
#include "layout.h"

#define MOST_RESERVE 0.15 /* of the budget: more would leave too little to steps that nothing interrupts */
#define MOST_DELAY 0.5    /* of the budget: a longer one, as when another program runs, is not remembered */
#define FORGETTING 0.02   /* of the delay, in each step */
#define DOUBT 0.2         /* of what is expected beyond the least, with each step that is out of time */
#define KNOWN 2           /* times that something ran, after which the least of them says what it takes */
#define TOLERATED 1.1     /* of the budget: beyond that a step is late */

/* Seconds of a clock that never goes back: of POSIX, or of the function that HELICOID_NOW names. */
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

/* Whether the budget leaves no time for what takes so many seconds. */
static inline int no_time_for(const mpc *s, double seconds) {
  const double budget = s->settings[BUDGET], reserve = smaller_of(s->delay, MOST_RESERVE * budget);
  return budget > 0 && now() - s->started + seconds + reserve > budget;
}
static inline int out_of_time(const mpc *s) { return no_time_for(s, 0); }

/* What follows the last iteration of the interior point; what a step takes at least, after its linearisation and with
 * it. */
static inline double rest_of_step(const mpc *s) { return s->search.expected + s->torquing.expected; }
static inline double shortest_rest(const mpc *s) { return s->iteration.expected + rest_of_step(s); }
static inline double shortest_step(const mpc *s) { return s->linearisation.expected + shortest_rest(s); }

/* A program is solved, but what follows would end late, and the plan before would not: an iteration was interrupted. Where
 * both are late, the new plan is better. */
static inline int better_give_up(const mpc *s) {
  if (!(s->settings[BUDGET] > 0)) return 0;
  const double ends = now() - s->started + s->torquing.expected, latest = TOLERATED * s->settings[BUDGET];
  return ends <= latest && ends + s->search.expected > latest;
}

static inline void learn(mpc *s, duration *one, double took) {
  if (one->seen == 0) one->expected = one->least = one->before = took;
  const double most = one->expected > 0 ? 3 * one->expected : took; /* two in a row may be interrupted, too */
  const double longer = took - one->expected, usual = smaller_of(smaller_of(took, one->before), most);
  if (longer > s->delay && longer < MOST_DELAY * s->settings[BUDGET]) s->delay = longer;
  const double share = larger_of(0.1, one->seen > 0 ? 1 / one->seen : 1); /* the first one of all came from far away */
  one->expected = larger_of(usual, one->expected + share * (usual - one->expected));
  one->least += took < one->least ? took - one->least : 0.01 * (smaller_of(took, 2 * one->least) - one->least);
  one->before = took, one->seen += 1;
}
/* There was no time for a step. What is not run is not measured, and may take about as little as it once did; what ran once
 * only, when all was new to the processor, may take less. */
static inline void doubt(duration *one) {
  const double possible = one->seen < KNOWN ? 0 : 1.1 * one->least;
  one->expected = smaller_of(one->expected, one->expected + DOUBT * (possible - one->expected));
}
static inline void doubt_all(mpc *s) {
  doubt(&s->linearisation), doubt(&s->iteration), doubt(&s->search), doubt(&s->torquing), doubt(&s->round);
}
static inline void forget_delay(mpc *s) { s->delay *= 1 - FORGETTING; }
#endif
