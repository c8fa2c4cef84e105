/* The linear-quadratic problem inside an interior point step.
 *
 * minimise  sum 1/2 z'Mz + m'z  over  x+ = [B A] z + c.  Backwards, with P and p of the next node,
 *   G = M + [B A]'P[B A],  a = m + [B A]'(p + P c),
 * G is swept on the controls in place (Gauss-Jordan): its columns then hold
 *   controls: (Guu^-1, K'),   states: (-K, P)   with K = -Guu^-1 Gux,
 * and p = a_x + K'a_u, u = K x - Guu^-1 a_u. */
#ifndef HELICOID_MPC_RICCATI_H
#define HELICOID_MPC_RICCATI_H
#include "layout.h"

/* Row j of it is the unit vector j. Changing one element of a vector in memory would stall the next wide load. */
static double unit[NZP][NZP] __attribute__((aligned(64)));
static void make_units(void) {
  for (int j = 0; j < NZP; j++) unit[j][j] = 1;
}

/* M = hessian + damping (Marquardt's, in proportion to the diagonal) + sum over rows of stiffness * (row)(row)',
 * into the columns of G. */
static inline __attribute__((always_inline)) void stiffened(
    const mpc *s, int64_t k, double *G, int nb, int ng, const int *at, const double *scale, int first) {
  const double *H = s->hessian + k * NZP * NZP, *J = s->jacobian + k * NGM * NZP;
  const double *w = s->stiffness + k * NRP + nb;
  const double reg = s->settings[REGULARISATION], least = 1e-6 * s->settings[SCALE];
  double diagonal[NZP];
  for (int j = 0; j < NZP; j++) diagonal[j] = reg * (fabs(H[j * NZP + j]) + least);
  for (int r = 0; r < nb; r++) diagonal[at[r]] += s->stiffness[k * NRP + r] * scale[r] * scale[r];
  for (int j = first; j < NZP; j++) {
    vec column[VZ];
    for (int i = 0; i < VZ; i++) column[i] = CV(H + j * NZP)[i] + diagonal[j] * CV(unit[j])[i];
    for (int r = 0; r < ng; r++) {
      const double factor = w[r] * J[r * NZP + j];
      if (SPARSE && factor == 0) continue;
      const vec f = splat(factor);
      for (int i = 0; i < VZ; i++) column[i] += f * CV(J + r * NZP)[i];
    }
    for (int i = 0; i < VZ; i++) V(G + j * NZP)[i] = column[i];
  }
}

#if DOUBLE_INTEGRATOR
/* [B A] = [g h*h 1, 1, h 1; h 1, 0, 1] with g = CONTROL_SHARE: the column of u is h times that of v, which is h
 * times q's plus v's, less (1 - g) h*h times that of q. */
