/* Edges of configuration space: interpolation, length, and whether they are free.
 *
 * A coordinate is a number, an angle on a circle (the shorter way round), or one of four of a unit quaternion
 * (interpolated along the great arc). Lengths are weighted Euclidean ones, arcs being angles.
 */
#ifndef HELICOID_PLANNING_EDGE_H
#define HELICOID_PLANNING_EDGE_H

#include "check.h"

enum { NUMBER, CIRCLE, QUATERNION, QUATERNION_PART };

typedef struct {
  const float *lower, *upper, *weight;
  const float *turn; /* of a joint that can turn more than once: 2 pi, else 0 */
  const int32_t *kind;
  float resolution;  /* checks per unit of length */
  float finest;      /* m: growth at which the bisection of a certificate gives up */
  int32_t certify;
} hp_space;

typedef struct {
  float a[HP_NQ], d[HP_NQ]; /* start and difference; of a quaternion the end */
  float motion[HP_NQ];      /* by which levers are multiplied */
  float length;
  const float *curve;       /* of a cubic, a + t d + t² (curve[0..] + t curve[HP_NQ..]); else NULL */
} hp_edge;

/* Whether coordinates j to j + 3 are a quaternion; the bounds let compilers see that they exist. */
#define hp_is_quaternion(space, j) (HP_NQ >= 4 && (j) <= HP_NQ - 4 && (space)->kind[j] == QUATERNION)

#define HP_PI 3.14159265358979f

static void hp_edge_between(const hp_space *space, const float *a, const float *b, hp_edge *e) {
  float sum = 0;
  memcpy(e->a, a, sizeof e->a);
  e->curve = NULL;
  for (int j = 0; j < HP_NQ; j++) {
    float d = b[j] - a[j];
#if HP_CURVED
    if (space->kind[j] == CIRCLE) d -= 2 * HP_PI * rintf(d / (2 * HP_PI));
    if (hp_is_quaternion(space, j)) {
      float dot = 0;
      for (int k = 0; k < 4; k++) dot += a[j + k] * b[j + k];
      const float angle = 2 * acosf(fminf(fabsf(dot), 1));
      for (int k = 0; k < 4; k++) e->d[j + k] = dot < 0 ? -b[j + k] : b[j + k], e->motion[j + k] = 0;
      e->motion[j] = angle;
      sum += space->weight[j] * space->weight[j] * angle * angle;
      j += 3;
      continue;
    }
#endif
    e->d[j] = d;
    e->motion[j] = fabsf(d);
    d *= space->weight[j];
    sum += d * d;
  }
  e->length = sqrtf(sum);
}

HP_HOT void hp_along(const hp_space *space, const hp_edge *e, hp_v t, hp_v *q) {
  (void)space;
  for (int j = 0; j < HP_NQ; j++) {
#if HP_CURVED
    if (hp_is_quaternion(space, j)) {
      const float half = e->motion[j] / 2;
      hp_v u = 1.0f - t, w = t;
      if (half > 1e-3f) {
        hp_v s, c;
        hp_sincos(half * u, &s, &c);
        u = s / sinf(half);
        hp_sincos(half * t, &s, &c);
        w = s / sinf(half);
      }
      for (int k = 0; k < 4; k++) q[j + k] = u * e->a[j + k] + w * e->d[j + k];
      j += 3;
      continue;
    }
#endif
    q[j] = e->a[j] + t * e->d[j];
  }
  if (e->curve)
    for (int j = 0; j < HP_NQ; j++) q[j] += t * t * (e->curve[j] + t * e->curve[HP_NQ + j]);
}

/* A cubic from its Bézier points (4, HP_NQ); `curve` is memory for 2 HP_NQ numbers. No coordinate changes faster
 * than three times the largest difference of two points in a row. */
static void hp_edge_cubic(const hp_space *space, const float *b, float *curve, hp_edge *e) {
  float sum = 0;
  for (int j = 0; j < HP_NQ; j++) {
    const float p = b[j], q = b[HP_NQ + j], r = b[2 * HP_NQ + j], s = b[3 * HP_NQ + j];
    e->a[j] = p;
    e->d[j] = 3 * (q - p);
    curve[j] = 3 * (r - 2 * q + p);
    curve[HP_NQ + j] = s - 3 * r + 3 * q - p;
    e->motion[j] = 3 * fmaxf(fabsf(q - p), fmaxf(fabsf(r - q), fabsf(s - r))) * (1 + 1e-5f);
    const float d = space->weight[j] * e->motion[j];
    sum += d * d;
  }
  e->length = sqrtf(sum);
  e->curve = curve;
}

static void hp_point(const hp_space *space, const hp_edge *e, float t, float *q) {
#if HP_CURVED
  hp_v at[HP_NQ];
  hp_along(space, e, hp_splat(t), at);
  for (int j = 0; j < HP_NQ; j++) {
    q[j] = ((hp_lanes){.v = at[j]}).lane[0];
    if (space->kind[j] == CIRCLE) q[j] -= 2 * HP_PI * rintf(q[j] / (2 * HP_PI));
  }
#else
  (void)space;
  for (int j = 0; j < HP_NQ; j++) q[j] = e->a[j] + t * e->d[j];
#endif
}

