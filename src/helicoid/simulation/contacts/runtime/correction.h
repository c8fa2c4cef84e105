/* The end of a time step: displacements that close gaps and equations, and the report of contact forces. */
#ifndef CONTACT_CORRECTION_H
#define CONTACT_CORRECTION_H
#include "step.h"

/* Displacements Y' d that correct positions: no penetration, the height after a rebound, and closed equations.
   s->gap are the gaps at the end of the step as far as they are known. */
static int correct_positions(Scratch *s, hc_v *moved) {
  Cones *c = &s->spare;
  int map[ROWS], n = 0;
  hc_i needed = HC_MASK(hc_splat(0) > 0.0);
  EACH(i, s->n) {
    const int is_contact = i < 3 * s->count, is_equation = i >= s->first_equation;
    if ((is_contact && i % 3) || (i >= s->first_friction && !is_equation)) continue;
    const hc_v bounce = is_contact ? s->near[i / 3].bounce : hc_splat(0);
    const hc_i held = is_equation ? HC_MASK(hc_splat(1) > 0.0) : HC_MASK(bounce > 0.0);
    c->b[n] = s->gap[i] - (is_contact ? s->near[i / 3].height : hc_splat(0));
    needed |= HC_MASK(c->b[n] < -(is_equation ? MAX_OPENING : MAX_DEPTH));
    needed |= held & HC_MASK(c->b[n] > (is_equation ? MAX_OPENING : MAX_DEPTH));
    c->lo[n] = hc_select(held, hc_splat(-INFINITY), hc_splat(0)), c->hi[n] = hc_splat(INFINITY);
    map[n++] = i;
  }
  if (!hc_any(needed)) return 0;
  EACH(a, n) EACH(b, n) c->G[a][b] = s->cones.G[map[a]][map[b]];
  EACH(a, n) c->p[a] = hc_splat(0);
  c->nc = 0, c->n = n, c->tolerance = hc_select(needed, hc_splat(1e-13), hc_splat(INFINITY));
  solve_cones(c);
  EACH(a, n) EACH(k, NV) moved[k] += hc_select(needed, c->p[a], hc_splat(0)) * s->rows[map[a]][k];
  return 1;
}

/* Gaps at the end of the step, to first order. */
static void predicted_gaps(Scratch *s, double h) {
  EACH(i, s->n) {
    if (i < 3 * s->count && i % 3) continue;
    hc_v u = s->smooth[i];
    EACH(j, s->n) u += s->cones.G[i][j] * s->cones.p[j];
    s->gap[i] += h / 2 * u;
  }
}

/* Gaps at the end of the step, from the results of `finish`; the deepest. The lowest point of a rim may have moved:
   its rows are computed anew. */
static hc_v final_gaps(Scratch *s, const hc_v *y, const hc_v *z, const double *const *tables) {
  hc_v deepest = hc_splat(0);
  int again = 0;
  Touch now;
  EACH(i, s->count) {
    NearContact *near = &s->near[i];
    const double *ground = tables[1] + near->pair % GROUNDS * GROUND_SIZE;
    touch(tables[0] + near->pair / GROUNDS * POINT_SIZE, z + FINAL_LINKS + 12 * near->link, ground, tables[2], &now);
    now.gap = hc_fmin(now.gap, dot3(near->touch.frame[0], now.center) - near->touch.offset);
    s->gap[3 * i] = now.gap, deepest = hc_fmax(deepest, -now.gap);
    near->bounce = near->height = hc_splat(0); /* rebounds are at their heights */
    if (tables[0][near->pair / GROUNDS * POINT_SIZE + KIND] == RIM && hc_any(HC_MASK(now.gap < -MAX_DEPTH))) {
      EACH(k, 3) near->touch.point[k] = now.point[k];
      point_rows(s, y, i), again = 1;
    }
  }
  if (again) products(s);
  EACH(i, s->stops) {
    const int k = s->joint[i];
    const hc_v q = z[NV + STOP_COORDINATE[k]];
    s->gap[s->first_stop + i] = hc_select(HC_MASK(s->side[i] > 0.0), q - STOP_LOWER[k], STOP_UPPER[k] - q);
  }
  EACH(k, EQUATIONS) s->gap[s->first_equation + k] = z[FINAL_EQUATIONS + k];
  return deepest;
}

/* Forces (N, world axes) and their points of application (m) by contact, summed over its points. Forces are the
   mean of all steps since the last row, of which this is number `done`. */
static void report(const Scratch *s, const double *points, const hc_v *old, int done, int repeats, double h,
                   hc_v *record) {
  hc_v weight[CONTACTS + 1];
  EACH(i, CONTACTS) weight[i] = hc_splat(0);
  EACH(i, 6 * CONTACTS) record[i] = done && i % 6 < 3 ? old[i] : hc_splat(0);
  EACH(i, s->count) {
    const NearContact *near = &s->near[i];
    const hc_v *p = s->cones.p + 3 * i;
    const int which = (int)points[near->pair / GROUNDS * POINT_SIZE + CONTACT];
    hc_v *one = record + 6 * which;
    EACH(k, 3) {
      hc_v f = hc_splat(0);
      EACH(j, 3) f += near->touch.frame[j][k] * p[j];
      one[k] += f / (h * repeats), one[3 + k] += p[0] * near->touch.point[k];
    }
    weight[which] += p[0];
  }
  EACH(i, CONTACTS) for (int k = 3; k < 6; k++)
    record[6 * i + k] = hc_select(HC_MASK(weight[i] > 0.0), record[6 * i + k] * inverted(weight[i]), hc_splat(0));
}
#endif
