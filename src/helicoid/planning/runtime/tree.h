/* A tree of configurations: nearest neighbour by a scan of HP_LANES nodes at once, random configurations. */
#ifndef HELICOID_PLANNING_TREE_H
#define HELICOID_PLANNING_TREE_H

#include "edge.h"

#define HP_FAR 1e15f /* coordinates of unused lanes */

typedef struct {
  int32_t n, capacity, most;
  float *q;        /* blocks of HP_LANES nodes: coordinate by coordinate */
  int32_t *parent;
  float *domain;   /* radius within which samples extend a node: dynamic domain, Yershova et al. 2005 */
} hp_tree;

HP_HOT void hp_node(const hp_tree *t, int i, float *q) {
  const float *block = t->q + (int64_t)(i / HP_LANES) * HP_NQ * HP_LANES + i % HP_LANES;
  for (int j = 0; j < HP_NQ; j++) q[j] = block[j * HP_LANES];
}

HP_HOT void hp_put(hp_tree *t, int i, const float *q) {
  float *block = t->q + (int64_t)(i / HP_LANES) * HP_NQ * HP_LANES + i % HP_LANES;
  for (int j = 0; j < HP_NQ; j++) block[j * HP_LANES] = q[j];
}

/* The number of the new node, or -1 where the tree is full or memory runs out. */
static int hp_add(hp_tree *t, const float *q, int parent) {
  if (t->n == t->capacity) {
    const int capacity = t->capacity ? 2 * t->capacity : 256;
    if (t->n >= t->most) return -1;
    float *nodes = realloc(t->q, sizeof(float) * HP_NQ * (size_t)capacity);
    if (nodes) t->q = nodes;
    int32_t *parents = realloc(t->parent, sizeof(int32_t) * (size_t)capacity);
    if (parents) t->parent = parents;
    float *domains = realloc(t->domain, sizeof(float) * (size_t)capacity);
    if (domains) t->domain = domains;
    if (!nodes || !parents || !domains) return -1;
    t->capacity = capacity;
  }
  if (t->n % HP_LANES == 0) {
    float *block = t->q + (int64_t)t->n * HP_NQ;
    for (int k = 0; k < HP_NQ * HP_LANES; k++) block[k] = HP_FAR;
  }
  hp_put(t, t->n, q);
  t->parent[t->n] = parent;
  t->domain[t->n] = INFINITY;
  return t->n++;
}

static int hp_nearest(const hp_space *space, const hp_tree *t, const float *q) {
  hp_v best = hp_splat(INFINITY);
  hp_i which = {0};
  for (int b = 0; b * HP_LANES < t->n; b++) {
    const float *block = t->q + (int64_t)b * HP_NQ * HP_LANES;
    hp_v sum = {0};
    for (int j = 0; j < HP_NQ; j++) {
      hp_v d = *(const hp_u *)(block + j * HP_LANES) - q[j];
#if HP_CURVED
      if (space->kind[j] == CIRCLE) {
        d = hp_abs(d);
        d = hp_min(d, hp_abs(2 * HP_PI - d));
      }
      if (hp_is_quaternion(space, j)) { /* θ² is about 8 (1 - |dot|) */
        hp_v dot = {0};
        for (int k = 0; k < 4; k++) dot += *(const hp_u *)(block + (j + k) * HP_LANES) * q[j + k];
        sum += 8 * space->weight[j] * space->weight[j] * hp_abs(1.0f - hp_abs(dot));
        j += 3;
        continue;
      }
#endif
      d *= space->weight[j];
      sum += d * d;
    }
    const hp_i less = sum < best;
    best = hp_select(less, sum, best);
    which = (less & b) | (~less & which);
  }
  const hp_lanes d = {.v = best}, at = {.i = which};
  int found = 0;
  for (int l = 1; l < HP_LANES; l++)
    if (d.lane[l] < d.lane[found]) found = l;
  return at.bits[found] * HP_LANES + found;
}

HP_HOT float hp_random(uint64_t *state) { /* splitmix64, Steele et al. 2014; in [0, 1) */
  uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return (float)((z ^ (z >> 31)) >> 40) * 0x1p-24f;
}

static void hp_sample(const hp_space *space, const float *lower, const float *upper, uint64_t *state, float *q) {
  (void)space;
  for (int j = 0; j < HP_NQ; j++) {
    const float u = hp_random(state);
#if HP_CURVED
    if (hp_is_quaternion(space, j)) { /* uniform over rotations: Shoemake 1992 */
      const float a = 2 * HP_PI * hp_random(state), b = 2 * HP_PI * hp_random(state);
      const float s = sqrtf(1 - u), r = sqrtf(u);
      q[j] = s * sinf(a);
      q[j + 1] = s * cosf(a);
      q[j + 2] = r * sinf(b);
      q[j + 3] = r * cosf(b);
      j += 3;
      continue;
    }
#endif
    q[j] = lower[j] + u * (upper[j] - lower[j]);
  }
}

/* Remove nodes in collision, and those that are not connected to a root any more. */
static void hp_prune(const hp_space *space, hp_check *c, hp_tree *t) {
  int kept = 0;
  int32_t *now = t->n ? malloc(sizeof(int32_t) * (size_t)t->n) : NULL; /* new numbers */
  const int n = now ? t->n : 0;
  for (int i = 0; i < n; i++) {
    float q[HP_NQ], at[HP_NQ];
    hp_edge e;
    const int parent = t->parent[i] < 0 ? -1 : now[t->parent[i]];
    int good = t->parent[i] < 0 || parent >= 0;
    hp_node(t, i, q);
    if (good && parent < 0) good = !hp_configurations(c, q, 1);
    else if (good) {
      hp_node(t, parent, at);
      hp_edge_between(space, at, q, &e);
      good = hp_edge_free(space, c, &e);
    }
    now[i] = good ? kept : -1;
    if (!good) continue;
    hp_put(t, kept, q); /* never after i, so that what follows is still there */
    t->parent[kept] = parent;
    t->domain[kept++] = INFINITY;
  }
  float far[HP_NQ];
  for (int j = 0; j < HP_NQ; j++) far[j] = HP_FAR;
  for (int i = kept; i < n && i % HP_LANES; i++) hp_put(t, i, far);
  t->n = kept;
  free(now);
}

static void hp_tree_free(hp_tree *t) {
  free(t->q);
  free(t->parent);
  free(t->domain);
  memset(t, 0, sizeof *t);
}

#endif
