/* The planner of one robot: what Python and other C call. Before this text stand the constants HP_NQ, HP_SLOTS,
 * HP_LANES and HP_CURVED; after it the generated hp_kinematics. */
#include "simplify.h"

#ifndef HP_API
#define HP_API __attribute__((visibility("default")))
#endif

typedef struct {
  hp_check check;
  hp_query query;
  hp_path path;
} hp_work;

static void *hp_aligned(size_t bytes) {
  void *memory = NULL;
  bytes = bytes ? bytes : 1;
  if (posix_memalign(&memory, 64, bytes)) return NULL;
  return memset(memory, 0, bytes);
}

HP_API void planner_free(hp_work *w) {
  if (!w) return;
  hp_check *c = &w->check;
  free(c->pose), free(c->ball), free(c->cluster), free(c->sphere), free(c->placed), free(c->filled), free(c->near), free(c->n_near);
  free(c->grow), free(c->pair_grow);
  for (int s = 0; s < 2; s++) hp_tree_free(w->query.tree + s);
  free(w->path.q);
  free(w);
}

/* Memory for one thread, for robots and worlds up to these sizes; NULL where there is none. */
HP_API hp_work *planner_work(int32_t groups, int32_t clusters, int32_t spheres, int32_t pairs, int32_t padded) {
  hp_work *w = hp_aligned(sizeof *w);
  if (!w) return NULL;
  hp_check *c = &w->check;
  c->pose = hp_aligned(sizeof(hp_v) * 12 * HP_SLOTS);
  c->ball = hp_aligned(sizeof(hp_v) * 3 * (size_t)groups);
  c->cluster = hp_aligned(sizeof(hp_v) * 3 * (size_t)clusters);
  c->filled = hp_aligned((size_t)clusters);
  c->sphere = hp_aligned(sizeof(hp_v) * 3 * (size_t)spheres);
  c->placed = hp_aligned((size_t)groups);
  c->near = hp_aligned(sizeof(int32_t) * (size_t)groups * (size_t)padded);
  c->n_near = hp_aligned(sizeof(int32_t) * (size_t)groups);
  c->grow = hp_aligned(sizeof(float) * (size_t)groups);
  c->pair_grow = hp_aligned(sizeof(float) * (size_t)pairs);
  const int complete = c->pose && c->ball && c->cluster && c->sphere && c->placed && c->filled && c->near;
  if (complete && c->n_near && c->grow && c->pair_grow) return w;
  planner_free(w);
  return NULL;
}

static void hp_use(hp_work *w, const hp_robot *robot, const hp_world *world, const uint8_t *ignored) {
  w->check.robot = robot;
  w->check.world = world;
  w->check.ignored = ignored;
}

/* touches[i]: whether configuration i is in collision. */
HP_API void planner_configurations(hp_work *w, const hp_robot *robot, const hp_world *world, const uint8_t *ignored,
                                   const float *q, int64_t n, uint8_t *touches) {
  hp_use(w, robot, world, ignored);
  for (int64_t i = 0; i < n; i += HP_LANES) {
    const int taken = n - i < HP_LANES ? (int)(n - i) : HP_LANES;
    const unsigned found = hp_configurations(&w->check, q + i * HP_NQ, taken);
    for (int l = 0; l < taken; l++) touches[i + l] = found >> l & 1;
  }
}

/* is_free[i]: whether the edge from a[i] to b[i] is; returns how many are before the first that is not. */
HP_API int64_t planner_edges(hp_work *w, const hp_robot *robot, const hp_world *world, const uint8_t *ignored,
                             const hp_space *space, const float *a, const float *b, int64_t n, uint8_t *is_free) {
  int64_t first = n;
  hp_use(w, robot, world, ignored);
  for (int64_t i = 0; i < n; i++) {
    hp_edge e;
    hp_edge_between(space, a + i * HP_NQ, b + i * HP_NQ, &e);
    is_free[i] = (uint8_t)hp_edge_free(space, &w->check, &e);
    if (!is_free[i] && first == n) first = i;
  }
  return first;
}

/* is_free[i]: whether the cubic with Bézier points i of b, (n, 4, HP_NQ), is. Coordinates are numbers or angles
 * without jumps. */
