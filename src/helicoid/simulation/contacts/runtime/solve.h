/* Impulses p of rows that obey Coulomb's cones and bounds, all at once; a vector of lanes is a robot each.
 *
 * The relative velocities of n rows are u = G p + b. The first nc triples (normal, two tangents) are contacts:
 *
 *     0 <= p_n  _|_  u_n >= 0,      p_t = argmax over |x| <= mu p_n of -x . u_t
 *
 * (Signorini, and friction of maximal dissipation). Every further row keeps lo <= p <= hi: within, u = 0; at hi,
 * u <= 0; at lo, u >= 0. So an equation has no bounds, an end stop has lo = 0, dry friction has both.
 *
 * With r > 0 of the size of 1 / G_ii the conditions are the equations of Alart and Curnier (1991)
 *
 *     p_n = max(0, p_n - r u_n),    p_t = proj(p_t - r u_t) on the disc of radius mu p_n,    p = clamp(p - r u)
 *
 * which a Newton method solves in one or two steps where the step before is a good guess of who sticks. G may be
 * singular: what no velocity shows is then left as it was, but for rounding. Where impulses that no velocity shows
 * reach the border of their cones, Newton's method alone goes in circles. Then the problem is solved for G + rho 1
 * and b - rho p, which has the same solution once p stays (a proximal iteration), by Newton's method and sweeps of
 * Gauss and Seidel. Nothing is allocated; the work is bounded. */
#ifndef CONTACT_SOLVE_H
#define CONTACT_SOLVE_H
#include <math.h>
#include <string.h>

enum { NEWTON = 8, CYCLES = 8, SWEEPS = 5, INNER = 3, WEIGHTS = 5 };
static const double PROXIMAL[WEIGHTS] = {1e-2, 1e-3, 1e-4, 1e-5, 1e-6}; /* rho over the mean of G's diagonal */
static const double REGULAR = 1e-11; /* of the diagonal of G, added to it in Newton's steps */

typedef struct {
  int nc, n;
  hc_v G[ROWS][ROWS], b[ROWS], lo[ROWS], hi[ROWS], mu[ROWS];
  hc_v p[ROWS], u[ROWS]; /* impulses: a guess, then the best that was found; and their velocities */
  hc_v r[ROWS], x[ROWS], w[ROWS], d[ROWS], A[ROWS][ROWS], center[ROWS], inner[ROWS], diagonal[ROWS], given[ROWS];
  hc_v tolerance, error, steps;
} Cones;

#define EACH(i, n) for (int i = 0; i < (n); i++)

HC_HOT int hc_any(hc_i mask) { return !hc_all(~mask); }
HC_HOT hc_v clamped(hc_v x, hc_v lo, hc_v hi) { return hc_fmin(hc_fmax(x, lo), hi); }
/* 1 / x, large where x is next to nothing. */
HC_HOT hc_v inverted(hc_v x) { return 1.0 / hc_select(HC_MASK(hc_fabs(x) > 1e-200), x, hc_splat(1e-200)); }

/* u = G p + b, and by how much the conditions are missed, as a velocity. */
static hc_v cone_error(Cones *s, const hc_v *p, hc_v *u) {
  hc_v worst = hc_splat(0);
  EACH(i, s->n) u[i] = s->b[i];
  EACH(j, s->n) {
    const hc_v x = p[j];
    EACH(i, s->n) u[i] += s->G[j][i] * x; /* G is symmetric */
  }
  EACH(i, s->nc) {
    const hc_v *q = p + 3 * i, *w = u + 3 * i, r = s->r[3 * i], t = s->r[3 * i + 1];
    const hc_v e = hc_fabs(q[0] - hc_fmax(q[0] - r * w[0], hc_splat(0))) / r;
    hc_v x = q[1] - t * w[1], y = q[2] - t * w[2];
    const hc_v size = hc_sqrt(x * x + y * y), most = s->mu[i] * hc_fmax(q[0], hc_splat(0));
    const hc_v shrink = hc_select(HC_MASK(size > most), most * inverted(size), hc_splat(1));
    x = hc_fabs(q[1] - shrink * x), y = hc_fabs(q[2] - shrink * y);
    worst = hc_fmax(worst, hc_fmax(e, hc_fmax(x, y) / t));
  }
  for (int i = 3 * s->nc; i < s->n; i++)
    worst = hc_fmax(worst, hc_fabs(p[i] - clamped(p[i] - s->r[i] * u[i], s->lo[i], s->hi[i])) / s->r[i]);
  EACH(i, s->n) worst = hc_select(HC_MASK(u[i] == u[i]), worst, hc_splat(INFINITY)); /* NaN is no solution */
  return worst;
}

