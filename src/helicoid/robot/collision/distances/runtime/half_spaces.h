/* Half-spaces at the nearest objects of each body along a trajectory: nodes are near to each other, so that each pair of
   shapes starts from the bounds and the simplex of the node before. */
#ifndef HC_HALF_SPACES_H
#define HC_HALF_SPACES_H

enum { HALF_SPACE = 7 };       /* normal, point of the body in its frame, offset */
#define COARSE_GAP 1e-5 /* m, of GJK */
#define LOOKED_BEYOND 0.02 /* m, of trees: a bound that is larger than needed stays useful for that much motion */

/* Of a pair: its distance is at least `bound` less the ways of its bodies; up to three points of both shapes. */
typedef struct { double bound; int64_t n; vec a[3], b[3]; } memory;
typedef struct { double pose[12]; vec center; int64_t node; } placed; /* of a shape, at the node it was computed for */
typedef struct { vec center; double ball, way; } moving; /* of a body; way (m): at least the displacement of any point */
typedef struct { int64_t first, last, body, object, a, b; double bound; } group; /* of pairs; a and b: their bodies */

static const placed *place(const shape *s, const double *body, int64_t node, placed *p) {
  if (p->node == node || (s->body < 0 && p->node >= 0)) return p;
  if (s->body >= 0) product(body + 12 * s->body, s->pose, p->pose);
  else memcpy(p->pose, s->pose, sizeof p->pose);
  p->center = moved(p->pose, load(s->center));
  p->node = node;
  return p;
}

/* A ball around all shapes of each body but the world, which is the last. */
static void find_balls(const shape *shapes, int64_t n_shapes, moving *bodies, int64_t n_bodies) {
  for (int64_t i = 0; i <= n_bodies; i++) {
    vec low = make(INFINITY, INFINITY, INFINITY), high = scale(-1, low);
    bodies[i] = (moving){make(0, 0, 0), 0, 0};
    if (i == n_bodies) return;
    for (int64_t s = 0; s < n_shapes; s++) {
      if (shapes[s].body != i) continue;
      const vec c = moved(shapes[s].pose, load(shapes[s].center));
      low = make(fmin(low.x, c.x), fmin(low.y, c.y), fmin(low.z, c.z));
      high = make(fmax(high.x, c.x), fmax(high.y, c.y), fmax(high.z, c.z));
    }
    if (low.x > high.x) continue;
    bodies[i].center = scale(0.5, add(low, high));
    for (int64_t s = 0; s < n_shapes; s++)
      if (shapes[s].body == i)
        bodies[i].ball = fmax(bodies[i].ball, shapes[s].ball + norm(sub(moved(shapes[s].pose, load(shapes[s].center)), bodies[i].center)));
  }
}

static void advance(moving *body, const double *before, const double *now) {
  double turn = 0;
  for (int i = 0; i < 12; i++)
    if (i % 4 < 3) turn += (now[i] - before[i]) * (now[i] - before[i]);
  body->way += norm(sub(moved(now, body->center), moved(before, body->center))) + body->ball * sqrt(turn);
}

/* The contact of a pair, if its distance is at most `enough`; `way` is that of both bodies. */
static int remembered_contact(const shape *A, const shape *B, const placed *a, const placed *b, double way, double enough, memory *m, contact *c) {
  double T[12], lower;
  relative(a->pose, b->pose, T);
  if (B->tree) {
    const int found = tree_contact(A, B, T, enough + LOOKED_BEYOND, c);
    m->bound = (found ? c->d : enough + LOOKED_BEYOND) + way;
    return found && c->d <= enough;
  }
  simplex s;
  s.n = (int)m->n;
  for (int k = 0; k < s.n; k++) {
    s.at[k].a = m->a[k], s.at[k].b = moved(T, m->b[k]);
    s.at[k].w = sub(s.at[k].a, s.at[k].b);
  }
  const int found = contact_from(A, B, T, enough, COARSE_GAP, &s, &lower, c);
  m->bound = lower + way;
  m->n = B->kind == PLANE || s.n > 3 ? 0 : s.n;
  for (int k = 0; k < m->n; k++) m->a[k] = s.at[k].a, m->b[k] = moved_back(T, s.at[k].b);
  return found && c->d <= enough;
}

/* All of a call, in memory of the caller's. */
typedef struct {
  placed *shapes;
  moving *bodies;
  memory *memories;
  group *groups;
  double (*near)[9]; /* distance, object, half-space: by distance */
} workspace;

static int64_t parts_of(workspace *w, char *at, int64_t n_shapes, int64_t n_bodies, int64_t n_pairs, int64_t nearest) {
  int64_t size = 0;
#define PART(field, count) w->field = (void *)(at + size), size += (count) * (int64_t)sizeof *w->field
  PART(shapes, n_shapes); PART(bodies, n_bodies + 1); PART(memories, n_pairs); PART(groups, n_pairs); PART(near, nearest);
#undef PART
  return size;
}

EXPORT int64_t helicoid_half_spaces_bytes(int64_t n_shapes, int64_t n_bodies, int64_t n_pairs, int64_t nearest) {
  workspace w;
  return parts_of(&w, NULL, n_shapes, n_bodies, n_pairs, nearest);
}

