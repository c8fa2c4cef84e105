/* The functions of the nodes: calls of the generated kernels, for all nodes at once. */
#ifndef HELICOID_MPC_NODES_H
#define HELICOID_MPC_NODES_H
#include "clock.h"

/* Call a kernel over nodes `first` to `first + count - 1`. */
static void run(const mpc *s, const helicoid_kernel *kernel, const double *const *in, const ptrdiff_t *stride,
                double *const *out, int64_t count) {
  kernel->batch(in, stride, out, count, count, s->work);
}

static int all_finite(const double *x, int64_t n) {
  for (int64_t i = 0; i < n; i++)
    if (!isfinite(x[i])) return 0;
  return 1;
}

static void linearise(mpc *s) {
  const double began = now();
  const int64_t n = s->n;
  const double *in[] = {s->x, s->u, s->x + NXA, s->parameters, s->theta, s->h};
  const ptrdiff_t stride[] = {NXA, NU, NXA, NPAR, 0, 1};
  double *out[] = {s->cost, s->gradient, s->gap, s->rows, s->hessian, s->jacobian, s->dynamics};
  run(s, s->stage, in, stride, out, n);
  const double *last_in[] = {s->x + n * NXA, s->parameters + n * MAX(1, NPAR), s->theta};
  const ptrdiff_t last_stride[] = {NXA, NPAR, 0};
  double *last_out[] = {s->cost + n, s->gradient + n * NZP, s->rows + n * NRP, s->hessian + n * NZP * NZP,
                        s->jacobian + n * NGM * NZP};
  run(s, s->last, last_in, last_stride, last_out, 1);
  record_duration(s, &s->linearisation, now() - began);
}

static void evaluate_last(mpc *s) {
  const int64_t n = s->n;
  const double *last_in[] = {s->x_trial + n * NXA, s->parameters + n * MAX(1, NPAR), s->theta};
  const ptrdiff_t last_stride[] = {NXA, NPAR, 0};
  double *last_out[] = {s->trial_cost + n, s->trial_rows + n * NRP};
  run(s, s->last_values, last_in, last_stride, last_out, 1);
}

static void evaluate_trial(mpc *s) {
  const int64_t n = s->n;
  const double *in[] = {s->x_trial, s->u_trial, s->x_trial + NXA, s->parameters, s->theta, s->h};
  const ptrdiff_t stride[] = {NXA, NU, NXA, NPAR, 0, 1};
  double *out[] = {s->trial_cost, s->trial_gap, s->trial_rows};
  run(s, s->values, in, stride, out, n);
  evaluate_last(s);
}

/* Difference of the measured state from the first of the trajectory. */
static void find_initial_gap(mpc *s) {
#if MANIFOLD
  const double *in[] = {s->x, s->initial};
  const ptrdiff_t stride[] = {NXA, NXA};
  double *out[] = {s->initial_gap};
  run(s, s->local, in, stride, out, 1);
#else
  for (int i = 0; i < NX; i++) s->initial_gap[X_AT(i)] = s->initial[i] - s->x[i];
#endif
  for (int i = 0; i < NXP; i++)
    if (s->initial_free[i] != 0) s->initial_gap[i] = 0;
}

static void try_step(mpc *s, double alpha) {
  const int64_t n = s->n;
  for (int64_t k = 0; k < n; k++)
    for (int i = 0; i < NU; i++) s->u_trial[k * NU + i] = s->u[k * NU + i] + alpha * s->step[k * NZP + i];
#if MANIFOLD
  double *moves = s->linear; /* free at this time */
  for (int64_t k = 0; k <= n; k++)
    for (int i = 0; i < NXP; i++) moves[k * NXP + i] = alpha * s->step[k * NZP + NUP + i];
  const double *in[] = {s->x, moves};
  const ptrdiff_t stride[] = {NXA, NXP};
  double *out[] = {s->x_trial};
  run(s, s->retract, in, stride, out, n + 1);
#else
  for (int64_t k = 0; k <= n; k++)
    for (int i = 0; i < NX; i++)
      s->x_trial[k * NXA + i] = s->x[k * NXA + i] + alpha * s->step[k * NZP + NUP + X_AT(i)];
#endif
}
#endif