HP_API void planner_cubics(hp_work *w, const hp_robot *robot, const hp_world *world, const uint8_t *ignored,
                           const hp_space *space, const float *b, int64_t n, uint8_t *is_free) {
  hp_use(w, robot, world, ignored);
  for (int64_t i = 0; i < n; i++) {
    hp_edge e;
    float curve[2 * HP_NQ];
    hp_edge_cubic(space, b + i * 4 * HP_NQ, curve, &e);
    is_free[i] = (uint8_t)hp_edge_free(space, &w->check, &e);
  }
}

/* Begin a query. Roots in collision are left out: START_TOUCHES or GOALS_TOUCH where none is left. With
 * keep_goals the tree of the goals is that of the last query, without what is not free any more. */
HP_API int planner_begin(hp_work *w, const hp_robot *robot, const hp_world *world, const uint8_t *ignored,
                         const hp_space *space, const hp_settings *settings, const float *starts, int32_t n_starts,
                         const float *goals, int32_t n_goals, uint64_t seed, float bound, int32_t keep_goals) {
  hp_query *query = &w->query;
  hp_use(w, robot, world, ignored);
  query->random = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
  query->samples = 0;
  query->bound = bound;
  w->path.n = 0;
  for (int s = 0; s < 2; s++) {
    hp_tree *t = query->tree + s;
    const float *roots = s ? goals : starts;
    if (s && keep_goals) {
      hp_prune(space, &w->check, t);
      query->n_roots[1] = 0;
      while (query->n_roots[1] < t->n && t->parent[query->n_roots[1]] < 0) query->n_roots[1]++;
      if (!t->n) return GOALS_TOUCH;
      continue;
    }
    t->n = 0;
    t->most = settings->max_nodes;
    for (int32_t i = 0, n = s ? n_goals : n_starts; i < n; i++)
      if (!hp_configurations(&w->check, roots + i * HP_NQ, 1) && hp_add(t, roots + i * HP_NQ, -1) < 0) return FULL;
    if (!t->n) return s ? GOALS_TOUCH : START_TOUCHES;
    query->n_roots[s] = t->n;
  }
  hp_turn_about(space, starts, query);
  for (int i = 0; i < query->tree[0].n && i < 4; i++) { /* straight edges first */
    float a[HP_NQ], b[HP_NQ];
    hp_edge e;
    hp_node(query->tree, i, a);
    const int j = hp_nearest(space, query->tree + 1, a);
    hp_node(query->tree + 1, j, b);
    hp_edge_between(space, a, b, &e);
    if (!hp_edge_free(space, &w->check, &e)) continue;
    query->met[0] = i;
    query->met[1] = j;
    return hp_trace(query, &w->path) ? SOLVED : FULL;
  }
  return RUNNING;
}

/* Go on with a query for some seconds. */
HP_API int planner_advance(hp_work *w, const hp_robot *robot, const hp_world *world, const uint8_t *ignored,
                           const hp_space *space, const hp_settings *settings, double seconds) {
  hp_use(w, robot, world, ignored);
  const int status = hp_connect(space, settings, &w->check, &w->query, seconds);
  if (status == SOLVED && !hp_trace(&w->query, &w->path)) return FULL;
  return status;
}

HP_API void planner_simplify(hp_work *w, const hp_robot *robot, const hp_world *world, const uint8_t *ignored,
                             const hp_space *space, int32_t passes, float least) {
  hp_use(w, robot, world, ignored);
  hp_simplify(space, &w->check, &w->path, passes, least);
}

/* Put a path in the place of the query's. */
HP_API int planner_set_path(hp_work *w, const float *q, int32_t n) {
  if (!hp_room(&w->path, n)) return 0;
  memcpy(w->path.q, q, sizeof(float) * HP_NQ * (size_t)n);
  w->path.n = n;
  return 1;
}

/* The number of waypoints; q gets them if its capacity suffices. */
HP_API int32_t planner_path(const hp_work *w, float *q, int32_t room) {
  if (w->path.n <= room) memcpy(q, w->path.q, sizeof(float) * HP_NQ * (size_t)w->path.n);
  return w->path.n;
}

HP_API float planner_length(const hp_work *w, const hp_space *space) { return hp_length(space, &w->path); }

