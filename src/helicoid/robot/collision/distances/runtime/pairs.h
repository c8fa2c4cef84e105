/* Signed distance of two convex shapes: cores by GJK and EPA, less their radii. */
#ifndef HC_PAIRS_H
#define HC_PAIRS_H
#include "epa.h"

/* Distance d, points of A and of B, and the unit vector n from B to A: a - b = d n. In A's frame. */
typedef struct { double d; vec a, b, n; } contact;

static vec any_direction(const shape *A, const shape *B, const double *T) {
  vec n = make(0, 0, 1);
  if (A->kind == SEGMENT && B->kind == SEGMENT) {
    vec c = cross(n, turned(T, n));
    return norm(c) > 1e-9 ? scale(1 / norm(c), c) : across(n);
  }
  if (A->kind == SEGMENT) return across(n);
  if (B->kind == SEGMENT) return across(turned(T, n));
  return n;
}

/* B's pose in A is T. Returns 0 where the distance exceeds `enough`; `lower` (m) is then a lower bound of it.
   s, gap: see gjk. */
static int contact_from(const shape *A, const shape *B, const double *T, double enough, double gap, simplex *s, double *lower, contact *out) {
  double radii = A->radius + B->radius;
  if (B->kind == PLANE) {
    vec n = turned(T, load(B->numbers)), a = support(A, scale(-1, n));
    out->d = dot(n, sub(a, make(T[3], T[7], T[11]))) - B->numbers[3] - A->radius;
    out->n = n;
    out->a = along(a, -A->radius, n);
    out->b = along(out->a, -out->d, n);
    *lower = out->d;
    return out->d <= enough;
  }
  vec v;
  if (!gjk(A, B, T, enough + radii, gap, s, &v, lower)) {
    const int far = *lower > 0 && *lower > enough + radii;
    *lower -= radii;
    if (far) return 0;
    vec a = make(0, 0, 0), b = a;
    for (int k = 0; k < s->n; k++) {
      a = along(a, s->weight[k], s->at[k].a);
      b = along(b, s->weight[k], s->at[k].b);
    }
    double length = norm(v);
    out->n = scale(1 / length, v);
    out->d = length - radii;
    out->a = along(a, -A->radius, out->n);
    out->b = along(b, B->radius, out->n);
    return out->d <= enough;
  }
  double depth;
  vec a, b, n;
  if (!epa(A, B, T, s, &depth, &n, &a, &b)) { /* cores that touch and have no volume together */
    depth = 0;
    n = any_direction(A, B, T);
    a = make(0, 0, 0);
    for (int k = 0; k < s->n; k++) a = add(a, scale(1.0 / s->n, s->at[k].a));
    b = a;
  }
  *lower = out->d = -depth - radii;
  out->n = n;
  out->a = along(a, -A->radius, n);
  out->b = along(b, B->radius, n);
  return out->d <= enough;
}

static int convex_contact(const shape *A, const shape *B, const double *T, double enough, contact *out) {
  simplex s;
  double lower;
  s.n = 0;
  return contact_from(A, B, T, enough, GJK_GAP, &s, &lower, out);
}
#endif
