/* Mathematics on W samples at once, for batch kernels: `#define HC_LANES W`, then include this file.
 *
 * W is 1, 2, 4, 8 or 16; `hc_v` holds one double of each sample (a plain double when W is 1). Every
 * function works lane by lane: what one sample gives never depends on its neighbours or its position.
 * Needs gcc >= 9 or clang >= 10. Floating-point contraction is welcome, reassociation is not: the sums
 * below rely on their order. Vectors wider than the target's registers work, but gcc wants -Wno-psabi to
 * be silent about passing them between functions.
 */
#ifndef HELICOID_VECTOR_MATH_H
#define HELICOID_VECTOR_MATH_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__FAST_MATH__) || defined(__ASSOCIATIVE_MATH__) || __FINITE_MATH_ONLY__
#error "vector_math.h needs the order of sums, infinities and NaN: compile without -ffast-math"
#endif

#ifndef __GNUC__ /* a compiler that has no vectors: W is 1 */
#define __attribute__(unknown)
#define __builtin_expect(value, expected) (value)
#endif

#define HC_HOT static inline __attribute__((always_inline, unused))
#if defined(__OPTIMIZE__) || !defined(__GNUC__)
#define HC_OPTIMISED 1
#define HC_CALL static __attribute__((noinline, unused))
#else /* unused functions are written to the object unless they are inline */
#define HC_OPTIMISED 0
#define HC_CALL static inline __attribute__((unused))
#endif

/* HC_EACH(F, h): F(0, h), F(1, h), ... F(W - 1, h) */
#define HC_EACH_1(F, h, l) F(l, h)
#define HC_EACH_2(F, h, l) HC_EACH_1(F, h, l), HC_EACH_1(F, h, l + 1)
#define HC_EACH_4(F, h, l) HC_EACH_2(F, h, l), HC_EACH_2(F, h, l + 2)
#define HC_EACH_8(F, h, l) HC_EACH_4(F, h, l), HC_EACH_4(F, h, l + 4)
#define HC_EACH_16(F, h, l) HC_EACH_8(F, h, l), HC_EACH_8(F, h, l + 8)
#define HC_JOIN(a, b) a##b
#define HC_EACH_OF(w, F, h) HC_JOIN(HC_EACH_, w)(F, h, 0)
#define HC_EACH(F, h) HC_EACH_OF(HC_LANES, F, h)

/* hc_v: a double of each lane; hc_i: its bits; hc_u: an hc_v anywhere in an array of doubles;
 * HC_MASK: a comparison as an hc_i of all ones or all zeros. */
#if HC_LANES == 1
typedef double hc_v;
typedef uint64_t hc_i;
typedef double hc_u __attribute__((may_alias));
#define HC_MASK(comparison) (-(hc_i)(comparison))
#elif HC_LANES == 2 || HC_LANES == 4 || HC_LANES == 8 || HC_LANES == 16
typedef double hc_v __attribute__((vector_size(8 * HC_LANES)));
typedef uint64_t hc_i __attribute__((vector_size(8 * HC_LANES)));
typedef double hc_u __attribute__((vector_size(8 * HC_LANES), aligned(8), may_alias));
#define HC_MASK(comparison) ((hc_i)(comparison))
#else
#error "HC_LANES must be 1, 2, 4, 8 or 16"
#endif

typedef union {
  hc_v v;
  hc_i i;
  double lane[HC_LANES];
  uint64_t bits[HC_LANES];
} hc_lanes;

#define HC_SIGN (UINT64_C(1) << 63) /* the sign bit */

HC_HOT hc_i hc_bits(hc_v x) { return ((hc_lanes){.v = x}).i; }
HC_HOT hc_v hc_value(hc_i x) { return ((hc_lanes){.i = x}).v; }
HC_HOT hc_v hc_splat(double x) { return x - (hc_v){0}; } /* minus: -0.0 keeps its sign */
HC_HOT hc_v hc_fabs(hc_v x) { return hc_value(hc_bits(x) & ~HC_SIGN); }
HC_HOT hc_v hc_select(hc_i mask, hc_v x, hc_v y) {
  return hc_value((hc_bits(x) & mask) | (hc_bits(y) & ~mask));
}

