/* Cholesky factors H = L L', and QR factors M = Q R by Gram-Schmidt with reorthogonalisation, updated as columns are
 * added and removed. */
#ifndef HELICOID_QP_FACTORS_H
#define HELICOID_QP_FACTORS_H
#include "qp_memory.h"

/* Columns of L from the lower triangle of H, zero above the diagonal. 0 if a pivot is not positive. */
static int qp_cholesky(qp *s, double smallest) {
  QP_SIZES(s);
  for (int j = 0; j < n; j++) {
    double *restrict c = s->L + j * QP_STRIDE;
    const int from = j / 4 * 4;
    for (int i = 0; i < QP_STRIDE; i++) c[i] = 0;
    for (int i = j; i < n; i++) c[i] = s->H[(size_t)i * n + j];
    c[j] += s->shift;
    int k = 0;
    for (; k + 4 <= j; k += 4) {
      const double *restrict l = s->L + k * QP_STRIDE;
      const double a = l[j], b = l[QP_STRIDE + j], d = l[2 * QP_STRIDE + j], e = l[3 * QP_STRIDE + j];
      for (int i = from; i < QP_STRIDE; i++)
        c[i] -= a * l[i] + b * l[QP_STRIDE + i] + d * l[2 * QP_STRIDE + i] + e * l[3 * QP_STRIDE + i];
    }
    for (; k < j; k++) qp_add(from, QP_STRIDE, -s->L[k * QP_STRIDE + j], s->L + k * QP_STRIDE, c);
    for (int i = from; i < j; i++) c[i] = 0;
    if (!(c[j] > smallest)) return 0;
    const double inverse = 1 / sqrt(c[j]);
    s->inverse_diagonal[j] = inverse;
    for (int i = from; i < QP_STRIDE; i++) c[i] *= inverse;
  }
  memset(s->L + n * QP_STRIDE, 0, (size_t)((QP_STRIDE - n) * QP_STRIDE) * sizeof(double));
  return 1;
}

/* b := L^-1 b, where b is zero before `first`. Forward substitution, in blocks of four rows. */
static void qp_forward(const qp *s, int first, double *restrict b) {
  QP_SIZES(s);
  for (int j = first / 4 * 4; j < n; j += 4) {
    const double *restrict l = s->L + j * QP_STRIDE, *inverse = s->inverse_diagonal + j;
    const double *restrict l1 = l + QP_STRIDE, *restrict l2 = l1 + QP_STRIDE, *restrict l3 = l2 + QP_STRIDE;
    const double b0 = b[j] * inverse[0], b1 = (b[j + 1] - l[j + 1] * b0) * inverse[1];
    const double b2 = (b[j + 2] - l[j + 2] * b0 - l1[j + 2] * b1) * inverse[2];
    const double b3 = (b[j + 3] - l[j + 3] * b0 - l1[j + 3] * b1 - l2[j + 3] * b2) * inverse[3];
    b[j] = b0, b[j + 1] = b1, b[j + 2] = b2, b[j + 3] = b3;
    for (int i = j + 4; i < QP_STRIDE; i++) b[i] -= (b0 * l[i] + b1 * l1[i]) + (b2 * l2[i] + b3 * l3[i]);
  }
}
/* z := L'^-1 b: backward substitution. */
static void qp_backward(const qp *s, const double *restrict b, double *restrict z) {
  QP_SIZES(s);
  for (int j = QP_STRIDE - 4; j >= 0; j -= 4) {
    const double *restrict l = s->L + j * QP_STRIDE, *inverse = s->inverse_diagonal + j;
    const double *restrict l1 = l + QP_STRIDE, *restrict l2 = l1 + QP_STRIDE, *restrict l3 = l2 + QP_STRIDE;
    double s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    for (int i = j + 4; i < QP_STRIDE; i++) s0 += l[i] * z[i], s1 += l1[i] * z[i], s2 += l2[i] * z[i], s3 += l3[i] * z[i];
    z[j + 3] = (b[j + 3] - s3) * inverse[3];
    z[j + 2] = (b[j + 2] - s2 - l2[j + 3] * z[j + 3]) * inverse[2];
    z[j + 1] = (b[j + 1] - s1 - l1[j + 2] * z[j + 2] - l1[j + 3] * z[j + 3]) * inverse[1];
    z[j] = (b[j] - s0 - l[j + 1] * z[j + 1] - l[j + 2] * z[j + 2] - l[j + 3] * z[j + 3]) * inverse[0];
  }
}

/* m_p := L^-1 normal. */
static void qp_transform_normal(qp *s, int c) {
  QP_SIZES(s);
  memset(s->m_p, 0, QP_STRIDE * sizeof(double));
  qp_add_normal(s, c, 1, s->m_p);
  qp_forward(s, c < n ? c : 0, s->m_p);
}

