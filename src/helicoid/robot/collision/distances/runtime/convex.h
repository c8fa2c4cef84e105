/* Convex shapes as cores with a radius around them, and their support points. */
#ifndef HC_CONVEX_H
#define HC_CONVEX_H
#include "vectors.h"

enum { POINT, SEGMENT, BOX, CYLINDER, POINTS, HULL, PLANE, CLOUD, TRIANGLES, FIELD };

/* A shape in its own frame. Numbers: SEGMENT half length; BOX half edges; CYLINDER radius, half length;
   PLANE normal, offset. HULL: x, y and z of its points apart, a multiple of LANES of each. POINTS, CLOUD, TRIANGLES, FIELD: see trees.h. `center`, `half`: its bounding box. */
typedef struct {
  int64_t kind, body, tree;
  int64_t n_points;
  const double *points;
  double radius, numbers[4], pose[12];
  double center[3], half[3], ball;
} shape;

#define LANES 8
typedef double lanes __attribute__((vector_size(8 * LANES), aligned(8), may_alias));
typedef int64_t lane_mask __attribute__((vector_size(8 * LANES), aligned(8), may_alias));

/* The furthest of n points along d, LANES at a time. */
static inline vec furthest(const double *x, int64_t n, vec d) {
  const double *y = x + n, *z = y + n;
  const lanes dx = d.x - (lanes){0}, dy = d.y - (lanes){0}, dz = d.z - (lanes){0};
  lanes most = *(const lanes *)x * dx + *(const lanes *)y * dy + *(const lanes *)z * dz;
  lane_mask at = {0};
  for (int64_t k = LANES; k < n; k += LANES) {
    const lanes reach = *(const lanes *)(x + k) * dx + *(const lanes *)(y + k) * dy + *(const lanes *)(z + k) * dz;
    const lane_mask more = reach > most;
    most = (lanes)((more & (lane_mask)reach) | (~more & (lane_mask)most));
    at = (more & (k - (lane_mask){0})) | (~more & at);
  }
  int best = 0;
  for (int l = 1; l < LANES; l++)
    if (most[l] > most[best]) best = l;
  const int64_t k = at[best] + best;
  return make(x[k], y[k], z[k]);
}

/* The point of the core that is furthest along d. */
static inline vec support(const shape *s, vec d) {
  const double *h = s->numbers;
  switch (s->kind) {
  case POINT: return make(0, 0, 0);
  case SEGMENT: return make(0, 0, d.z >= 0 ? h[0] : -h[0]);
  case BOX: return make(d.x >= 0 ? h[0] : -h[0], d.y >= 0 ? h[1] : -h[1], d.z >= 0 ? h[2] : -h[2]);
  case CYLINDER: {
    double r = sqrt(d.x * d.x + d.y * d.y), k = r > 1e-300 ? h[0] / r : 0;
    return make(k * d.x, k * d.y, d.z >= 0 ? h[1] : -h[1]);
  }
  case HULL: return furthest(s->points, s->n_points, d);
  default: {
    double most = -INFINITY;
    int64_t best = 0;
    for (int64_t k = 0; k < s->n_points; k++) {
      const double *p = s->points + 3 * k;
      double reach = p[0] * d.x + p[1] * d.y + p[2] * d.z;
      if (reach > most) { most = reach; best = k; }
    }
    return load(s->points + 3 * best);
  }
  }
}

/* A point of the Minkowski difference A - B in A's frame, with the points of A and B that it comes from. */
typedef struct { vec w, a, b; } vertex;

/* T: pose of B in A. */
static inline vertex difference(const shape *A, const shape *B, const double *T, vec d) {
  vertex v;
  v.a = support(A, d);
  v.b = moved(T, support(B, turned_back(T, scale(-1, d))));
  v.w = sub(v.a, v.b);
  return v;
}
#endif