/* Of the query: nodes of both trees, samples, blocks of configurations checked since the beginning. */
HP_API void planner_counts(const hp_work *w, int64_t *counts) {
  counts[0] = w->query.tree[0].n;
  counts[1] = w->query.tree[1].n;
  counts[2] = w->query.samples;
  counts[3] = w->check.blocks;
}

/* The nodes of a tree, and the parents of each. */
HP_API void planner_tree(const hp_work *w, int32_t which, float *q, int32_t *parent) {
  const hp_tree *t = w->query.tree + which;
  for (int i = 0; i < t->n; i++) hp_node(t, i, q + (int64_t)i * HP_NQ);
  if (t->n) memcpy(parent, t->parent, sizeof(int32_t) * (size_t)t->n);
}

/* Centres (n, spheres, 3) of all spheres at q (n, HP_NQ). */
HP_API void planner_centres(hp_work *w, const hp_robot *robot, const float *q, int64_t n, float *centres) {
  w->check.robot = robot;
  for (int64_t i = 0; i < n; i += HP_LANES) {
    const int taken = n - i < HP_LANES ? (int)(n - i) : HP_LANES;
    hp_v at[HP_NQ];
    for (int j = 0; j < HP_NQ; j++) {
      hp_lanes x;
      for (int l = 0; l < HP_LANES; l++) x.lane[l] = q[(i + (l < taken ? l : 0)) * HP_NQ + j];
      at[j] = x.v;
    }
    hp_move(&w->check, at);
    for (int g = 0; g < robot->n_groups; g++)
      for (int k = robot->first[g]; k < robot->first[g + 1]; k++) hp_place_spheres(&w->check, g, k);
    for (int s = 0; s < 3 * robot->n_spheres; s++) {
      const hp_lanes x = {.v = w->check.sphere[s]};
      for (int l = 0; l < taken; l++) centres[(i + l) * 3 * robot->n_spheres + s] = x.lane[l];
    }
  }
}

/* Pairs (n_pairs, 2) of spheres of groups a and b at q (n, HP_NQ): state[p] becomes 2 where they are nearer than
 * radii[p] somewhere, else 1 where nearer than radii[p] + slack; near[i] becomes 1 where some pair is, at i, that
 * did not touch at a configuration before. */
HP_API void planner_meetings(hp_work *w, const hp_robot *robot, int32_t a, int32_t b, const float *q, int64_t n,
                             const int64_t *pair, int64_t n_pairs, const float *radii, float slack, uint8_t *state,
                             uint8_t *near) {
  w->check.robot = robot;
  for (int64_t i = 0; i < n; i += HP_LANES) {
    const int taken = n - i < HP_LANES ? (int)(n - i) : HP_LANES;
    unsigned within = 0;
    hp_v at[HP_NQ];
    for (int j = 0; j < HP_NQ; j++) {
      hp_lanes x;
      for (int l = 0; l < HP_LANES; l++) x.lane[l] = q[(i + (l < taken ? l : 0)) * HP_NQ + j];
      at[j] = x.v;
    }
    hp_move(&w->check, at);
    for (int k = robot->first[a]; k < robot->first[a + 1]; k++) hp_place_spheres(&w->check, a, k);
    for (int k = robot->first[b]; k < robot->first[b + 1]; k++) hp_place_spheres(&w->check, b, k);
    for (int64_t p = 0; p < n_pairs; p++) {
      if (state[p] == 2) continue;
      const hp_v d2 = hp_apart(w->check.sphere + 3 * pair[2 * p], w->check.sphere + 3 * pair[2 * p + 1]);
      const float far = radii[p] + slack;
      const unsigned found = hp_bits(d2 < hp_splat(far * far));
      if (!found) continue;
      state[p] = hp_bits(d2 < hp_splat(radii[p] * radii[p])) ? 2 : 1;
      within |= found;
    }
    for (int l = 0; l < taken; l++) near[i + l] = within >> l & 1;
  }
}

HP_API void planner_sizes(int64_t *sizes) {
  sizes[0] = sizeof(hp_robot), sizes[1] = sizeof(hp_world), sizes[2] = sizeof(hp_space);
  sizes[3] = sizeof(hp_settings), sizes[4] = sizeof(hp_obstacle), sizes[5] = sizeof(hp_field);
}