/* One after the other: normal, then tangents; the rest by themselves. */
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

/* d of A d = d by elimination; of a symmetric A, only the upper triangle is used. */
static void eliminate(Cones *s, int symmetric) {
  const int n = s->n;
  EACH(k, n) {
    const hc_v *row = s->A[k], inverse = inverted(row[k]);
    for (int i = k + 1; i < n; i++) {
      const hc_v l = (symmetric ? row[i] : s->A[i][k]) * inverse;
      hc_v *other = s->A[i];
      for (int j = symmetric ? i : k + 1; j < n; j++) other[j] -= l * row[j];
      s->d[i] -= l * s->d[k];
    }
  }
  for (int k = n - 1; k >= 0; k--) {
    hc_v x = s->d[k];
    for (int j = k + 1; j < n; j++) x -= s->A[k][j] * s->d[j];
    s->d[k] = x * inverted(s->A[k][k]);
  }
}

/* Rows of the tangents of a contact that slides, where `sliding`: with c the direction of w = p_t - t u_t and
 * T = 1 - c c', (p + d)_t = mu (p + d)_n c + share T (d_t - t (G d)_t), all over t. */
static void slide(Cones *s, int i, const hc_v *p, const hc_v *u, hc_i sliding) {
  const int k = 3 * i;
  const hc_v t = s->r[k + 1], x = p[k + 1] - t * u[k + 1], y = p[k + 2] - t * u[k + 2];
  const hc_v size = hc_sqrt(x * x + y * y), cx = x * inverted(size), cy = y * inverted(size), over = 1.0 / t;
  const hc_v share = hc_fmin(s->mu[i] * hc_fmax(p[k], hc_splat(0)) * inverted(size), hc_splat(1));
  hc_v *X = s->A[k + 1], *Z = s->A[k + 2];
  EACH(c, s->n) {
    const hc_v gx = X[c], gy = Z[c], along = cx * gx + cy * gy;
    X[c] = hc_select(sliding, share * (gx - cx * along), gx);
    Z[c] = hc_select(sliding, share * (gy - cy * along), gy);
  }
  /* what the rows that are fixed change in u_t */
  const hc_v fx = -s->d[k + 1] - u[k + 1], fy = -s->d[k + 2] - u[k + 2], along = cx * fx + cy * fy;
  const hc_v on = hc_select(sliding, over, hc_splat(0)), mixed = share * cx * cy * on;
  X[k + 1] += (1.0 - share * (1.0 - cx * cx)) * on, X[k + 2] += mixed;
  Z[k + 1] += mixed, Z[k + 2] += (1.0 - share * (1.0 - cy * cy)) * on;
  X[k] -= s->mu[i] * cx * on, Z[k] -= s->mu[i] * cy * on;
  s->d[k + 1] = hc_select(sliding, (s->mu[i] * p[k] * cx - p[k + 1]) * over - share * (fx - cx * along), s->d[k + 1]);
  s->d[k + 2] = hc_select(sliding, (s->mu[i] * p[k] * cy - p[k + 2]) * over - share * (fy - cy * along), s->d[k + 2]);
}

/* x = p after one step of Newton's method from p, where u = G p + b. Rows that are fixed, as those of a contact that
 * is open, change by what is known; the others see that as a change of u. */