HC_HOT int hc_all(hc_i mask) {
#if defined(__AVX__) && HC_LANES == 4
  return __builtin_ia32_movmskpd256(hc_value(mask)) == 15;
#elif defined(__AVX__) && HC_LANES == 8 && (defined(__clang__) || __GNUC__ >= 12)
  const hc_v m = hc_value(mask & __builtin_shufflevector(mask, mask, 4, 5, 6, 7, 0, 1, 2, 3));
  return __builtin_ia32_movmskpd256(__builtin_shufflevector(m, m, 0, 1, 2, 3)) == 15;
#else
  const hc_lanes m = {.i = mask};
  uint64_t all = UINT64_MAX;
  for (int l = 0; l < HC_LANES; l++) all &= m.bits[l];
  return all != 0;
#endif
}

/* Lanes beyond the range of a function of our own (NaN among them) take libm's value instead of `near`. */
#define HC_FAR(name, limit)                                                       \
  HC_CALL __attribute__((cold)) hc_v hc_##name##_far(hc_v x, hc_v near) {         \
    const hc_lanes a = {.v = x};                                                  \
    hc_lanes y = {.v = near};                                                     \
    for (int l = 0; l < HC_LANES; l++)                                            \
      if (!(fabs(a.lane[l]) <= limit)) y.lane[l] = name(a.lane[l]);               \
    return y.v;                                                                   \
  }

/* ---- sine and cosine ------------------------------------------------------------------------------
 *
 * x = k pi/2 + r, |r| <= pi/4 (1 + 2^-36), for |x| <= 1e5, so |k| < 2^16. pi/2 is cut into four parts,
 * with bits down to 2^-36, 2^-53, 2^-90 and 2^-144. The first three have at most 37 bits: their products
 * with k are exact, contracted or not. The first two differences are exact as well, for x and the parts
 * are multiples of 2^-53 and |r| < 1; the third is within half an ulp of r, and exact when r is small; the
 * fourth matters only when r is tiny. No double up to 1e5 but 0 is nearer than k 2^-68 to k pi/2 (all k
 * were tried), so r keeps its relative accuracy everywhere. All parts are positive: -0.0 stays -0.0.
 *
 * sin r = r + r z S(z) and cos r = 1 - z/2 + z^2 C(z), z = r^2. S and C have degree 5 and minimise the
 * largest relative error on the interval: Remez exchange in 200-bit arithmetic, the coefficients rounded
 * to double one after the other from the lowest, the others fitted anew each time. Largest relative
 * errors of the rounded polynomials: 2^-57.8 (sin), 2^-63.9 (cos).
 */
#define HC_NEAR 1e5
#define HC_ROUND 0x1.8p52 /* x + HC_ROUND: x to the nearest integer, which its low bits hold */

HC_FAR(sin, HC_NEAR)
HC_FAR(cos, HC_NEAR)

/* Both at once: error <= 2 ulp for |x| <= 1e5, libm beyond; NaN for NaN and infinities. */
HC_HOT void hc_sincos(hc_v x, hc_v *sine, hc_v *cosine) {
  const hc_v shifted = x * 0x1.45f306dc9c883p-1 + HC_ROUND; /* 2/pi */
  const hc_v k = shifted - HC_ROUND;
  const hc_i quadrant = hc_bits(shifted);
  hc_v r = x - k * 0x1.921fb5444p+0;
  r = r - k * 0x1.68cp-39;
  r = r - k * 0x1.1a62633140000p-54;
  r = r - k * 0x1.701b839a25205p-92;
  const hc_v z = r * r;

  hc_v S = z * 0x1.5d8b55205c3c0p-33 - 0x1.ae5e4b82bead8p-26;
  S = z * S + 0x1.71de35552a6a5p-19;
  S = z * S - 0x1.a01a019be9210p-13;
  S = z * S + 0x1.111111110f730p-7;
  S = z * S - 0x1.5555555555548p-3;
  hc_v C = z * -0x1.8fa68460bf381p-37 + 0x1.1ee9dbcecc11ap-29;
  C = z * C - 0x1.27e4f7f191244p-22;
  C = z * C + 0x1.a01a019c8f253p-16;
  C = z * C - 0x1.6c16c16c15015p-10;
  C = z * C + 0x1.555555555554bp-5;
  /* + 0.0 turns the -0.0 that z S is at r = -0.0 into 0.0, so that the sum is -0.0 as it must be. */
  const hc_i sin_r = hc_bits(r + r * (z * S + 0.0));
  const hc_i cos_r = hc_bits((1.0 - 0.5 * z) + (z * z) * C);

  /* An odd quadrant swaps the two; bit 1 of the quadrant (of the next one) is the sign. */
  const hc_i swap = (sin_r ^ cos_r) & -(quadrant & 1);
  *sine = hc_value(sin_r ^ swap ^ ((quadrant << 62) & HC_SIGN));
  *cosine = hc_value(cos_r ^ swap ^ (((quadrant + 1) << 62) & HC_SIGN));
  if (__builtin_expect(!hc_all(HC_MASK(hc_fabs(x) <= HC_NEAR)), 0)) {
    *sine = hc_sin_far(x, *sine);
    *cosine = hc_cos_far(x, *cosine);
  }
}

