/* Points, rotations and joints of a chain as screws: e^{ξθ} of a line (h, x), or of a translation along h. */
#ifndef CLOSED_FORM_SCREWS_H
#define CLOSED_FORM_SCREWS_H
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define AXES(k) for (int k = 0; k < 3; k++)

typedef struct { double h[3], x[3]; int slides; } screw;
typedef struct { double R[9], p[3]; } motion;

static inline double dot(const double *a, const double *b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
static inline void cross(const double *a, const double *b, double *c) {
  c[0] = a[1] * b[2] - a[2] * b[1];
  c[1] = a[2] * b[0] - a[0] * b[2];
  c[2] = a[0] * b[1] - a[1] * b[0];
}
static inline void minus(const double *a, const double *b, double *c) { AXES(k) c[k] = a[k] - b[k]; }
static inline void plus(const double *a, double s, const double *b, double *c) { AXES(k) c[k] = a[k] + s * b[k]; }
static inline double norm(const double *a) { return sqrt(dot(a, a)); }

/* The part of a perpendicular to the unit vector h. */
static inline void across(const double *h, const double *a, double *c) { plus(a, -dot(h, a), h, c); }

static inline void rotated(const double *R, const double *a, double *c) {
  AXES(i) c[i] = R[3 * i] * a[0] + R[3 * i + 1] * a[1] + R[3 * i + 2] * a[2];
}
static inline void rotated_back(const double *R, const double *a, double *c) {
  const double x = a[0], y = a[1], z = a[2];
  AXES(i) c[i] = R[i] * x + R[3 + i] * y + R[6 + i] * z;
}
static inline void moved(const motion *X, const double *a, double *c) {
  double b[3];
  rotated(X->R, a, b);
  plus(b, 1.0, X->p, c);
}
static inline void moved_back(const motion *X, const double *a, double *c) {
  double b[3];
  minus(a, X->p, b);
  rotated_back(X->R, b, c);
}
static inline void product(const motion *A, const motion *B, motion *C) {
  motion D;
  AXES(i) AXES(j) D.R[3 * i + j] = A->R[3 * i] * B->R[j] + A->R[3 * i + 1] * B->R[3 + j] + A->R[3 * i + 2] * B->R[6 + j];
  moved(A, B->p, D.p);
  *C = D;
}
static inline void inverse(const motion *A, motion *B) {
  motion D;
  AXES(i) AXES(j) D.R[3 * i + j] = A->R[3 * j + i];
  rotated(D.R, A->p, D.p);
  AXES(k) D.p[k] = -D.p[k];
  *B = D;
}

/* Rodrigues' formula: the rotation about the unit vector h. */
static inline void rotation(const double *h, double angle, double *R) {
  const double c = cos(angle), s = sin(angle), v = 1.0 - c;
  AXES(i) AXES(j) R[3 * i + j] = v * h[i] * h[j];
  R[0] += c, R[4] += c, R[8] += c;
  R[1] -= s * h[2], R[2] += s * h[1], R[3] += s * h[2];
  R[5] -= s * h[0], R[6] -= s * h[1], R[7] += s * h[0];
}

/* e^{ξθ} (Murray, Li and Sastry 1994, eq. 2.36, for pitch zero). */
static inline void exponential(const screw *S, double angle, motion *X) {
  if (S->slides) {
    memset(X->R, 0, sizeof X->R);
    X->R[0] = X->R[4] = X->R[8] = 1.0;
    AXES(k) X->p[k] = angle * S->h[k];
    return;
  }
  double b[3];
  rotation(S->h, angle, X->R);
  rotated(X->R, S->x, b);
  minus(S->x, b, X->p);
}

/* Ad_X ξ, and by the inverse of X. */
static inline void carried(const motion *X, const screw *S, screw *to) {
  screw D = {.slides = S->slides};
  rotated(X->R, S->h, D.h);
  moved(X, S->x, D.x);
  *to = D;
}
static inline void carried_back(const motion *X, const screw *S, screw *to) {
  screw D = {.slides = S->slides};
  rotated_back(X->R, S->h, D.h);
  moved_back(X, S->x, D.x);
  *to = D;
}

/* Points of the lines a and b that are nearest to each other; the sine of the angle between the lines. */
static inline double feet(const screw *a, const screw *b, double *on_a, double *on_b) {
  double n[3], d[3], e[3];
  cross(a->h, b->h, n);
  const double square = dot(n, n);
  minus(b->x, a->x, d);
  if (square < 1e-18) {
    plus(b->x, -dot(b->h, d), b->h, on_b);
    AXES(k) on_a[k] = a->x[k];
    return 0.0;
  }
  cross(d, b->h, e);
  plus(a->x, dot(e, n) / square, a->h, on_a);
  cross(d, a->h, e);
  plus(b->x, dot(e, n) / square, b->h, on_b);
  return sqrt(square);
}
#endif
