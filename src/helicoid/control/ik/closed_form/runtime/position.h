/* Three rotations that carry a point to another: e^{ξ1 q1} e^{ξ2 q2} e^{ξ3 q3} c = d (Pieper 1968).
 *
 * In the frame of axis 2, x along the common perpendicular to axis 1 (length a, twist of sine s and cosine g), the point
 * w = e^{ξ3 q3} c has height ζ and squared distance n, both linear in (cos q3, sin q3). That e^{ξ2 q2} w = p keeps the
 * height k1 along axis 1 and the squared distance k2 from the foot on it states
 *     g ζ - s p_y = k1,    n - 2 a p_x + a² = k2,    p_x² + p_y² = n - ζ². */
#ifndef CLOSED_FORM_POSITION_H
#define CLOSED_FORM_POSITION_H
#include "subproblems.h"

#define MAX_NEARLY_DEGENERATE 1e-3 /* rad, m */

typedef struct { double q[3], distance[3]; } placed; /* of the points from the axes: near zero, any angle will do */
typedef struct { double constant, cosine, sine; } linear;

typedef struct {
  double O[3], x[3], y[3], z[3], a, s, g; /* the frame of axis 2 */
  double k1, k2;
  double f[3], u[3], v[3];                /* w = f + u cos q3 + v sin q3, from O */
  linear n, height;
  double slack, spread, same;
} reach;

static int varies(const linear *f, double least) { return hypot(f->cosine, f->sine) > least; }
static int reaches(const reach *r, const linear *f, double value, double *angle) {
  return on_line(f->cosine, f->sine, value - f->constant, r->slack, r->spread, angle);
}

static void describe(const screw *J, const double *c, const double *d, reach *r) {
  double on1[3], on2[3], away[3], foot[3];
  r->s = feet(J, J + 1, on1, on2);
  r->g = dot(J[0].h, J[1].h);
  AXES(k) r->z[k] = J[1].h[k];
  minus(on1, on2, away);
  if (r->s > r->same) {
    cross(J[1].h, J[0].h, r->x);
    AXES(k) r->x[k] /= r->s;
    r->a = dot(away, r->x);
    if (fabs(r->a) < r->same) r->a = 0.0;
  } else {
    minus(J[0].x, J[1].x, away);
    plus(J[1].x, dot(r->z, away), r->z, on2);
    across(r->z, away, away);
    r->s = 0.0;
    r->g = r->g < 0 ? -1.0 : 1.0;
    r->a = norm(away);
    AXES(k) r->x[k] = away[k] / (r->a + 1e-300);
  }
  cross(r->z, r->x, r->y);
  AXES(k) r->O[k] = on2[k];
  double from[3];
  plus(on2, r->a, r->x, foot);
  minus(d, foot, from);
  r->k1 = dot(J[0].h, from);
  r->k2 = dot(from, from);
  minus(c, J[2].x, from);
  across(J[2].h, from, r->u);
  cross(J[2].h, r->u, r->v);
  AXES(k) r->f[k] = c[k] - r->u[k] - r->O[k];
  r->n = (linear){dot(r->f, r->f) + dot(r->u, r->u), 2.0 * dot(r->f, r->u), 2.0 * dot(r->f, r->v)};
  r->height = (linear){dot(r->z, r->f), dot(r->z, r->u), dot(r->z, r->v)};
}

