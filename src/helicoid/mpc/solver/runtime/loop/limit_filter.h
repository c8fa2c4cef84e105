/* Filter that keeps velocity limits throughout a period: it changes the torque that is held.
 *
 * A plan has constant accelerations, a robot a constant torque: between samples velocities deviate by h^2 a' / 8, and
 * where a torque is cut to its limit, the joints coupled to it leave the plan. So the motion under the torque is
 * predicted by two Runge-Kutta steps, and the torque is changed by Gauss's principle of least constraint:
 *   minimise dtau' M^-1 dtau / 2  subject to  tau + dtau within the torque limits,
 *                                             v(t) + dv(t)/dtau dtau within those of velocity, t = h/4, h/2, 3h/4, h
 * A joint whose torque is cut loses acceleration alone, the others follow the plan. dv/dtau is found by differences, for
 * all joints at once: t M^-1 is too coarse for light arms with strong motors, which pass through their whole velocity
 * range within a period. The multipliers, one per velocity and torque, are found row by row (Hildreth 1957). Then the
 * motion is predicted again, since it is not linear in the torque. */
#ifndef HELICOID_MPC_LIMIT_FILTER_H
#define HELICOID_MPC_LIMIT_FILTER_H
#include "../nodes.h"

#define MAX_EXCESS_BETWEEN_SAMPLES 0.002 /* of a velocity limit, within a period but not at its end */
#define MAX_PREDICTIONS 4 /* of the motion, each under the torque that the one before changed */
#define MAX_SWEEPS 100
#define VELOCITY_DIFFERENCE 1e-4 /* (rad/s) of the finite differences */

static inline double within(double value, double low, double high) {
  return smaller_of(larger_of(value, low), high);
}

/* The bounds of a torque: the problem's constraint within the robot's own limit. */
static void torque_bounds(const mpc *s, int j, double *low, double *high) {
  const int row = (int)s->limit_row[j] - 1; /* -1: none */
  *low = -s->limit[j], *high = s->limit[j];
  if (row < 0) return;
  *low = within(s->lower[row] / s->limit_scale[j], *low, *high);
  *high = within(s->upper[row] / s->limit_scale[j], *low, *high);
}

static void clip(mpc *s) {
  for (int j = 0; j < NTAU; j++) {
    double low, high;
    torque_bounds(s, j, &low, &high);
    s->torque[j] = within(s->torque[j], low, high);
  }
}

/* The velocities gained after each quarter of a period under each of `count` torques: gained[quarter][torque][joint]. */
static void predict(mpc *s, const double *x, const double *torques, double *gained, int64_t count) {
  const double half = s->loop[PERIOD] / 2;
  const int64_t size = count * NTAU;
  for (int part = 0; part < 2; part++) {
    const double *in[] = {part ? s->midway : x, torques, s->theta, &half};
    const ptrdiff_t stride[] = {part ? NXA : 0, NTAU, 0, 0};
    double *first = gained + 2 * part * size, *out[] = {first, first + size, part ? s->unused : s->midway};
    run(s, s->moving, in, stride, out, count);
  }
  for (int64_t j = 0; j < 2 * size; j++) gained[2 * size + j] += gained[size + j % size];
}

/* Admissible change of the velocity of joint j after quarter k. Where the measured velocity v exceeds a limit, the limit
 * is the planned velocity on its return. A fallback applies accelerations that were planned for another state: from v
 * they may lead beyond a limit, so they do not widen it. */
static void velocity_margin(const mpc *s, int k, int j, double v, double planned, double *low, double *high) {
  const int row = (int)s->speed_row[j] - 1;
  *low = -INFINITY, *high = INFINITY;
  if (row < 0) return;
  const double least = s->lower[NRP + row] / s->speed_scale[j], most = s->upper[NRP + row] / s->speed_scale[j];
  const double more = k < QUARTERS - 1 ? MAX_EXCESS_BETWEEN_SAMPLES : 0, there = v + s->held[k * NTAU + j];
  const double plan = v + s->loop[PERIOD] * (k + 1) / QUARTERS * planned;
  *high = larger_of(most + more * fabs(most), smaller_of(plan, v)) - there;
  *low = smaller_of(least - more * fabs(least), larger_of(plan, v)) - there;
}

/* Sensitivities: A = dv/dtau, a row for each quarter and joint, and A M, the change of torques per multiplier; then the
 * rows of the torques themselves, 1 and M. Returns whether all are finite. */
