/* Obstacles as numbers: their squared distance from points, and the boxes around them.
 *
 * An obstacle is a core and a radius around it: a point (sphere), a segment (capsule), a box, a solid cylinder,
 * a half-space or the intersection of half-spaces (convex hull, whose corners it may count as larger). A ball of radius r touches it where the distance of its centre from the core is below
 * r + radius.
 */
#ifndef HELICOID_PLANNING_OBSTACLES_H
#define HELICOID_PLANNING_OBSTACLES_H

#include "simd.h"

enum { BOX, SPHERE, CAPSULE, CYLINDER, PLANE, HULL, CLOUD, HEIGHT_FIELD };

typedef struct {
  int32_t kind, field;           /* field: which cloud or height field */
  float R[9], p[3];              /* pose; a plane: its normal in R[6..8], and p[0] its offset */
  float half[3], radius;         /* a cylinder: radius, radius, half its length; a capsule: 0, 0, half */
} hp_obstacle;

/* Points in the cells of a grid, sorted by cell; a height field: one height for each cell; a hull: n[0] rows of
 * normal and offset. */
typedef struct {
  int32_t n[3];
  float origin[3], cell, radius;
  const int32_t *first;  /* cells + 1 */
  const float *points;   /* 3 each; or heights */
} hp_field;

typedef struct {
  int32_t n, padded;             /* padded: a multiple of HP_LANES */
  const hp_obstacle *obstacle;
  const float *low[3], *high[3]; /* boxes along the axes, padded with empty ones */
  const hp_field *field;
} hp_world;

HP_HOT void hp_local(const hp_obstacle *o, const hp_v *x, hp_v *y) {
  const hp_v a = x[0] - o->p[0], b = x[1] - o->p[1], c = x[2] - o->p[2];
  for (int k = 0; k < 3; k++) y[k] = a * o->R[k] + b * o->R[3 + k] + c * o->R[6 + k];
}

static hp_v hp_field_distance(const hp_world *world, const hp_obstacle *o, const hp_v *x, hp_v reach, unsigned active);

/* Squared distance of points from the core. Of clouds and height fields only whether it is below `reach`: 0 or
 * a large number. */
HP_HOT hp_v hp_core_distance(const hp_world *world, const hp_obstacle *o, const hp_v *x, hp_v reach, unsigned active) {
  const hp_v zero = {0};
  hp_v y[3];
  switch (o->kind) {
    case BOX: {
      hp_v sum = zero;
      hp_local(o, x, y);
      for (int k = 0; k < 3; k++) {
        const hp_v e = hp_max(hp_abs(y[k]) - o->half[k], zero);
        sum += e * e;
      }
      return sum;
    }
    case SPHERE: {
      hp_v sum = zero;
      for (int k = 0; k < 3; k++) sum += (x[k] - o->p[k]) * (x[k] - o->p[k]);
      return sum;
    }
    case CAPSULE: {
      hp_local(o, x, y);
      const hp_v e = hp_max(hp_abs(y[2]) - o->half[2], zero);
      return y[0] * y[0] + y[1] * y[1] + e * e;
    }
    case CYLINDER: {
      hp_local(o, x, y);
      const hp_v e = hp_max(hp_abs(y[2]) - o->half[2], zero);
      const hp_v side = hp_max(hp_sqrt(y[0] * y[0] + y[1] * y[1]) - o->half[0], zero);
      return side * side + e * e;
    }
    case PLANE: {
      const hp_v e = hp_max(x[0] * o->R[6] + x[1] * o->R[7] + x[2] * o->R[8] - o->p[0], zero);
      return e * e;
    }
    case HULL: {
      const hp_field *f = world->field + o->field;
      hp_v e = zero;
      hp_local(o, x, y);
      for (int k = 0; k < f->n[0]; k++) {
        const float *n = f->points + 4 * k;
        e = hp_max(e, y[0] * n[0] + y[1] * n[1] + y[2] * n[2] - n[3]);
      }
      return e * e;
    }
    default:
      return hp_field_distance(world, o, x, reach, active);
  }
}

/* The cells from x - reach to x + reach along the first axes; 0 where there are none. */
static int hp_cells(const hp_field *f, const float *x, float reach, int axes, int *low, int *high) {
  for (int k = 0; k < axes; k++) {
    const float a = (x[k] - reach - f->origin[k]) / f->cell, b = (x[k] + reach - f->origin[k]) / f->cell;
    if (!(b >= 0 && a < (float)f->n[k])) return 0;
    low[k] = a > 0 ? (int)a : 0;
    high[k] = b < (float)(f->n[k] - 1) ? (int)b : f->n[k] - 1;
  }
  return 1;
}

/* Whether a point of the cloud is within `reach` of x, in the cloud's axes. */
static int hp_near_points(const hp_field *f, const float *x, float reach) {
  int low[3], high[3];
  if (!hp_cells(f, x, reach, 3, low, high)) return 0;
  for (int i = low[0]; i <= high[0]; i++)
    for (int j = low[1]; j <= high[1]; j++) {
      const int64_t row = ((int64_t)i * f->n[1] + j) * f->n[2];
      /* cells of one row along z follow each other, and so do their points */
      for (int32_t k = f->first[row + low[2]]; k < f->first[row + high[2] + 1]; k++) {
        const float *p = f->points + 3 * (int64_t)k;
        const float a = x[0] - p[0], b = x[1] - p[1], c = x[2] - p[2];
        if (a * a + b * b + c * c < reach * reach) return 1;
      }
    }
  return 0;
}

/* Whether the ball of radius `reach` about x reaches the ground of cells of constant height below. */
static int hp_near_ground(const hp_field *f, const float *x, float reach) {
  int low[2], high[2];
  if (!hp_cells(f, x, reach, 2, low, high)) return 0;
  for (int i = low[0]; i <= high[0]; i++)
    for (int j = low[1]; j <= high[1]; j++) {
      const float at[2] = {f->origin[0] + (float)i * f->cell, f->origin[1] + (float)j * f->cell};
      float d2 = 0;
      for (int k = 0; k < 2; k++) {
        const float e = fmaxf(fmaxf(at[k] - x[k], x[k] - at[k] - f->cell), 0);
        d2 += e * e;
      }
      const float e = fmaxf(x[2] - f->points[(int64_t)i * f->n[1] + j], 0);
      if (d2 + e * e < reach * reach) return 1;
    }
  return 0;
}

static __attribute__((noinline)) hp_v hp_field_distance(const hp_world *world, const hp_obstacle *o, const hp_v *x,
                                                        hp_v reach, unsigned active) {
  const hp_field *f = world->field + o->field;
  hp_lanes at[3], far = {.v = hp_splat(1e30f)}, within = {.v = reach};
  hp_v y[3];
  hp_local(o, x, y);
  for (int k = 0; k < 3; k++) at[k].v = y[k];
  for (int l = 0; l < HP_LANES; l++) {
    const float point[3] = {at[0].lane[l], at[1].lane[l], at[2].lane[l]};
    if (!(active >> l & 1)) continue;
    const int near = o->kind == CLOUD ? hp_near_points(f, point, within.lane[l])
                                      : hp_near_ground(f, point, within.lane[l]);
    if (near) far.lane[l] = 0;
  }
  return far.v;
}

#endif