HC_HOT hc_v hc_sin(hc_v x) {
  hc_v s, c;
  hc_sincos(x, &s, &c);
  return s;
}

HC_HOT hc_v hc_cos(hc_v x) {
  hc_v s, c;
  hc_sincos(x, &s, &c);
  return c;
}

/* ---- exponential and hyperbolic tangent -----------------------------------------------------------
 *
 * x = k ln 2 + r, |r| <= ln(2)/2, with ln 2 in two parts, the first of 41 bits: x - k ln2_high is exact
 * for |k| < 2^11. expm1(r) = r + r^2 E(r), E of degree 10 by Remez exchange, then rounded; largest relative
 * error of the rounded polynomial: 2^-59.9.
 */
HC_HOT hc_v hc_expm1_reduced(hc_v x, hc_i *two_to_k) {
  const hc_v shifted = x * 0x1.71547652b82fep+0 + HC_ROUND; /* 1/ln 2 */
  const hc_v k = shifted - HC_ROUND;
  const hc_v r = (x - k * 0x1.62e42fefa4p-1) - k * -0x1.8432a1b0e2634p-43;
  hc_v E = r * 0x1.1ee882c9e7386p-29 + 0x1.af5e686812c12p-26;
  E = r * E + 0x1.27e53629d5bf4p-22;
  E = r * E + 0x1.71ddf8855eb7fp-19;
  E = r * E + 0x1.a01a017bca3c2p-16;
  E = r * E + 0x1.a01a01afd17f6p-13;
  E = r * E + 0x1.6c16c16c1f063p-10;
  E = r * E + 0x1.111111110f6dfp-7;
  E = r * E + 0x1.555555555553fp-5;
  E = r * E + 0x1.5555555555559p-3;
  E = r * E + 0x1.0p-1;
  *two_to_k = hc_bits(shifted) << 52; /* to be added to the exponent */
  return r + (r * r) * E;
}

#define HC_EXP_NEAR 708.0 /* the result and its factors are normal numbers */

HC_FAR(exp, HC_EXP_NEAR)

/* Error <= 2 ulp for |x| <= 708, libm beyond. */
HC_HOT hc_v hc_exp(hc_v x) {
  hc_i two_to_k;
  const hc_v p = hc_expm1_reduced(x, &two_to_k);
  hc_v y = hc_value(hc_bits(1.0 + p) + two_to_k);
  if (__builtin_expect(!hc_all(HC_MASK(hc_fabs(x) <= HC_EXP_NEAR)), 0))
    y = hc_exp_far(x, y);
  return y;
}

/* tanh |x| = e / (e + 2), e = expm1(2 |x|) = 2^k expm1(r) + (2^k - 1); 1 to the last bit from 20 on.
 * Error <= 3 ulp. */
HC_HOT hc_v hc_tanh(hc_v x) {
  hc_v a = hc_fabs(x);
  a = hc_select(HC_MASK(a > 20.0), hc_splat(20.0), a); /* NaN stays */
  hc_i two_to_k;
  const hc_v p = hc_expm1_reduced(2.0 * a, &two_to_k);
  const hc_v scale = hc_value(hc_bits(hc_splat(1.0)) + two_to_k);
  const hc_v e = scale * p + (scale - 1.0);
  return hc_value(hc_bits(e / (e + 2.0)) | (hc_bits(x) & HC_SIGN));
}

/* ---- operations on bits, comparisons (0.0 or 1.0), selections -------------------------------------- */

#define HC_TRUTH(comparison) hc_value(HC_MASK(comparison) & hc_bits(hc_splat(1.0)))

HC_HOT hc_v hc_lt(hc_v x, hc_v y) { return HC_TRUTH(x < y); }
HC_HOT hc_v hc_le(hc_v x, hc_v y) { return HC_TRUTH(x <= y); }
HC_HOT hc_v hc_eq(hc_v x, hc_v y) { return HC_TRUTH(x == y); }
HC_HOT hc_v hc_ne(hc_v x, hc_v y) { return HC_TRUTH(x != y); }
HC_HOT hc_v hc_not(hc_v x) { return HC_TRUTH(x == 0.0); }
HC_HOT hc_v hc_and(hc_v x, hc_v y) { return HC_TRUTH((x != 0.0) & (y != 0.0)); }
HC_HOT hc_v hc_or(hc_v x, hc_v y) { return HC_TRUTH((x != 0.0) | (y != 0.0)); }

