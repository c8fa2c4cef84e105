/* Time-optimal path parameterisation; sizes are arguments, so that one library serves all robots. */
#include "passes.h"
#include "spline.h"

enum { ALLOWED, LEAVES, STUCK };
enum { SENSELESS = 1, ACCELERATIONS = 2, TORQUES = 4 };

/* Knots s (k) at the chord length through q (k, n), and the spline; 0 if q is not finite or two knots coincide. */
EXPORTED int64_t topp_through(int64_t k, int64_t n, const double *q, double *s, double *c, double *work) {
  s[0] = 0;
  for (int64_t i = 0; i + 1 < k; i++) {
    double square = 0;
    for (int64_t j = 0; j < n; j++) {
      double step = q[(i + 1) * n + j] - q[i * n + j];
      square += step * step;
    }
    s[i + 1] = s[i] + sqrt(square);
    if (!(square > 0 && isfinite(s[i + 1]) && s[i + 1] > s[i])) return 0;
  }
  topp_spline(k, n, s, q, c, work);
  return 1;
}

/* Of bounds (4, 2, n), lower and upper ones of position, velocity, acceleration and torque: bits of the enumeration. */
EXPORTED int64_t topp_bounds(int64_t n, const double *bounds) {
  int64_t found = 0;
  for (int64_t kind = 0; kind < 4; kind++)
    for (int64_t j = 0; j < n; j++) {
      double low = bounds[2 * kind * n + j], high = bounds[(2 * kind + 1) * n + j];
      int holds = (kind != 1 && kind != 2) || (low <= 0 && high >= 0); /* zero must be feasible */
      if (!(low <= high && holds)) found |= SENSELESS;
      if (kind >= 2 && (isfinite(low) || isfinite(high))) found |= kind == 2 ? ACCELERATIONS : TORQUES;
    }
  return found;
}

/* A path on a grid and the x (m) that velocities allow, at most cap. The block is (7, m, n): q, q, q, 0, 0, q', q'',
   which contains consecutively the three positions, velocities (0, 0, q') and accelerations (0, q', q'') of
   topp_torque_rows. `bounds` is (4, n): lower and upper ones of q and of v. Not ALLOWED: the path leaves the limits of
   joint info[0] at point info[1], or moves joint info[0], whose velocity limit is zero. */
EXPORTED int64_t topp_lay(int64_t pieces, int64_t n, const double *breaks, const double *c, int64_t m, const double *s,
                          const double *bounds, double cap, double *block, double *x_max, int64_t *info) {
  const int64_t size = m * n;
  double *q = block + 2 * size, *q1 = block + 5 * size, *q2 = block + 6 * size, largest = 0, worst = 1e-6;
  const double *q_low = bounds, *q_high = bounds + n, *v_low = bounds + 2 * n, *v_high = bounds + 3 * n;
  int64_t found = ALLOWED;
  topp_evaluate(pieces, n, breaks, c, m, s, q, q1, q2);
  for (int64_t i = 0; i < size; i++) block[i] = block[size + i] = q[i], block[3 * size + i] = block[4 * size + i] = 0;
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

/* Rows of torques M q' u + (M q'' + C q') x + g, from tau (3, m, n) at (q, 0, 0), (q, 0, q') and (q, q', q''); where a
   block of topp_lay is given, after those of accelerations q' u + q'' x. */
EXPORTED void topp_torque_rows(int64_t m, int64_t n, const double *tau, const double *block, const double *taken,
                               double *a, double *b, double *c) {
  const int64_t size = m * n, width = block ? 2 * n : n;
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < n; j++) {
      int64_t from = i * n + j, to = i * width + j;
      if (block) a[to] = block[5 * size + from], b[to] = block[6 * size + from], c[to] = 0, to += n;
      double held = tau[from];
      a[to] = tau[size + from] - held, b[to] = tau[2 * size + from] - held;
      c[to] = held + (taken ? taken[from] : 0);
    }
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