#define LESS(h) ((1 - CONTROL_SHARE) * (h) * (h))
static inline void add_next(double *G, const double *next, double h, const double *unused) {
  (void)unused;
  const double *P = next + NUP * NZP + NUP, less = LESS(h);
  for (int j = 0; j < NU; j++) {
    const double *Pq = P + j * NZP, *Pv = P + (NUP + j) * NZP;
    double *Gu = G + j * NZP, *Gq = G + (NUP + j) * NZP, *Gv = G + (2 * NUP + j) * NZP;
    for (int i = 0; i < VU; i++) {
      const vec qq = CV(Pq)[i], vq = CV(Pq + NUP)[i], qv = CV(Pv)[i], vv = CV(Pv + NUP)[i];
      /* Rows q and v of the columns of v and u; row v of that of q. */
      const vec in_q = h * qq + qv, in_v = h * (in_q + vq) + vv, below = h * qq + vq;
      const vec of_q = h * in_q - less * qq, of_v = h * in_v - less * below;
      V(Gq + NUP)[i] += qq, V(Gq + 2 * NUP)[i] += below, V(Gq)[i] += h * below - less * qq;
      V(Gv + NUP)[i] += in_q, V(Gv + 2 * NUP)[i] += in_v, V(Gv)[i] += h * in_v - less * in_q;
      V(Gu + NUP)[i] += of_q, V(Gu + 2 * NUP)[i] += of_v, V(Gu)[i] += h * of_v - less * of_q;
    }
  }
}
static inline void add_transposed(double *a, const double *y, double h, const double *unused) {
  (void)unused;
  for (int i = 0; i < VU; i++) {
    const vec q = CV(y)[i], v = CV(y + NUP)[i], both = h * q + v;
    V(a)[i] += h * both - LESS(h) * q, V(a + NUP)[i] += q, V(a + 2 * NUP)[i] += both;
  }
}
static inline void advance(double *x, const double *z, const double *gap, double h, const double *unused) {
  (void)unused;
  for (int i = 0; i < VU; i++) {
    const vec u = CV(z)[i], v = CV(z + 2 * NUP)[i];
    V(x)[i] = CV(z + NUP)[i] + h * (v + CONTROL_SHARE * h * u) + CV(gap)[i];
    V(x + NUP)[i] = v + h * u + CV(gap + NUP)[i];
  }
}
#else
/* AB holds the rows of [B A]. */
#if SPARSE
static const int column_start[] = COLUMN_START, column_rows[] = COLUMN_ROWS;
static const int vector_start[] = VECTOR_START, vector_rows[] = VECTOR_ROWS;
static inline void add_transposed(double *a, const double *y, double h, const double *AB) {
  (void)h;
  for (int i = 0; i < VZ; i++) {
    vec total = CV(a)[i];
    for (int e = vector_start[i]; e < vector_start[i + 1]; e++)
      total += splat(y[vector_rows[e]]) * CV(AB + vector_rows[e] * NZP)[i];
    V(a)[i] = total;
  }
}
static inline void add_next(double *G, const double *next, double h, const double *AB) {
  const double *P = next + NUP * NZP + NUP;
  for (int j = 0; j < NZP; j++) {
    if (column_start[j] == column_start[j + 1]) continue;
    double w[NXP] __attribute__((aligned(64)));
    vec W[VX];
    for (int i = 0; i < VX; i++) W[i] = (vec){0};
    for (int e = column_start[j]; e < column_start[j + 1]; e++) {
      const vec f = splat(AB[column_rows[e] * NZP + j]);
      for (int i = 0; i < VX; i++) W[i] += f * CV(P + column_rows[e] * NZP)[i];
    }
    for (int i = 0; i < VX; i++) V(w)[i] = W[i];
    add_transposed(G + j * NZP, w, h, AB);
  }
}
#else
static inline void add_next(double *G, const double *next, double h, const double *AB) {
  (void)h;
  const double *P = next + NUP * NZP + NUP;
  for (int j = 0; j < NZP; j++) {
    if (j >= NU && j < NUP) continue;
    double w[NXP] __attribute__((aligned(64)));
    vec W[VX];
    for (int i = 0; i < VX; i++) W[i] = (vec){0};
    for (int l = 0; l < NX; l++) {
      const vec f = splat(AB[l * NZP + j]);
      for (int i = 0; i < VX; i++) W[i] += f * CV(P + l * NZP)[i];
    }
    for (int i = 0; i < VX; i++) V(w)[i] = W[i];
    vec column[VZ];
    for (int i = 0; i < VZ; i++) column[i] = CV(G + j * NZP)[i];
    for (int l = 0; l < NX; l++) {
      const vec f = splat(w[l]);
      for (int i = 0; i < VZ; i++) column[i] += f * CV(AB + l * NZP)[i];
    }
    for (int i = 0; i < VZ; i++) V(G + j * NZP)[i] = column[i];
  }
}
static inline void add_transposed(double *a, const double *y, double h, const double *AB) {
  (void)h;
  for (int l = 0; l < NX; l++)
    for (int i = 0; i < VZ; i++) V(a)[i] += splat(y[l]) * CV(AB + l * NZP)[i];
}
#endif
static inline void advance(double *x, const double *z, const double *gap, double h, const double *AB) {
  (void)h;
  for (int l = 0; l < NX; l++) x[l] = gap[l] + dot_z(AB + l * NZP, z);
}
#endif
#define AB_OF(s, k) ((s)->dynamics + (DOUBLE_INTEGRATOR ? 0 : (k) * NXP * NZP))

static inline void eliminate(double *G, const vec *column, int j, double inverse, int from, int to) {
#pragma GCC unroll 4
  for (int l = from; l < to; l++) {
    const vec f = splat(G[l * NZP + j] * inverse);
    for (int i = 0; i < VZ; i++) V(G + l * NZP)[i] -= f * column[i];
  }
}

