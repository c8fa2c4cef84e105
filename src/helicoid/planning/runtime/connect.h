/* RRT-Connect (Kuffner and LaValle 2000) with balanced trees and dynamic domains. */
#ifndef HELICOID_PLANNING_CONNECT_H
#define HELICOID_PLANNING_CONNECT_H

#include <time.h>

#include "tree.h"

enum { MAX_SAMPLES_PER_NODE = 50 };
enum { SOLVED, RUNNING, FULL, START_TOUCHES, GOALS_TOUCH, EXHAUSTED };

typedef struct {
  float range;              /* longest extension */
  float domain, least;      /* first and least radius of a dynamic domain */
  float shrink;             /* and growth, by which it changes */
  int32_t max_nodes;
  int64_t max_samples;
} hp_settings;

typedef struct {
  hp_tree tree[2];
  uint64_t random;
  int64_t samples;
  int32_t met[2];           /* the nodes that met */
  float bound;              /* upper bound of the path length in the search */
  int32_t n_roots[2];
  float low[HP_NQ], high[HP_NQ]; /* of most samples */
} hp_query;

static double hp_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Limits of most samples: those of the space but, of joints that can turn more than once, one turn about the start,
 * in which all postures are. */
static void hp_turn_about(const hp_space *space, const float *start, hp_query *query) {
  memcpy(query->low, space->lower, sizeof query->low);
  memcpy(query->high, space->upper, sizeof query->high);
  for (int j = 0; j < HP_NQ; j++) {
    const float turn = space->turn[j];
    if (turn <= 0) continue;
    query->low[j] = fmaxf(space->lower[j], fminf(start[j] - turn / 2, space->upper[j] - turn));
    query->high[j] = query->low[j] + turn;
  }
}

/* From node `from` of a tree towards q, in steps of `range`: the last node; *reached: whether q is one. */
static int hp_extend(const hp_space *space, hp_check *c, hp_tree *t, int from, const float *q, float range,
                     int *reached) {
  float at[HP_NQ];
  hp_edge e;
  *reached = 0;
  hp_node(t, from, at);
  hp_edge_between(space, at, q, &e);
  const int steps = e.length > range ? (int)ceilf(e.length / range) : 1;
  const hp_edge whole = e;
  for (int k = 1; k <= steps; k++) {
    float next[HP_NQ];
    if (k == steps) memcpy(next, q, sizeof next);
    else hp_point(space, &whole, (float)k / (float)steps, next);
    if (steps > 1) hp_edge_between(space, at, next, &e);
    if (!hp_edge_free(space, c, &e)) return from;
    const int node = hp_add(t, next, from);
    if (node < 0) return -1;
    from = node;
    memcpy(at, next, sizeof at);
  }
  *reached = 1;
  return from;
}

/* The least length of a path from a root of one tree over q to a root of the other. */
static float hp_detour(const hp_space *space, const hp_query *query, const float *q) {
  float sum = 0;
  for (int s = 0; s < 2; s++) {
    float best = INFINITY;
    for (int i = 0; i < query->n_roots[s]; i++) {
      float at[HP_NQ];
      hp_edge e;
      hp_node(query->tree + s, i, at);
      hp_edge_between(space, at, q, &e);
      best = fminf(best, e.length);
    }
    sum += best;
  }
  return sum;
}

static int hp_connect(const hp_space *space, const hp_settings *settings, hp_check *c, hp_query *query,
                      double seconds) {
  const double until = hp_now() + seconds;
  while (query->samples < settings->max_samples) {
    if (query->samples % 32 == 0 && hp_now() > until) return RUNNING;
    const int side = query->tree[0].n > query->tree[1].n;
    hp_tree *a = query->tree + side, *b = query->tree + !side;
    float q[HP_NQ], at[HP_NQ];
    hp_edge e;
    int reached;
    const int all = query->samples++ / 2 % 4 == 0;
    hp_sample(space, all ? space->lower : query->low, all ? space->upper : query->high, &query->random, q);
    if (query->bound < INFINITY && hp_detour(space, query, q) >= query->bound) continue; /* Gammell et al. 2014 */
    /* Few samples become nodes, as from a narrow pocket: every other extension is shorter, half of these from any
     * node and half from the nearest. */
    const int few = query->samples > MAX_SAMPLES_PER_NODE * (10 + query->tree[0].n + query->tree[1].n);
    const int local = few && query->samples % 2, any = few && query->samples % 4 == 1;
    const int near = any ? (int)(hp_random(&query->random) * (float)a->n) : hp_nearest(space, a, q);
    hp_node(a, near, at);
    hp_edge_between(space, at, q, &e);
    float range = settings->range;
    if (local) range *= ldexpf(1.0f, -(int)(1 + 6 * hp_random(&query->random)));
    else if (e.length > a->domain[near]) continue;
    if (e.length < 1e-6f) continue;
    if (e.length > range) {
      hp_point(space, &e, range / e.length, q);
      hp_edge_between(space, at, q, &e);
    }
    if (!hp_edge_free(space, c, &e)) {
      const float now = a->domain[near];
      a->domain[near] = now == INFINITY ? settings->domain : fmaxf(now * (1 - settings->shrink), settings->least);
      continue;
    }
    const int node = hp_add(a, q, near);
    if (node < 0) return FULL;
    if (a->domain[near] != INFINITY) a->domain[near] *= 1 + settings->shrink;
    const int other = hp_nearest(space, b, q);
    const int met = hp_extend(space, c, b, other, q, settings->range, &reached);
    if (met < 0) return FULL;
    if (reached) {
      query->met[side] = node;
      query->met[!side] = met;
      return SOLVED;
    }
  }
  return EXHAUSTED;
}

#endif
