/* The torque that is held over a period, changed so that velocities keep their limits all the while.
 *
 * A plan has constant accelerations, a robot a constant torque: between samples velocities bend by h^2 a' / 8, and
 * where a torque is cut to its limit, the joints that it is coupled to leave the plan. So the motion under the torque
 * is predicted, by a parabola through the accelerations now, half a period later and at its end, and the torque is
 * changed by Gauss's principle of least constraint:
 *   minimise da' M da / 2  subject to  tau + M da within the limits of torque,  v(t) + t da within those of velocity
 * at t = h/4, h/2 and h. A joint whose torque is cut loses acceleration alone, the others follow the plan. The
 * multipliers, one for each acceleration and each torque, are found row by row (Hildreth 1957). */
#ifndef HELICOID_MPC_KEEPING_H
#define HELICOID_MPC_KEEPING_H
#include "nodes.h"

#define BETWEEN 0.002 /* of a limit: what a velocity may exceed it by within a period, not at its end */
#define ROUNDS 2      /* predictions, each with what the one before changed */
#define SWEEPS 8

static inline double within(double value, double low, double high) {
  return smaller_of(larger_of(value, low), high);
}

/* The bounds of a torque: the problem's constraint, and last of all the robot's own limit. */
static void torque_bounds(const mpc *s, int j, double *low, double *high) {
  const int row = (int)s->limit_row[j] - 1; /* 0 stands for none */
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

/* What may be added to the acceleration of joint j, for the velocities that `held` predicts from v. Where the plan,
 * with its acceleration, exceeds a limit itself, it may. */
static void room(const mpc *s, int j, double v, double planned, double *low, double *high) {
  const int row = (int)s->speed_row[j] - 1;
  *low = -INFINITY, *high = INFINITY;
  if (row < 0) return;
  const double h = s->loop[PERIOD], *a = s->held + j;
  const double least = s->lower[NRP + row] / s->speed_scale[j], most = s->upper[NRP + row] / s->speed_scale[j];
  for (double share = 0.25; share <= 1; share *= 2) {
    const double t = share * h, more = share < 1 ? BETWEEN : 0, plan = v + t * planned;
    const double bend = a[2 * NTAU] - 2 * a[NTAU] + a[0], slope = 4 * a[NTAU] - 3 * a[0] - a[2 * NTAU];
    const double there = v + t * (a[0] + share * (slope / 2 + share * 2 * bend / 3));
    *high = smaller_of(*high, (larger_of(most + more * fabs(most), plan) - there) / t);
    *low = larger_of(*low, (smaller_of(least - more * fabs(least), plan) - there) / t);
  }
  if (*low > *high) *low = *high = 0.5 * (*low + *high);
}

/* One row: the least multiplier that puts its value, a sum with the matrix' column, within its bounds. */
static double sweep_row(const double *matrix, int i, double *value, double *other, double *multiplier, double low,
                        double high) {
  const double *column = matrix + (int64_t)i * NTAU, stiffness = column[i];
  if (!(stiffness > 0)) return 0;
  const double without = value[i] - stiffness * multiplier[i];
  const double change = (within(without, low, high) - without) / stiffness - multiplier[i];
  if (change == 0) return 0;
  multiplier[i] += change;
  other[i] += change;
  for (int j = 0; j < NTAU; j++) value[j] += column[j] * change;
  return fabs(stiffness * change) / (1 + fabs(value[i]));
}

/* Change the torque for a motion from x, whose plan has the accelerations `planned`. It stays within its bounds. */
static void keep_speeds(mpc *s, const double *x, const double *planned) {
  double *M = s->inertia, *inverse = s->inertia + NTAU * NTAU;
  double *low = s->keeping, *high = low + 2 * NTAU, *change = high + 2 * NTAU, *multiplier = change + 2 * NTAU;
  const double *v = x + (int)s->loop[VELOCITY_AT];
  const ptrdiff_t stride[] = {0, 0, 0, 0};
  int known = 0;
  for (int round = 0; round < ROUNDS; round++) {
    const double *in[] = {x, s->torque, s->theta, s->loop + PERIOD};
    double *out[] = {s->held, s->held + NTAU, s->held + 2 * NTAU};
    run(s, s->moving, in, stride, out, 1);
    int kept = 1;
    for (int j = 0; j < NTAU; j++) {
      double least, most;
      torque_bounds(s, j, &least, &most);
      room(s, j, v[j], planned[j], low + j, high + j);
      low[NTAU + j] = least - s->torque[j], high[NTAU + j] = most - s->torque[j];
    }
    for (int j = 0; j < 2 * NTAU; j++) kept = kept && low[j] <= 0 && 0 <= high[j];
    if (kept || !all_finite(s->held, 3 * NTAU)) break;
    if (!known) {
      const double *there[] = {x, s->theta, s->loop + PERIOD};
      double *both[] = {M, inverse};
      run(s, s->inertias, there, stride, both, 1);
      if (!all_finite(s->inertia, 2 * NTAU * NTAU)) break;
      known = 1;
    }
    memset(change, 0, 4 * NTAU * sizeof(double)); /* and the multipliers behind it */
    double *da = change, *dtau = change + NTAU, moved = 1;
    for (int sweep = 0; sweep < SWEEPS && moved > 1e-4; sweep++) {
      moved = 0;
      for (int i = 0; i < NTAU; i++)
        moved = larger_of(moved, sweep_row(inverse, i, da, dtau, multiplier, low[i], high[i]));
      for (int i = 0; i < NTAU; i++)
        moved = larger_of(moved, sweep_row(M, i, dtau, da, multiplier + NTAU, low[NTAU + i], high[NTAU + i]));
    }
    for (int j = 0; j < NTAU; j++)
      if (isfinite(dtau[j])) s->torque[j] += dtau[j];
    clip(s);
  }
  clip(s);
}
#endif
