/* Shorter paths: shortcuts between vertices, and corners cut off. */
#ifndef HELICOID_PLANNING_SIMPLIFY_H
#define HELICOID_PLANNING_SIMPLIFY_H

#include "connect.h"

typedef struct {
  int32_t n, capacity;
  float *q;
} hp_path;

static int hp_room(hp_path *path, int n) {
  if (n <= path->capacity) return 1;
  const int capacity = n > 2 * path->capacity ? n : 2 * path->capacity;
  float *q = realloc(path->q, sizeof(float) * HP_NQ * (size_t)capacity);
  if (!q) return 0;
  path->q = q;
  path->capacity = capacity;
  return 1;
}

/* The path from the root of the first tree to that of the second; where the trees met it has one node of both. */
static int hp_trace(const hp_query *query, hp_path *path) {
  int n[2] = {0, 0};
  for (int s = 0; s < 2; s++)
    for (int i = query->met[s]; i >= 0; i = query->tree[s].parent[i]) n[s]++;
  if (!hp_room(path, n[0] + n[1])) return 0;
  int k = n[0];
  for (int i = query->met[0]; i >= 0; i = query->tree[0].parent[i]) hp_node(query->tree, i, path->q + HP_NQ * --k);
  k = n[0];
  for (int i = query->met[1]; i >= 0; i = query->tree[1].parent[i]) {
    hp_node(query->tree + 1, i, path->q + HP_NQ * k);
    k += i != query->met[1] || memcmp(path->q + HP_NQ * k, path->q + HP_NQ * (k - 1), sizeof(float) * HP_NQ) != 0;
  }
  path->n = k;
  return 1;
}

/* Leave out vertices between which a straight edge is free, the longest first. */
static int hp_shortcut(const hp_space *space, hp_check *c, hp_path *path) {
  hp_edge e;
  int changed = 0;
  for (int i = 0; i + 2 < path->n; i++)
    for (int j = path->n - 1; j >= i + 2; j--) {
      hp_edge_between(space, path->q + HP_NQ * i, path->q + HP_NQ * j, &e);
      if (!hp_edge_free(space, c, &e)) continue;
      memmove(path->q + HP_NQ * (i + 1), path->q + HP_NQ * j, sizeof(float) * HP_NQ * (size_t)(path->n - j));
      path->n -= j - i - 1;
      changed = 1;
      break;
    }
  return changed;
}

/* Replace a corner by a straight edge between a point before and one after it. */
static int hp_cut_corners(const hp_space *space, hp_check *c, hp_path *path, float share, float least) {
  int changed = 0;
  for (int i = 1; i + 1 < path->n; i++) {
    hp_edge before, after, cut;
    float p[2 * HP_NQ];
    float *v = path->q + HP_NQ * i;
    hp_edge_between(space, v, v - HP_NQ, &before);
    hp_edge_between(space, v, v + HP_NQ, &after);
    hp_point(space, &before, share, p);
    hp_point(space, &after, share, p + HP_NQ);
    hp_edge_between(space, p, p + HP_NQ, &cut);
    if (share * (before.length + after.length) - cut.length < least) continue;
    if (!hp_edge_free(space, c, &cut)) continue;
    if (!hp_room(path, path->n + 1)) return changed;
    v = path->q + HP_NQ * i;
    memmove(v + 2 * HP_NQ, v + HP_NQ, sizeof(float) * HP_NQ * (size_t)(path->n - i - 1));
    memcpy(v, p, sizeof p);
    path->n++;
    i++;
    changed = 1;
  }
  return changed;
}

static float hp_length(const hp_space *space, const hp_path *path) {
  float sum = 0;
  hp_edge e;
  for (int i = 0; i + 1 < path->n; i++) {
    hp_edge_between(space, path->q + HP_NQ * i, path->q + HP_NQ * (i + 1), &e);
    sum += e.length;
  }
  return sum;
}

static void hp_simplify(const hp_space *space, hp_check *c, hp_path *path, int passes, float least) {
  if (path->n < 3) return;
  hp_shortcut(space, c, path);
  for (int k = 0; k < passes && path->n > 2; k++) {
    const float before = hp_length(space, path);
    const int cut = hp_cut_corners(space, c, path, k % 2 ? 0.25f : 0.5f, least * before);
    if (!cut && k % 2) break;
    if (cut) hp_shortcut(space, c, path);
  }
}

#endif