/* Angles q3 of the elimination: linear where axes 1 and 2 meet or are parallel, two quadratics where axes 2 and 3 do. */
static int elbows(const reach *r, double *angle) {
  const double aa = 4.0 * r->a * r->a, ss = r->s * r->s, e = r->a * r->a - r->k2;
  const linear *n = &r->n, *h = &r->height;
  double root[2];
  int count = 0;
  if (r->a == 0.0) return reaches(r, n, r->k2, angle);
  if (r->s == 0.0) return reaches(r, h, r->k1 * r->g, angle);
  if (!varies(h, r->same)) {
    const double z = h->constant, low = r->k1 - r->g * z;
    const int roots = quadratic(ss, 2.0 * ss * e - aa * ss, ss * e * e + aa * (low * low + ss * z * z), r->slack, root);
    for (int i = 0; i < roots; i++) count += reaches(r, n, root[i], angle + count);
    return count;
  }
  if (!varies(n, r->same)) {
    const double m = n->constant + e;
    const int roots = quadratic(aa, -2.0 * aa * r->k1 * r->g, aa * r->k1 * r->k1 + ss * m * m - aa * ss * n->constant,
                                r->slack, root);
    for (int i = 0; i < roots; i++) count += reaches(r, h, root[i], angle + count);
    return count;
  }
  const linear m = {n->constant + e, n->cosine, n->sine};
  const linear l = {r->k1 - r->g * h->constant, -r->g * h->cosine, -r->g * h->sine};
#define PAIR(p, q) (ss * m.p * m.q + aa * l.p * l.q + aa * ss * h->p * h->q)
  const double k[6] = {PAIR(cosine, cosine), 2.0 * PAIR(cosine, sine), PAIR(sine, sine),
                       2.0 * PAIR(constant, cosine) - aa * ss * n->cosine,
                       2.0 * PAIR(constant, sine) - aa * ss * n->sine,
                       PAIR(constant, constant) - aa * ss * n->constant};
#undef PAIR
  return on_circle(k, r->slack, angle);
}

/* (q1, q2, q3), up to 8. `same` is the distance (rad, m) below which axes count as parallel or meeting. Returns the
 * greatest that was neglected or nearly so. */
static double place_with(const screw *J, const double *c, const double *d, double slack, double spread, double same,
                         placed *out, int *placements) {
  reach r = {.slack = slack, .spread = spread, .same = same};
  double elbow[8];
  int count = 0;
  describe(J, c, d, &r);
  *placements = 0;
  if (r.a == 0.0 && r.s == 0.0) return 0.0;
  const int elbowed = elbows(&r, elbow);
  for (int i = 0; i < elbowed; i++) {
    const double C = cos(elbow[i]), S = sin(elbow[i]);
    double w[3], from[3];
    AXES(k) w[k] = r.f[k] + C * r.u[k] + S * r.v[k];
    const double wx = dot(r.x, w), wy = dot(r.y, w), z = dot(r.z, w), square = wx * wx + wy * wy;
    double px = r.a != 0.0 ? (square + z * z + r.a * r.a - r.k2) / (2.0 * r.a) : 0.0;
    double py = r.s != 0.0 ? (r.g * z - r.k1) / r.s : 0.0;
    const double known = r.a == 0.0 ? py : px, rest = square - known * known;
    const int sides = r.a == 0.0 || r.s == 0.0 ? 2 : 1;
    if (sides == 2 && fabs(known) - sqrt(square) > slack) continue;
    const double open = rest > 0.0 ? sqrt(rest) : spread * sqrt(square);
    for (int side = 0; side < sides; side++) {
      if (r.a == 0.0) px = side ? -open : open;
      else if (r.s == 0.0) py = side ? -open : open;
      placed *p = out + count++;
      p->q[1] = atan2(py, px) - atan2(wy, wx);
      p->q[2] = elbow[i];
      p->distance[1] = sqrt(square);
      p->distance[2] = norm(r.u);
      AXES(k) from[k] = r.O[k] + px * r.x[k] + py * r.y[k] + z * r.z[k] - J[0].x[k];
      minus(d, J[0].x, w);
      p->q[0] = turn_angle(J[0].h, from, w, &p->distance[0]);
    }
  }
  *placements = count;
  const double nearly = r.s != 0.0 && r.s < MAX_NEARLY_DEGENERATE ? r.s : 0.0;
  return r.a != 0.0 && fabs(r.a) < MAX_NEARLY_DEGENERATE && fabs(r.a) > nearly ? fabs(r.a) : nearly;
}

/* All (q1, q2, q3), up to 16: where axes 1 and 2 are nearly parallel or nearly meet, the elimination is ill-conditioned,
 * and those with them so are starts of Newton's method. */
static int place(const screw *J, const double *c, const double *d, double slack, double spread, double same, placed *out) {
  int count, more = 0;
  const double nearly = place_with(J, c, d, slack, spread, same, out, &count);
  if (nearly > 0.0) place_with(J, c, d, 10.0 * nearly, sqrt(20.0 * nearly), 2.0 * nearly, out + count, &more);
  return count + more;
}
#endif
