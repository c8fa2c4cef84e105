/* Products with the dynamics x+ = [B A] z + gap of an interval. */
#ifndef HELICOID_MPC_INTERVAL_H
#define HELICOID_MPC_INTERVAL_H
#include "../layout.h"

#if DOUBLE_INTEGRATOR
/* [B A] = [g h*h 1, 1, h 1; h 1, 0, 1] with g = CONTROL_SHARE: the column of u is h times that of v, which is h
 * times q's plus v's, less (1 - g) h*h times that of q. */
#define LESS(h) ((1 - CONTROL_SHARE) * (h) * (h))
/* G = H + [B A]'P[B A]: all rows of the columns of u; of those of q and v the rows of q and v. */
static inline void start_from(double *G, const double *H, const double *next, double h, const double *unused) {
  (void)unused;
  const double *P = next + NUP * NZP + NUP, less = LESS(h);
  for (int j = 0; j < NUP; j++) {
    const double *Pq = P + j * NZP, *Pv = P + (NUP + j) * NZP;
    const double *Hu = H + j * NZP, *Hq = H + (NUP + j) * NZP, *Hv = H + (2 * NUP + j) * NZP;
    double *Gu = G + j * NZP, *Gq = G + (NUP + j) * NZP, *Gv = G + (2 * NUP + j) * NZP;
    for (int i = 0, q = VU, v = 2 * VU; i < VU; i++, q++, v++) {
      const vec qq = CV(Pq)[i], vq = CV(Pq + NUP)[i], qv = CV(Pv)[i], vv = CV(Pv + NUP)[i];
      /* Rows q and v of the columns of v and u; row v of that of q. */
      const vec in_q = h * qq + qv, in_v = h * (in_q + vq) + vv, below = h * qq + vq;
      const vec of_q = h * in_q - less * qq, of_v = h * in_v - less * below;
      V(Gq)[q] = CV(Hq)[q] + qq, V(Gq)[v] = CV(Hq)[v] + below;
      V(Gv)[v] = CV(Hv)[v] + in_v; /* its rows of q are the columns of q's rows of v */
      V(Gu)[q] = CV(Hu)[q] + of_q, V(Gu)[v] = CV(Hu)[v] + of_v;
      V(Gu)[i] = CV(Hu)[i] + (h * of_v - less * of_q);
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
    const int group = i * WIDTH / LANES; /* the table is of LANES columns, also where vectors are narrower */
    for (int e = vector_start[group]; e < vector_start[group + 1]; e++)
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
static inline void start_from(double *G, const double *H, const double *next, double h, const double *AB) {
  memcpy(G, H, NZP * NZP * sizeof(double));
  add_next(G, next, h, AB);
}
static inline void advance(double *x, const double *z, const double *gap, double h, const double *AB) {
  (void)h;
  for (int l = 0; l < NX; l++) x[l] = gap[l] + dot_z(AB + l * NZP, z);
}
#endif
#define AB_OF(s, k) ((s)->dynamics + (DOUBLE_INTEGRATOR ? 0 : (k) * NXP * NZP))

#endif
