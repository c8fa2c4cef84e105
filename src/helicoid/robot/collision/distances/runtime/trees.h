/* Bounding volume hierarchies over the points of clouds, the triangles of meshes, the cells of height fields. */
#ifndef HC_TREES_H
#define HC_TREES_H
#include "pairs.h"

enum { LEAF = 8, DEPTH = 96 };

/* A leaf has count > 0 and its elements from `next` in the order; else its children are at +1 and `next`. */
typedef struct { float low[3], high[3]; int32_t next, count; } node;
typedef struct {
  int64_t kind, n, n_nodes, solid;
  const double *points;
  const int32_t *corners; /* three of each triangle */
  double bottom; /* of a FIELD */
  int32_t *order;
  node *nodes;
} tree;

static void element_bounds(const tree *t, int32_t i, double *low, double *high) {
  int corners = t->kind == CLOUD ? 1 : 3;
  for (int k = 0; k < 3; k++) { low[k] = INFINITY; high[k] = -INFINITY; }
  for (int c = 0; c < corners; c++) {
    const double *p = t->points + 3 * (int64_t)(corners == 1 ? i : t->corners[3 * (int64_t)i + c]);
    for (int k = 0; k < 3; k++) {
      if (p[k] < low[k]) low[k] = p[k];
      if (p[k] > high[k]) high[k] = p[k];
    }
  }
  if (t->kind == FIELD) low[2] = t->bottom;
}

static double middle(const tree *t, int32_t i, int axis) {
  if (t->kind == CLOUD) return t->points[3 * (int64_t)i + axis];
  double sum = 0;
  for (int c = 0; c < 3; c++) sum += t->points[3 * (int64_t)t->corners[3 * (int64_t)i + c] + axis];
  return sum;
}

/* Hoare's selection: afterwards the k-th of first..last is in its place, smaller ones before it. */
static void select_median(tree *t, int64_t first, int64_t last, int64_t k, int axis) {
  while (first < last) {
    double pivot = middle(t, t->order[(first + last) / 2], axis);
    int64_t i = first, j = last;
    while (i <= j) {
      while (middle(t, t->order[i], axis) < pivot) i++;
      while (middle(t, t->order[j], axis) > pivot) j--;
      if (i <= j) { int32_t swap = t->order[i]; t->order[i++] = t->order[j]; t->order[j--] = swap; }
    }
    if (k <= j) last = j;
    else if (k >= i) first = i;
    else return;
  }
}

static int32_t build(tree *t, int64_t first, int64_t count) {
  int32_t at = (int32_t)t->n_nodes++;
  double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY}, l[3], h[3];
  for (int64_t i = first; i < first + count; i++) {
    element_bounds(t, t->order[i], l, h);
    for (int k = 0; k < 3; k++) { if (l[k] < low[k]) low[k] = l[k]; if (h[k] > high[k]) high[k] = h[k]; }
  }
  for (int k = 0; k < 3; k++) { /* rounded outwards */
    t->nodes[at].low[k] = nextafterf((float)low[k], -INFINITY);
    t->nodes[at].high[k] = nextafterf((float)high[k], INFINITY);
  }
  if (count <= LEAF) { t->nodes[at].next = (int32_t)first; t->nodes[at].count = (int32_t)count; return at; }
  int axis = 0;
  for (int k = 1; k < 3; k++) if (high[k] - low[k] > high[axis] - low[axis]) axis = k;
  select_median(t, first, first + count - 1, first + count / 2, axis);
  t->nodes[at].count = 0;
  build(t, first, count / 2);
  int32_t right = build(t, first + count / 2, count - count / 2);
  t->nodes[at].next = right;
  return at;
}

EXPORT void *helicoid_tree(int64_t kind, int64_t n, const double *points, const int32_t *corners, double bottom, int64_t solid) {
  tree *t = calloc(1, sizeof(tree));
  if (!t) return 0;
  t->kind = kind; t->n = n; t->points = points; t->corners = corners; t->bottom = bottom; t->solid = solid;
  t->order = malloc((size_t)n * sizeof(int32_t));
  t->nodes = malloc((size_t)(n / (LEAF / 2) * 2 + 2) * sizeof(node)); /* leaves hold more than LEAF / 2 */
  if (!t->order || !t->nodes) { free(t->order); free(t->nodes); free(t); return 0; }
  for (int64_t i = 0; i < n; i++) t->order[i] = (int32_t)i;
  build(t, 0, n);
  return t;
}

EXPORT int64_t helicoid_tree_bytes(void *given) {
  tree *t = given;
  return (int64_t)sizeof(tree) + t->n * (int64_t)sizeof(int32_t) + t->n_nodes * (int64_t)sizeof(node);
}

EXPORT void helicoid_tree_free(void *given) {
  tree *t = given;
  if (t) { free(t->order); free(t->nodes); }
  free(t);
}

/* Whether a ray crosses the surface an odd number of times. */
static int crossed_oddly(const tree *t, vec p, vec d) {
  int32_t stack[DEPTH], top = 0, odd = 0;
  stack[top++] = 0;
  while (top) {
    const node *n = t->nodes + stack[--top];
    double near = 0, far = INFINITY, q[3] = {p.x, p.y, p.z}, e[3] = {d.x, d.y, d.z};
    for (int k = 0; k < 3; k++) {
      double a = (n->low[k] - q[k]) / e[k], b = (n->high[k] - q[k]) / e[k];
      if (a > b) { double swap = a; a = b; b = swap; }
      if (a > near) near = a;
      if (b < far) far = b;
    }
    if (near > far) continue;
    if (!n->count) { stack[top++] = n->next; stack[top++] = (int32_t)(n - t->nodes) + 1; continue; }
    for (int32_t i = n->next; i < n->next + n->count; i++) { /* Moeller and Trumbore 1997 */
      const int32_t *c = t->corners + 3 * (int64_t)t->order[i];
      vec a = load(t->points + 3 * (int64_t)c[0]);
      vec ab = sub(load(t->points + 3 * (int64_t)c[1]), a), ac = sub(load(t->points + 3 * (int64_t)c[2]), a);
      vec h = cross(d, ac), s = sub(p, a), g = cross(s, ab);
      double det = dot(ab, h);
      if (det == 0) continue;
      double u = dot(s, h) / det, w = dot(d, g) / det;
      if (u >= 0 && w >= 0 && u + w <= 1 && dot(ac, g) / det > 0) odd ^= 1;
    }
  }
  return odd;
}

