/* Six revolute joints of which three neighbours meet in a point, or are parallel, in an order that suits the solution.
 *
 * E0 E1 .. E5 = G can begin with any joint: E1 .. E5 (G⁻¹ E0 G) = E0⁻¹ G. Shifted in this way the three that meet are
 * the last, the three that are parallel the second to fourth. */
#ifndef CLOSED_FORM_SHIFTED_H
#define CLOSED_FORM_SHIFTED_H
#include "arm.h"
#include "position.h"

#define MAX_FREE_DISTANCE 1e-9        /* (rad, m) off its axis a vector has no direction: any angle will do */
#define MAX_NEARLY_FREE_DISTANCE 1e-4 /* and below this others may do within the tolerance and the limits */
#define FREE_ANGLES 8                 /* angles where any will do */
#define MAX_RANGE_ENDS 8              /* and beside them, ends of the ranges in which one is within limits or within reach */

typedef struct {
  search *s;
  screw J[SIX];
  motion G;
  int start;
  double across[3]; /* a unit vector perpendicular to the axis whose angle is found last */
} shifted;

/* A unit vector perpendicular to h. */
static void perpendicular(const double *h, double *v) {
  double axis[3] = {0};
  int least = 0;
  for (int k = 1; k < 3; k++) if (fabs(h[k]) < fabs(h[least])) least = k;
  axis[least] = 1.0;
  across(h, axis, v);
  const double length = norm(v);
  AXES(k) v[k] /= length;
}

/* The joints from `start` on; `last` is the place of the one whose angle is found last. */
static void shift(search *s, int start, int last, const motion *G, shifted *c) {
  c->s = s;
  c->start = start;
  c->G = *G;
  for (int k = 0; k < SIX; k++) {
    const int i = (k + start) % SIX;
    c->J[k] = s->joint[i];
    if (i < start) carried_back(G, s->joint + i, c->J + k);
  }
  perpendicular(c->J[last].h, c->across);
}

/* The exponential of a shifted joint, shared with the residual of candidates unless the joint is carried; then in `room`. */
static const motion *turn(const shifted *c, int k, double angle, motion *room) {
  const int i = (k + c->start) % SIX;
  if (i >= c->start) return turned(c->s, i, angle);
  exponential(c->J + k, angle, room);
  return room;
}

static double preferred(const shifted *c, int k) { return c->s->preferred[(k + c->start) % SIX]; }

static int put_forward(const shifted *c, const double *angle) {
  double t[SIX];
  for (int k = 0; k < SIX; k++) t[(k + c->start) % SIX] = angle[k];
  return offer(c->s, t);
}

/* Angles to try for one that `distance` shows to be badly determined, in order: the one that is preferred first where
 * any will do, then some around the circle, then `others`. */
typedef struct { double angle[FREE_ANGLES + 1 + MAX_RANGE_ENDS]; int count; } attempts;

static void list(const shifted *c, int k, double determined, double distance, attempts *a) {
  a->count = 0;
  if (distance >= MAX_FREE_DISTANCE) a->angle[a->count++] = determined;
  if (distance >= MAX_NEARLY_FREE_DISTANCE) return;
  c->s->sampled = 1;
  for (int i = 0; i < FREE_ANGLES; i++) a->angle[a->count++] = preferred(c, k) + i * 2.0 * M_PI / FREE_ANGLES;
  if (distance < MAX_FREE_DISTANCE) a->angle[a->count++] = determined;
}

static void add(attempts *a, double angle) { a->angle[a->count++] = angle; }

/* Whether an angle of a shifted joint may belong to a candidate within the limits. */
static int allowed(const shifted *c, int k, double angle) { return permitted(c->s, (k + c->start) % SIX, angle); }

/* Leave out angles beyond the limits, before others are solved for. */
static void restrict_to_limits(const shifted *c, int k, attempts *a) {
  int kept = 0;
  for (int i = 0; i < a->count; i++)
    if (allowed(c, k, a->angle[i])) a->angle[kept++] = a->angle[i];
  a->count = kept;
}

/* Limits of a shifted joint, as angles from the reference. */
static void limits(const shifted *c, int k, double *low_high) {
  const arm *m = c->s->m;
  const int i = c->s->index[(k + c->start) % SIX];
  low_high[0] = m->lower[i] - m->reference[i];
  low_high[1] = m->upper[i] - m->reference[i];
}

#endif
