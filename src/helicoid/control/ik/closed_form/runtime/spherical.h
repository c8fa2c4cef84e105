/* Three axes meet in a point, the last of the shifted joints (Pieper 1968). */
#ifndef CLOSED_FORM_SPHERICAL_H
#define CLOSED_FORM_SPHERICAL_H
#include "shifted.h"

/* q6 of R4 R5 R6 = R, by where R puts the vector across axis 6. */
static double third_angle(const shifted *c, const double *put, double fourth, double fifth) {
  motion room;
  double w[3], distance;
  rotated_back(turn(c, 3, fourth, &room)->R, put, w);
  rotated_back(turn(c, 4, fifth, &room)->R, w, w);
  return turn_angle(c->J[5].h, c->across, w, &distance);
}

/* The rotations about the three last axes that put axis 6 at w and the vector across it at `put`: subproblem 4, then 1
 * twice. */
static int wrist(const shifted *c, double *angle, const double *w, const double *put) {
  const screw *J = c->J;
  const arm *m = c->s->m;
  double u[3], v[3], middle[2];
  int taken = 0;
  across(J[4].h, J[5].h, u);
  cross(J[4].h, u, v);
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
      const double paired = third_angle(c, put, 0.0, middle[i]);
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
      angle[5] = third_angle(c, put, angle[3], middle[i]);
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
  shift(s, ((int)m->first + 3) % SIX, 5, G, &c);
  double goal[3], centre[3], other[3], a[3], b[3];
  double sixth[3], beside[3]; /* where G puts axis 6 and the vector across it */
  const double first = feet(c.J + 3, c.J + 4, centre, a), second = feet(c.J + 4, c.J + 5, other, b);
  if (second > first) AXES(k) centre[k] = other[k];
  moved(G, centre, goal);
  rotated(G->R, c.J[5].h, sixth);
  rotated(G->R, c.across, beside);
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
      double axis[3], put[3];
      AXES(l) axis[l] = sixth[l], put[l] = beside[l];
      for (int l = 0; l < 3; l++) {
        motion room;
        const motion *E = turn(&c, l, angle[l], &room);
        rotated_back(E->R, axis, axis);
        rotated_back(E->R, put, put);
      }
      taken = wrist(&c, angle, axis, put);
    }
  }
}
#endif
