/* Three axes are parallel, the second to fourth of the shifted joints (the arms of Universal Robots). */
#ifndef CLOSED_FORM_PARALLEL_H
#define CLOSED_FORM_PARALLEL_H
#include "shifted.h"

typedef struct { double first[2], fifth[2], constant; } condition; /* first·(C1, S1) = fifth·(C5, S5) + constant */

/* h of the three keeps its angle to axis 6, and E5 y its height along h, y on axis 6 next to axis 5:
 *     (R h6)·(R1 h) = (R5 h6)·h,    h·E1⁻¹ (G y) = h·E5 y. */
static void conditions(const shifted *c, condition *k) {
  const screw *J = c->J;
  const double *h = J[2].h;
  double u[3], v[3], w[3], y[3], on5[3];
  rotated(c->G.R, J[5].h, w);
  across(J[0].h, h, u);
  cross(J[0].h, u, v);
  k[0].first[0] = dot(w, u), k[0].first[1] = dot(w, v);
  k[0].constant = -dot(w, J[0].h) * dot(J[0].h, h);
  across(J[4].h, J[5].h, u);
  cross(J[4].h, u, v);
  k[0].fifth[0] = dot(h, u), k[0].fifth[1] = dot(h, v);
  k[0].constant += dot(h, J[4].h) * dot(J[4].h, J[5].h);

  feet(J + 4, J + 5, on5, y);
  moved(&c->G, y, w);
  minus(w, J[0].x, w);
  across(J[0].h, w, u);
  cross(u, J[0].h, v);
  k[1].first[0] = dot(h, u), k[1].first[1] = dot(h, v);
  k[1].constant = -dot(h, J[0].x) - dot(h, J[0].h) * dot(J[0].h, w);
  minus(y, J[4].x, w);
  across(J[4].h, w, u);
  cross(J[4].h, u, v);
  k[1].fifth[0] = dot(h, u), k[1].fifth[1] = dot(h, v);
  k[1].constant += dot(h, J[4].x) + dot(h, J[4].h) * dot(J[4].h, w);
}

/* The pairs (q1, q5) of a condition in one of them and the other condition. */
static int one_by_one(const shifted *c, const condition *sole, const condition *both, int fifth, double (*pair)[2]) {
  const arm *m = c->s->m;
  const double *own = fifth ? sole->fifth : sole->first, sign = fifth ? -1.0 : 1.0;
  const double *given = fifth ? both->fifth : both->first, *asked = fifth ? both->first : both->fifth;
  double known[2], other[2];
  int count = 0;
  const int n = on_line(own[0], own[1], sign * sole->constant, m->slack, m->spread, known);
  for (int i = 0; i < n; i++) {
    const double right = given[0] * cos(known[i]) + given[1] * sin(known[i]) - sign * both->constant;
    const int more = on_line(asked[0], asked[1], right, m->slack, m->spread, other);
    for (int j = 0; j < more; j++, count++) {
      pair[count][0] = fifth ? other[j] : known[i];
      pair[count][1] = fifth ? known[i] : other[j];
    }
  }
  return count;
}

/* All (q1, q5) of both conditions (subproblem 6 where neither has one angle alone), up to 8. */
static int pairs(const shifted *c, const condition *k, double (*pair)[2]) {
  const arm *m = c->s->m;
  for (int i = 1; i >= 0; i--) {
    if (hypot(k[i].fifth[0], k[i].fifth[1]) < m->same) return one_by_one(c, k + i, k + 1 - i, 0, pair);
    if (hypot(k[i].first[0], k[i].first[1]) < m->same) return one_by_one(c, k + i, k + 1 - i, 1, pair);
  }
  const double *a = k[0].first, *b = k[1].first, det = a[0] * b[1] - a[1] * b[0];
  if (fabs(det) < m->same * hypot(a[0], a[1]) * hypot(b[0], b[1])) {
    /* the same combination of q1 in both: their difference has q5 alone */
    const double f = dot((double[3]){a[0], a[1], 0}, (double[3]){b[0], b[1], 0}) / (a[0] * a[0] + a[1] * a[1]);
    const condition sole = {{0, 0}, {k[1].fifth[0] - f * k[0].fifth[0], k[1].fifth[1] - f * k[0].fifth[1]},
                            k[1].constant - f * k[0].constant};
    return one_by_one(c, &sole, k, 1, pair);
  }
  double row[2][3], angle[4];
  for (int j = 0; j < 3; j++) { /* (C1, S1) = row (C5, S5, 1) */
    const double p = j < 2 ? k[0].fifth[j] : k[0].constant, q = j < 2 ? k[1].fifth[j] : k[1].constant;
    row[0][j] = (b[1] * p - a[1] * q) / det;
    row[1][j] = (a[0] * q - b[0] * p) / det;
  }
#define PAIR(i, j) (row[0][i] * row[0][j] + row[1][i] * row[1][j])
  const double conic[6] = {PAIR(0, 0), 2 * PAIR(0, 1), PAIR(1, 1), 2 * PAIR(0, 2), 2 * PAIR(1, 2), PAIR(2, 2) - 1.0};
#undef PAIR
  const int n = on_circle(conic, m->slack, angle);
  for (int i = 0; i < n; i++) {
    const double C = cos(angle[i]), S = sin(angle[i]);
    pair[i][0] = atan2(row[1][0] * C + row[1][1] * S + row[1][2], row[0][0] * C + row[0][1] * S + row[0][2]);
    pair[i][1] = angle[i];
  }
  return n;
}

