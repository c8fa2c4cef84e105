/* Vectors of three and poses (R row by row with p as fourth column: 12 numbers). */
#ifndef HC_VECTORS_H
#define HC_VECTORS_H
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

typedef struct { double x, y, z; } vec;

static inline vec make(double x, double y, double z) { vec v = {x, y, z}; return v; }
static inline vec add(vec a, vec b) { return make(a.x + b.x, a.y + b.y, a.z + b.z); }
static inline vec sub(vec a, vec b) { return make(a.x - b.x, a.y - b.y, a.z - b.z); }
static inline vec scale(double s, vec a) { return make(s * a.x, s * a.y, s * a.z); }
static inline vec along(vec a, double s, vec d) { return add(a, scale(s, d)); }
static inline double dot(vec a, vec b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
static inline vec cross(vec a, vec b) {
  return make(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}
static inline double norm(vec a) { return sqrt(dot(a, a)); }
static inline vec load(const double *p) { return make(p[0], p[1], p[2]); }
static inline void store(double *p, vec a) { p[0] = a.x; p[1] = a.y; p[2] = a.z; }
static inline double clamped(double s, double low, double high) { return s < low ? low : s > high ? high : s; }
/* Any unit vector across a. */
static inline vec across(vec a) {
  vec e = fabs(a.x) < 0.6 * norm(a) ? make(1, 0, 0) : make(0, 1, 0);
  vec c = cross(a, e);
  return scale(1 / norm(c), c);
}

static inline vec turned(const double *T, vec a) {
  return make(T[0] * a.x + T[1] * a.y + T[2] * a.z, T[4] * a.x + T[5] * a.y + T[6] * a.z,
              T[8] * a.x + T[9] * a.y + T[10] * a.z);
}
static inline vec turned_back(const double *T, vec a) {
  return make(T[0] * a.x + T[4] * a.y + T[8] * a.z, T[1] * a.x + T[5] * a.y + T[9] * a.z,
              T[2] * a.x + T[6] * a.y + T[10] * a.z);
}
static inline vec moved(const double *T, vec a) { return add(turned(T, a), make(T[3], T[7], T[11])); }
static inline vec moved_back(const double *T, vec a) { return turned_back(T, sub(a, make(T[3], T[7], T[11]))); }
/* out = A B */
static inline void product(const double *A, const double *B, double *out) {
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 4; j++)
      out[4 * i + j] = A[4 * i] * B[j] + A[4 * i + 1] * B[4 + j] + A[4 * i + 2] * B[8 + j] + (j == 3 ? A[4 * i + 3] : 0);
}
/* out = A^-1 B */
static inline void relative(const double *A, const double *B, double *out) {
  for (int j = 0; j < 4; j++) {
    vec b = make(B[j], B[4 + j], B[8 + j]);
    vec c = j == 3 ? moved_back(A, b) : turned_back(A, b);
    out[j] = c.x; out[4 + j] = c.y; out[8 + j] = c.z;
  }
}
#endif
