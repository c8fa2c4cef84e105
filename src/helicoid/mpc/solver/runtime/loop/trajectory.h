/* Trajectories of the loop: the plan shifted by one period, and the stationary guess of a cold start. */
#ifndef HELICOID_MPC_TRAJECTORY_H
#define HELICOID_MPC_TRAJECTORY_H
#include "../sqp.h"

/* x = before + fraction (after - before) along the manifold, for all nodes. */
static void interpolate(mpc *s) {
  const int64_t n = s->n;
#if MANIFOLD
  double *moves = s->linear; /* free at this time */
  const double *between[] = {s->x_before, s->x_after}, *from[] = {s->x_before, moves};
  const ptrdiff_t states[] = {NXA, NXA}, steps[] = {NXA, NXP};
  run(s, s->local, between, states, &moves, n + 1);
  for (int64_t k = 0; k <= n; k++)
    for (int i = 0; i < NXP; i++) moves[k * NXP + i] *= s->fraction[k];
  run(s, s->retract, from, steps, &s->x, n + 1);
#else
  for (int64_t k = 0; k <= n; k++)
    for (int i = 0; i < NXA; i++) {
      const double before = s->x_before[k * NXA + i];
      s->x[k * NXA + i] = before + s->fraction[k] * (s->x_after[k * NXA + i] - before);
    }
#endif
}

/* Interpolate states and controls in time; the last ones are held at the end. Nodes only move towards the first, so
 * controls and multipliers are replaced in place. */
static void shift_by_time(mpc *s, double period) {
  const int64_t n = s->n;
  const double *t = s->times;
  for (int64_t k = 0; k <= n; k++) {
    const double later = smaller_of(t[k] + period, t[n]);
    int64_t i = k < n ? k : n - 1;
    while (i < n - 1 && t[i + 1] <= later) i++;
    const double f = (later - t[i]) / (t[i + 1] - t[i]);
    memcpy(s->x_before + k * NXA, s->x + i * NXA, NXA * sizeof(double));
    memcpy(s->x_after + k * NXA, s->x + (i + 1) * NXA, NXA * sizeof(double));
    s->fraction[k] = f;
    if (k == n) break;
    /* The control of an interval is that of its middle; the last one is held. */
    const int64_t next = i + 1 < n ? i + 1 : n - 1, nearest = f > 0.5 ? next : i;
    for (int j = 0; j < NU; j++) s->u[k * NU + j] = (1 - f) * s->u[i * NU + j] + f * s->u[next * NU + j];
    if (nearest != k)
      memcpy(s->multiplier + 2 * k * NRP, s->multiplier + 2 * nearest * NRP, 2 * NRP * sizeof(double));
  }
  interpolate(s);
}

/* Time scale of the grid: the duration (s) of a trajectory where that is free, else 1. */
static double duration_of(const mpc *s, const double *x) {
  return s->loop[DURATION_START] > 0 ? x[(int)s->loop[N_MEASURED]] : 1;
}

static void loop_shift(mpc *s) {
  if (s->loop[WHOLE_NODES] != 0)
    shift_nodes(s);
  else
    shift_by_time(s, s->loop[PERIOD] / duration_of(s, s->x));
}

/* Initial guess of a cold start: at rest, held by torques and forces. */
static void stationary_guess(mpc *s) {
  const int64_t n = s->n;
  memset(s->u, 0, (size_t)(n * NU) * sizeof(double));
  for (int64_t k = 0; k <= n; k++) {
    memcpy(s->x + k * NXA, s->initial, NXA * sizeof(double));
    for (int i = (int)s->loop[VELOCITY_AT]; k > 0 && i < (int)s->loop[VELOCITY_END]; i++) s->x[k * NXA + i] = 0;
  }
  if (!s->holding) return;
  const double *in[] = {s->initial, s->theta};
  const ptrdiff_t stride[] = {0, 0};
  run(s, s->holding, in, stride, &s->u, 1);
  for (int64_t k = 1; k < n; k++) memcpy(s->u + k * NU, s->u, NU * sizeof(double));
}
#endif
