/* Distance of convex cores (Gilbert, Johnson, Keerthi 1988), closest points of simplices as in Ericson 2005. */
#ifndef HC_GJK_H
#define HC_GJK_H
#include "convex.h"

enum { GJK_ITERATIONS = 128 };
#define GJK_GAP 1e-9 /* m: between the bounds of the distance */
#define GJK_TOUCH 1e-10 /* m: cores nearer than this overlap */

typedef struct { vertex at[4]; double weight[4]; int n; } simplex;

/* Which vertices of a simplex its nearest point lies between, their weights, and the point. */
typedef struct { int n, which[3]; double weight[3]; vec v; } part;

static inline void reduce(simplex *s, const part *to) {
  const simplex of = *s;
  s->n = to->n;
  for (int k = 0; k < to->n; k++) { s->at[k] = of.at[to->which[k]]; s->weight[k] = to->weight[k]; }
}

static inline part of_one(const simplex *s, int i) { return (part){1, {i}, {1}, s->at[i].w}; }

static inline part nearest_segment(const simplex *s, int i, int j) {
  vec a = s->at[i].w, d = sub(s->at[j].w, a);
  double length = dot(d, d), t = length > 0 ? -dot(a, d) / length : 0;
  if (t <= 0) return of_one(s, i);
  if (t >= 1) return of_one(s, j);
  return (part){2, {i, j}, {1 - t, t}, along(scale(1 - t, a), t, s->at[j].w)};
}

static part nearest_triangle(const simplex *s, int i, int j, int k) {
  vec a = s->at[i].w, ab = sub(s->at[j].w, a), ac = sub(s->at[k].w, a);
  vec n = cross(ab, ac);
  double area = dot(n, n);
  if (area > 1e-30 * dot(ab, ab) * dot(ac, ac)) {
    vec p = scale(-1, a);
    double v = dot(cross(p, ac), n) / area, w = dot(cross(ab, p), n) / area, u = 1 - v - w;
    if (u >= 0 && v >= 0 && w >= 0)
      return (part){3, {i, j, k}, {u, v, w}, along(along(scale(u, a), v, s->at[j].w), w, s->at[k].w)};
  }
  const int edges[3][2] = {{i, j}, {j, k}, {i, k}};
  part best = nearest_segment(s, i, j);
  for (int e = 1; e < 3; e++) {
    const part other = nearest_segment(s, edges[e][0], edges[e][1]);
    if (dot(other.v, other.v) < dot(best.v, best.v)) best = other;
  }
  return best;
}

/* Returns 1 if the origin is inside of the tetrahedron. */
static int nearest_tetrahedron(const simplex *s, part *out) {
  static const int faces[4][4] = {{0, 1, 2, 3}, {0, 1, 3, 2}, {0, 2, 3, 1}, {1, 2, 3, 0}};
  int outside = 0;
  for (int f = 0; f < 4; f++) {
    vec a = s->at[faces[f][0]].w;
    vec n = cross(sub(s->at[faces[f][1]].w, a), sub(s->at[faces[f][2]].w, a));
    double here = -dot(n, a), there = dot(n, sub(s->at[faces[f][3]].w, a));
    double size = norm(n);
    int flat = fabs(there) <= 1e-13 * size; /* no volume: every face counts */
    if (!flat && here * there >= 0) continue; /* the origin is on the inner side */
    const part near = nearest_triangle(s, faces[f][0], faces[f][1], faces[f][2]);
    if (!outside || dot(near.v, near.v) < dot(out->v, out->v)) *out = near;
    outside = 1;
  }
  return !outside;
}

/* Of a simplex of up to three vertices. */
static inline part nearest_of_few(const simplex *s) {
  return s->n == 1 ? of_one(s, 0) : s->n == 2 ? nearest_segment(s, 0, 1) : nearest_triangle(s, 0, 1, 2);
}

/* The vector v from the nearest point of B to that of A, in A's frame; the simplex has the points. It starts from the
   simplex if that has vertices, at most three. `gap`: difference of the bounds of the distance (m) at which it ends.
   Stops early once the distance is known to exceed `enough`. Returns 1 where the cores overlap. */
static int gjk(const shape *A, const shape *B, const double *T, double enough, double gap, simplex *s, vec *v, double *lower) {
  if (!s->n) {
    vec d = sub(moved(T, load(B->center)), load(A->center));
    if (dot(d, d) < 1e-24) d = make(1, 0, 0);
    s->n = 1;
    s->at[0] = difference(A, B, T, d);
  }
  part near = nearest_of_few(s);
  reduce(s, &near);
  *v = near.v;
  *lower = 0;
  for (int k = 0; k < GJK_ITERATIONS; k++) {
    double length = norm(*v);
    if (length <= GJK_TOUCH) return 1;
    vertex next = difference(A, B, T, scale(-1, *v));
    double bound = dot(*v, next.w) / length;
    if (bound > *lower) *lower = bound;
    if ((*lower > 0 && *lower > enough) || length - *lower <= gap + 1e-14 * length) return 0;
    for (int i = 0; i < s->n; i++)
      if (memcmp(&s->at[i].w, &next.w, sizeof(vec)) == 0) return 0;
    s->at[s->n++] = next;
    if (s->n < 4) near = nearest_of_few(s);
    else if (nearest_tetrahedron(s, &near)) return 1;
    if (norm(near.v) >= length) { /* no progress but rounding: the simplex before */
      s->n--;
      return 0;
    }
    reduce(s, &near);
    *v = near.v;
  }
  return 0;
}
#endif
