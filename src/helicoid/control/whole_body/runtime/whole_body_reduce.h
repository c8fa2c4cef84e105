/* Elimination of the equations of a step: the null-space method.
 *
 * Variables x = (a, f, l): accelerations, forces of contacts in their own axes, multipliers of the robot's own
 * constraints; x = scale z. With J of contacts and constraints one below the other,
 *
 *   J a                     = b      contacts do not move; a contact that is off has f = 0 instead
 *   M_u a - J_u' (f, l) + h_u = 0      unactuated velocities: a floating base, passive joints
 *
 * Gauss-Jordan elimination, row by row with the largest element of the row as pivot: an eliminated variable is
 * g - G y of the free variables y. Dependent rows are skipped, so that any number of contacts may be active. */
#ifndef HELICOID_WHOLE_BODY_REDUCE_H
#define HELICOID_WHOLE_BODY_REDUCE_H
#include "qp_memory.h"

enum { NH = NF + NK, NR = NU + NH, NA = NV - NU, PX = QP_PADDED(NX + 1) };

#define DEPENDENT 1e-7 /* of a row's largest element, below which the remainder is rounding error */

typedef struct {
  int n;                 /* free variables */
  int is_used[NX + 1];   /* 0 for forces of an inactive contact */
  int free[NX + 1];      /* index of the variable y[c] */
  int place[NX + 1];     /* of variable k: its column c in y; or -1 - r: row r of G */
  double *K;             /* NV x PX: torque = K z + h, with column NX = h */
  double *W;             /* NR x PX, column NX is g */
  double *G;             /* NR x PX, columns 0 .. n - 1 */
} reduction;

enum { REDUCTION_WORK = (NV + 2 * NR) * PX };

static const int unactuated[] = UNACTUATED;
static const double scale[] = SCALE;

static inline void row_add(int size, double factor, const double *restrict a, double *restrict b) {
  for (int i = 0; i < size; i++) b[i] += factor * a[i];
}

static void reduction_fill(reduction *s, const double *M, const double *h, const double *J, const double *b) {
  for (int i = 0; i < NV; i++) {
    double *restrict K = s->K + i * PX;
    for (int k = 0; k < NV; k++) K[k] = M[i * NV + k] * scale[k];
    for (int k = 0; k < NH; k++) K[NV + k] = s->is_used[NV + k] ? -J[k * NV + i] * scale[NV + k] : 0;
    K[NX] = h[i];
    for (int k = NX + 1; k < PX; k++) K[k] = 0;
  }
  memset(s->W, 0, NR * PX * sizeof(double));
  for (int r = 0; r < NH; r++) {
    double *restrict W = s->W + r * PX;
    if (!s->is_used[NV + r]) continue;
    for (int k = 0; k < NV; k++) W[k] = J[r * NV + k] * scale[k];
    W[NX] = b[r];
  }
  for (int r = 0; r < NU; r++) {
    double *restrict W = s->W + (NH + r) * PX, *K = s->K + unactuated[r] * PX;
    memcpy(W, K, PX * sizeof(double));
    W[NX] = -K[NX];
  }
}

/* Eliminate as many variables as there are independent rows. */
static void reduction_solve(reduction *s) {
  double largest[NR + 1];
  for (int k = 0; k < NX; k++) s->place[k] = 0;
  for (int r = 0; r < NR; r++) {
    const double *W = s->W + r * PX;
    largest[r] = 0;
    for (int k = 0; k < NX; k++) largest[r] = qp_larger(largest[r], fabs(W[k]));
  }
  for (int r = 0; r < NR; r++) {
    double *restrict W = s->W + r * PX, most = DEPENDENT * largest[r];
    int at = -1;
    for (int k = 0; k < NX; k++)
      if (fabs(W[k]) > most) most = fabs(W[k]), at = k;
    if (at < 0) {
      memset(W, 0, PX * sizeof(double));
      continue;
    }
    const double inverse = 1 / W[at];
    for (int k = 0; k < PX; k++) W[k] *= inverse;
    W[at] = 1;
    for (int i = 0; i < NR; i++) {
      double *V = s->W + i * PX;
      if (i == r || V[at] == 0) continue;
      row_add(PX, -V[at], W, V);
      V[at] = 0;
    }
    s->place[at] = -1 - r;
  }
  s->n = 0;
  for (int k = 0; k < NX; k++)
    if (s->is_used[k] && s->place[k] >= 0) s->free[s->n] = k, s->place[k] = s->n++;
  for (int r = 0; r < NR; r++) {
    double *restrict G = s->G + r * PX;
    const double *restrict W = s->W + r * PX;
    for (int c = 0; c < s->n; c++) G[c] = W[s->free[c]];
    for (int c = s->n; c < PX; c++) G[c] = 0;
  }
}

/* coefficients z + constant, as row y + the value returned; coefficients are those from `first` to `end` - 1 of z. */
static double reduction_row(const reduction *s, int first, int end, const double *coefficients, double *restrict row) {
  const int n = s->n;
  double constant = 0;
  for (int c = 0; c < n; c++) row[c] = 0;
  for (int k = first; k < end; k++) {
    const double factor = coefficients[k - first];
    if (factor == 0 || !s->is_used[k]) continue;
    if (s->place[k] >= 0) {
      row[s->place[k]] += factor;
    } else {
      const int r = -1 - s->place[k];
      row_add(n, -factor, s->G + r * PX, row);
      constant += factor * s->W[r * PX + NX];
    }
  }
  return constant;
}

/* z as a function of y. */
static void reduction_expand(const reduction *s, const double *restrict y, double *restrict z) {
  for (int k = 0; k < NX; k++) {
    z[k] = 0;
    if (!s->is_used[k]) continue;
    if (s->place[k] >= 0) {
      z[k] = y[s->place[k]];
    } else {
      const int r = -1 - s->place[k];
      const double *restrict G = s->G + r * PX;
      double sum = s->W[r * PX + NX];
      for (int c = 0; c < s->n; c++) sum -= G[c] * y[c];
      z[k] = sum;
    }
  }
}
#endif
