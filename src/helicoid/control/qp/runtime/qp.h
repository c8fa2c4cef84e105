/* Dual active-set method (Goldfarb and Idnani, 1983), with bounded multipliers.
 *
 * Every iterate is dual feasible: x minimises the Lagrangian for the multipliers, which are within their bounds. Each
 * iteration takes a violated constraint p and moves its multiplier until x satisfies it (full step), while the
 * multipliers of the active set follow such that its constraints hold. A multiplier that reaches its bound first
 * blocks (partial step) and leaves the active set: at zero the constraint is inactive, at the price of its row the
 * row is violated. With m_p = L^-1 n_p = Q r + w, a change d of multiplier p changes the others by -R^-1 r d, x by
 * -L'^-1 w d, and n_p'x by -w'w d.
 *
 * Where nothing bounds the step, the program is infeasible: hard rows then get a price (elastic mode), which minimises
 * the sum of their violations within the bounds of the variables, and the iterations continue. */
#ifndef HELICOID_QP_H
#define HELICOID_QP_H
#include "qp_factors.h"

#define QP_TOLERANCE 1e-10
#define QP_ELASTIC 1e6

static inline int qp_is_equation(const qp *s, int c) { return s->lower[c] == s->upper[c]; }
static inline double qp_bound(const qp *s, int c) { return s->state[c] > 0 ? s->upper[c] : s->lower[c]; }

/* Whether all data are finite and bounds ordered; computes the norms of the rows. */
static int qp_is_valid(qp *s) {
  QP_SIZES(s);
  double all = 0; /* an infinity or NaN anywhere makes it NaN */
  for (int i = 0; i < n; i++) {
    const double *restrict h = s->H + (size_t)i * n;
    double row = 0;
    for (int j = 0; j < n; j++) row += h[j] * 0;
    all += row + s->f[i] * 0;
  }
  for (int i = 0; i < m; i++) {
    const double *restrict a = s->A + (size_t)i * n;
    double squared = 0, largest = 0;
    for (int j = 0; j < n; j++) squared += a[j] * a[j];
    if (!(squared > 1e-200 && squared < 1e200)) { /* the square over- or underflows */
      for (int j = 0; j < n; j++) all += a[j] * 0, largest = qp_larger(largest, fabs(a[j]));
      squared = 0;
      for (int j = 0; largest > 0 && j < n; j++) squared += a[j] / largest * (a[j] / largest);
      s->norm[i] = largest * sqrt(squared);
    } else {
      s->norm[i] = sqrt(squared);
    }
    if (s->price && !(s->price[i] >= 0)) return 0;
  }
  if (all != 0) return 0;
  for (int c = 0; c < n + m; c++)
    if (!(s->lower[c] <= s->upper[c] && s->lower[c] < INFINITY && s->upper[c] > -INFINITY)) return 0;
  return 1;
}

/* Multipliers of the active set, and x from them, without rounding errors of earlier steps. Constraints whose
 * multipliers have the wrong sign, or exceed their price, leave the active set. */
static void qp_begin(qp *s) {
  QP_SIZES(s);
  double *g = s->g, *y = s->y, *t = s->r;
  memset(g, 0, QP_STRIDE * sizeof(double));
  for (int i = 0; i < n; i++) g[i] = s->f[i];
  for (int c = n; c < n + m; c++)
    if (s->multiplier[c] != 0 && fabs(s->state[c]) == QP_GIVEN_UP_ABOVE) qp_add_normal(s, c, s->multiplier[c], g);
  qp_forward(s, 0, g);
  for (;;) {
    double worst = 0;
    int at = -1;
    for (int k = 0; k < s->q; k++) y[k] = qp_bound(s, (int)s->active[k]);
    qp_solve_r_transposed(s, y);
    qp_project(s, g, s->scratch);
    for (int k = 0; k < s->q; k++) t[k] = -y[k] - s->scratch[k];
    qp_solve_r(s, t);
    for (int k = 0; k < s->q; k++) {
      const int c = (int)s->active[k];
      double wrong = fabs(t[k]) - qp_price(s, c);
      if (!qp_is_equation(s, c)) wrong = qp_larger(wrong, s->state[c] > 0 ? -t[k] : t[k]);
      wrong *= qp_norm(s, c);
      if (wrong > worst) worst = wrong, at = k;
    }
    if (at < 0) break;
    s->state[(int)s->active[at]] = QP_IDLE;
    qp_remove(s, at);
  }
  for (int i = 0; i < QP_STRIDE; i++) s->w[i] = -g[i];
  for (int k = 0; k < s->q; k++) s->multiplier[(int)s->active[k]] = t[k], y[k] += s->scratch[k];
  qp_combine(s, 1, y, s->w);
  qp_backward(s, s->w, s->point);
}