static int inside(const tree *t, vec p) {
  static const double rays[3][3] = {{0.5773, 0.6217, 0.5297}, {-0.7013, 0.3181, 0.6379}, {0.1937, -0.8831, 0.4273}};
  int votes = 0;
  for (int k = 0; k < 3; k++) votes += crossed_oddly(t, p, load(rays[k]));
  return votes >= 2;
}

/* A lower bound of the distance of A, whose box in the tree's frame is given, to a box. */
static double gap(const node *n, vec center, vec half, double ball, double radius) {
  double c[3] = {center.x, center.y, center.z}, h[3] = {half.x, half.y, half.z}, boxes = 0, point = 0;
  for (int k = 0; k < 3; k++) {
    double out = fmax(n->low[k] - c[k], c[k] - n->high[k]);
    if (out > 0) point += out * out;
    if (out - h[k] > 0) boxes += (out - h[k]) * (out - h[k]);
  }
  /* Where the boxes overlap, the depth may be more than nothing. */
  double balls = sqrt(point) - ball;
  return (boxes > 0 ? fmax(sqrt(boxes), balls) : balls) - radius;
}

static void search(const shape *A, const shape *B, const double *T, const double *back, double *best, contact *out, int *found) {
  const tree *t = (const tree *)B->tree;
  vec center = moved(back, load(A->center)), half;
  half.x = fabs(back[0]) * A->half[0] + fabs(back[1]) * A->half[1] + fabs(back[2]) * A->half[2];
  half.y = fabs(back[4]) * A->half[0] + fabs(back[5]) * A->half[1] + fabs(back[6]) * A->half[2];
  half.z = fabs(back[8]) * A->half[0] + fabs(back[9]) * A->half[1] + fabs(back[10]) * A->half[2];
  int32_t stack[DEPTH], top = 0;
  double bound[DEPTH], corners[18], pose[12];
  shape E = {0};
  E.radius = B->radius;
  stack[top] = 0;
  bound[top++] = gap(t->nodes, center, half, A->ball, B->radius);
  while (top) {
    top--;
    if (bound[top] > *best) continue;
    const node *n = t->nodes + stack[top];
    if (!n->count) {
      int32_t one = stack[top] + 1, other = n->next;
      double d1 = gap(t->nodes + one, center, half, A->ball, B->radius);
      double d2 = gap(t->nodes + other, center, half, A->ball, B->radius);
      if (d1 < d2) { double d = d1; int32_t i = one; d1 = d2; one = other; d2 = d; other = i; }
      stack[top] = one; bound[top++] = d1;
      stack[top] = other; bound[top++] = d2; /* the nearer one first */
      continue;
    }
    for (int32_t i = n->next; i < n->next + n->count; i++) {
      int64_t e = t->order[i];
      contact c;
      if (t->kind == CLOUD) {
        vec p = load(t->points + 3 * e), q = moved(T, p), r = sub(q, load(A->center));
        double x = fmax(fabs(r.x) - A->half[0], 0), y = fmax(fabs(r.y) - A->half[1], 0), z = fmax(fabs(r.z) - A->half[2], 0);
        double far = x * x + y * y + z * z;
        if (far > 0 && sqrt(far) - B->radius > *best) continue;
        memcpy(pose, T, sizeof pose);
        pose[3] = q.x; pose[7] = q.y; pose[11] = q.z;
        E.kind = POINT;
        if (!convex_contact(A, &E, pose, *best, &c)) continue;
      } else {
        for (int k = 0; k < 3; k++) {
          const double *p = t->points + 3 * (int64_t)t->corners[3 * e + k];
          memcpy(corners + 3 * k, p, 3 * sizeof(double));
          memcpy(corners + 9 + 3 * k, p, 3 * sizeof(double));
          corners[9 + 3 * k + 2] = t->bottom;
        }
        E.kind = POINTS;
        E.points = corners;
        E.n_points = t->kind == FIELD ? 6 : 3;
        memcpy(E.center, corners, sizeof E.center);
        if (!convex_contact(A, &E, T, *best, &c)) continue;
      }
      *best = c.d;
      *out = c;
      *found = 1;
    }
  }
}

/* As convex_contact, of a convex A and a shape B that has a tree. */
static int tree_contact(const shape *A, const shape *B, const double *T, double enough, contact *out) {
  static const double unit[12] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0};
  const tree *t = (const tree *)B->tree;
  double back[12], best = enough;
  relative(T, unit, back);
  int found = 0;
  search(A, B, T, back, &best, out, &found);
  if (t->solid && !(found && out->d < 0)) {
    vec p = moved(back, support(A, make(1, 0, 0)));
    vec r = sub(p, load(B->center));
    if (fabs(r.x) < B->half[0] && fabs(r.y) < B->half[1] && fabs(r.z) < B->half[2] && inside(t, p)) {
      best = INFINITY;
      search(A, B, T, back, &best, out, &found);
      out->d = -out->d;
      out->n = scale(-1, out->n);
      return out->d <= enough;
    }
  }
  return found;
}
#endif