/* condition ? x : 0, and 0.0 it is even where x is NaN or infinite. A NaN condition counts as true. */
HC_HOT hc_v hc_if_else_zero(hc_v condition, hc_v x) {
  return hc_value(HC_MASK(condition != 0.0) & hc_bits(x));
}

HC_HOT hc_v hc_copysign(hc_v x, hc_v y) {
  return hc_value((hc_bits(x) & ~HC_SIGN) | (hc_bits(y) & HC_SIGN));
}

/* -1, 1, or x itself where x is a zero or NaN. */
HC_HOT hc_v hc_sign(hc_v x) {
  return hc_select(HC_MASK((x < 0.0) | (x > 0.0)), hc_copysign(hc_splat(1.0), x), x);
}

/* C99: the other argument where one is NaN. */
HC_HOT hc_v hc_fmin(hc_v x, hc_v y) { return hc_select(HC_MASK((x < y) | (y != y)), x, y); }
HC_HOT hc_v hc_fmax(hc_v x, hc_v y) { return hc_select(HC_MASK((x > y) | (y != y)), x, y); }

/* Round to nearest by adding 2^52, then step down where that went up; from 2^52 on all are integers. */
HC_HOT hc_v hc_floor(hc_v x) {
  const hc_v nearest = hc_copysign((hc_fabs(x) + 0x1p52) - 0x1p52, x);
  const hc_v floor_x = nearest - HC_TRUTH(nearest > x);
  return hc_select(HC_MASK(hc_fabs(x) < 0x1p52), floor_x, x);
}
HC_HOT hc_v hc_ceil(hc_v x) { return -hc_floor(-x); }

/* The loop becomes vector instructions; gcc would halve 512 bits and join them through memory. */
HC_HOT hc_v hc_sqrt(hc_v x) {
#if defined(__AVX512F__) && HC_LANES == 8 && !defined(__clang__)
  return __builtin_ia32_sqrtpd512_mask(x, x, -1, 4);
#else
  hc_lanes y = {.v = x};
  for (int l = 0; l < HC_LANES; l++) y.lane[l] = sqrt(y.lane[l]);
  return y.v;
#endif
}

/* ---- arc tangent, arc sine and arc cosine ------------------------------------------------------------
 *
 * The angle of (hi, lo), 0 <= lo <= hi, is atan q with q = lo / hi, or pi/4 + atan q with q = (lo - hi) / (lo + hi)
 * where lo is above tan(pi/8) hi: |q| <= tan(pi/8). There atan q = q + q z P(z) / Q(z), z = q^2, with the
 * coefficients of Moshier (Cephes, 1989), whose error is below 2^-55. What pi/4, pi/2 and pi lack as doubles is added
 * to the smaller summand.
 */
HC_HOT hc_v hc_octant(hc_v lo, hc_v hi) {
  const hc_i upper = HC_MASK(lo > 0x1.a827999fcef32p-2 * hi);
  const hc_v q = hc_select(upper, lo - hi, lo) / hc_select(upper, lo + hi, hi), z = q * q;
  hc_v P = z * -8.750608600031904122785e-1 - 1.615753718733365076637e1;
  P = z * P - 7.500855792314704667340e1;
  P = z * P - 1.228866684490136173410e2;
  P = z * P - 6.485021904942025371773e1;
  hc_v Q = z + 2.485846490142306297962e1;
  Q = z * Q + 1.650270098316988542046e2;
  Q = z * Q + 4.328810604912902668951e2;
  Q = z * Q + 4.853903996359136964868e2;
  Q = z * Q + 1.945506571482613964425e2;
  const hc_v a = q + q * (z * P / Q);
  return hc_select(upper, 0x1.921fb54442d18p-1 + (a + 0x1.1a62633145c07p-55), a);
}

/* Pairs with a number that is neither 0 for both nor near the ends of the doubles' range; the rest is libm's. */
HC_CALL __attribute__((cold)) hc_v hc_atan2_far(hc_v y, hc_v x, hc_v near) {
  const hc_lanes a = {.v = y}, b = {.v = x};
  hc_lanes c = {.v = near};
  for (int l = 0; l < HC_LANES; l++) {
    const double larger = fmax(fabs(a.lane[l]), fabs(b.lane[l]));
    if (!(larger >= 0x1p-960 && larger <= 0x1p960) || a.lane[l] != a.lane[l] || b.lane[l] != b.lane[l])
      c.lane[l] = atan2(a.lane[l], b.lane[l]);
  }
  return c.v;
}