static int find_sensitivities(mpc *s, const double *x) {
  double *M = s->inertia, *A = s->sensitivity, *AM = A + ROWS * NTAU, *torques = s->nearby, *gained = AM;
  double step[NTAU];
  const double *there[] = {x, s->theta, s->loop + PERIOD};
  const ptrdiff_t stride[] = {0, 0, 0};
  run(s, s->inertias, there, stride, &M, 1);
  for (int j = 0; j < NTAU; j++) {
    step[j] = VELOCITY_DIFFERENCE * M[j * NTAU + j] / s->loop[PERIOD];
    memcpy(torques + j * NTAU, s->torque, NTAU * sizeof(double));
    torques[j * NTAU + j] += step[j];
  }
  predict(s, x, torques, gained, NTAU);
  for (int k = 0; k < QUARTERS; k++)
    for (int j = 0; j < NTAU; j++)
      for (int i = 0; i < NTAU; i++)
        A[(k * NTAU + i) * NTAU + j] = (gained[(k * NTAU + j) * NTAU + i] - s->held[k * NTAU + i]) / step[j];
  memset(A + QUARTERS * NTAU * NTAU, 0, NTAU * NTAU * sizeof(double));
  for (int j = 0; j < NTAU; j++) A[(QUARTERS * NTAU + j) * NTAU + j] = 1;
  for (int r = 0; r < ROWS; r++)
    for (int j = 0; j < NTAU; j++) {
      double total = 0;
      for (int i = 0; i < NTAU; i++) total += A[r * NTAU + i] * M[j * NTAU + i];
      AM[r * NTAU + j] = total;
    }
  return all_finite(A, 2 * ROWS * NTAU);
}

static double dot(const double *a, const double *b) {
  double total = 0;
  for (int i = 0; i < NTAU; i++) total += a[i] * b[i];
  return total;
}

/* Hildreth's update of one row: the smallest multiplier that brings its value within its bounds. Returns the change. */
static double sweep_row(const double *a, const double *am, double *dtau, double *multiplier, double low, double high) {
  const double stiffness = dot(a, am), value = dot(a, dtau);
  if (!(stiffness > 0)) return 0;
  const double without = value - stiffness * *multiplier;
  const double change = (within(without, low, high) - without) / stiffness - *multiplier;
  if (change == 0) return 0;
  *multiplier += change;
  for (int j = 0; j < NTAU; j++) dtau[j] += am[j] * change;
  return fabs(stiffness * change) / (1 + fabs(value));
}

/* Change `torque` for a motion from x with the planned accelerations `planned`. It stays within its bounds. */
static void limit_velocities(mpc *s, const double *x, const double *planned) {
  const double *v = x + (int)s->loop[VELOCITY_AT], *A = s->sensitivity;
  double *low = s->limit_filter, *high = low + ROWS, *multiplier = high + ROWS, dtau[NTAU];
  for (int round = 0; round < MAX_PREDICTIONS; round++) {
    const double began = now();
    predict(s, x, s->torque, s->held, 1);
    for (int j = 0; j < NTAU; j++) {
      double least, most;
      torque_bounds(s, j, &least, &most);
      for (int k = 0; k < QUARTERS; k++) velocity_margin(s, k, j, v[j], planned[j], low + k * NTAU + j, high + k * NTAU + j);
      low[QUARTERS * NTAU + j] = least - s->torque[j], high[QUARTERS * NTAU + j] = most - s->torque[j];
    }
    int kept = 1;
    for (int r = 0; r < ROWS; r++) kept = kept && low[r] <= 0 && 0 <= high[r];
    if (kept || !all_finite(s->held, QUARTERS * NTAU)) break;
    if (round > 0 && no_time_for(s, s->round.expected)) { /* the next step reserves it */
      s->left_out = s->round.expected;
      break;
    }
    if (!find_sensitivities(s, x)) break;
    memset(multiplier, 0, ROWS * sizeof(double));
    memset(dtau, 0, sizeof dtau);
    double moved = 1;
    for (int sweep = 0; sweep < MAX_SWEEPS && moved > 1e-5; sweep++) {
      moved = 0;
      for (int r = 0; r < ROWS; r++)
        moved = larger_of(moved, sweep_row(A + r * NTAU, A + (ROWS + r) * NTAU, dtau, multiplier + r, low[r], high[r]));
    }
    for (int j = 0; j < NTAU; j++)
      if (isfinite(dtau[j])) s->torque[j] += dtau[j];
    clip(s);
    record_duration(s, &s->round, now() - began);
  }
  clip(s);
}
#endif
