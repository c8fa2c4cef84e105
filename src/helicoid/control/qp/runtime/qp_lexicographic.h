/* Lexicographic least squares, each level in the set of minimisers of the levels before:
 *
 *   minimise |E_1 x - e_1|^2, then among its minimisers |E_2 x - e_2|^2, ...  all with lower <= (x, A x) <= upper
 *
 * Level k is a program with H = E_k'E_k + damping_k 1; its result E_k x is an equation of all levels after it.
 * The last level is regularised towards `center`, the others towards zero.
 * Infeasible constraints are relaxed by the least sum of violations of the first level, the same in all levels. */
#ifndef HELICOID_QP_LEXICOGRAPHIC_H
#define HELICOID_QP_LEXICOGRAPHIC_H
#include "qp_progress.h"

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
  const double *range;         /* 2 n, with share: see qp_is_limited */
  double fading;               /* of the share of a stuck level and of those after it, per step */
  int is_slow, is_fading;      /* whether a level other than the last, or the only one, makes hardly any progress,
                                  and whether any has faded */
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

/* Part of |e|^2 by which x reduces the squared residual; 1 where e is zero to rounding. */
static double qp_progress(int n, int rows, const double *E, const double *e, const double *x, double *wanted) {
  double missing = 0;
  *wanted = 1e-8;
  for (int i = 0; i < rows; i++) {
    const double left = e[i] - qp_row(n, E + i * n, x);
    *wanted += e[i] * e[i], missing += left * left;
  }
  return (*wanted - missing) / *wanted;
}

static int qp_solve_levels(qp_levels *s) {
  const int n = QP_N, m = s->m;
  int total = 0, done = 0, stuck = 0, is_short = 0, status = QP_OK;
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
  s->iterations = 0, s->is_slow = s->is_fading = 0;
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
      const int is_limited = qp_is_limited(n, state, s->x, s->range);
      const int counts = !is_limited && wanted > QP_WANTED && (k < s->levels - 1 || !k);
      const int is_stuck = stuck || (counts && progress < QP_STUCK);
      for (int i = 0; !k && i < n; i++) found[i] = 0;
      if (k || qp_may_be_zero(n + m, lower, upper))
        qp_take_share(n, s->share + k, s->change + k * n, s->x, found, s->fading, is_stuck, is_short);
      stuck |= !is_limited && progress < 10 * QP_STUCK;
      is_short |= progress < 0.5, s->is_slow |= counts && progress < 10 * QP_STUCK;
      s->is_fading |= is_stuck && s->share[k] < QP_FADED;
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
