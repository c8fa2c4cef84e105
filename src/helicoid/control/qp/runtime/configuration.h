/* Of every control step: its result, the layout of its memory, and the check of the measured configuration, NQ
 * coordinates; QUATERNIONS lists where each quaternion begins, and ends with -1. */
#ifndef HELICOID_CONFIGURATION_H
#define HELICOID_CONFIGURATION_H
#include <math.h>

/* No progress is of differential kinematics; no contact of a floating base; the last two are of Python alone. */
enum { STEP_OK, STEP_INFEASIBLE, STEP_ITERATION_LIMIT, STEP_NOT_FINITE, STEP_NOT_CONVEX, STEP_BAD_MEASUREMENT,
       STEP_INACCURATE, STEP_NO_PROGRESS, STEP_NO_CONTACT, STEP_NOT_STARTED, STEP_NO_TARGET };

/* Enumerators of a list of fields (name, size): where each begins. */
#define PLACE(name, size) name, LAST_OF_##name = name + (size) - 1,

/* Whether all coordinates are finite and quaternions of unit length to 10 %; the caller normalises them. */
static int is_configuration(const double *q) {
  static const int places[] = QUATERNIONS;
  double sum = 0;
  for (int i = 0; i < NQ; i++) sum += q[i] * 0;
  if (sum != 0) return 0;
  for (const int *at = places; *at >= 0; at++) {
    const double *x = q + *at;
    if (!(fabs(x[0] * x[0] + x[1] * x[1] + x[2] * x[2] + x[3] * x[3] - 1) <= 0.1)) return 0;
  }
  return 1;
}
#endif