/* One step of iterative refinement of x and the multipliers of the active set. */
static void qp_refine(qp *s) {
  QP_SIZES(s);
  double *g = s->g, *y = s->y, *t = s->r, *w = s->w, *restrict x = s->point;
  memset(g, 0, QP_STRIDE * sizeof(double));
  for (int i = 0; i < n; i++) {
    const double *restrict h = s->H + (size_t)i * n;
    double sum = s->f[i] + s->shift * x[i];
    for (int j = 0; j < n; j++) sum += h[j] * x[j];
    g[i] = sum;
  }
  for (int c = 0; c < n + m; c++)
    if (s->multiplier[c] != 0) qp_add_normal(s, c, s->multiplier[c], g);
  qp_forward(s, 0, g);
  for (int k = 0; k < s->q; k++) {
    const int c = (int)s->active[k];
    y[k] = qp_bound(s, c) - qp_value(s, c);
  }
  qp_solve_r_transposed(s, y);
  for (int i = 0; i < QP_STRIDE; i++) w[i] = -g[i];
  qp_project(s, g, s->scratch);
  for (int k = 0; k < s->q; k++) t[k] = -y[k] - s->scratch[k], y[k] += s->scratch[k];
  qp_combine(s, 1, y, w);
  qp_solve_r(s, t);
  for (int k = 0; k < s->q; k++) s->multiplier[(int)s->active[k]] += t[k];
  qp_backward(s, w, s->m_p);
  qp_add(0, QP_STRIDE, 1, s->m_p, s->point);
}

/* Whether active constraints hold to rounding: x of a warm start without iterations then needs no refinement. */
static int qp_is_exact(const qp *s) {
  QP_SIZES(s);
  for (int k = 0; k < s->q; k++) {
    const int c = (int)s->active[k];
    const double bound = qp_bound(s, c);
    if (!(fabs(qp_value(s, c) - bound) <= 1e-13 * (qp_norm(s, c) + fabs(bound)))) return 0;
  }
  return 1;
}

/* The most violated constraint, by Euclidean distance; equations first. -1 if none is violated. */
static int qp_choose(const qp *s, int first_found) {
  QP_SIZES(s);
  double size = 1, worst = 0;
  int at = -1, equation = 0;
  for (int i = 0; i < n; i++) size = qp_larger(size, fabs(s->point[i]));
  for (int c = 0; c < n + m; c++) {
    if (s->state[c] == QP_AT_UPPER || s->state[c] == QP_AT_LOWER) continue;
    const double value = qp_value(s, c);
    if (s->state[c] == QP_IDLE && value <= s->upper[c] && value >= s->lower[c]) continue;
    const double norm = qp_norm(s, c);
    if (norm == 0) continue;
    double excess, bound;
    if (s->state[c] == QP_GIVEN_UP_ABOVE)
      excess = s->upper[c] - value, bound = s->upper[c];
    else if (s->state[c] == QP_GIVEN_UP_BELOW)
      excess = value - s->lower[c], bound = s->lower[c];
    else if (value > s->upper[c])
      excess = value - s->upper[c], bound = s->upper[c];
    else
      excess = s->lower[c] - value, bound = s->lower[c];
    if (!(excess > 0 && excess > QP_TOLERANCE * (norm * size + fabs(bound)))) continue;
    if (first_found) return c;
    const int first = qp_is_equation(s, c);
    if (first < equation) continue;
    excess /= norm;
    if (first > equation || excess > worst) worst = excess, at = c, equation = first;
  }
  return at;
}