/* The three parallel joints, which make the planar motion P: subproblem 3, then 1 twice. */
static int planar(const shifted *c, double *angle, const motion *P) {
  const screw *J = c->J;
  const arm *m = c->s->m;
  const double *h = J[2].h;
  double f[3], u[3], v[3], goal[3], turned[3], elbow[2];
  int taken = 0;
  rotated(P->R, c->across, turned);
  minus(J[3].x, J[2].x, f);
  across(h, f, u);
  cross(h, u, v);
  minus(J[2].x, J[1].x, f);
  across(h, f, f);
  moved(P, J[3].x, goal);
  minus(goal, J[1].x, goal);
  across(h, goal, goal);
  const int n = on_line(2.0 * dot(f, u), 2.0 * dot(f, v), dot(goal, goal) - dot(f, f) - dot(u, u), m->slack, m->spread,
                        elbow);
  for (int i = 0; i < n; i++) {
    if (!allowed(c, 2, elbow[i])) continue;
    double from[3], distance;
    AXES(k) from[k] = f[k] + cos(elbow[i]) * u[k] + sin(elbow[i]) * v[k];
    const double determined = turn_angle(J[1].h, from, goal, &distance);
    attempts a;
    list(c, 1, determined, distance, &a);
    restrict_to_limits(c, 1, &a);
    for (int k = 0; k < a.count; k++) {
      motion room;
      double w[3], unused;
      angle[1] = a.angle[k];
      angle[2] = elbow[i];
      rotated_back(turn(c, 1, angle[1], &room)->R, turned, w);
      rotated_back(turn(c, 2, angle[2], &room)->R, w, w);
      angle[3] = turn_angle(J[3].h, c->across, w, &unused);
      if (put_forward(c, angle)) {
        taken = 1;
        break;
      }
    }
  }
  return taken;
}

/* P of the three joints for q6: E1⁻¹ G e^{-ξ6 q6} E5⁻¹. */
static void three(const shifted *c, const motion *before, const motion *after, double sixth, motion *P) {
  inverse(turn(c, 5, sixth, P), P);
  product(before, P, P);
  product(P, after, P);
}

/* Where any q6 turns the tool alike, axis 6 is parallel to the three: ends and middles of the ranges of q6 that these
 * can reach. The squared distance from the first to the last of them is linear in (cos q6, sin q6). */
static void within_reach(const shifted *c, const motion *before, const motion *after, attempts *tries) {
  const screw *J = c->J;
  double f[3], u[3], square[3];
  minus(J[2].x, J[1].x, f);
  across(J[2].h, f, f);
  minus(J[3].x, J[2].x, u);
  across(J[2].h, u, u);
  for (int i = 0; i < 3; i++) {
    double goal[3];
    motion P;
    three(c, before, after, 0.5 * M_PI * i, &P);
    moved(&P, J[3].x, goal);
    minus(goal, J[1].x, goal);
    across(J[2].h, goal, goal);
    square[i] = dot(goal, goal);
  }
  const double constant = 0.5 * (square[0] + square[2]), C = square[0] - constant, S = square[1] - constant;
  const double middle = atan2(S, C);
  add(tries, middle);
  add(tries, middle + M_PI);
  for (int side = -1; side < 2; side += 2) {
    const double most = norm(f) + side * norm(u);
    double end[2];
    const int n = on_line(C, S, most * most - constant, c->s->m->slack, 0.0, end);
    for (int i = 0; i < n; i++) add(tries, end[i]);
  }
}

static void parallel(search *s, const motion *G) {
  shifted c;
  condition k[2];
  double pair[16][2];
  shift(s, ((int)s->m->first + 5) % SIX, 3, G, &c);
  conditions(&c, k);
  const int n = pairs(&c, k, pair);
  for (int i = 0; i < n; i++) {
    motion E, F;
    double a[3], b[3], u[3], distance, angle[SIX];
    angle[0] = pair[i][0];
    angle[4] = pair[i][1];
    if (!allowed(&c, 0, angle[0]) || !allowed(&c, 4, angle[4])) continue;
    const motion *first = turn(&c, 0, angle[0], &E);
    inverse(turn(&c, 4, angle[4], &F), &F);
    rotated(first->R, c.J[2].h, a);
    rotated_back(G->R, a, u);
    rotated(F.R, c.J[2].h, b);
    const double determined = turn_angle(c.J[5].h, u, b, &distance);
    inverse(first, &E);
    product(&E, G, &E);
    attempts tries;
    list(&c, 5, determined, distance, &tries);
    if (distance < MAX_NEARLY_FREE_DISTANCE) within_reach(&c, &E, &F, &tries);
    restrict_to_limits(&c, 5, &tries);
    for (int j = 0; j < tries.count; j++) {
      motion P;
      angle[5] = tries.angle[j];
      three(&c, &E, &F, angle[5], &P);
      if (planar(&c, angle, &P)) break;
    }
  }
}
#endif
