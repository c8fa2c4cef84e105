/* Collision checks of configurations: spheres on the links, in balls, against obstacles and each other.
 *
 * Lanes are configurations. Each group of spheres, those of one link, has a ball around it and consists of
 * clusters, which have balls as well; centres of these and of spheres are computed only where the ball above hits. To certify whole intervals of an edge, every sphere is
 * larger by how far it can move within the interval: lever (m a unit of a coordinate) times motion.
 */
#ifndef HELICOID_PLANNING_CHECK_H
#define HELICOID_PLANNING_CHECK_H

#include "obstacles.h"

typedef struct {
  int32_t n_groups, n_clusters, n_spheres, n_pairs;
  const int32_t *slot;        /* of each group: which pose, or -1 on fixed bodies */
  const int32_t *first;       /* n_groups + 1: its clusters */
  const int32_t *member;      /* n_clusters + 1: their spheres */
  const int32_t *meets_world; /* whether a group is checked against obstacles */
  const float *ball, *cluster, *sphere; /* x, y, z, radius in the frame of the body */
  const float *lever;         /* n_groups x HP_NQ */
  const int32_t *pair;        /* n_pairs x 4: groups a and b, first and last entry of `near` */
  const float *pair_lever;    /* n_pairs x HP_NQ: of the motion relative to each other */
  const int32_t *near;        /* x 4: clusters that can meet, first and last entry of `meeting` */
  const int32_t *meeting;     /* pairs of spheres that can meet */
} hp_robot;

typedef struct {
  const hp_robot *robot;
  const hp_world *world;
  const uint8_t *ignored;  /* n_groups x padded obstacles: allowed contacts */
  hp_v *pose;              /* HP_SLOTS x 12 */
  hp_v *ball, *cluster, *sphere; /* centres: 3 each */
  uint8_t *placed, *filled; /* groups whose clusters are computed, clusters whose spheres are */
  int32_t *near, *n_near;  /* of each group: obstacles near the edge, n_groups x padded */
  float *grow, *pair_grow; /* how far groups can move along the whole edge */
  int64_t blocks;
} hp_check;

static void hp_kinematics(const hp_v *q, hp_v *pose);

HP_HOT void hp_place(const hp_v *T, const float *local, hp_v *x) {
  for (int k = 0; k < 3; k++) x[k] = T[3 * k] * local[0] + T[3 * k + 1] * local[1] + T[3 * k + 2] * local[2] + T[9 + k];
}

/* Poses and balls at q. */
static void hp_move(hp_check *c, const hp_v *q) {
  const hp_robot *r = c->robot;
  hp_kinematics(q, c->pose);
  for (int g = 0; g < r->n_groups; g++) {
    if (r->slot[g] >= 0) hp_place(c->pose + 12 * r->slot[g], r->ball + 4 * g, c->ball + 3 * g);
    else
      for (int k = 0; k < 3; k++) c->ball[3 * g + k] = hp_splat(r->ball[4 * g + k]);
  }
  memset(c->placed, 0, (size_t)r->n_groups);
  memset(c->filled, 0, (size_t)r->n_clusters);
  c->blocks++;
}

/* Centres of balls n to m on the body of a group. */
HP_HOT void hp_place_all(const hp_check *c, int g, const float *local, hp_v *x, int n, int m) {
  const hp_robot *r = c->robot;
  for (int s = n; s < m; s++) {
    if (r->slot[g] >= 0) hp_place(c->pose + 12 * r->slot[g], local + 4 * s, x + 3 * s);
    else
      for (int k = 0; k < 3; k++) x[3 * s + k] = hp_splat(local[4 * s + k]);
  }
}

static void hp_place_clusters(hp_check *c, int g) {
  const hp_robot *r = c->robot;
  if (!c->placed[g]) hp_place_all(c, g, r->cluster, c->cluster, r->first[g], r->first[g + 1]);
  c->placed[g] = 1;
}

static void hp_place_spheres(hp_check *c, int g, int k) {
  const hp_robot *r = c->robot;
  if (!c->filled[k]) hp_place_all(c, g, r->sphere, c->sphere, r->member[k], r->member[k + 1]);
  c->filled[k] = 1;
}

/* The obstacles that groups can reach within `gap` of the edge from the configurations of the last hp_move. */
static void hp_cull(hp_check *c, float gap) {
  const hp_robot *r = c->robot;
  const hp_world *world = c->world;
  for (int g = 0; g < r->n_groups; g++) {
    int n = 0;
    int32_t *near = c->near + (int64_t)g * world->padded;
    if (r->meets_world[g] && world->n) {
      const float more = r->ball[4 * g + 3] + gap * c->grow[g];
      hp_v low[3], high[3];
      for (int k = 0; k < 3; k++) {
        low[k] = hp_splat(hp_least(c->ball[3 * g + k]) - more);
        high[k] = hp_splat(hp_most(c->ball[3 * g + k]) + more);
      }
      for (int o = 0; o < world->padded; o += HP_LANES) {
        hp_i meets = (*(const hp_u *)(world->low[0] + o) <= high[0]) & (*(const hp_u *)(world->high[0] + o) >= low[0]);
        for (int k = 1; k < 3; k++)
          meets &= (*(const hp_u *)(world->low[k] + o) <= high[k]) & (*(const hp_u *)(world->high[k] + o) >= low[k]);
        for (unsigned bits = hp_bits(meets); bits; bits &= bits - 1) {
          const int which = o + __builtin_ctz(bits);
          if (!c->ignored || !c->ignored[(int64_t)g * world->padded + which]) near[n++] = which;
        }
      }
    }
    c->n_near[g] = n;
  }
}

