/* Lexicographic least squares, each level in the set of minimisers of the levels before:
 *
 *   minimise |E_1 x - e_1|^2, then among its minimisers |E_2 x - e_2|^2, ...  all with lower <= (x, A x) <= upper
 *
 * Level k is a program with H = E_k'E_k + damping_k 1; its result E_k x is an equation of all levels after it.
 * The last level is regularised towards `center`, the others towards zero.
 * Infeasible constraints are relaxed by the least sum of violations of the first level, the same in all levels. */
#ifndef HELICOID_QP_LEXICOGRAPHIC_H
#define HELICOID_QP_LEXICOGRAPHIC_H
#include "qp.h"

/* For n variables, m rows and t rows of all levels together. */
#define QP_LEVELS_WORK(n, m, t) \
  ((n) * (n) + (n) + ((m) + (t)) * (n) + 4 * ((n) + (m) + (t)) + (n) + QP_WORK(n, (m) + (t)))

typedef struct {
  int n, m, levels;
  const int *rows;             /* of each level */
  const double *E, *e;         /* all levels, one below the other */
  const double *A, *lower, *upper;
  const double *damping;       /* of each level */
  const double *center;        /* n, or 0 */
  double *x, *state;           /* n, n + m: see qp */
  double *multiplier;          /* n + m, of the first level */
  double *work;                /* QP_LEVELS_WORK doubles */
  double *share, *change;      /* of each level, levels and levels x n, from step to step; or 0: see qp_take_share */
  double fading;               /* of the share of a level after one that is stuck, per step */
  int max_iterations;          /* of a level */
  int status, iterations;
} qp_levels;

static void qp_level_data(const qp_levels *s, int level, const double *E, const double *e, double *H, double *f) {
  const int n = QP_N, rows = s->rows[level];
  const double *center = level == s->levels - 1 ? s->center : 0;
  memset(H, 0, (size_t)(n * n) * sizeof(double));
  memset(f, 0, (size_t)n * sizeof(double));
  for (int i = 0; i < rows; i++, E += n)
    for (int j = 0; j < n; j++) {
      const double a = E[j];
      if (a == 0) continue;
      f[j] -= a * e[i];
      for (int k = 0; k < n; k++) H[j * n + k] += a * E[k];
    }
  for (int j = 0; j < n; j++) {
    H[j * n + j] += s->damping[level];
    if (center) f[j] -= s->damping[level] * center[j];
  }
}

static inline double qp_row(int n, const double *restrict a, const double *restrict x) {
  double sum = 0;
  for (int j = 0; j < n; j++) sum += a[j] * x[j];
  return sum;
}

/* Of the change d of x by a level, a share is taken, which comes from step to step.
 *
 * Where a level cannot reach its goal, its E_k becomes singular, and its null space turns with the configuration the
 * faster the nearer it is to the singularity. A full step of the next level is then beyond the range in which the
 * equation E_k x = const holds: that level would chatter. Its share halves where d turns back on the change of the step
 * before, and fades while a level makes no progress; so does the share of that level itself. */
static void qp_take_share(const qp_levels *s, int level, int is_stuck, const double *base) {
  const int n = QP_N;
  double *restrict share = s->share + level, *restrict before = s->change + level * n, *restrict x = s->x;
  double dot = 0, squared = 0, last = 0;
  if (!(*share > 0)) *share = 1;
  for (int i = 0; i < n; i++) {
    const double d = x[i] - base[i];
    dot += d * before[i], squared += d * d, last += before[i] * before[i];
    before[i] = d;
  }
  if (level && dot < 0) *share *= 0.5;
  if (is_stuck)
    *share *= s->fading;
  else if (dot > 0 && dot * dot >= 0.25 * squared * last)
    *share *= 1.2;
  *share = qp_larger(level ? 1e-5 : 2e-3, qp_smaller(1, *share));
  for (int i = 0; *share < 1 && i < n; i++) x[i] = base[i] + *share * before[i];
}

