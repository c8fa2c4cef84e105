/* The torque d that the model does not explain: what a robot needs beyond ID(q, v, a), tau = ID(q, v, a) + d.
 *
 * With a payload that nobody told of, a plan that stands still does not hold the robot: it sinks until its costs
 * balance what is missing, and drifts for ever where they leave it free. So each step compares the torque that was held
 * for a period with that of the motion measured meanwhile, and takes a part of the difference,
 *   d += share (tau - ID(q, v, dv / h) - d),   share = 1 - exp(-h / T),
 * and the next plan counts with it at all nodes. At rest d is all that was missing, whatever the reason, and the plan
 * has no offset. What was applied is known, so limits of torque do not wind it up. Samples that tell nothing are left
 * out: without two states, or when q is not where velocities took it in a period (a step that came late or early, a
 * shock, another robot).
 *
 * A joint that does not move, whatever pushes it, is held: by a hand, the end of its range, dry friction. What holds it
 * is as large as what pushes, and says nothing of the model. So from where a joint was last seen to move, d grows by a
 * little only. A robot that is let go shows at once that d is far too large: then d shrinks faster than it grows.
 *
 * Of what is no robot, an ODE or a vehicle, d is a rate, dx/dt = f(x, u) + d. What a period shows of it is what its end
 * is aside of where f + d led to, over h, and d itself. Nobody knows which state is the place of which: a sample that is
 * none (a jump, which comes and goes; a step that came late) is told by its neighbours, the median of the last three is
 * learned from. */
#ifndef HELICOID_MPC_DISTURBANCE_H
#define HELICOID_MPC_DISTURBANCE_H
#include "nodes.h"

#define ASIDE 0.25      /* of the way in a period: what q may be aside of it, */
#define RESOLUTION 2e-3 /* and this (rad, m), for sensors are not exact: less is no motion */
#define PUSH 0.07       /* of the largest d: what it may grow by while a joint does not move */
#define LARGE 0.3       /* of the largest d: a difference that is no noise */
#define HASTE 4         /* how much faster d shrinks then */

/* Nothing is known: before a start. */
static void forget_disturbance(mpc *s) {
  memset(s->disturbance, 0, NDIST * sizeof(double));
  memset(s->stuck, 0, 2 * NDIST * sizeof(double));
  s->seen[0] = 0;
}

/* Without a state there is nothing to compare the next one with. */
static void lose_sight(mpc *s) { s->seen[0] = 0; }

/* A part of the way to what a sample shows; more of it where that says that d is far too large. */
static void go_to(mpc *s, int j, double shown) {
  const double d = s->disturbance[j], error = shown - d, share = s->loop[DISTURBANCE_SHARE];
  const int hasty = d * error < 0 && fabs(error) > LARGE * s->trusted[j];
  s->disturbance[j] = d + (hasty ? smaller_of(HASTE * share, 1) : share) * error;
}

#if LACKS_RATE
static double median(double a, double b, double c) {
  return larger_of(smaller_of(a, b), smaller_of(larger_of(a, b), c));
}

/* Learn from what the rate was beyond f in this period, and in the two before. */
static void learn_from(mpc *s, const double *rest, const double *moved) {
  double *before = s->stuck, *earlier = s->stuck + NDIST;
  (void)moved;
  if (!all_finite(rest, NDIST)) { /* so is d: it would spoil every plan to come */
    forget_disturbance(s);
    return;
  }
  for (int j = 0; j < NDIST; j++) {
    const double now = within(rest[j], -s->trusted[j], s->trusted[j]);
    if (s->seen[0] > 2) go_to(s, j, median(now, before[j], earlier[j]));
    earlier[j] = before[j], before[j] = now;
  }
}
#else
/* Whether a sample is one of a period: all joints moved as far as their velocities say, before and now. */
static int is_in_time(const mpc *s, const double *moved) {
  const int at = (int)s->loop[VELOCITY_AT];
  const double *before = s->previous + at, *v = s->initial + at, h = s->loop[PERIOD];
  for (int j = 0; j < NTAU; j++) {
    const double way = ASIDE * h * larger_of(fabs(before[j]), fabs(v[j]));
    if (!(fabs(moved[j] - h / 2 * (before[j] + v[j])) <= way + RESOLUTION)) return 0;
  }
  return 1;
}

/* Joint j moved so far, and needed so much more torque than the model says. */
static void learn_disturbance(mpc *s, int j, double moved, double rest) {
  const double most = s->trusted[j];
  double *way = s->stuck + j, *since = s->stuck + NTAU + j; /* from where it was seen to move, and d there */
  *way += moved;
  if (fabs(*way) > RESOLUTION) *way = 0, *since = s->disturbance[j];
  go_to(s, j, within(rest, -most, most));
  const double low = smaller_of(*since, 0) - PUSH * most, high = larger_of(*since, 0) + PUSH * most;
  s->disturbance[j] = within(within(s->disturbance[j], low, high), -most, most);
}

static void learn_from(mpc *s, const double *rest, const double *moved) {
  if (!all_finite(rest, NTAU) || !is_in_time(s, moved)) return;
  for (int j = 0; j < NDIST; j++) learn_disturbance(s, j, moved[j], rest[j]);
}
#endif

/* Learn from the state that was just measured, under the torque of the step before, which is still there. */
static void see_motion(mpc *s) {
  if (!s->unexplained || s->loop[DISTURBANCE_SHARE] == 0) return;
  double rest[MAX(1, NDIST)], moved[NTAU], *out[] = {rest, moved};
  const double *in[] = {s->previous, s->initial, s->torque, s->theta, s->loop + PERIOD};
  const ptrdiff_t stride[] = {0, 0, 0, 0, 0};
  if (s->seen[0] != 0) {
    run(s, s->unexplained, in, stride, out, 1);
    learn_from(s, rest, moved);
  }
  memcpy(s->previous, s->initial, NXA * sizeof(double));
  s->seen[0] += 1;
}

/* The plan that follows counts with what is known by now. */
static void count_disturbance(mpc *s) {
  if (s->unexplained) memcpy(s->theta + NTHETA - NDIST, s->disturbance, NDIST * sizeof(double));
}
#endif