/* Gauss-Jordan on the first NU rows and columns. Returns whether all pivots were positive. */
static inline int sweep(double *G, double smallest) {
  int positive = 1;
  for (int j = 0; j < NU; j++) {
    double *pivot = G + j * NZP;
    const double d = pivot[j];
    if (!(d > smallest)) positive = 0;
    const double inverse = 1 / d;
    vec column[VZ];
    /* One less on the diagonal makes row j of the other columns come out as their element times `inverse`. */
    for (int i = 0; i < VZ; i++) column[i] = CV(pivot)[i] - CV(unit[j])[i];
    eliminate(G, column, j, inverse, 0, NU); /* of the pivot itself too, which is set afterwards */
    eliminate(G, column, j, inverse, NUP, NZP);
    for (int i = 0; i < VZ; i++) V(pivot)[i] = CV(unit[j])[i] - inverse * column[i];
  }
  return positive;
}

/* The matrices, from the last node to the first. */
static int factor(mpc *s) {
  double *last = s->swept + s->n * NZP * NZP;
  stiffened(s, s->n, last, NBT, NGT, last_box_at, last_box_scale, NUP);
  int positive = 1;
  for (int64_t k = s->n - 1; k >= 0; k--) {
    double *G = s->swept + k * NZP * NZP;
    stiffened(s, k, G, NB, NG, box_at, box_scale, 0);
    add_next(G, G + NZP * NZP, s->h[k], AB_OF(s, k));
    positive &= sweep(G, 1e-14 * s->settings[SCALE]);
  }
  return positive;
}

static inline __attribute__((always_inline)) void row_gradient(
    const mpc *s, int64_t k, double *a, const double *weight, int nb, int ng, const int *at,
    const double *scale) {
  const double *J = s->jacobian + k * NGM * NZP;
  for (int i = 0; i < VZ; i++) V(a)[i] = CV(s->gradient + k * NZP)[i];
  for (int r = 0; r < ng; r++)
    for (int i = 0; i < VZ; i++) V(a)[i] += splat(weight[nb + r]) * CV(J + r * NZP)[i];
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
  for (int i = 0; i < VX; i++) V(y)[i] = (vec){0};
  for (int j = 0; j < NXP; j++) {
    const vec f = splat(x[j]);
    for (int i = 0; i < VX; i++) V(y)[i] += f * CV(swept + (NUP + j) * NZP + NUP)[i];
  }
}

/* The free part of the first state: P_ff d = -(p_f + P_fc d_c), by Gauss-Jordan without pivoting. */
static void settle_initial(const mpc *s, double *x) {
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

/* The vectors: z of every node into `z` for the linear terms `linear`, which it overwrites. */
static void solve_linear(mpc *s, double *linear, double *z, int gaps, int any_free) {
  double *p = s->value_gradient + s->n * NXP;
  memcpy(p, linear + s->n * NZP + NUP, NXP * sizeof(double));
  for (int64_t k = s->n - 1; k >= 0; k--) {
    double *a = linear + k * NZP, y[NXP] __attribute__((aligned(64)));
    const double *G = s->swept + k * NZP * NZP;
    if (gaps) {
      times_value(y, G + NZP * NZP, s->gap + k * NXP);
      for (int i = 0; i < VX; i++) V(y)[i] += CV(s->value_gradient + (k + 1) * NXP)[i];
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
  if (any_free) settle_initial(s, z + NUP);
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

/* Multipliers of the dynamics at z, by the adjoint recursion pi = (H z + a)_x + A'pi+ where the linear terms a
 * hold the rows' multipliers: what is left of optimality then shows in the controls alone. */
static void costates(mpc *s, double *a, const double *z) {
  for (int64_t k = s->n; k >= 0; k--) {
    double *own = a + k * NZP;
    for (int j = k < s->n ? 0 : NUP; j < NZP; j++)
      for (int i = 0; i < VZ; i++)
        V(own)[i] += splat(z[k * NZP + j]) * CV(s->hessian + (k * NZP + j) * NZP)[i];
    if (k < s->n) add_transposed(own, s->costate + (k + 1) * NXP, s->h[k], AB_OF(s, k));
    memcpy(s->costate + k * NXP, own + NUP, NXP * sizeof(double));
  }
}
#endif