/* Distance of multiplier c to its upper or its lower bound. */
static inline double qp_room(const qp *s, int c, int up) {
  const double now = s->multiplier[c], price = qp_price(s, c);
  const int free = qp_is_equation(s, c);
  if (up) return qp_larger(0, (free || s->state[c] > 0 ? price : 0) - now);
  return qp_larger(0, now + (free || s->state[c] < 0 ? price : 0));
}

/* Elastic mode: a price of hard rows, far above all multipliers so far. */
static void qp_relax(qp *s, int p, double excess) {
  QP_SIZES(s);
  double scale = 0, diagonal = 0;
  for (int i = 0; i < n; i++) {
    scale = qp_larger(scale, fabs(s->f[i]));
    diagonal = qp_larger(diagonal, s->H[(size_t)i * n + i]);
  }
  for (int c = 0; c < n + m; c++) scale = qp_larger(scale, fabs(s->multiplier[c]) * qp_norm(s, c));
  s->elastic = QP_ELASTIC * qp_larger(scale, diagonal * excess / qp_norm(s, p));
}

/* Dual steps of constraint p until x satisfies it or its multiplier is at a bound. 0 after a breakdown, or at the
 * iteration limit. */
static int qp_enter(qp *s, int p, int *idle_turns) {
  QP_SIZES(s);
  const int given_up = (int)s->state[p]; /* its multiplier is at its price and decreases */
  qp_transform_normal(s, p);
  const double above = given_up ? given_up : qp_value(s, p) > s->upper[p] ? 1 : -1;
  const double bound = above > 0 ? s->upper[p] : s->lower[p], way = (given_up ? -above : above) > 0 ? 1 : -1;
  for (;;) {
    if (s->iterations++ >= s->max_iterations) return 0;
    const double squared = qp_orthogonalise(s), excess = fabs(qp_value(s, p) - bound);
    memcpy(s->y, s->r, (size_t)s->q * sizeof(double));
    qp_solve_r(s, s->y); /* dual step of the active set: -y */
    double largest = 0;
    for (int k = 0; k < s->q; k++) largest = qp_larger(largest, fabs(s->y[k]));
    double step, room, blocking;
    int at;
    for (;;) { /* repeated in elastic mode where no constraint blocks */
      step = squared > 0 ? excess / squared : INFINITY;
      room = given_up ? fabs(s->multiplier[p]) : qp_price(s, p) - fabs(s->multiplier[p]);
      at = -1, blocking = 0;
      double shortest = qp_smaller(step, room);
      for (int k = 0; k < s->q; k++) {
        const double slope = -way * s->y[k];
        if (fabs(slope) <= 1e-13 * largest) continue;
        const double until = qp_room(s, (int)s->active[k], slope > 0) / fabs(slope);
        if (until < shortest || (until == shortest && at >= 0 && fabs(slope) > blocking))
          shortest = until, at = k, blocking = fabs(slope);
      }
      if (shortest < INFINITY) {
        step = at >= 0 || room < step ? shortest : step;
        break;
      }
      if (s->elastic > 0) return 0;
      qp_relax(s, p, excess);
    }
    *idle_turns = step > 0 ? 0 : *idle_turns + 1;
    s->multiplier[p] += way * step;
    for (int k = 0; k < s->q; k++) s->multiplier[(int)s->active[k]] -= way * step * s->y[k];
    if (squared > 0) {
      qp_backward(s, s->w, s->scratch);
      qp_add(0, QP_STRIDE, -way * step, s->scratch, s->point);
    }
    if (at >= 0) {
      const int c = (int)s->active[at];
      const double price = qp_price(s, c);
      const int up = -way * s->y[at] > 0;
      const int to_price = (up ? s->state[c] > 0 : s->state[c] < 0) || qp_is_equation(s, c);
      s->multiplier[c] = to_price ? (up ? price : -price) : 0;
      s->state[c] = to_price ? (up ? QP_GIVEN_UP_ABOVE : QP_GIVEN_UP_BELOW) : QP_IDLE;
      qp_remove(s, at);
    } else if (room <= step) {
      s->multiplier[p] = given_up ? 0 : way * qp_price(s, p);
      s->state[p] = given_up ? QP_IDLE : way > 0 ? QP_GIVEN_UP_ABOVE : QP_GIVEN_UP_BELOW;
      return 1;
    } else {
      s->state[p] = above > 0 ? QP_AT_UPPER : QP_AT_LOWER;
      qp_append(s, p, squared);
      return 1;
    }
  }
}

