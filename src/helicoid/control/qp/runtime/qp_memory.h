/* Small dense quadratic programs: sizes, data and memory.
 *
 *   minimise ½ x'H x + f'x   subject to   lower <= (x, A x) <= upper
 *
 * n variables, m rows, H symmetric and positive definite. Constraint c is the bound of variable c for c < n, else
 * row c - n; lower and upper have n + m entries, which may be infinite; equal ones make an equation. A multiplier is
 * positive where the upper side holds, negative where the lower one does: H x + f + multiplier_x + A' multiplier_A
 * = 0. A row with a finite price p is soft: p |violation| is added to the cost (an exact penalty), which bounds its
 * multiplier by p.
 *
 * C99 with nothing but math.h; the caller provides all memory. With QP_N defined n is a constant.
 */
#ifndef HELICOID_QP_MEMORY_H
#define HELICOID_QP_MEMORY_H
/* Sums may be reordered; the other options of -ffast-math would hide NaN. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC push_options
#ifndef HELICOID_OPTIMISE /* defined where a short build matters more than speed */
/* The passes without which it builds faster gain nothing here. */
#pragma GCC optimize("O3", "associative-math", "no-signed-zeros", "no-trapping-math", "no-math-errno", \
                     "no-tree-pre", "no-gcse", "no-code-hoisting", "no-unswitch-loops", "no-split-loops", \
                     "no-predictive-commoning")
#endif
#endif
#include <math.h>
#include <stddef.h>
#include <string.h>

enum { QP_OK, QP_INFEASIBLE, QP_ITERATION_LIMIT, QP_NOT_FINITE, QP_NOT_CONVEX };

/* State of a constraint: inactive, active at a side, or a violated row with its multiplier at its price. */
enum { QP_GIVEN_UP_BELOW = -2, QP_AT_LOWER = -1, QP_IDLE = 0, QP_AT_UPPER = 1, QP_GIVEN_UP_ABOVE = 2 };

/* Vectors of n are padded with zeros to whole vectors of four, so that loops need no remainder. */
#define QP_PADDED(n) (((n) + 3) / 4 * 4)
#define QP_WORK(n, m) ((3 * QP_PADDED(n) + 10) * QP_PADDED(n) + (m) + 8)

typedef struct {
  int n, m;
  const double *H, *f, *A;       /* n x n and m x n, row-major */
  const double *lower, *upper;   /* n + m */
  const double *price;           /* m, or 0: no row is soft */
  double *x, *multiplier;        /* n, n + m */
  double *state;                 /* n + m; on entry the warm start: the former active set, or zeros */
  double *work;                  /* QP_WORK(n, m) doubles */
  int max_iterations;
  int status, iterations;
  double shift;                  /* added to the diagonal of H where that is singular to rounding */
  double elastic;                /* price of hard rows per unit of distance in elastic mode, else 0 */
  /* Inside work. L, Q, R are arrays of columns: H = L L', M = L^-1 N = Q R for the normals N of the active set. */
  double *L, *inverse_diagonal, *Q, *R, *point;
  double *m_p, *w, *r, *y, *g, *scratch, *r_inverse, *norm;
  double *active; /* indices of the q active constraints */
  int q;
} qp;

#ifndef QP_N
#define QP_N (s->n)
#endif
#define QP_SIZES(s)                 \
  const int n = QP_N, m = (s)->m; \
  (void)n;                          \
  (void)m
#define QP_STRIDE QP_PADDED(n)

static inline double qp_larger(double a, double b) { return a > b ? a : b; }
static inline double qp_smaller(double a, double b) { return a < b ? a : b; }

/* For vectors of padded length. */
static inline double qp_dot(int from, int to, const double *restrict a, const double *restrict b) {
  double sum = 0;
  for (int i = from; i < to; i++) sum += a[i] * b[i];
  return sum;
}
static inline void qp_add(int from, int to, double factor, const double *restrict a, double *restrict b) {
  for (int i = from; i < to; i++) b[i] += factor * a[i];
}

static inline void qp_place(qp *s) {
  QP_SIZES(s);
  double *at = s->work;
  s->L = at, at += QP_STRIDE * QP_STRIDE;
  s->Q = at, at += QP_STRIDE * QP_STRIDE;
  s->R = at, at += QP_STRIDE * QP_STRIDE;
  s->inverse_diagonal = at, at += QP_STRIDE;
  s->point = at, at += QP_STRIDE;
  s->m_p = at, at += QP_STRIDE;
  s->w = at, at += QP_STRIDE;
  s->r = at, at += QP_STRIDE;
  s->y = at, at += QP_STRIDE;
  s->g = at, at += QP_STRIDE;
  s->active = at, at += QP_STRIDE;
  s->scratch = at, at += QP_STRIDE;
  s->r_inverse = at, at += QP_STRIDE;
  s->norm = at;
  memset(s->inverse_diagonal, 0, 10 * QP_STRIDE * sizeof(double));
}

static inline double qp_price(const qp *s, int c) {
  QP_SIZES(s);
  if (c < n) return INFINITY;
  if (s->price && s->price[c - n] < INFINITY) return s->price[c - n];
  return s->elastic > 0 ? s->elastic / s->norm[c - n] : INFINITY;
}
static inline int qp_is_soft(const qp *s, int c) {
  QP_SIZES(s);
  return c >= n && s->price && s->price[c - n] < INFINITY;
}
static inline double qp_norm(const qp *s, int c) {
  QP_SIZES(s);
  return c < n ? 1 : s->norm[c - n];
}
/* Normal times x. */
static inline double qp_value(const qp *s, int c) {
  QP_SIZES(s);
  if (c < n) return s->point[c];
  double sum = 0;
  const double *restrict a = s->A + (size_t)(c - n) * n, *restrict x = s->point;
  for (int i = 0; i < n; i++) sum += a[i] * x[i];
  return sum;
}
/* b += factor * normal. */
static inline void qp_add_normal(const qp *s, int c, double factor, double *restrict b) {
  QP_SIZES(s);
  if (c < n) {
    b[c] += factor;
    return;
  }
  const double *restrict a = s->A + (size_t)(c - n) * n;
  for (int i = 0; i < n; i++) b[i] += factor * a[i];
}
#endif
