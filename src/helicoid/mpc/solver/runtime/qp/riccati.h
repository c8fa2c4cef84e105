/* The linear-quadratic problem inside an interior point step.
 *
 * minimise  sum 1/2 z'Mz + m'z  over  x+ = [B A] z + c.  Backwards, with P and p of the next node,
 *   G = M + [B A]'P[B A],  a = m + [B A]'(p + P c),
 * The controls are eliminated in place (factor.h): the columns of G then hold
 *   controls: (Guu^-1, K'),   states: (-K, P)   with K = -Guu^-1 Gux,
 * and p = a_x + K'a_u, u = K x - Guu^-1 a_u. */
#ifndef HELICOID_MPC_RICCATI_H
#define HELICOID_MPC_RICCATI_H
#include "factor.h"

static inline __attribute__((always_inline)) void row_gradient(
    const mpc *s, int64_t k, double *a, const double *weight, int nb, int ng, const int *at,
    const double *scale) {
  const double *J = s->jacobian + k * NGM * NZP;
  vec total[VZ];
  for (int i = 0; i < VZ; i++) total[i] = CV(s->gradient + k * NZP)[i];
  for (int r = 0; r < ng; r++)
    for (int i = 0; i < VZ; i++) total[i] += splat(weight[nb + r]) * CV(J + r * NZP)[i];
  for (int i = 0; i < VZ; i++) V(a)[i] = total[i];
  for (int r = 0; r < nb; r++) a[at[r]] += weight[r] * scale[r];
}

/* a = gradient + sum of weight * row, for every node. */
static void row_gradients(mpc *s, const double *weight, double *a) {
  for (int64_t k = 0; k < s->n; k++)
    row_gradient(s, k, a + k * NZP, weight + k * NRP, NB, NG, box_at, box_scale);
  row_gradient(s, s->n, a + s->n * NZP, weight + s->n * NRP, NBT, NGT, last_box_at, last_box_scale);
}

/* P times a state. */
static inline void times_value(double *y, const double *swept, const double *x) {
  vec total[VX];
  for (int i = 0; i < VX; i++) total[i] = (vec){0};
  for (int j = 0; j < NXP; j++) {
    const vec f = splat(x[j]);
    for (int i = 0; i < VX; i++) total[i] += f * CV(swept + (NUP + j) * NZP + NUP)[i];
  }
  for (int i = 0; i < VX; i++) V(y)[i] = total[i];
}

/* The free part of the first state: P_ff d = -(p_f + P_fc d_c), by Gauss-Jordan without pivoting. */
static void solve_initial_state(const mpc *s, double *x) {
  double A[NXP][NXP + 1];
  const double *P = s->swept + NUP * NZP + NUP, *p = s->value_gradient;
  for (int i = 0; i < NXP; i++) {
    const int is_free = s->initial_free[i] != 0;
    A[i][NXP] = is_free ? -p[i] : x[i];
    for (int j = 0; j < NXP; j++) A[i][j] = is_free ? P[j * NZP + i] : (i == j);
  }
  for (int i = 0; i < NXP; i++) {
    const double inverse = 1 / A[i][i];
    for (int j = i; j <= NXP; j++) A[i][j] *= inverse;
    for (int l = 0; l < NXP; l++)
      if (l != i && A[l][i] != 0)
        for (int j = NXP; j >= i; j--) A[l][j] -= A[l][i] * A[i][j];
  }
  for (int i = 0; i < NXP; i++) x[i] = A[i][NXP];
}

/* Whether any gap is not zero, and whether P times each of them is known from a solution with the same matrices. */
typedef enum { NO_GAPS, NEW_GAPS, SAME_GAPS } Gaps;

/* The vectors: z of every node into `z` for the linear terms `linear`, which it overwrites. */
static void solve_linear(mpc *s, double *linear, double *z, Gaps gaps, int any_free) {
  double *p = s->value_gradient + s->n * NXP;
  memcpy(p, linear + s->n * NZP + NUP, NXP * sizeof(double));
  for (int64_t k = s->n - 1; k >= 0; k--) {
    double *a = linear + k * NZP, y[NXP] __attribute__((aligned(64)));
    const double *G = s->swept + k * NZP * NZP;
    if (gaps != NO_GAPS) {
      double *carried = s->carried + k * NXP;
      if (gaps == NEW_GAPS) times_value(carried, G + NZP * NZP, s->gap + k * NXP);
      for (int i = 0; i < VX; i++) V(y)[i] = CV(carried)[i] + CV(s->value_gradient + (k + 1) * NXP)[i];
    } else
      memcpy(y, s->value_gradient + (k + 1) * NXP, sizeof y);
    add_transposed(a, y, s->h[k], AB_OF(s, k));
    vec solved[VZ];
    for (int i = 0; i < VU; i++) solved[i] = (vec){0};
    for (int i = 0; i < VX; i++) solved[VU + i] = CV(a + NUP)[i];
    for (int j = 0; j < NU; j++) {
      const vec f = splat(a[j]);
      for (int i = 0; i < VU; i++) solved[i] -= f * CV(G + j * NZP)[i];
      for (int i = VU; i < VZ; i++) solved[i] += f * CV(G + j * NZP)[i];
    }
    for (int i = 0; i < VU; i++) V(s->offset + k * NUP)[i] = solved[i];
    for (int i = 0; i < VX; i++) V(s->value_gradient + k * NXP)[i] = solved[VU + i];
  }
  memcpy(z + NUP, s->initial_gap, NXP * sizeof(double));
  if (any_free) solve_initial_state(s, z + NUP);
  for (int64_t k = 0; k < s->n; k++, z += NZP) {
    const double *G = s->swept + k * NZP * NZP;
    vec u[VU];
    for (int i = 0; i < VU; i++) u[i] = CV(s->offset + k * NUP)[i];
    for (int j = NUP; j < NZP; j++)
      for (int i = 0; i < VU; i++) u[i] -= splat(z[j]) * CV(G + j * NZP)[i];
    for (int i = 0; i < VU; i++) V(z)[i] = u[i];
    advance(z + NZP + NUP, z, s->gap + k * NXP, s->h[k], AB_OF(s, k));
  }
  memset(z, 0, NUP * sizeof(double));
}

/* Multipliers of the dynamics at z, of which the last node is given, by the adjoint recursion pi = (H z + a)_x + A'pi+ where the linear terms a
 * hold the rows' multipliers: what is left of optimality then shows in the controls alone. Returns z'Hz. */
static double costates(mpc *s, double *a, const double *z) {
  vec bend = {0};
  for (int64_t k = s->n; k >= 0; k--, z -= NZP) {
    double *own = a + k * NZP;
    const double *H = s->hessian + k * NZP * NZP;
    vec total[VZ];
    for (int i = 0; i < VZ; i++) total[i] = (vec){0};
    for (int j = k < s->n ? 0 : NUP; j < NZP; j++) {
      const vec f = splat(z[j]);
      for (int i = 0; i < VZ; i++) total[i] += f * CV(H + j * NZP)[i];
    }
    for (int i = k < s->n ? 0 : VU; i < VZ; i++) bend += total[i] * CV(z)[i];
    for (int i = 0; i < VZ; i++) V(own)[i] += total[i];
    if (k < s->n) add_transposed(own, s->costate + (k + 1) * NXP, s->h[k], AB_OF(s, k));
    memcpy(s->costate + k * NXP, own + NUP, NXP * sizeof(double));
  }
  return sum(bend);
}
#endif