/* Warm start: all equations and the former active set, as far as they are linearly independent. */
static void qp_warm_start(qp *s) {
  QP_SIZES(s);
  s->q = 0;
  for (int equations = 1; equations >= 0; equations--)
    for (int c = 0; c < n + m; c++) {
      if (qp_is_equation(s, c) != equations) continue;
      s->multiplier[c] = 0;
      const int before = (int)s->state[c];
      s->state[c] = QP_IDLE;
      if (qp_norm(s, c) == 0) continue;
      const int side = equations || before > 0 ? QP_AT_UPPER : QP_AT_LOWER;
      if (!equations && before == QP_IDLE) continue;
      if (!(fabs(side > 0 ? s->upper[c] : s->lower[c]) < INFINITY)) continue;
      if (!equations && before != side) { /* a violated row stays violated if it is soft */
        if (qp_is_soft(s, c)) s->state[c] = before, s->multiplier[c] = side * qp_price(s, c);
        continue;
      }
      if (s->q == n) continue;
      qp_transform_normal(s, c);
      const double squared = qp_orthogonalise(s);
      if (!(squared > 0)) continue;
      s->state[c] = side;
      qp_append(s, c, squared);
    }
}

static int qp_factorise(qp *s) {
  QP_SIZES(s);
  double largest = 0;
  for (int i = 0; i < n; i++) largest = qp_larger(largest, s->H[(size_t)i * n + i]);
  s->shift = 0;
  if (qp_cholesky(s, 1e-15 * largest)) return 1;
  s->shift = 1e-10 * largest;
  return largest > 0 && qp_cholesky(s, 0.1 * s->shift);
}

static int qp_end(qp *s, int status) {
  QP_SIZES(s);
  int finite = status != QP_NOT_FINITE && status != QP_NOT_CONVEX;
  for (int i = 0; finite && i < n; i++) finite = s->point[i] - s->point[i] == 0;
  for (int c = 0; finite && c < n + m; c++) finite = s->multiplier[c] - s->multiplier[c] == 0;
  if (!finite) {
    memset(s->multiplier, 0, (size_t)(n + m) * sizeof(double));
    memset(s->state, 0, (size_t)(n + m) * sizeof(double));
    for (int i = 0; i < n; i++) s->point[i] = 0;
    if (status < QP_NOT_FINITE) status = QP_NOT_FINITE;
  }
  for (int i = 0; i < n; i++) { /* bounds of variables hold exactly */
    double value = s->point[i];
    if (value > s->upper[i] && s->upper[i] > -INFINITY) value = s->upper[i];
    if (value < s->lower[i] && s->lower[i] < INFINITY) value = s->lower[i];
    s->x[i] = value;
  }
  return s->status = status;
}

/* Solve. For any data, x is finite and within its bounds. */
static int qp_solve(qp *s) {
  QP_SIZES(s);
  int idle_turns = 0, contradiction = 0;
  qp_place(s);
  s->iterations = 0, s->elastic = 0, s->shift = 0, s->q = 0;
  if (!qp_is_valid(s)) return qp_end(s, QP_NOT_FINITE);
  if (!qp_factorise(s)) return qp_end(s, QP_NOT_CONVEX);
  for (int i = 0; i < m; i++) contradiction |= s->norm[i] == 0 && (s->lower[n + i] > 0 || s->upper[n + i] < 0);
  qp_warm_start(s);
  qp_begin(s);
  for (int round = 0; round < 4; round++) {
    int p, turned = 0;
    while ((p = qp_choose(s, idle_turns > 2 * (n + m))) >= 0) {
      turned = 1;
      if (!qp_enter(s, p, &idle_turns)) return qp_end(s, QP_ITERATION_LIMIT);
    }
    if (!turned && (round || qp_is_exact(s))) break;
    qp_refine(s);
  }
  for (int i = 0; i < m; i++)
    contradiction |= fabs(s->state[n + i]) == QP_GIVEN_UP_ABOVE && !qp_is_soft(s, n + i);
  return qp_end(s, contradiction ? QP_INFEASIBLE : QP_OK);
}
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC pop_options
#endif
#endif
