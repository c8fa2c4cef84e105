/* Angles about given axes that solve equations of one or two rotations (Paden 1986; Elias and Wen 2022).
 *
 * Subproblem 1  turn_angle: a vector onto another about an axis
 * Subproblems 3 and 4  on_line: a distance or a plane reached by one rotation, A cos θ + B sin θ = C
 * Subproblems 5 and 6  on_circle: two conditions on two or three rotations, reduced to a conic that meets the unit
 *   circle of (cos θ, sin θ) in up to four points
 * Subproblem 2 is the case of `position.h` in which the first two axes meet. */
#ifndef CLOSED_FORM_SUBPROBLEMS_H
#define CLOSED_FORM_SUBPROBLEMS_H
#include <complex.h>
#include "screws.h"

#define MIN_SQUARE 1e-280   /* of a number that is divided by */
#define MAX_LAST_STEP 1e-12 /* relative: convergence is cubic, so that nothing is left beyond rounding */

/* The angle about h from a to b, seen along h, and the lesser of their distances from the axis. */
static inline double turn_angle(const double *h, const double *a, const double *b, double *distance) {
  double u[3], v[3], w[3];
  across(h, a, u);
  across(h, b, v);
  cross(u, v, w);
  const double p = dot(u, u), q = dot(v, v);
  *distance = sqrt(p < q ? p : q);
  return atan2(dot(h, w), dot(u, v));
}

/* θ with A cos θ + B sin θ = C: two, or one where |C| exceeds the amplitude by no more than `slack`, or none.
 * Where an excess counts as one of the description (`spread` > 0), both sides of that one are starts. */
static inline int on_line(double A, double B, double C, double slack, double spread, double *angle) {
  const double amplitude = sqrt(A * A + B * B), square = (amplitude - C) * (amplitude + C), middle = atan2(B, A);
  if (square < 0.0) {
    if (fabs(C) - amplitude > slack) return 0;
    const double about = C < 0.0 ? middle + M_PI : middle;
    if (spread == 0.0) {
      angle[0] = about;
      return 1;
    }
    angle[0] = about + spread;
    angle[1] = about - spread;
    return 2;
  }
  const double away = atan2(sqrt(square), C);
  angle[0] = middle + away;
  angle[1] = middle - away;
  return 2;
}

/* A quadratic a x² + b x + c: its real roots, and the real part of a pair that is complex by no more than rounding. */
static inline int quadratic(double a, double b, double c, double slack, double *x) {
  const double d = b * b - 4.0 * a * c, size = b * b + fabs(4.0 * a * c);
  if (d < 0.0) {
    if (-d > slack * size) return 0;
    x[0] = -0.5 * b / a;
    return 1;
  }
  const double s = -0.5 * (b + copysign(sqrt(d), b));
  if (s == 0.0) {
    x[0] = 0.0;
    return 1;
  }
  x[0] = s / a;
  x[1] = c / s;
  return 2;
}

static inline double square_of(double complex z) { return creal(z) * creal(z) + cimag(z) * cimag(z); }

/* a / b without the checks for infinities of C's own division, which take longer than the rest. */
static inline double complex over(double complex a, double complex b) { return a * conj(b) * (1.0 / square_of(b)); }

/* θ with a C² + b C S + c S² + d C + e S + f = 0, C = cos θ, S = sin θ; k = (a, b, c, d, e, f). With z = e^{iθ} it is a
 * polynomial of degree 4, whose roots on the unit circle are found all at once (Aberth 1973). */
static int on_circle(const double *k, double slack, double *angle) {
  const double complex A = 0.25 * (k[0] - k[2]) - 0.25 * k[1] * I, D = 0.5 * k[3] - 0.5 * k[4] * I;
  const double F = k[5] + 0.5 * (k[0] + k[2]), amplitude = cabs(A), size = amplitude + cabs(D) + fabs(F);
  if (amplitude <= 1e-13 * size) return on_line(k[3], k[4], -F, slack * size, 0.0, angle);
  const double complex c[5] = {over(conj(A), A), over(conj(D), A), over(F, A), over(D, A), 1.0};
  double complex z[4];
  for (int i = 0; i < 4; i++) z[i] = cexp(I * (0.3 + 0.5 * M_PI * i)) * (i & 1 ? 0.8 : 1.25);
  for (int round = 0; round < 60; round++) {
    double largest = 0.0;
    for (int i = 0; i < 4; i++) {
      double complex p = 1.0, dp = 0.0, sum = 0.0;
      for (int j = 3; j >= 0; j--) dp = dp * z[i] + p, p = p * z[i] + c[j];
      for (int j = 0; j < 4; j++)
        if (j != i && z[i] != z[j]) sum += over(1.0, z[i] - z[j]);
      const double complex below = dp - p * sum;
      const double complex step = square_of(below) < MIN_SQUARE ? 1e-3 : over(p, below);
      z[i] -= step;
      largest = fmax(largest, square_of(step) / (MIN_SQUARE + square_of(z[i])));
    }
    if (largest < MAX_LAST_STEP * MAX_LAST_STEP) break;
  }
  int n = 0;
  for (int i = 0; i < 4; i++)
    if (fabs(cabs(z[i]) - 1.0) < (slack > 1e-4 ? 10.0 * slack : 1e-3)) angle[n++] = carg(z[i]);
  return n;
}
#endif
