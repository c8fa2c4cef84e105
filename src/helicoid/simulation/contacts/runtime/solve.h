/* Impulses p of rows that obey Coulomb's cones and bounds, all at once; a vector of lanes is a robot each.
 *
 * The relative velocities of n rows are u = G p + b. The first nc triples (normal, two tangents) are contacts:
 *
 *     0 <= p_n  _|_  u_n >= 0,      p_t = argmax over |x| <= mu p_n of -x . u_t
 *
 * (Signorini, and friction of maximal dissipation). Every further row has lo <= p <= hi: within, u = 0; at hi,
 * u <= 0; at lo, u >= 0. So an equation has no bounds, an end stop has lo = 0, dry friction has both.
 *
 * With r > 0 of the size of 1 / G_ii the conditions are the equations of Alart and Curnier (1991)
 *
 *     p_n = max(0, p_n - r u_n),    p_t = proj(p_t - r u_t) on the disc of radius mu p_n,    p = clamp(p - r u)
 *
 * which a semi-smooth Newton method solves in one or two steps from a good guess of the active set. G may be
 * singular: impulses in its null space stay as they are, but for rounding. Where such impulses reach the border of
 * their cones, Newton's method cycles, because the direction of sliding is poorly determined. Then proximal steps and
 * Gauss-Seidel sweeps give other initial guesses, and Newton's method with a line search starts from them with other r
 * of the tangents. Nothing is allocated; the number of iterations is bounded. */
#ifndef CONTACT_SOLVE_H
#define CONTACT_SOLVE_H
#include <math.h>
#include <string.h>

enum { NEWTON = 8, ROUNDS = 4, SWEEPS = 50, INNER = 3, WEIGHTS = 5, SEARCH = 25, FACTORS = 8 };
static const double PROXIMAL[WEIGHTS] = {1e-2, 1e-3, 1e-4, 1e-5, 1e-6}; /* rho over the mean of G's diagonal */
static const double FACTOR[FACTORS] = {1e4, 1e5, 1e3, 0.1, 1, 1e2, 10, 1e6};
static const double REGULARISATION = 1e-11; /* of the diagonal of G, added to it in Newton's steps */

/* Rows are padded with zeros to whole blocks of four, along which loops go. */
enum { WIDE = (ROWS + 3) / 4 * 4 };

typedef struct {
  int nc, n;
  hc_v G[ROWS][WIDE], b[WIDE], lo[ROWS], hi[ROWS], mu[ROWS];
  hc_v p[ROWS], u[WIDE]; /* impulses: initial guess, then the best so far; and their velocities */
  hc_v r[ROWS], over[ROWS]; /* step sizes, and their inverses */
  hc_v x[ROWS], w[WIDE], d[ROWS], A[ROWS][WIDE], center[ROWS], inner[ROWS], diagonal[ROWS], given[ROWS], from[ROWS], way[ROWS];
  hc_v tolerance, error, steps;
} Cones;

