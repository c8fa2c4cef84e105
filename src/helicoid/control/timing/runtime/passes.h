/* Reachability along a path (Pham and Pham 2018, "A new approach to time-optimal path parameterization based on
   reachability analysis"). With x = s'^2 and u = s'' constant between points of the grid, x[i+1] = x[i] + 2 d u[i],
   and every limit is a row lower <= a u + b x + c <= upper. */
#ifndef TOPP_PASSES_H
#define TOPP_PASSES_H
#include <math.h>
#include "spline.h"

#define FLAT 1e-10     /* relative coefficient of u below which a row bounds x alone */
#define ROUNDING 1e-12 /* relative */

typedef struct {
  int64_t n, m;                                         /* points, rows */
  const double *s, *a, *b, *c, *lower, *upper, *x_max;  /* (n), (n, m) thrice (c may be NULL), (m) twice, (n) */
  int64_t ends;                                         /* whether rows hold at both ends of an interval */
} topp_rows;

/* The rows of one interval as low <= u - slope x <= high, and bounds of x. */
typedef struct {
  double *slope, *low, *high;
  int64_t *row; /* origin of each: 2 row, 2 row + 1 at the far end, -1 the controllable set of the next point */
  int64_t n;
  double x_low, x_high, x_scale, u_scale; /* scales: largest possible |x| and |u| */
  int64_t flat_low, flat_high; /* rows that bound x */
} topp_strip;

static void add_row(topp_strip *z, double a, double b, double lower, double upper, int64_t row) {
  double size = fabs(b) * z->x_scale + smaller(fabs(lower), fabs(upper));
  if (a == 0 || fabs(a) * z->u_scale < FLAT * size) {
    double low = b > 0 ? lower / b : upper / b, high = b > 0 ? upper / b : lower / b;
    if (b == 0) low = lower > 0 || upper < 0 ? INFINITY : -INFINITY, high = -low;
    if (low > z->x_low) z->x_low = low, z->flat_low = row;
    if (high < z->x_high) z->x_high = high, z->flat_high = row;
    return;
  }
  int64_t k = z->n++;
  double inverse = 1 / a;
  z->slope[k] = -b * inverse;
  z->low[k] = (a > 0 ? lower : upper) * inverse;
  z->high[k] = (a > 0 ? upper : lower) * inverse;
  z->row[k] = row;
}

/* Constraints on interval i such that the next x is in [next_low, next_high]. */
static void interval(const topp_rows *r, int64_t i, double next_low, double next_high, topp_strip *z) {
  double d = 2 * (r->s[i + 1] - r->s[i]);
  int64_t m = r->m;
  z->x_scale = larger(r->x_max[i], next_high), z->u_scale = z->x_scale / d;
  z->n = 0, z->x_low = 0, z->x_high = r->x_max[i], z->flat_low = z->flat_high = -1;
  add_row(z, d, 1, next_low, next_high, -1);
  for (int64_t j = 0; j < m; j++) {
    const double *a = r->a + i * m, *b = r->b + i * m, *c = r->c ? r->c + i * m : 0;
    double held = c ? c[j] : 0, next = c ? c[m + j] : 0;
    add_row(z, a[j], b[j], r->lower[j] - held, r->upper[j] - held, 2 * j);
    if (r->ends)
      add_row(z, a[m + j] + d * b[m + j], b[m + j], r->lower[j] - next, r->upper[j] - next, 2 * j + 1);
  }
}

/* The least and the greatest u at x, and the rows that determine them. */
static void accelerations(const topp_strip *z, double x, double *low, double *high, int64_t *at_low, int64_t *at_high) {
  *low = -INFINITY, *high = INFINITY, *at_low = *at_high = 0;
  for (int64_t k = 0; k < z->n; k++) {
    double shift = z->slope[k] * x;
    if (z->low[k] + shift > *low) *low = z->low[k] + shift, *at_low = k;
    if (z->high[k] + shift < *high) *high = z->high[k] + shift, *at_high = k;
  }
}

/* From x, an end of [x_low, x_high], to the nearest x with a feasible u: the violation low(x) - high(x) is
   convex and piecewise linear, so that Newton's steps never overshoot and end after finitely many. Returns 0 if
   there is no such x, and then leaves in `pair` the rows that contradict each other. */
