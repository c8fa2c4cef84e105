/* Levenberg-Marquardt damping: its adaptation from one step to the next. */
#ifndef HELICOID_MPC_DAMPING_H
#define HELICOID_MPC_DAMPING_H
#include "line_search.h"

#define MAX_MODEL_ERROR 0.6    /* missing share of the promised decrease: more damping follows */
#define SMALL_MODEL_ERROR 0.25       /* less damping follows below this, a fifth of it at ACCURATE_MODEL_ERROR */
#define ACCURATE_MODEL_ERROR 0.05
#define DAMPING_FLOOR_FACTOR 2          /* times the damping that was insufficient, in a loop */
#define MAX_DAMPING_FLOOR 10    /* noise may make steps fail at any damping */
#define DAMPING_FLOOR_DECAY 0.95  /* per step */

/* More damping where a step lowers the cost by less than its quadratic model promised, relative to the curvature of the
 * model: second derivatives of residuals and rows are not in it. Close to the solution rounding hides the difference. */
static void adapt_damping(mpc *s, double alpha) {
  double *reg = s->settings + REGULARISATION;
  const double half = 0.5 * s->step_curvature, promised = s->results[COST_DECREASE] - half;
  const double lacking = promised - s->results[COST_BROUGHT], size = larger_of(half, promised);
  if (size < 1e-9 * s->settings[SCALE]) return;
  if (alpha < 1 || lacking > MAX_MODEL_ERROR * size)
    *reg = larger_of(1e-2, 4 * *reg);
  else if (lacking < SMALL_MODEL_ERROR * size) /* gradually near the threshold */
    *reg = *reg > 1e-3 ? *reg / smaller_of(5, 1 + 4 * (SMALL_MODEL_ERROR - lacking / size) / (SMALL_MODEL_ERROR - ACCURATE_MODEL_ERROR)) : 0;
}

/* In a loop, the next step has nearly the same problem: damping that was insufficient will be so again. Lowering it
 * until steps fail, again and again, makes a plan that never settles; and the point at which a plan settles depends on
 * the damping. So a lower bound above the insufficient damping holds while the cost of the plan is the `same`. It decays
 * slowly otherwise, and fast if the model is accurate. `before` is the damping at the start of the step. */
static void hold_damping(mpc *s, double before, int same) {
  double *reg = s->settings + REGULARISATION;
  if (*reg > before)
    s->damping_floor = larger_of(s->damping_floor, smaller_of(DAMPING_FLOOR_FACTOR * before, MAX_DAMPING_FLOOR));
  else {
    s->damping_floor *= *reg < 0.25 * before ? 0.5 : same ? 1 : DAMPING_FLOOR_DECAY;
    *reg = smaller_of(before, larger_of(*reg, s->damping_floor));
  }
}
#endif