/* Error <= 3 ulp; signs of zeros, infinities and NaN as in C. */
HC_HOT hc_v hc_atan2(hc_v y, hc_v x) {
  const hc_v ax = hc_fabs(x), ay = hc_fabs(y);
  const hc_i steep = HC_MASK(ay > ax), behind = -(hc_i)((hc_bits(x) >> 63) & 1);
  const hc_v lo = hc_select(steep, ax, ay), hi = hc_select(steep, ay, ax);
  hc_v a = hc_octant(lo, hi);
  a = hc_select(steep, 0x1.921fb54442d18p+0 - (a - 0x1.1a62633145c07p-54), a);
  a = hc_select(behind, 0x1.921fb54442d18p+1 - (a - 0x1.1a62633145c07p-53), a);
  a = hc_value(hc_bits(a) | (hc_bits(y) & HC_SIGN));
  if (__builtin_expect(!hc_all(HC_MASK((hi >= 0x1p-960) & (hi <= 0x1p960) & (lo <= hi))), 0))
    a = hc_atan2_far(y, x, a);
  return a;
}

/* Error <= 3 ulp; NaN beyond 1. */
HC_HOT hc_v hc_atan(hc_v x) { return hc_atan2(x, hc_splat(1.0)); }
HC_HOT hc_v hc_asin(hc_v x) { return hc_atan2(x, hc_sqrt((1.0 - x) * (1.0 + x))); }
HC_HOT hc_v hc_acos(hc_v x) { return hc_atan2(hc_sqrt((1.0 - x) * (1.0 + x)), x); }

/* ---- the rest of libm, lane by lane ---------------------------------------------------------------- */

#define HC_LANEWISE(name, function)                                               \
  HC_CALL hc_v hc_##name(hc_v x) {                                                \
    hc_lanes y = {.v = x};                                                        \
    for (int l = 0; l < HC_LANES; l++) y.lane[l] = function(y.lane[l]);           \
    return y.v;                                                                   \
  }
#define HC_LANEWISE_2(name)                                                       \
  HC_CALL hc_v hc_##name(hc_v x, hc_v y) {                                        \
    hc_lanes a = {.v = x}, b = {.v = y};                                          \
    for (int l = 0; l < HC_LANES; l++) a.lane[l] = name(a.lane[l], b.lane[l]);    \
    return a.v;                                                                   \
  }

/* erf(y) = x by Halley's iteration from two good starts, in terms of erfc where erf is near 1: full
 * accuracy on the whole of (-1, 1); +-infinity at +-1, NaN beyond.
 * Start: the series y = sqrt(pi)/2 (x + pi/12 x^3) below 1/2; above, Winitzki's closed form (2008). */
HC_CALL double hc_erfinv_scalar(double x) {
  const double a = fabs(x), pi = 0x1.921fb54442d18p+1;
  if (!(a < 1.0)) return a == 1.0 ? copysign(HUGE_VAL, x) : NAN;
  double y = 0.5 * sqrt(pi) * (a + pi / 12.0 * a * a * a);
  if (a > 0.5) {
    const double L = log((1.0 - a) * (1.0 + a)), t = 2.0 / (pi * 0.147) + 0.5 * L;
    y = sqrt(sqrt(t * t - L / 0.147) - t);
  }
  for (int i = 0; i < 3; i++) {
    const double residual = a > 0.5 ? (1.0 - a) - erfc(y) : erf(y) - a;
    const double newton = residual * (0.5 * sqrt(pi)) * exp(y * y);
    y -= newton / (1.0 + y * newton);
  }
  return copysign(y, x);
}

HC_LANEWISE(log, log)
HC_LANEWISE(log1p, log1p)
HC_LANEWISE(expm1, expm1)
HC_LANEWISE(tan, tan)
HC_LANEWISE(sinh, sinh)
HC_LANEWISE(cosh, cosh)
HC_LANEWISE(asinh, asinh)
HC_LANEWISE(acosh, acosh)
HC_LANEWISE(atanh, atanh)
HC_LANEWISE(erf, erf)
HC_LANEWISE(erfinv, hc_erfinv_scalar)
HC_LANEWISE_2(pow)
HC_LANEWISE_2(fmod)
HC_LANEWISE_2(remainder)
HC_LANEWISE_2(hypot)

#include "vector_rows.h"

#endif