/* c := Q'b. Four columns at once, as independent sums. */
static inline void qp_project(const qp *s, const double *restrict b, double *restrict c) {
  QP_SIZES(s);
  int k = 0;
  for (; k + 4 <= s->q; k += 4) {
    const double *restrict Q = s->Q + k * QP_STRIDE;
    double sum[4] = {0, 0, 0, 0};
    for (int i = 0; i < QP_STRIDE; i++) {
      sum[0] += Q[i] * b[i], sum[1] += Q[QP_STRIDE + i] * b[i];
      sum[2] += Q[2 * QP_STRIDE + i] * b[i], sum[3] += Q[3 * QP_STRIDE + i] * b[i];
    }
    for (int j = 0; j < 4; j++) c[k + j] = sum[j];
  }
  for (; k < s->q; k++) c[k] = qp_dot(0, QP_STRIDE, s->Q + k * QP_STRIDE, b);
}
/* b += factor Q c. */
static inline void qp_combine(const qp *s, double factor, const double *restrict c, double *restrict b) {
  QP_SIZES(s);
  int k = 0;
  for (; k + 4 <= s->q; k += 4) {
    const double *restrict Q = s->Q + k * QP_STRIDE;
    const double c0 = factor * c[k], c1 = factor * c[k + 1], c2 = factor * c[k + 2], c3 = factor * c[k + 3];
    for (int i = 0; i < QP_STRIDE; i++)
      b[i] += (c0 * Q[i] + c1 * Q[QP_STRIDE + i]) + (c2 * Q[2 * QP_STRIDE + i] + c3 * Q[3 * QP_STRIDE + i]);
  }
  for (; k < s->q; k++) qp_add(0, QP_STRIDE, factor * c[k], s->Q + k * QP_STRIDE, b);
}

/* r := Q'm_p, w := m_p - Q r. Returns w'w, or 0 where w is rounding error alone: always with n active constraints,
 * whatever the numbers, so that the active set never outgrows its memory. */
static double qp_orthogonalise(qp *s) {
  QP_SIZES(s);
  double *restrict w = s->w, *restrict r = s->r, *restrict c = s->scratch;
  memcpy(w, s->m_p, QP_STRIDE * sizeof(double));
  const double all = qp_dot(0, QP_STRIDE, w, w);
  double left = all, before;
  for (int k = 0; k < s->q; k++) r[k] = 0;
  if (!s->q) return left;
  int pass = 0;
  do {
    before = left;
    qp_project(s, w, c);
    qp_combine(s, -1, c, w);
    for (int k = 0; k < s->q; k++) r[k] += c[k];
    left = qp_dot(0, QP_STRIDE, w, w);
  } while (left < 0.5 * before && left > 1e-22 * all && ++pass < 4);
  return s->q < n && left > 1e-20 * all ? left : 0;
}

/* Add constraint c to the active set, with m_p, r and w of qp_orthogonalise. */
static void qp_append(qp *s, int c, double squared) {
  QP_SIZES(s);
  const double length = sqrt(squared), inverse = 1 / length;
  double *restrict column = s->Q + s->q * QP_STRIDE, *restrict R = s->R + s->q * QP_STRIDE;
  for (int i = 0; i < QP_STRIDE; i++) column[i] = inverse * s->w[i];
  for (int k = 0; k < s->q; k++) R[k] = s->r[k];
  R[s->q] = length;
  s->r_inverse[s->q] = inverse;
  s->active[s->q++] = c;
}

/* Remove column k from Q R, by Givens rotations of the columns after it. */
static void qp_remove(qp *s, int k) {
  QP_SIZES(s);
  s->q--;
  for (int j = k; j < s->q; j++) {
    s->active[j] = s->active[j + 1];
    memcpy(s->R + j * QP_STRIDE, s->R + (j + 1) * QP_STRIDE, (size_t)(j + 2) * sizeof(double));
  }
  for (int j = k; j < s->q; j++) {
    double *a = s->R + j * QP_STRIDE + j;
    const double length = sqrt(a[0] * a[0] + a[1] * a[1]), cosine = a[0] / length, sine = a[1] / length;
    a[0] = length;
    s->r_inverse[j] = 1 / length;
    for (int l = j + 1; l < s->q; l++) {
      double *b = s->R + l * QP_STRIDE + j;
      const double first = cosine * b[0] + sine * b[1];
      b[1] = cosine * b[1] - sine * b[0];
      b[0] = first;
    }
    double *restrict p = s->Q + j * QP_STRIDE, *restrict o = s->Q + (j + 1) * QP_STRIDE;
    for (int i = 0; i < QP_STRIDE; i++) {
      const double first = cosine * p[i] + sine * o[i];
      o[i] = cosine * o[i] - sine * p[i];
      p[i] = first;
    }
  }
}

/* b := R^-1 b. */
static inline void qp_solve_r(const qp *s, double *restrict b) {
  QP_SIZES(s);
  for (int k = s->q - 1; k >= 0; k--) {
    const double *restrict R = s->R + k * QP_STRIDE;
    b[k] *= s->r_inverse[k];
    for (int i = 0; i < k; i++) b[i] -= b[k] * R[i];
  }
}
/* b := R'^-1 b. */
static inline void qp_solve_r_transposed(const qp *s, double *restrict b) {
  QP_SIZES(s);
  for (int k = 0; k < s->q; k++) {
    const double *restrict R = s->R + k * QP_STRIDE;
    for (int i = 0; i < k; i++) b[k] -= R[i] * b[i];
    b[k] *= s->r_inverse[k];
  }
}
#endif