/* Lanes in which spheres of a group are nearer to an obstacle than `more`; *hard: those that touch, at the first
 * of which it returns. */
static unsigned hp_group_contacts(hp_check *c, int g, int which, hp_v more, unsigned active, unsigned *hard) {
  const hp_robot *r = c->robot;
  const hp_obstacle *o = c->world->obstacle + which;
  unsigned soft = 0;
  hp_place_clusters(c, g);
  for (int k = r->first[g]; k < r->first[g + 1]; k++) {
    const hp_v reach = more + r->cluster[4 * k + 3];
    const hp_v d2 = hp_core_distance(c->world, o, c->cluster + 3 * k, reach, active);
    if (!(hp_bits(d2 < reach * reach) & active)) continue;
    hp_place_spheres(c, g, k);
    for (int s = r->member[k]; s < r->member[k + 1]; s++) {
      const hp_v far = more + r->sphere[4 * s + 3], *x = c->sphere + 3 * s;
      const hp_v e2 = hp_core_distance(c->world, o, x, far, active);
      const unsigned touched = hp_bits(e2 < far * far) & active;
      if (!touched) continue;
      const float own = r->sphere[4 * s + 3] + o->radius;
      const hp_v f2 = o->kind < CLOUD ? e2 : hp_core_distance(c->world, o, x, hp_splat(own), touched);
      soft |= touched;
      if ((*hard = hp_bits(f2 < own * own) & touched)) return soft;
    }
  }
  return soft;
}

HP_HOT hp_v hp_apart(const hp_v *x, const hp_v *y) {
  const hp_v u = x[0] - y[0], v = x[1] - y[1], w = x[2] - y[2];
  return u * u + v * v + w * w;
}

/* The same of the pairs of two groups. */
static unsigned hp_pair_contacts(hp_check *c, int p, hp_v more, unsigned active, unsigned *hard) {
  const hp_robot *r = c->robot;
  const int a = r->pair[4 * p], b = r->pair[4 * p + 1];
  unsigned soft = 0;
  hp_place_clusters(c, a);
  hp_place_clusters(c, b);
  for (int n = r->pair[4 * p + 2]; n < r->pair[4 * p + 3]; n++) {
    const int k = r->near[4 * n], l = r->near[4 * n + 1];
    const hp_v reach = more + (r->cluster[4 * k + 3] + r->cluster[4 * l + 3]);
    if (!(hp_bits(hp_apart(c->cluster + 3 * k, c->cluster + 3 * l) < reach * reach) & active)) continue;
    hp_place_spheres(c, a, k);
    hp_place_spheres(c, b, l);
    for (int m = r->near[4 * n + 2]; m < r->near[4 * n + 3]; m++) {
      const int i = r->meeting[2 * m], j = r->meeting[2 * m + 1];
      const hp_v d2 = hp_apart(c->sphere + 3 * i, c->sphere + 3 * j);
      const float own = r->sphere[4 * i + 3] + r->sphere[4 * j + 3];
      const hp_v far = more + own;
      const unsigned touched = hp_bits(d2 < far * far) & active;
      soft |= touched;
      if (touched && (*hard = hp_bits(d2 < own * own) & active)) return soft;
    }
  }
  return soft;
}

/* Lanes in which something is nearer than the growth over `half` of the edge; *hard: those that touch. Returns
 * at once where an active lane touches. */
static unsigned hp_contacts(hp_check *c, hp_v half, unsigned active, unsigned *hard) {
  const hp_robot *r = c->robot;
  unsigned soft = 0;
  *hard = 0;
  for (int g = 0; g < r->n_groups; g++)
    for (int k = 0; k < c->n_near[g]; k++) {
      const int which = c->near[(int64_t)g * c->world->padded + k];
      const hp_obstacle *o = c->world->obstacle + which;
      const hp_v more = c->grow[g] * half + o->radius, reach = more + r->ball[4 * g + 3];
      const hp_v d2 = hp_core_distance(c->world, o, c->ball + 3 * g, reach, active);
      if (!(hp_bits(d2 < reach * reach) & active)) continue;
      soft |= hp_group_contacts(c, g, which, more, active, hard);
      if (*hard) return soft;
    }
  for (int p = 0; p < r->n_pairs; p++) {
    const int a = r->pair[4 * p], b = r->pair[4 * p + 1];
    const hp_v more = c->pair_grow[p] * half, reach = more + (r->ball[4 * a + 3] + r->ball[4 * b + 3]);
    if (!(hp_bits(hp_apart(c->ball + 3 * a, c->ball + 3 * b) < reach * reach) & active)) continue;
    soft |= hp_pair_contacts(c, p, more, active, hard);
    if (*hard) return soft;
  }
  return soft;
}

#endif