static void cone_newton(Cones *s, hc_v *p, const hc_v *u) {
  const int n = s->n;
  hc_i moves[ROWS], sliding[ROWS];
  hc_v fixed[ROWS];
  int slides = 0;
  EACH(i, s->nc) {
    const int k = 3 * i;
    const hc_i closed = HC_MASK(p[k] - s->r[k] * u[k] > 0.0);
    const hc_v x = p[k + 1] - s->r[k + 1] * u[k + 1], y = p[k + 2] - s->r[k + 1] * u[k + 2], most = s->mu[i] * p[k];
    sliding[i] = closed & HC_MASK((x * x + y * y > most * most) | (most < 0.0));
    slides |= hc_any(sliding[i]);
    EACH(j, 3) moves[k + j] = closed, fixed[k + j] = hc_select(closed, hc_splat(0), -p[k + j]);
  }
  for (int k = 3 * s->nc; k < n; k++) {
    const hc_v w = p[k] - s->r[k] * u[k];
    moves[k] = HC_MASK(w > s->lo[k]) & HC_MASK(w < s->hi[k]);
    fixed[k] = hc_select(moves[k], hc_splat(0), clamped(w, s->lo[k], s->hi[k]) - p[k]);
  }
  EACH(i, n) s->d[i] = -u[i];
  EACH(i, n) {
    const hc_v change = fixed[i], scale = 1.0 / s->r[i];
    EACH(j, n) s->d[j] -= s->G[i][j] * change;
    for (int j = slides ? 0 : i; j < n; j++) s->A[i][j] = hc_select(moves[i] & moves[j], s->G[i][j], hc_splat(0));
    s->A[i][i] = hc_select(moves[i], s->G[i][i] + REGULAR * scale, scale);
  }
  EACH(i, n) s->d[i] = hc_select(moves[i], s->d[i], fixed[i] / s->r[i]);
  EACH(i, s->nc) if (slides && hc_any(sliding[i])) slide(s, i, p, u, sliding[i]);
  eliminate(s, !slides);
  EACH(i, n) p[i] += s->d[i];
}

/* Sizes of steps: 1 / G_ii of normals and single rows, of tangents the inverse of the largest eigenvalue. */
static void cone_scales(Cones *s, hc_v least) {
  EACH(i, s->nc) {
    const int k = 3 * i;
    const hc_v a = s->G[k + 1][k + 1], c = s->G[k + 2][k + 2], o = s->G[k + 1][k + 2], half = (a - c) * 0.5;
    s->r[k] = 1.0 / (s->G[k][k] + least);
    s->r[k + 1] = s->r[k + 2] = 1.0 / ((a + c) * 0.5 + hc_sqrt(half * half + o * o) + least);
  }
  for (int k = 3 * s->nc; k < s->n; k++) s->r[k] = 1.0 / (s->G[k][k] + least);
}

/* Where x with velocities w errs less than what was found, it is what was found. */
static void cone_keep(Cones *s, const hc_v *x, const hc_v *w, hc_v error) {
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
      EACH(sweep, SWEEPS) cone_sweep(s, s->x);
      cone_error(s, s->x, s->w);
    }
  }
  EACH(i, n) s->G[i][i] = s->diagonal[i], s->b[i] = s->given[i];
}

/* From the guess s->p to the impulses s->p with velocities s->u; s->error says how well the conditions hold. */
static void solve_cones(Cones *s) {
  hc_v mean = hc_splat(1e-300);
  EACH(i, s->n) mean += s->G[i][i] / s->n;
  cone_scales(s, 1e-9 * mean);
  s->steps = hc_splat(0);
  s->error = cone_error(s, s->p, s->u);
  const hc_i lost = ~HC_MASK(s->error < INFINITY);
  if (hc_any(lost)) {
    EACH(i, s->n) s->p[i] = hc_select(lost, hc_splat(0), s->p[i]);
    s->error = cone_error(s, s->p, s->u);
  }
  EACH(i, s->n) s->x[i] = s->p[i], s->w[i] = s->u[i];
  for (int k = 0; k < NEWTON && hc_any(HC_MASK(s->error > s->tolerance)); k++) {
    s->steps += hc_select(HC_MASK(s->error > s->tolerance), hc_splat(1), hc_splat(0));
    cone_newton(s, s->x, s->w);
    const hc_v error = cone_error(s, s->x, s->w);
    cone_keep(s, s->x, s->w, error);
  }
  EACH(i, s->n) s->center[i] = s->p[i];
  for (int k = 0; k < CYCLES * WEIGHTS && hc_any(HC_MASK(s->error > s->tolerance)); k++) {
    cone_proximal(s, PROXIMAL[k % WEIGHTS] * mean);
    EACH(i, s->n) s->center[i] = s->inner[i];
    const hc_v error = cone_error(s, s->inner, s->w);
    cone_keep(s, s->inner, s->w, error);
  }
}
#endif