static int nearest_allowed(const topp_strip *z, int up, double *x, int64_t *pair) {
  double now = up ? z->x_low : z->x_high;
  for (int64_t step = 0; step < 2 * z->n + 8; step++) {
    double low, high;
    int64_t i, j;
    accelerations(z, now, &low, &high, &i, &j);
    pair[0] = z->row[i], pair[1] = z->row[j];
    if (low - high <= ROUNDING * smaller(fabs(low), fabs(high))) break;
    double slope = z->slope[i] - z->slope[j];
    if (up ? slope >= 0 : slope <= 0) return 0;
    double next = (z->high[j] - z->low[i]) / slope;
    if (up ? next <= now : next >= now) break; /* rounding error */
    now = next;
    double slack = ROUNDING * (fabs(now) + (up ? z->x_high : z->x_low));
    if (up ? now > z->x_high + slack : now < z->x_low - slack) return 0;
  }
  *x = smaller(larger(now, z->x_low), z->x_high);
  return 1;
}

enum { SOLVED, NO_SPEED, NO_START, STANDS };

/* Backward pass: controllable sets of x, (n, 2), from the last point to the first. Returns the point where the set is
   empty, with the contradicting rows in `pair`; or -1. */
static int64_t backward(const topp_rows *r, double x_end, double *set, topp_strip *z, int64_t *pair) {
  set[2 * r->n - 2] = set[2 * r->n - 1] = x_end;
  for (int64_t i = r->n - 2; i >= 0; i--) {
    double *now = set + 2 * i;
    if (r->s[i + 1] <= r->s[i]) { /* the same point, left and right limits */
      now[0] = now[2], now[1] = smaller(now[3], r->x_max[i]);
      pair[0] = pair[1] = -1;
      if (now[0] > now[1]) return i;
      continue;
    }
    interval(r, i, now[2], now[3], z);
    if (z->x_low > z->x_high) {
      pair[0] = z->flat_low, pair[1] = z->flat_high;
      return i;
    }
    if (!nearest_allowed(z, 0, now + 1, pair) || !nearest_allowed(z, 1, now, pair)) return i;
    if (now[0] > now[1]) now[0] = now[1];
  }
  return -1;
}

/* Forward pass: the greatest u that leads into the next controllable set. */
static void forward(const topp_rows *r, const double *set, double *x, topp_strip *z) {
  for (int64_t i = 0; i + 1 < r->n; i++) {
    const double *next = set + 2 * i + 2;
    double d = 2 * (r->s[i + 1] - r->s[i]), low, high;
    int64_t at_low, at_high;
    if (d <= 0) {
      x[i + 1] = x[i];
      continue;
    }
    interval(r, i, next[0], next[1], z);
    accelerations(z, x[i], &low, &high, &at_low, &at_high);
    x[i + 1] = smaller(larger(x[i] + d * high, next[0]), next[1]);
  }
}

/* The time-optimal profile, from path velocity `start` to `end`. `out` is (8, n): time, path velocity, path
   acceleration of the interval that follows, the highest controllable path velocity and that of the velocity limits,
   x, and memory for the sets. `info` is (3): a point and two rows, where it fails. `work` is 4 (2 m + 1). */
EXPORTED int64_t topp_solve(int64_t n, int64_t m, int64_t ends, const double *s, const double *a, const double *b,
                            const double *c, const double *lower, const double *upper, const double *x_max,
                            double start, double end, double *out, int64_t *info, double *work) {
  topp_rows r = {n, m, s, a, b, c, lower, upper, x_max, ends};
  int64_t k = 2 * m + 1;
  topp_strip z = {work, work + k, work + 2 * k, (int64_t *)(work + 3 * k), 0, 0, 0, 0, 0, 0, 0};
  double *t = out, *speed = out + n, *u = out + 2 * n, *highest = out + 3 * n, *limit = out + 4 * n, *x = out + 5 * n,
         *set = out + 6 * n, x_start = start * start;
  info[0] = backward(&r, end * end, set, &z, info + 1);
  if (info[0] >= 0) return NO_SPEED;
  info[0] = 0;
  double slack = 1e-9 * set[1];
  if (x_start < set[0] - slack || x_start > set[1] + slack) return NO_START;
  x[0] = smaller(larger(x_start, set[0]), set[1]);
  forward(&r, set, x, &z);
  for (int64_t i = 0; i < n; i++) speed[i] = sqrt(x[i]), highest[i] = sqrt(set[2 * i + 1]), limit[i] = sqrt(x_max[i]);
  t[0] = u[n - 1] = 0;
  for (int64_t i = 0; i + 1 < n; i++) {
    double d = s[i + 1] - s[i], both = speed[i] + speed[i + 1];
    info[0] = i;
    if (d > 0 && !(both > 0)) return STANDS;
    t[i + 1] = t[i] + (d > 0 ? 2 * d / both : 0);
    u[i] = d > 0 ? (x[i + 1] - x[i]) / (2 * d) : 0;
  }
  return SOLVED;
}
#endif
