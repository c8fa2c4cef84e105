/* Distance of convex cores (Gilbert, Johnson, Keerthi 1988), closest points of simplices as in Ericson 2005. */
#ifndef HC_GJK_H
#define HC_GJK_H
#include "convex.h"

enum { GJK_ITERATIONS = 128 };
#define GJK_GAP 1e-9 /* m: between the bounds of the distance */
#define GJK_TOUCH 1e-10 /* m: cores nearer than this overlap */

typedef struct { vertex at[4]; double weight[4]; int n; } simplex;

static inline void keep(simplex *s, const simplex *of, int n, const int *which, const double *weight) {
  simplex made;
  made.n = n;
  for (int k = 0; k < n; k++) { made.at[k] = of->at[which[k]]; made.weight[k] = weight[k]; }
  *s = made;
}

static inline vec combined(const simplex *s) {
  vec v = make(0, 0, 0);
  for (int k = 0; k < s->n; k++) v = along(v, s->weight[k], s->at[k].w);
  return v;
}

static vec nearest_segment(const simplex *of, int i, int j, simplex *out) {
  vec a = of->at[i].w, d = sub(of->at[j].w, a);
  double length = dot(d, d), t = length > 0 ? -dot(a, d) / length : 0;
  int both[2] = {i, j};
  if (t <= 0) { double one = 1; keep(out, of, 1, &both[0], &one); }
  else if (t >= 1) { double one = 1; keep(out, of, 1, &both[1], &one); }
  else { double w[2] = {1 - t, t}; keep(out, of, 2, both, w); }
  return combined(out);
}

static vec nearest_triangle(const simplex *of, int i, int j, int k, simplex *out) {
  vec a = of->at[i].w, ab = sub(of->at[j].w, a), ac = sub(of->at[k].w, a);
  vec n = cross(ab, ac);
  double area = dot(n, n);
  if (area > 1e-30 * dot(ab, ab) * dot(ac, ac)) {
    vec p = scale(-1, a);
    double v = dot(cross(p, ac), n) / area, w = dot(cross(ab, p), n) / area, u = 1 - v - w;
    if (u >= 0 && v >= 0 && w >= 0) {
      int all[3] = {i, j, k};
      double weight[3] = {u, v, w};
      keep(out, of, 3, all, weight);
      return combined(out);
    }
  }
  simplex other;
  int edges[3][2] = {{i, j}, {j, k}, {i, k}};
  vec best = nearest_segment(of, i, j, out);
  for (int e = 1; e < 3; e++) {
    vec v = nearest_segment(of, edges[e][0], edges[e][1], &other);
    if (dot(v, v) < dot(best, best)) { best = v; *out = other; }
  }
  return best;
}

/* Returns 1 if the origin is inside of the tetrahedron. */
static int nearest_tetrahedron(const simplex *of, simplex *out, vec *v) {
  static const int faces[4][4] = {{0, 1, 2, 3}, {0, 1, 3, 2}, {0, 2, 3, 1}, {1, 2, 3, 0}};
  int outside = 0;
  simplex other;
  for (int f = 0; f < 4; f++) {
    vec a = of->at[faces[f][0]].w;
    vec n = cross(sub(of->at[faces[f][1]].w, a), sub(of->at[faces[f][2]].w, a));
    double here = -dot(n, a), there = dot(n, sub(of->at[faces[f][3]].w, a));
    double size = norm(n);
    int flat = fabs(there) <= 1e-13 * size; /* no volume: every face counts */
    if (!flat && here * there >= 0) continue; /* the origin is on the inner side */
    vec near = nearest_triangle(of, faces[f][0], faces[f][1], faces[f][2], &other);
    if (!outside || dot(near, near) < dot(*v, *v)) { *v = near; *out = other; }
    outside = 1;
  }
  return !outside;
}

/* The vector v from the nearest point of B to that of A, in A's frame; the simplex has the points.
   Stops early once the distance is known to exceed `enough`. Returns 1 where the cores overlap. */
static int gjk(const shape *A, const shape *B, const double *T, double enough, simplex *s, vec *v, double *lower) {
  vec start = moved(T, load(B->center));
  vec d = sub(start, load(A->center));
  if (dot(d, d) < 1e-24) d = make(1, 0, 0);
  s->n = 1;
  s->at[0] = difference(A, B, T, d);
  s->weight[0] = 1;
  *v = s->at[0].w;
  *lower = 0;
  for (int k = 0; k < GJK_ITERATIONS; k++) {
    double length = norm(*v);
    if (length <= GJK_TOUCH) return 1;
    vertex next = difference(A, B, T, scale(-1, *v));
    double bound = dot(*v, next.w) / length;
    if (bound > *lower) *lower = bound;
    if ((*lower > 0 && *lower > enough) || length - *lower <= GJK_GAP + 1e-14 * length) return 0;
    for (int i = 0; i < s->n; i++)
      if (memcmp(&s->at[i].w, &next.w, sizeof(vec)) == 0) return 0;
    simplex wider = *s, found;
    wider.at[wider.n++] = next;
    vec nearest;
    if (wider.n == 2) nearest = nearest_segment(&wider, 0, 1, &found);
    else if (wider.n == 3) nearest = nearest_triangle(&wider, 0, 1, 2, &found);
    else if (nearest_tetrahedron(&wider, &found, &nearest)) { *s = wider; return 1; }
    if (norm(nearest) >= length) return 0; /* no progress but rounding */
    *s = found;
    *v = nearest;
  }
  return 0;
}
#endif
