/* An arm, a search for all of its solutions of one target, and the test that a candidate must pass. */
#ifndef CLOSED_FORM_ARM_H
#define CLOSED_FORM_ARM_H
#include "screws.h"

#define SIX 6
#define MAX_JOINTS 16
#define SOLUTIONS_OF_SIX 16 /* the most of six joints */
#define ROW (MAX_JOINTS + 1)
#define MAX_NEWTON_STEPS 12     /* of Newton's method */
#define MAX_DUPLICATE_TURN 2e-6 /* of a turn: closer solutions are one, found twice */
#define MAX_LIMIT_EXCESS 1e-2   /* rad: a candidate beyond a limit by more is not polished */
#define LIMIT_TOLERANCE 1e-5    /* rad: a candidate beyond a limit by less is put onto it */
#define NEWTON_TOLERANCE 1e-12  /* residual (rad, m) at which there is nothing to polish */

enum { SPHERICAL, PARALLEL };

/* All numbers are doubles, so that they can be filled in by name. */
typedef struct {
  double joints, locked_joints, kind, first; /* all joints, those given, family, first of the three axes */
  double locked[MAX_JOINTS];                /* whether a joint is given */
  double h[3 * MAX_JOINTS], x[3 * MAX_JOINTS], slides[MAX_JOINTS];
  double home[16], origin[3], reference[MAX_JOINTS]; /* the frame's pose at the reference; of positions and angles */
  double lower[MAX_JOINTS], upper[MAX_JOINTS];
  double tolerance, slack, spread, same;
} arm;

typedef struct {
  const arm *m;
  screw joint[SIX];         /* the six that are solved for, the given ones at their values */
  int index[SIX];           /* their place among all joints */
  motion tool, target;      /* home pose with given joints at their values; where the frame should be */
  double preferred[SIX], values[MAX_JOINTS], about[MAX_JOINTS];
  int64_t count, begin, most; /* solutions, the first of these given values, room */
  int sampled;                /* whether any angle would do for a joint, of which only some were tried */
  double *rows;             /* distance to q0, q */
  double angle[SIX];        /* of the exponentials below: candidates share most of their angles */
  motion turned[SIX];
  motion links[SIX + 2];    /* their products: the motions up to each joint, and that of the tool */
  int linked;               /* how many of the products hold for the exponentials */
} search;

/* The exponential of a joint, computed where it is not that of the call before. */
static const motion *turned(search *s, int i, double angle) {
  if (angle != s->angle[i]) {
    s->angle[i] = angle;
    exponential(s->joint + i, angle, s->turned + i);
    if (s->linked > i) s->linked = i;
  }
  return s->turned + i;
}

/* Residual (rotation vector, translation) of angles. */
static void residual(search *s, const double *t, double *e) {
  motion *links = s->links;
  for (int i = 0; i < SIX; i++) turned(s, i, t[i]);
  if (s->linked == 0) links[1] = s->turned[0], s->linked = 1;
  for (; s->linked < SIX; s->linked++) product(links + s->linked, s->turned + s->linked, links + s->linked + 1);
  product(links + SIX, &s->tool, links + SIX + 1);
  const double *A = s->target.R, *B = links[SIX + 1].R;
  double D[9];
  AXES(i) AXES(j) D[3 * i + j] = A[3 * i] * B[3 * j] + A[3 * i + 1] * B[3 * j + 1] + A[3 * i + 2] * B[3 * j + 2];
  const double w[3] = {D[7] - D[5], D[2] - D[6], D[3] - D[1]}, trace = D[0] + D[4] + D[8] - 1.0;
  double factor = 0.5;
  if (trace < 1.9) {
    const double twice = norm(w);
    factor = twice > 1e-12 ? atan2(twice, trace) / twice : 1e3;
  }
  AXES(k) e[k] = factor * w[k];
  minus(s->target.p, links[SIX + 1].p, e + 3);
}

/* The Jacobian (angular, linear) at the frame's own origin, of the angles of the last residual. */
static void jacobian(const search *s, double *J) {
  const motion *links = s->links;
  for (int i = 0; i < SIX; i++) {
    screw at = s->joint[i];
    double away[3], v[3];
    if (i) carried(links + i, s->joint + i, &at);
    minus(links[SIX + 1].p, at.x, away);
    cross(at.h, away, v);
    AXES(k) J[SIX * k + i] = at.h[k];
    AXES(k) J[SIX * (3 + k) + i] = v[k];
  }
}