#define EACH(i, n) for (int i = 0; i < (n); i++)
#if HC_LANES == 1 /* blocks are vectors then */
#define ALONG(j, first, n) \
  for (int j##_4 = (first) & -4; j##_4 < (n); j##_4 += 4) for (int j = j##_4; j < j##_4 + 4; j++)
#else
#define ALONG(j, first, n) for (int j = (first); j < (n); j++)
#endif

HC_HOT int hc_any(hc_i mask) { return !hc_all(~mask); }
HC_HOT hc_v clamped(hc_v x, hc_v lo, hc_v hi) { return hc_fmin(hc_fmax(x, lo), hi); }
/* 1 / x, bounded near zero. */
HC_HOT hc_v inverted(hc_v x) { return 1.0 / hc_select(HC_MASK(hc_fabs(x) > 1e-200), x, hc_splat(1e-200)); }

/* u = G p + b, and the residual of the conditions, as a velocity. */
static hc_v cone_error(Cones *s, const hc_v *p, hc_v *u) {
  hc_v worst = hc_splat(0);
  for (int i = 0; i < s->n; i += 4) {
    hc_v sum[4];
    EACH(k, 4) sum[k] = s->b[i + k];
    EACH(j, s->n) EACH(k, 4) sum[k] += s->G[j][i + k] * p[j]; /* G is symmetric */
    EACH(k, 4) u[i + k] = sum[k];
  }
  EACH(i, s->nc) {
    const hc_v *q = p + 3 * i, *w = u + 3 * i, r = s->r[3 * i], t = s->r[3 * i + 1];
    const hc_v e = hc_fabs(q[0] - hc_fmax(q[0] - r * w[0], hc_splat(0))) * s->over[3 * i];
    hc_v x = q[1] - t * w[1], y = q[2] - t * w[2];
    const hc_v size = hc_sqrt(x * x + y * y), most = s->mu[i] * hc_fmax(q[0], hc_splat(0));
    const hc_v shrink = hc_select(HC_MASK(size > most), most * inverted(size), hc_splat(1));
    x = hc_fabs(q[1] - shrink * x), y = hc_fabs(q[2] - shrink * y);
    worst = hc_fmax(worst, hc_fmax(e, hc_fmax(x, y) * s->over[3 * i + 1]));
  }
  for (int i = 3 * s->nc; i < s->n; i++)
    worst = hc_fmax(worst, hc_fabs(p[i] - clamped(p[i] - s->r[i] * u[i], s->lo[i], s->hi[i])) * s->over[i]);
  EACH(i, s->n) worst = hc_select(HC_MASK(u[i] == u[i]), worst, hc_splat(INFINITY)); /* NaN is no solution */
  return worst;
}

/* One Gauss-Seidel sweep: normal, then tangents of each contact; then the other rows. */
static void cone_sweep(Cones *s, hc_v *p) {
  EACH(i, s->nc) {
    hc_v *q = p + 3 * i, u[3];
    const hc_v t = s->r[3 * i + 1];
    EACH(k, 3) {
      u[k] = s->b[3 * i + k];
      EACH(j, s->n) u[k] += s->G[3 * i + k][j] * p[j];
      if (k == 0) q[0] = hc_fmax(q[0] - s->r[3 * i] * u[0], hc_splat(0));
    }
    q[1] -= t * u[1], q[2] -= t * u[2];
    const hc_v most = s->mu[i] * q[0], size = hc_sqrt(q[1] * q[1] + q[2] * q[2]);
    const hc_v shrink = hc_select(HC_MASK(size > most), most * inverted(size), hc_splat(1));
    q[1] *= shrink, q[2] *= shrink;
  }
  for (int i = 3 * s->nc; i < s->n; i++) {
    hc_v u = s->b[i];
    EACH(j, s->n) u += s->G[i][j] * p[j];
    p[i] = clamped(p[i] - s->r[i] * u, s->lo[i], s->hi[i]);
  }
}

/* Eliminate the entries from k to `top` of row i by the rows from k to `top`, which are done. */
HC_HOT void eliminate_row(Cones *s, int i, int k, int top, int m, int symmetric) {
  hc_v l[3], *row = s->A[i];
  EACH(a, top - k) {
    hc_v x = symmetric ? s->A[k + a][i] : row[k + a];
    if (!symmetric) EACH(b, a) x -= l[b] * s->A[k + b][k + a];
    l[a] = x * s->A[k + a][k + a];
    s->d[i] -= l[a] * s->d[k + a];
  }
  ALONG(j, symmetric ? i : top, m) {
    hc_v x = row[j];
    EACH(a, top - k) x -= l[a] * s->A[k + a][j];
    row[j] = x;
  }
}

/* Solve A x = d in place of d by elimination, m rows, three at a time to save memory traffic. Of a symmetric A, only
   the upper triangle is used. */
static void eliminate(Cones *s, int m, int symmetric) {
  for (int k = 0; k < m; k += 3) {
    const int top = k + 3 < m ? k + 3 : m;
    for (int a = k; a < top; a++) {
      if (a == k + 1) eliminate_row(s, a, k, k + 1, m, symmetric);
      if (a == k + 2) eliminate_row(s, a, k, k + 2, m, symmetric);
      s->A[a][a] = inverted(s->A[a][a]);
    }
    for (int i = top; i < m; i++) eliminate_row(s, i, k, k + 3, m, symmetric);
  }
  for (int k = m - 1; k >= 0; k--) {
    const hc_v x = s->d[k] = s->d[k] * s->A[k][k];
    EACH(i, k) s->d[i] -= s->A[i][k] * x;
  }
}

/* Rows a + 1 and a + 2 of A, of the tangents of contact i that slides, where `sliding`: with c the direction of
 * w = p_t - t u_t and T = 1 - c c', (p + d)_t = mu (p + d)_n c + share T (d_t - t (G d)_t), all over t. */
static void slide(Cones *s, int i, int a, int m, const hc_v *p, const hc_v *u, hc_i sliding) {
  const int k = 3 * i;
  const hc_v t = s->r[k + 1], x = p[k + 1] - t * u[k + 1], y = p[k + 2] - t * u[k + 2];
  const hc_v one = 1.0 / hc_sqrt(hc_fmax(x * x + y * y, hc_splat(1e-300))), cx = x * one, cy = y * one;
  const hc_v share = hc_fmin(s->mu[i] * hc_fmax(p[k], hc_splat(0)) * one, hc_splat(1));
  hc_v *X = s->A[a + 1], *Z = s->A[a + 2];
  ALONG(c, 0, m) {
    const hc_v gx = X[c], gy = Z[c], along = cx * gx + cy * gy;
    X[c] = hc_select(sliding, share * (gx - cx * along), gx);
    Z[c] = hc_select(sliding, share * (gy - cy * along), gy);
  }
  /* change of u_t by the fixed rows */
  const hc_v fx = -s->d[a + 1] - u[k + 1], fy = -s->d[a + 2] - u[k + 2], along = cx * fx + cy * fy;
  const hc_v over = s->over[k + 1], on = hc_select(sliding, over, hc_splat(0)), mixed = share * cx * cy * on;
  X[a + 1] += (1.0 - share * (1.0 - cx * cx)) * on, X[a + 2] += mixed;
  Z[a + 1] += mixed, Z[a + 2] += (1.0 - share * (1.0 - cy * cy)) * on;
  X[a] -= s->mu[i] * cx * on, Z[a] -= s->mu[i] * cy * on;
  s->d[a + 1] = hc_select(sliding, (s->mu[i] * p[k] * cx - p[k + 1]) * over - share * (fx - cx * along), s->d[a + 1]);
  s->d[a + 2] = hc_select(sliding, (s->mu[i] * p[k] * cy - p[k + 2]) * over - share * (fy - cy * along), s->d[a + 2]);
}

/* x = p after one step of Newton's method from p, where u = G p + b. Changes of fixed rows, as those of an open
 * contact, are known and change u of the others. Rows that are fixed in all lanes are left out. */
static void cone_newton(Cones *s, hc_v *p, const hc_v *u) {
  const int n = s->n;
  hc_i moves[ROWS], sliding[ROWS];
  hc_v fixed[ROWS];
  int slides = 0, which[ROWS], contacts = 0, m = 0;
  EACH(i, s->nc) {
    const int k = 3 * i;
    const hc_i closed = HC_MASK(p[k] - s->r[k] * u[k] > 0.0);
    const hc_v x = p[k + 1] - s->r[k + 1] * u[k + 1], y = p[k + 2] - s->r[k + 1] * u[k + 2], most = s->mu[i] * p[k];
    sliding[i] = closed & HC_MASK((x * x + y * y > most * most) | (most < 0.0));
    slides |= hc_any(sliding[i]);
    EACH(j, 3) moves[k + j] = closed, fixed[k + j] = hc_select(closed, hc_splat(0), -p[k + j]);
    if (!hc_any(closed)) continue;
    EACH(j, 3) which[m++] = k + j;
    contacts++;
  }
  for (int k = 3 * s->nc; k < n; k++) {
    const hc_v w = p[k] - s->r[k] * u[k];
    moves[k] = HC_MASK(w > s->lo[k]) & HC_MASK(w < s->hi[k]);
    fixed[k] = hc_select(moves[k], hc_splat(0), clamped(w, s->lo[k], s->hi[k]) - p[k]);
    if (hc_any(moves[k])) which[m++] = k;
  }
  EACH(a, m) s->d[a] = -u[which[a]];
  EACH(i, n) {
    const hc_v change = fixed[i];
    if (!hc_any(HC_MASK(change != 0.0))) continue;
    EACH(a, m) s->d[a] -= s->G[i][which[a]] * change;
    p[i] += change; /* in lanes in which it is fixed */
  }
  EACH(a, m) {
    const int i = which[a];
    const hc_v *row = s->G[i];
    for (int b = slides ? 0 : a; b < m; b++) s->A[a][b] = hc_select(moves[i] & moves[which[b]], row[which[b]], hc_splat(0));
    for (int b = m; b & 3; b++) s->A[a][b] = hc_splat(0);
    s->A[a][a] = hc_select(moves[i], row[i] + REGULARISATION * s->over[i], s->over[i]);
    s->d[a] = hc_select(moves[i], s->d[a], hc_splat(0));
  }
  if (slides) EACH(c, contacts) {
    const int i = which[3 * c] / 3;
    if (hc_any(sliding[i])) slide(s, i, 3 * c, m, p, u, sliding[i]);
  }
  eliminate(s, m, !slides);
  EACH(a, m) p[which[a]] += s->d[a];
}

/* Step sizes: 1 / G_ii of normals and single rows; of tangents the inverse of the largest eigenvalue. */
static void cone_scales(Cones *s, hc_v least) {
  EACH(k, s->n) s->over[k] = s->G[k][k] + least;
  EACH(i, s->nc) {
    const int k = 3 * i;
    const hc_v a = s->G[k + 1][k + 1], c = s->G[k + 2][k + 2], o = s->G[k + 1][k + 2], half = (a - c) * 0.5;
    s->over[k + 1] = s->over[k + 2] = (a + c) * 0.5 + hc_sqrt(half * half + o * o) + least;
  }
  EACH(k, s->n) s->r[k] = 1.0 / s->over[k];
}

/* Accept x with velocities w in lanes where its error is less than that of the best so far. */
static void cone_accept(Cones *s, const hc_v *x, const hc_v *w, hc_v error) {
  const hc_i better = HC_MASK(s->error > s->tolerance) & HC_MASK(error < s->error);
  EACH(i, s->n) s->p[i] = hc_select(better, x[i], s->p[i]), s->u[i] = hc_select(better, w[i], s->u[i]);
  s->error = hc_select(better, error, s->error);
}

/* One proximal step from s->center to s->inner. */
static void cone_proximal(Cones *s, hc_v rho) {
  const int n = s->n;
  EACH(i, n) s->diagonal[i] = s->G[i][i], s->given[i] = s->b[i];
  EACH(i, n) s->G[i][i] += rho, s->b[i] -= rho * s->center[i], s->x[i] = s->inner[i] = s->center[i];
  hc_v best = cone_error(s, s->x, s->w);
  EACH(k, INNER * 4) {
    cone_newton(s, s->x, s->w);
    const hc_v error = cone_error(s, s->x, s->w);
    const hc_i better = HC_MASK(error < best);
    EACH(i, n) s->inner[i] = hc_select(better, s->x[i], s->inner[i]);
    best = hc_select(better, error, best);
    s->steps += hc_select(HC_MASK(s->error > s->tolerance), hc_splat(1), hc_splat(0));
    if (hc_all(HC_MASK(best <= s->tolerance) | HC_MASK(s->error <= s->tolerance))) break;
    if (k % 4 == 3) {
      EACH(i, n) s->x[i] = s->inner[i];
      EACH(sweep, 5) cone_sweep(s, s->x);
      cone_error(s, s->x, s->w);
    }
  }
  EACH(i, n) s->G[i][i] = s->diagonal[i], s->b[i] = s->given[i];
}

/* Multiply the step sizes of tangents by a factor. */
static void scale_tangents(Cones *s, double factor) {
  EACH(i, s->nc) EACH(j, 2) s->r[3 * i + 1 + j] *= factor, s->over[3 * i + 1 + j] /= factor;
}

/* Newton's method with backtracking from s->center, r of tangents times a factor. After ten halvings the step is taken
 * whatever its residual, which breaks cycles. */
static void cone_search(Cones *s, double factor) {
  EACH(i, s->n) s->x[i] = s->center[i];
  scale_tangents(s, factor);
  hc_v error = cone_error(s, s->x, s->w);
  EACH(k, SEARCH) {
    hc_v part = hc_splat(1), next = error;
    EACH(i, s->n) s->from[i] = s->x[i];
    cone_newton(s, s->x, s->w);
    EACH(i, s->n) s->way[i] = s->x[i] - s->from[i];
    EACH(halving, 10) {
      next = cone_error(s, s->x, s->w);
      const hc_i good = HC_MASK(next < (1.0 - 1e-3 * part) * error) | HC_MASK(s->error <= s->tolerance);
      if (hc_all(good)) break;
      part = hc_select(good, part, 0.5 * part);
      EACH(i, s->n) s->x[i] = s->from[i] + part * s->way[i];
    }
    s->steps += hc_select(HC_MASK(s->error > s->tolerance), hc_splat(1), hc_splat(0));
    scale_tangents(s, 1 / factor);
    const hc_v found = cone_error(s, s->x, s->w);
    cone_accept(s, s->x, s->w, found);
    if (hc_all(HC_MASK(s->error <= s->tolerance) | ~HC_MASK(found < INFINITY))) return;
    scale_tangents(s, factor);
    error = cone_error(s, s->x, s->w);
  }
  scale_tangents(s, 1 / factor);
}

/* Solve for s->p and s->u from the initial guess s->p; s->error is the residual. */
static void solve_cones(Cones *s) {
  hc_v mean = hc_splat(1e-300);
  for (int k = s->n; k & 3; k++) {
    s->b[k] = hc_splat(0);
    EACH(i, s->n) s->G[i][k] = hc_splat(0);
  }
  EACH(i, s->n) mean += s->G[i][i] / s->n;
  cone_scales(s, 1e-9 * mean);
  s->steps = hc_splat(0);
  s->error = cone_error(s, s->p, s->u);
  const hc_i lost = ~HC_MASK(s->error < 1e17 * s->tolerance); /* a guess worse than zero */
  if (hc_any(lost)) {
    EACH(i, s->n) s->p[i] = hc_select(lost, hc_splat(0), s->p[i]);
    s->error = cone_error(s, s->p, s->u);
  }
  EACH(i, s->n) s->x[i] = s->p[i], s->w[i] = s->u[i];
  for (int k = 0; k < NEWTON && hc_any(HC_MASK(s->error > s->tolerance)); k++) {
    s->steps += hc_select(HC_MASK(s->error > s->tolerance), hc_splat(1), hc_splat(0));
    cone_newton(s, s->x, s->w);
    const hc_v error = cone_error(s, s->x, s->w);
    cone_accept(s, s->x, s->w, error);
  }
  if (!hc_any(HC_MASK(s->error > s->tolerance))) return;
  EACH(i, s->n) s->center[i] = s->p[i];
  s->tolerance *= 30.0; /* hard problems are solved to a coarser tolerance */
  for (int round = 0; round < ROUNDS && hc_any(HC_MASK(s->error > s->tolerance)); round++) {
    for (int k = 0; k < WEIGHTS && hc_any(HC_MASK(s->error > s->tolerance)); k++) {
      cone_proximal(s, PROXIMAL[k] * mean);
      EACH(i, s->n) s->center[i] = s->inner[i];
      const hc_v error = cone_error(s, s->inner, s->w);
      cone_accept(s, s->inner, s->w, error);
    }
    if (round % 2) EACH(sweep, SWEEPS) cone_sweep(s, s->center);
    for (int k = 0; k < FACTORS && hc_any(HC_MASK(s->error > s->tolerance)); k++) cone_search(s, FACTOR[k]);
  }
}
#endif