/* Consecutive pairs of one body and one object. */
static int64_t find_groups(const shape *shapes, const int32_t *pairs, int64_t n_pairs, int64_t n_bodies, group *groups) {
  int64_t n = 0;
  for (int64_t p = 0; p < n_pairs; p++) {
    const int32_t *of = pairs + 4 * p;
    if (!n || groups[n - 1].body != of[2] || groups[n - 1].object != of[3]) {
      const int64_t b = shapes[of[1]].body;
      groups[n++] = (group){p, p, of[2], of[3], shapes[of[0]].body, b < 0 ? n_bodies : b, -INFINITY};
    }
    groups[n - 1].last = p + 1;
  }
  return n;
}

/* The nearest pair of a group within `best`. Returns whether there is one. */
static int nearest_of_group(const shape *shapes, const int32_t *pairs, group *g, const workspace *w, const double *body, int64_t node,
                            double best, contact *least, const placed **of) {
  const double way = w->bodies[g->a].way + w->bodies[g->b].way;
  int found = 0;
  if (g->bound - way > best) return 0;
  g->bound = INFINITY;
  for (int64_t p = g->first; p < g->last; p++) {
    memory *m = w->memories + p;
    if (!(m->bound - way > best)) {
      const int32_t a = pairs[4 * p], b = pairs[4 * p + 1];
      const placed *at = place(shapes + a, body, node, w->shapes + a), *other = place(shapes + b, body, node, w->shapes + b);
      const double apart = bound(shapes + a, shapes + b, at->center, other->pose, other->center);
      contact c;
      if (apart > best) m->bound = apart + way;
      else if (remembered_contact(shapes + a, shapes + b, at, other, way, best, m, &c)) found = 1, best = c.d, *least = c, *of = at;
    }
    g->bound = fmin(g->bound, m->bound);
  }
  return found;
}

/* pairs: (n, 4) of A, B, chosen body, object; sorted by body and object. poses: (nodes, n_bodies, 12).
   Of each of n_chosen bodies there are `nearest` half-spaces at each node, of the nearest objects within a distance; an
   object keeps to its own one of them where it can, and one that is not used has the offset `none`.
   out: (nodes, n_chosen, nearest, HALF_SPACE). work: helicoid_half_spaces_bytes. */
EXPORT void helicoid_half_spaces(const shape *shapes, int64_t n_shapes, const int32_t *pairs, int64_t n_pairs, int64_t n_chosen,
                                 const double *poses, int64_t n_bodies, int64_t nodes, int64_t nearest, double within, double none,
                                 void *work, double *out) {
  workspace w;
  parts_of(&w, work, n_shapes, n_bodies, n_pairs, nearest);
  for (int64_t s = 0; s < n_shapes; s++) w.shapes[s].node = -1;
  for (int64_t p = 0; p < n_pairs; p++) w.memories[p].n = 0, w.memories[p].bound = -INFINITY;
  find_balls(shapes, n_shapes, w.bodies, n_bodies);
  const int64_t n_groups = find_groups(shapes, pairs, n_pairs, n_bodies, w.groups);
  for (int64_t k = 0; k < nodes; k++) {
    const double *body = poses + 12 * n_bodies * k;
    for (int64_t i = 0; i < n_bodies && k; i++) advance(w.bodies + i, body + 12 * (i - n_bodies), body + 12 * i);
    group *g = w.groups, *end = g + n_groups;
    for (int64_t i = 0; i < n_chosen; i++) {
      int64_t count = 0;
      double *rows = out + (k * n_chosen + i) * nearest * HALF_SPACE;
      memset(rows, 0, (size_t)nearest * sizeof(double[HALF_SPACE]));
      for (int64_t r = 0; r < nearest; r++) rows[r * HALF_SPACE + 6] = none;
      for (; g < end && g->body == i; g++) {
        contact c;
        const placed *of;
        /* Further than the last of as many as are wanted, an object does not count. */
        if (!nearest_of_group(shapes, pairs, g, &w, body, k, count < nearest ? within : w.near[nearest - 1][0], &c, &of)) continue;
        int64_t rank = count < nearest ? count++ : nearest - 1;
        for (; rank > 0 && w.near[rank - 1][0] > c.d; rank--) memcpy(w.near[rank], w.near[rank - 1], sizeof *w.near);
        double *own = w.near[rank];
        const vec n = turned(of->pose, c.n);
        own[0] = c.d, own[1] = (double)g->object;
        store(own + 2, n);
        store(own + 5, moved_back(body + 12 * g->a, moved(of->pose, c.a)));
        own[8] = dot(n, moved(of->pose, c.b));
      }
      for (int64_t r = 0; r < count; r++) {
        int64_t own = (int64_t)w.near[r][1] % nearest;
        while (rows[own * HALF_SPACE + 6] != none) own = (own + 1) % nearest;
        memcpy(rows + own * HALF_SPACE, w.near[r] + 2, sizeof(double[HALF_SPACE]));
      }
    }
  }
}
#endif