/* Part of |e|^2 by which a level reduces its squared residual; 1 where e is zero to rounding. */
static double qp_progress(int n, int rows, const double *E, const double *e, const double *x, double *wanted) {
  double missing = 0;
  *wanted = 1e-8;
  for (int i = 0; i < rows; i++) {
    const double left = e[i] - qp_row(n, E + i * n, x);
    *wanted += e[i] * e[i], missing += left * left;
  }
  return (*wanted - missing) / *wanted;
}

/* Whether a bound holds a variable that is as large as any: x is small by its limits, not because it is stuck. */
static int qp_is_limited(int n, const double *state, const double *x) {
  double largest = 0;
  for (int i = 0; i < n; i++) largest = qp_larger(largest, fabs(x[i]));
  for (int i = 0; i < n; i++)
    if (state[i] != QP_IDLE && fabs(x[i]) > 0.5 * largest) return 1;
  return 0;
}

static int qp_may_be_zero(int size, const double *lower, const double *upper) {
  for (int c = 0; c < size; c++)
    if (lower[c] > 0 || upper[c] < 0) return 0;
  return 1;
}

static int qp_solve_levels(qp_levels *s) {
  const int n = QP_N, m = s->m;
  int total = 0, done = 0, stuck = 0, status = QP_OK;
  for (int k = 0; k < s->levels; k++) total += s->rows[k];
  const int all = n + m + total;
  double *at = s->work, *H = at, *f = H + n * n, *A = f + n, *lower = A + (m + total) * n, *upper = lower + all;
  double *multiplier = upper + all, *state = multiplier + all, *found = state + all;
  qp p;
  memset(&p, 0, sizeof p);
  p.n = n, p.H = H, p.f = f, p.A = A, p.lower = lower, p.upper = upper;
  p.x = s->x, p.multiplier = multiplier, p.state = state, p.work = found + n;
  p.max_iterations = s->max_iterations;
  memcpy(A, s->A, (size_t)(m * n) * sizeof(double));
  memcpy(A + m * n, s->E, (size_t)(total * n) * sizeof(double));
  memcpy(lower, s->lower, (size_t)(n + m) * sizeof(double));
  memcpy(upper, s->upper, (size_t)(n + m) * sizeof(double));
  memset(state, 0, (size_t)all * sizeof(double));
  memcpy(state, s->state, (size_t)(n + m) * sizeof(double));
  memset(s->multiplier, 0, (size_t)(n + m) * sizeof(double));
  s->iterations = 0;
  for (int k = 0; k < s->levels; k++) {
    const int rows = s->rows[k];
    qp_level_data(s, k, s->E + done * n, s->e + done, H, f);
    p.m = m + done;
    memcpy(found, s->x, (size_t)n * sizeof(double));
    const int now = qp_solve(&p);
    s->iterations += p.iterations;
    if (k == 0) {
      status = now;
      memcpy(s->state, state, (size_t)(n + m) * sizeof(double));
      memcpy(s->multiplier, multiplier, (size_t)(n + m) * sizeof(double));
    }
    if (now > QP_INFEASIBLE) { /* the result of the level before stays */
      if (k) memcpy(s->x, found, (size_t)n * sizeof(double));
      status = now;
      break;
    }
    if (s->share) {
      double wanted, progress = qp_progress(n, rows, s->E + done * n, s->e + done, s->x, &wanted);
      if (qp_is_limited(n, state, s->x)) progress = 1;
      const int itself = progress < 1e-3 && wanted > 1e-2 && (k < s->levels - 1 || !k);
      for (int i = 0; !k && i < n; i++) found[i] = 0;
      if (k || qp_may_be_zero(n + m, lower, upper)) qp_take_share(s, k, stuck || itself, found);
      stuck |= progress < 1e-2;
    }
    for (int i = 0; i < m; i++)
      if (fabs(state[n + i]) == QP_GIVEN_UP_ABOVE) {
        const double value = qp_row(n, A + i * n, s->x);
        if (value > upper[n + i]) upper[n + i] = value;
        if (value < lower[n + i]) lower[n + i] = value;
        state[n + i] = QP_IDLE;
      }
    for (int i = m + done; i < m + done + rows; i++) lower[n + i] = upper[n + i] = qp_row(n, A + i * n, s->x);
    done += rows;
  }
  return s->status = status;
}
#endif
