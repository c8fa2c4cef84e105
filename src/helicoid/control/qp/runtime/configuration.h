/* Check of a measured configuration of NQ coordinates; QUATERNIONS lists the first index of each quaternion and ends
 * with -1. */
#ifndef HELICOID_CONFIGURATION_H
#define HELICOID_CONFIGURATION_H
#include <math.h>

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
