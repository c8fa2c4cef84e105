/* Three axes meet in a point, the last of the shifted joints (Pieper 1968). */
#ifndef CLOSED_FORM_SPHERICAL_H
#define CLOSED_FORM_SPHERICAL_H
#include "shifted.h"

/* q6 of R4 R5 R6 = R. */
static double third_angle(const shifted *c, const double *R, double fourth, double fifth) {
  const screw *J = c->J;
  motion E;
  double v[3], w[3], u[3], distance;
  perpendicular(J[5].h, v);
  rotated(R, v, w);
  rotated_back(turn(c, 3, fourth, &E)->R, w, u);
  rotated_back(turn(c, 4, fifth, &E)->R, u, w);
  return turn_angle(J[5].h, v, w, &distance);
}

/* The rotations about the three last axes that make R: subproblem 4, then 1 twice. */
static int wrist(const shifted *c, double *angle, const double *R) {
  const screw *J = c->J;
  const arm *m = c->s->m;
  double u[3], v[3], w[3], middle[2];
  int taken = 0;
  across(J[4].h, J[5].h, u);
  cross(J[4].h, u, v);
  rotated(R, J[5].h, w);
  const double constant = dot(J[3].h, J[4].h) * dot(J[4].h, J[5].h);
  const int n = on_line(dot(J[3].h, u), dot(J[3].h, v), dot(J[3].h, w) - constant, m->slack, m->spread, middle);
  for (int i = 0; i < n; i++) {
    if (!allowed(c, 4, middle[i])) continue;
    motion F;
    double turned[3], distance;
    rotated(turn(c, 4, middle[i], &F)->R, J[5].h, turned);
    attempts a;
    const double determined = turn_angle(J[3].h, turned, w, &distance);
    list(c, 3, determined, distance, &a);
    angle[4] = middle[i];
    if (distance < MAX_NEARLY_FREE_DISTANCE) { /* the first and the last make one rotation: ends of the ranges that both allow */
      double own[2], last[2];
      const double same = dot(J[3].h, turned) > 0.0 ? 1.0 : -1.0;
      const double paired = third_angle(c, R, 0.0, middle[i]);
      limits(c, 3, own);
      limits(c, 5, last);
      for (int end = 0; end < 2; end++) {
        if (isfinite(own[end])) add(&a, own[end]);
        if (isfinite(last[end])) add(&a, same * (paired - last[end]));
      }
    }
    restrict_to_limits(c, 3, &a);
    for (int k = 0; k < a.count; k++) {
      angle[3] = a.angle[k];
      angle[5] = third_angle(c, R, angle[3], middle[i]);
      if (put_forward(c, angle)) {
        taken = 1;
        break;
      }
    }
  }
  return taken;
}

/* Three axes meet: the three others place their centre, and they turn about it (Pieper 1968). */
static void spherical(search *s, const motion *G) {
  const arm *m = s->m;
  shifted c;
  placed place_of[32];
  shift(s, ((int)m->first + 3) % SIX, G, &c);
  double goal[3], centre[3], other[3], a[3], b[3];
  const double first = feet(c.J + 3, c.J + 4, centre, a), second = feet(c.J + 4, c.J + 5, other, b);
  if (second > first) AXES(k) centre[k] = other[k];
  moved(G, centre, goal);
  const int n = place(c.J, centre, goal, m->slack, m->spread, m->same, place_of);
  for (int i = 0; i < n; i++) {
    const placed *p = place_of + i;
    attempts one, two, three;
    int taken = 0;
    list(&c, 0, p->q[0], p->distance[0], &one);
    list(&c, 1, p->q[1], p->distance[1], &two);
    list(&c, 2, p->q[2], p->distance[2], &three);
    restrict_to_limits(&c, 0, &one);
    restrict_to_limits(&c, 1, &two);
    restrict_to_limits(&c, 2, &three);
    const int tries = one.count * two.count * three.count;
    for (int k = 0; k < tries && !taken; k++) {
      double angle[SIX] = {one.angle[k % one.count], two.angle[k / one.count % two.count],
                           three.angle[k / one.count / two.count]};
      motion E, F;
      product(turn(&c, 0, angle[0], &E), turn(&c, 1, angle[1], &F), &E);
      product(&E, turn(&c, 2, angle[2], &F), &E);
      inverse(&E, &E);
      product(&E, G, &F);
      taken = wrist(&c, angle, F.R);
    }
  }
}
#endif
