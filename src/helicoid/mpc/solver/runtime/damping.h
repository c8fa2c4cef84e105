/* Levenberg and Marquardt's damping: how much of it a step tells the next one to have. */
#ifndef HELICOID_MPC_DAMPING_H
#define HELICOID_MPC_DAMPING_H
#include "search.h"

#define TOO_LITTLE 0.6    /* of what a step promised that it lacks: the next is damped more */
#define LITTLE 0.25       /* less is enough below this, and a fifth of it is at RIGHT */
#define RIGHT 0.05
#define STEADY 2          /* times the damping that was not enough is, in a loop */
#define MOST_STEADY 10    /* where noise makes steps fail at any damping, it must not grow for ever */
#define LESS_STEADY 0.95  /* what is left of that after a step */

/* More of it where a step brings less than its quadratic model promised, measured by how much that bends: what
 * residuals and rows bend beyond it is not in the model. Close to the solution that cannot be told from rounding. */
static void adapt(mpc *s, double alpha) {
  double *reg = s->settings + REGULARISATION;
  const double half = 0.5 * s->bend_of_step, promised = s->results[COST_DECREASE] - half;
  const double lacking = promised - s->results[COST_BROUGHT], size = larger_of(half, promised);
  if (size < 1e-9 * s->settings[SCALE]) return;
  if (alpha < 1 || lacking > TOO_LITTLE * size)
    *reg = larger_of(1e-2, 4 * *reg);
  else if (lacking < LITTLE * size) /* little by little where it is just enough */
    *reg = *reg > 1e-3 ? *reg / smaller_of(5, 1 + 4 * (LITTLE - lacking / size) / (LITTLE - RIGHT)) : 0;
}

/* In a loop, the next step has the problem of this one again: if damping was too little for that, it will be. To lower it
 * until steps fail, again and again, makes a plan that never rests; and where a single step is not enough to shift a
 * plan, a plan rests at another place with other damping. So it stays above what was not enough while the cost of the
 * plan is the `same`. That is forgotten little by little when it is not, and soon if the model turns out right.
 * `before` is the damping that the step began with. */
static void keep_steady(mpc *s, double before, int same) {
  double *reg = s->settings + REGULARISATION;
  if (*reg > before)
    s->steady = larger_of(s->steady, smaller_of(STEADY * before, MOST_STEADY));
  else {
    s->steady *= *reg < 0.25 * before ? 0.5 : same ? 1 : LESS_STEADY;
    *reg = smaller_of(before, larger_of(*reg, s->steady));
  }
}
#endif
