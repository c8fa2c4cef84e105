/* Motion along a path in the least time; sizes are arguments, so that one library serves all robots. */
#include "passes.h"
#include "spline.h"

enum { ALLOWED, LEAVES, STUCK };

/* q, q', q'' (m, n) on a grid and the x (m) that velocities allow, at most cap; `bounds` is (4, n): lower and upper
   ones of q and of v. Not ALLOWED: the path leaves the limits of joint info[0] at point info[1], or moves joint
   info[0], which may not. */
EXPORTED int64_t topp_lay(int64_t pieces, int64_t n, const double *breaks, const double *c, int64_t m, const double *s,
                          const double *bounds, double cap, double *q, int64_t *info) {
  double *q1 = q + m * n, *q2 = q1 + m * n, *x_max = q2 + m * n, largest = 0, worst = 1e-6;
  const double *q_low = bounds, *q_high = bounds + n, *v_low = bounds + 2 * n, *v_high = bounds + 3 * n;
  int64_t found = ALLOWED;
  topp_evaluate(pieces, n, breaks, c, m, s, q, q1, q2);
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < n; j++) {
      double beyond = larger(q_low[j] - q[i * n + j], q[i * n + j] - q_high[j]);
      if (beyond > worst) worst = beyond, info[0] = j, info[1] = i, found = LEAVES;
      largest = larger(largest, fabs(q1[i * n + j]));
    }
  if (found != ALLOWED) return found;
  for (int64_t i = 0; i < m; i++) {
    double speed = cap;
    for (int64_t j = 0; j < n; j++) {
      double rate = q1[i * n + j], most = rate > 0 ? v_high[j] : v_low[j];
      if (fabs(rate) <= 1e-9 * largest) continue;
      if (most == 0) return info[0] = j, info[1] = i, STUCK;
      speed = smaller(speed, most / rate);
    }
    x_max[i] = speed * speed;
  }
  return ALLOWED;
}

/* q, v, a (m, n) at ascending times: between points of the grid s'' is constant. `profile` is that of topp_solve. */
EXPORTED void topp_motion(int64_t pieces, int64_t n, const double *breaks, const double *c, int64_t points,
                          const double *s, const double *profile, int64_t m, const double *times, double *q) {
  const double *t = profile, *speeds = profile + points, *us = profile + 2 * points;
  double *v = q + m * n, *a = v + m * n;
  for (int64_t k = 0, i = 0, p = 0; k < m; k++) {
    while (i + 2 < points && (times[k] >= t[i + 1] || s[i + 1] <= s[i])) i++;
    double u = us[i], speed = speeds[i], h = larger(times[k] - t[i], 0);
    double at = smaller(s[i] + h * (speed + 0.5 * h * u), s[i + 1]);
    double rate = larger(speed + h * u, 0);
    while (p + 1 < pieces && (breaks[p + 1] <= s[i] || at > breaks[p + 1])) p++;
    double *q1 = v + k * n, *q2 = a + k * n;
    piece_at(n, c + 4 * n * p, at - breaks[p], q + k * n, q1, q2);
    for (int64_t j = 0; j < n; j++) {
      q2[j] = q2[j] * rate * rate + q1[j] * u;
      q1[j] *= rate;
    }
  }
}
