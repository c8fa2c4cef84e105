/* Piecewise cubics: piece p is c0 + c1 h + c2 h^2 + c3 h^3 with h = s - breaks[p]; coefficients (pieces, 4, n). */
#ifndef TOPP_SPLINE_H
#define TOPP_SPLINE_H
#include <stddef.h>
#include <stdint.h>
#define EXPORTED __attribute__((visibility("default")))

/* Single instructions, whereas fmax and fmin, which handle NaN, are calls. */
static inline double larger(double a, double b) { return a > b ? a : b; }
static inline double smaller(double a, double b) { return a < b ? a : b; }

static double slope_between(const double *s, const double *q, int64_t n, int64_t i, int64_t j) {
  return (q[(i + 1) * n + j] - q[i * n + j]) / (s[i + 1] - s[i]);
}

/* Slopes at k >= 4 knots of the spline whose third derivative is continuous at the second knot and the last but
   one, by elimination in a tridiagonal system; `upper` is (k). */
static void not_a_knot(int64_t k, int64_t n, const double *s, const double *q, double *slope, double *upper) {
  for (int64_t i = 0; i < k; i++) {
    double below, diagonal, above, left, right; /* coefficients of knot i; left, right: of its chords */
    int64_t chord = i == 0 ? 0 : i == k - 1 ? k - 3 : i - 1;
    double h0 = s[chord + 1] - s[chord], h1 = s[chord + 2] - s[chord + 1], d = h0 + h1;
    if (i == 0) {
      below = 0, diagonal = h1, above = d, left = (h0 + 2 * d) * h1 / d, right = h0 * h0 / d;
    } else if (i == k - 1) {
      below = d, diagonal = h0, above = 0, left = h1 * h1 / d, right = (2 * d + h1) * h0 / d;
    } else {
      below = h1, diagonal = 2 * d, above = h0, left = 3 * h1, right = 3 * h0;
    }
    double pivot = diagonal - (i ? below * upper[i - 1] : 0);
    upper[i] = above / pivot;
    for (int64_t j = 0; j < n; j++) {
      double b = left * slope_between(s, q, n, chord, j) + right * slope_between(s, q, n, chord + 1, j);
      slope[i * n + j] = (b - (i ? below * slope[(i - 1) * n + j] : 0)) / pivot;
    }
  }
  for (int64_t i = k - 2; i >= 0; i--)
    for (int64_t j = 0; j < n; j++) slope[i * n + j] -= upper[i] * slope[(i + 1) * n + j];
}

/* Through k knots (s, q) of n columns: a line for two, a parabola for three. `work` is k (n + 1). */
EXPORTED void topp_spline(int64_t k, int64_t n, const double *s, const double *q, double *c, double *work) {
  double *slope = work;
  if (k > 3) not_a_knot(k, n, s, q, slope, work + k * n);
  for (int64_t i = 0; i + 1 < k; i++) {
    double h = s[i + 1] - s[i], *at = c + 4 * n * i;
    for (int64_t j = 0; j < n; j++) {
      double chord = slope_between(s, q, n, i, j), v0 = chord, v1 = chord;
      if (k == 3) {
        double bend = (slope_between(s, q, n, 1, j) - slope_between(s, q, n, 0, j)) / (s[2] - s[0]);
        v0 = chord - bend * h, v1 = chord + bend * h;
      } else if (k > 3) {
        v0 = slope[i * n + j], v1 = slope[(i + 1) * n + j];
      }
      at[j] = q[i * n + j], at[n + j] = v0;
      at[2 * n + j] = (3 * chord - 2 * v0 - v1) / h;
      at[3 * n + j] = (v0 + v1 - 2 * chord) / (h * h);
    }
  }
}

static void piece_at(int64_t n, const double *c, double h, double *q, double *q1, double *q2) {
  for (int64_t j = 0; j < n; j++) {
    double c0 = c[j], c1 = c[n + j], c2 = c[2 * n + j], c3 = c[3 * n + j];
    q[j] = c0 + h * (c1 + h * (c2 + h * c3));
    q1[j] = c1 + h * (2 * c2 + 3 * h * c3);
    q2[j] = 2 * c2 + 6 * h * c3;
  }
}

/* q, q', q'' (m, n) at ascending s; of two equal s in a row the second gives the right limit. */
EXPORTED void topp_evaluate(int64_t pieces, int64_t n, const double *breaks, const double *c, int64_t m,
                            const double *s, double *q, double *q1, double *q2) {
  for (int64_t i = 0, p = 0; i < m; i++) {
    int right = i > 0 && s[i] == s[i - 1];
    while (p + 1 < pieces && (s[i] > breaks[p + 1] || (right && s[i] >= breaks[p + 1]))) p++;
    piece_at(n, c + 4 * n * p, s[i] - breaks[p], q + i * n, q1 + i * n, q2 + i * n);
  }
}
#endif