static void hp_growth(hp_check *c, const float *motion) {
  const hp_robot *r = c->robot;
  for (int g = 0; g < r->n_groups; g++) {
    float sum = 0;
    for (int j = 0; j < HP_NQ; j++) sum += r->lever[g * HP_NQ + j] * motion[j];
    c->grow[g] = sum;
  }
  for (int p = 0; p < r->n_pairs; p++) {
    float sum = 0;
    for (int j = 0; j < HP_NQ; j++) sum += r->pair_lever[p * HP_NQ + j] * motion[j];
    c->pair_grow[p] = sum;
  }
}

#define HP_ALL ((1u << HP_LANES) - 1)

HP_HOT hp_v hp_ramp(void) {
  hp_lanes x;
  for (int l = 0; l < HP_LANES; l++) x.lane[l] = (float)l;
  return x.v;
}

/* Intervals that are halved until each is certified; 0 where one touches or cannot be certified. */
static int hp_bisect(const hp_space *space, hp_check *c, const hp_edge *e, float *t, float *half, int n) {
  enum { DEEPEST = 40 * HP_LANES };
  float most = 0;
  for (int g = 0; g < c->robot->n_groups; g++) most = fmaxf(most, c->grow[g]);
  while (n > 0) {
    hp_lanes at, width;
    hp_v q[HP_NQ];
    unsigned hard;
    const int taken = n < HP_LANES ? n : HP_LANES;
    n -= taken;
    for (int l = 0; l < HP_LANES; l++) {
      at.lane[l] = t[n + (l < taken ? l : 0)];
      width.lane[l] = half[n + (l < taken ? l : 0)];
    }
    hp_along(space, e, at.v, q);
    hp_move(c, q);
    const unsigned soft = hp_contacts(c, width.v, (1u << taken) - 1, &hard);
    if (hard) return 0;
    for (unsigned bits = soft; bits; bits &= bits - 1) {
      const int l = __builtin_ctz(bits);
      const float h = width.lane[l] / 2;
      if (h * most < space->finest || n + 2 > DEEPEST) return 0;
      for (int side = -1; side <= 1; side += 2) {
        t[n] = at.lane[l] + (float)side * h;
        half[n++] = h;
      }
    }
  }
  return 1;
}

/* Whether the edge is free: at `resolution` checks a unit of length or, certified, everywhere. */
static int hp_edge_free(const hp_space *space, hp_check *c, const hp_edge *e) {
  const int most = 1 << 20;
  const float wanted = e->length * space->resolution / HP_LANES;
  const int blocks = wanted < 1 ? 1 : wanted < (float)most ? (int)ceilf(wanted) : most;
  const float step = 1.0f / (float)(HP_LANES * blocks);
  const hp_v ramp = hp_ramp();
  hp_growth(c, e->motion);
  if (space->certify) {
    float t[48 * HP_LANES], half[48 * HP_LANES];
    int n = 0;
    for (int k = 0; k < blocks; k++) {
      const int j = k == 0 ? blocks / 2 : k <= blocks / 2 ? k - 1 : k; /* the middle one first */
      const hp_v at = (ramp + ((float)j + 0.5f) / (float)blocks) / (float)HP_LANES;
      hp_lanes all = {.v = at};
      hp_v q[HP_NQ];
      unsigned hard;
      hp_along(space, e, at, q);
      hp_move(c, q);
      if (k == 0) hp_cull(c, fmaxf(fmaxf(all.lane[0], 1 - all.lane[HP_LANES - 1]), 0.5f / HP_LANES));
      unsigned soft = hp_contacts(c, hp_splat(step / 2), HP_ALL, &hard);
      if (hard) return 0;
      for (; soft; soft &= soft - 1)
        for (int side = -1; side <= 1; side += 2) {
          t[n] = all.lane[__builtin_ctz(soft)] + (float)side * step / 4;
          half[n++] = step / 4;
        }
      if (n >= 4 * HP_LANES || k == blocks - 1) {
        if (!hp_bisect(space, c, e, t, half, n)) return 0;
        n = 0;
      }
    }
    return 1;
  }
  for (int k = 0; k < blocks; k++) {
    const int j = k == 0 ? blocks / 2 : k <= blocks / 2 ? k - 1 : k;
    const hp_v at = (ramp + 1.0f) / (float)HP_LANES - (float)j * step;
    hp_v q[HP_NQ];
    unsigned hard;
    hp_along(space, e, at, q);
    hp_move(c, q);
    if (k == 0) hp_cull(c, fmaxf(1.0f / HP_LANES - (float)j * step, (float)j * step));
    if (hp_contacts(c, (hp_v){0}, HP_ALL, &hard)) return 0;
  }
  return 1;
}

/* Bit mask of up to HP_LANES configurations: those in collision. */
static unsigned hp_configurations(hp_check *c, const float *q, int n) {
  hp_v at[HP_NQ];
  unsigned hard, found = 0;
  for (int j = 0; j < HP_NQ; j++) {
    hp_lanes x;
    for (int l = 0; l < HP_LANES; l++) x.lane[l] = q[(l < n ? l : 0) * HP_NQ + j];
    at[j] = x.v;
  }
  memset(c->grow, 0, sizeof(float) * (size_t)c->robot->n_groups);
  memset(c->pair_grow, 0, sizeof(float) * (size_t)c->robot->n_pairs);
  hp_move(c, at);
  hp_cull(c, 0);
  for (unsigned active = (1u << n) - 1; active; active &= ~hard) {
    hp_contacts(c, (hp_v){0}, active, &hard);
    if (!hard) break;
    found |= hard;
  }
  return found;
}

#endif
