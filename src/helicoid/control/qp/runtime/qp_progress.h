/* Progress of least squares from step to step, and rest where there is none.
 *
 * Steps x of min |E x - e|^2 + damping |x|^2, with E and e of the present configuration, reduce |e| from step to step
 * if it can be reduced. Where it cannot, E is singular for e: x is small, or runs along a flat valley for ever. */
#ifndef HELICOID_QP_PROGRESS_H
#define HELICOID_QP_PROGRESS_H
#include "qp.h"

#define QP_STUCK 1e-3  /* progress below which a level is stuck */
#define QP_WANTED 1e-6 /* |e|^2 below which it is not */
#define QP_LEAST_SHARE 1e-5
#define QP_FADED 0.2 /* share below which a motion has faded for a while */

static inline double qp_row(int n, const double *restrict a, const double *restrict x) {
  double sum = 0;
  for (int j = 0; j < n; j++) sum += a[j] * x[j];
  return sum;
}

/* Whether a bound holds a variable that is as large as any: x is small by its limits, not because it is stuck. Bounds
 * of `range`, n lower and n upper ones, by which joints come to the end of their range, are no such limits. */
static int qp_is_limited(int n, const double *state, const double *x, const double *range) {
  double largest = 0;
  for (int i = 0; i < n; i++) largest = qp_larger(largest, fabs(x[i]));
  for (int i = 0; i < n; i++)
    if (state[i] != QP_IDLE && fabs(x[i]) > 0.5 * largest && x[i] != range[i] && x[i] != range[n + i]) return 1;
  return 0;
}

static int qp_may_be_zero(int size, const double *lower, const double *upper) {
  for (int c = 0; c < size; c++)
    if (lower[c] > 0 || upper[c] < 0) return 0;
  return 1;
}

/* Of the change d = x - base by a program, a share is taken, which comes from step to step, as `before` does: d of the
 * step before.
 *
 * It fades while the program is stuck, unless d grows faster than it would fade: then x leaves a saddle, such as a
 * stretched arm whose target is within reach. Of a level after one that falls short of its goal (`is_short`) it never
 * grows, and halves where d turns back: the null space of the level before turns with the configuration the faster
 * the nearer that is to a singularity, and a full step beyond the range in which its equation holds would chatter. */
static void qp_take_share(int n, double *restrict share, double *restrict before, double *restrict x,
                          const double *base, double fading, int is_stuck, int is_short) {
  double dot = 0, squared = 0, last = 0;
  if (!(*share > 0)) *share = 1;
  for (int i = 0; i < n; i++) {
    const double d = x[i] - base[i];
    dot += d * before[i], squared += d * d, last += before[i] * before[i];
    before[i] = d;
  }
  const int is_along = dot > 0 && dot * dot >= 0.25 * squared * last;
  const int is_leaving = is_along && squared > last * (2 / fading - 1);
  if (is_short && dot < 0) *share *= 0.5;
  if (is_stuck && !is_leaving)
    *share *= fading;
  else if (is_along && !is_short)
    *share *= 1.2;
  *share = qp_larger(QP_LEAST_SHARE, qp_smaller(1, *share));
  for (int i = 0; *share < 1 && i < n; i++) x[i] = base[i] + *share * before[i];
}
#endif