/* J d = e by elimination with complete pivoting; directions in which J is singular do not move. */
static void eliminate(double *J, double *e, double *d) {
  int column[SIX], rank = SIX;
  double first = 0.0;
  for (int i = 0; i < SIX; i++) column[i] = i, d[i] = 0.0;
  for (int k = 0; k < SIX; k++) {
    int row = k, best = k;
    for (int i = k; i < SIX; i++)
      for (int j = k; j < SIX; j++)
        if (fabs(J[SIX * i + j]) > fabs(J[SIX * row + best])) row = i, best = j;
    const double pivot = J[SIX * row + best];
    if (k == 0) first = fabs(pivot);
    if (fabs(pivot) <= 1e-9 * first) {
      rank = k;
      break;
    }
    for (int j = 0; j < SIX; j++) {
      const double swap = J[SIX * k + j];
      J[SIX * k + j] = J[SIX * row + j];
      J[SIX * row + j] = swap;
    }
    const double swap = e[k];
    e[k] = e[row], e[row] = swap;
    for (int i = 0; i < SIX; i++) {
      const double other = J[SIX * i + k];
      J[SIX * i + k] = J[SIX * i + best];
      J[SIX * i + best] = other;
    }
    const int kept = column[k];
    column[k] = column[best], column[best] = kept;
    for (int i = k + 1; i < SIX; i++) {
      const double f = J[SIX * i + k] / pivot;
      for (int j = k + 1; j < SIX; j++) J[SIX * i + j] -= f * J[SIX * k + j];
      e[i] -= f * e[k];
    }
  }
  for (int k = rank - 1; k >= 0; k--) {
    double sum = e[k];
    for (int j = k + 1; j < rank; j++) sum -= J[SIX * k + j] * d[column[j]];
    d[column[k]] = sum / J[SIX * k + k];
  }
}

static double size_of(const double *e) {
  const double turn = norm(e), way = norm(e + 3);
  return turn > way ? turn : way;
}

/* Newton's method from a candidate, as long as the residual falls; the residual that is left, and that `before`. */
static double polish(search *s, double *t, double *before) {
  double e[SIX], J[SIX * SIX], d[SIX], next[SIX];
  residual(s, t, e);
  double now = *before = size_of(e);
  for (int step = 0; step < MAX_NEWTON_STEPS && now > NEWTON_TOLERANCE; step++) {
    jacobian(s, J);
    eliminate(J, e, d);
    for (int i = 0; i < SIX; i++) next[i] = t[i] + d[i];
    residual(s, next, e);
    const double then = size_of(e);
    if (!(then < now)) break;
    memcpy(t, next, sizeof next);
    now = then;
  }
  return now;
}

/* The whole turn of an angle that is nearest to `about` within the limits; 0 if there is none. */
static int within(double low, double high, double about, double near, double *q) {
  const double turn = 2.0 * M_PI;
  double x = *q - turn * rint((*q - about) * (0.5 / M_PI));
  if (x > high + near) x -= turn * ceil((x - high - near) / turn);
  if (x < low - near) {
    x += turn * ceil((low - near - x) / turn);
    if (x > high + near) return 0;
  }
  *q = x < low ? low : x > high ? high : x;
  return 1;
}

/* Whether the angle of a joint has a place within the limits, or so near that polishing may put it there. */
static int permitted(const search *s, int joint, double angle) {
  const arm *m = s->m;
  const int k = s->index[joint];
  double q = angle + m->reference[k];
  return isfinite(q) && within(m->lower[k], m->upper[k], s->about[k], m->spread + MAX_LIMIT_EXCESS, &q);
}

/* Put angles within the limits, into q; 0 if they are beyond, or if what a limit cuts off is more than rounding. */
static int fit(search *s, const double *t, double *q) {
  const arm *m = s->m;
  double cut[SIX], e[SIX], largest = 0.0;
  for (int i = 0; i < SIX; i++) {
    const int k = s->index[i];
    const double wanted = t[i] + m->reference[k];
    q[k] = wanted;
    if (!within(m->lower[k], m->upper[k], s->about[k], LIMIT_TOLERANCE, q + k)) return 0;
    const double turns = (q[k] - wanted) * (0.5 / M_PI), off = fabs(turns - rint(turns));
    cut[i] = q[k] - m->reference[k];
    largest = off > largest ? off : largest;
  }
  if (largest < 1e-12) return 1;
  residual(s, cut, e);
  return size_of(e) <= m->tolerance;
}

/* Take a candidate if it meets the target and has a place within the limits; 0 if it does not. */
static int offer(search *s, const double *candidate) {
  const arm *m = s->m;
  double t[SIX], distance = 0.0, before;
  memcpy(t, candidate, sizeof t);
  for (int i = 0; i < SIX; i++) if (!permitted(s, i, t[i])) return 0;
  if (!(polish(s, t, &before) <= m->tolerance) || s->count >= s->most) return 0;
  double *row = s->rows + ROW * s->count, *q = row + 1;
  memcpy(q, s->values, (size_t)m->joints * sizeof(double));
  if (!fit(s, t, q) && !(before <= m->tolerance && fit(s, candidate, q))) return 0; /* near a singularity steps are long */
  for (int64_t other = s->begin; other < s->count; other++) {
    const double *there = s->rows + ROW * other + 1;
    int same = 1;
    for (int i = 0; i < SIX && same; i++) {
      const double apart = (there[s->index[i]] - q[s->index[i]]) * (0.5 / M_PI);
      same = fabs(apart - rint(apart)) < MAX_DUPLICATE_TURN;
    }
    if (same) return 1;
  }
  for (int k = 0; k < (int)m->joints; k++) distance += fabs(q[k] - s->about[k]);
  row[0] = distance;
  s->count++;
  return 1;
}
#endif
