/* Whether configurations touch something: spheres on the links, in balls, against obstacles and each other.
 *
 * Lanes are configurations. Each group of spheres, the links of one body, has a ball around it; the centres of
 * its spheres are computed only where the ball hits. To certify whole intervals of an edge, every sphere is
 * larger by how far it can move within the interval: lever (m a unit of a coordinate) times motion.
 */
#ifndef HELICOID_PLANNING_CHECK_H
#define HELICOID_PLANNING_CHECK_H

#include "obstacles.h"

typedef struct {
  int32_t n_groups, n_spheres, n_pairs;
  const int32_t *slot;        /* of each group: which pose, or -1 on what stands still */
  const int32_t *first;       /* n_groups + 1: its spheres */
  const int32_t *meets_world; /* whether a group is checked against obstacles */
  const float *ball, *sphere; /* x, y, z, radius in the frame of the body */
  const float *lever;         /* n_groups x HP_NQ */
  const int32_t *pair;        /* n_pairs x 4: groups a and b, first and last entry of `meeting` */
  const float *pair_lever;    /* n_pairs x HP_NQ: of the motion relative to each other */
  const int32_t *meeting;     /* pairs of spheres that can meet */
} hp_robot;

typedef struct {
  const hp_robot *robot;
  const hp_world *world;
  const uint8_t *ignored;  /* n_groups x padded obstacles: allowed contacts */
  hp_v *pose;              /* HP_SLOTS x 12 */
  hp_v *ball, *sphere;     /* centres: 3 each */
  uint8_t *placed;         /* groups whose spheres are computed */
  int32_t *near, *n_near;  /* of each group: obstacles near the edge, n_groups x padded */
  float *grow, *pair_grow; /* how far groups can move along the whole edge */
  int32_t blame[2];        /* the last contact: group, and obstacle or -1 - other group */
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
  c->blocks++;
}

static void hp_place_spheres(hp_check *c, int g) {
  const hp_robot *r = c->robot;
  if (c->placed[g]) return;
  c->placed[g] = 1;
  for (int s = r->first[g]; s < r->first[g + 1]; s++) {
    if (r->slot[g] >= 0) hp_place(c->pose + 12 * r->slot[g], r->sphere + 4 * s, c->sphere + 3 * s);
    else
      for (int k = 0; k < 3; k++) c->sphere[3 * s + k] = hp_splat(r->sphere[4 * s + k]);
  }
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
      if (!(hp_bits(d2 < reach * reach) & active & ~soft)) continue;
      hp_place_spheres(c, g);
      for (int s = r->first[g]; s < r->first[g + 1]; s++) {
        const hp_v far = more + r->sphere[4 * s + 3];
        const hp_v e2 = hp_core_distance(c->world, o, c->sphere + 3 * s, far, active);
        const unsigned touched = hp_bits(e2 < far * far) & active;
        if (!touched) continue;
        const float own = r->sphere[4 * s + 3] + o->radius;
        unsigned truly;
        if (o->kind < CLOUD) truly = hp_bits(e2 < own * own) & active;
        else truly = hp_bits(hp_core_distance(c->world, o, c->sphere + 3 * s, hp_splat(own), touched) < 1.0f) & touched;
        soft |= touched;
        c->blame[0] = g;
        c->blame[1] = which;
        if (truly) {
          *hard = truly;
          return soft;
        }
      }
    }
  for (int p = 0; p < r->n_pairs; p++) {
    const int a = r->pair[4 * p], b = r->pair[4 * p + 1];
    const hp_v more = c->pair_grow[p] * half, *x = c->ball + 3 * a, *y = c->ball + 3 * b;
    const hp_v reach = more + (r->ball[4 * a + 3] + r->ball[4 * b + 3]);
    const hp_v u = x[0] - y[0], v = x[1] - y[1], w = x[2] - y[2];
    if (!(hp_bits(u * u + v * v + w * w < reach * reach) & active & ~soft)) continue;
    hp_place_spheres(c, a);
    hp_place_spheres(c, b);
    for (int m = r->pair[4 * p + 2]; m < r->pair[4 * p + 3]; m++) {
      const int i = r->meeting[2 * m], j = r->meeting[2 * m + 1];
      const hp_v *xi = c->sphere + 3 * i, *xj = c->sphere + 3 * j;
      const hp_v e = xi[0] - xj[0], f = xi[1] - xj[1], h = xi[2] - xj[2], d2 = e * e + f * f + h * h;
      const float own = r->sphere[4 * i + 3] + r->sphere[4 * j + 3];
      const hp_v far = more + own;
      const unsigned touched = hp_bits(d2 < far * far) & active;
      if (!touched) continue;
      soft |= touched;
      c->blame[0] = a;
      c->blame[1] = -1 - b;
      if ((*hard = hp_bits(d2 < own * own) & active)) return soft;
    }
  }
  return soft;
}

#endif
