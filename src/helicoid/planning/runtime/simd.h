/* Vectors of HP_LANES floats: arithmetic is the compiler's, the rest is here.
 *
 * Needs gcc >= 9 or clang >= 10 on any processor; on x86-64 minima, maxima and masks are one instruction each.
 */
#ifndef HELICOID_PLANNING_SIMD_H
#define HELICOID_PLANNING_SIMD_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__AVX__) && HP_LANES == 8
#include <immintrin.h>
#define HP_AVX 1
#else
#define HP_AVX 0
#endif

#define HP_HOT static inline __attribute__((always_inline, unused))

typedef float hp_v __attribute__((vector_size(4 * HP_LANES)));
typedef int32_t hp_i __attribute__((vector_size(4 * HP_LANES)));
typedef float hp_u __attribute__((vector_size(4 * HP_LANES), aligned(4), may_alias)); /* anywhere in memory */

typedef union {
  hp_v v;
  hp_i i;
  float lane[HP_LANES];
  int32_t bits[HP_LANES];
} hp_lanes;

HP_HOT hp_v hp_splat(float x) { return x - (hp_v){0}; }
HP_HOT hp_v hp_select(hp_i mask, hp_v a, hp_v b) { return (hp_v)((mask & (hp_i)a) | (~mask & (hp_i)b)); }
HP_HOT hp_v hp_abs(hp_v x) { return (hp_v)((hp_i)x & 0x7fffffff); }

#if HP_AVX
HP_HOT hp_v hp_max(hp_v a, hp_v b) { return (hp_v)_mm256_max_ps((__m256)a, (__m256)b); }
HP_HOT hp_v hp_min(hp_v a, hp_v b) { return (hp_v)_mm256_min_ps((__m256)a, (__m256)b); }
HP_HOT hp_v hp_sqrt(hp_v a) { return (hp_v)_mm256_sqrt_ps((__m256)a); }
HP_HOT unsigned hp_bits(hp_i mask) { return (unsigned)_mm256_movemask_ps((__m256)mask); }
HP_HOT float hp_least(hp_v a) {
  __m128 m = _mm_min_ps(_mm256_castps256_ps128((__m256)a), _mm256_extractf128_ps((__m256)a, 1));
  m = _mm_min_ps(m, _mm_movehl_ps(m, m));
  return _mm_cvtss_f32(_mm_min_ss(m, _mm_shuffle_ps(m, m, 1)));
}
HP_HOT float hp_most(hp_v a) {
  __m128 m = _mm_max_ps(_mm256_castps256_ps128((__m256)a), _mm256_extractf128_ps((__m256)a, 1));
  m = _mm_max_ps(m, _mm_movehl_ps(m, m));
  return _mm_cvtss_f32(_mm_max_ss(m, _mm_shuffle_ps(m, m, 1)));
}
#else
HP_HOT hp_v hp_max(hp_v a, hp_v b) { return hp_select(a > b, a, b); }
HP_HOT hp_v hp_min(hp_v a, hp_v b) { return hp_select(a < b, a, b); }
HP_HOT hp_v hp_sqrt(hp_v a) {
  hp_lanes x = {.v = a};
  for (int l = 0; l < HP_LANES; l++) x.lane[l] = sqrtf(x.lane[l]);
  return x.v;
}
HP_HOT unsigned hp_bits(hp_i mask) {
  const hp_lanes m = {.i = mask};
  unsigned bits = 0;
  for (int l = 0; l < HP_LANES; l++) bits |= (unsigned)(m.bits[l] & 1) << l;
  return bits;
}
HP_HOT float hp_least(hp_v a) {
  const hp_lanes x = {.v = a};
  float least = x.lane[0];
  for (int l = 1; l < HP_LANES; l++) least = x.lane[l] < least ? x.lane[l] : least;
  return least;
}
HP_HOT float hp_most(hp_v a) {
  const hp_lanes x = {.v = a};
  float most = x.lane[0];
  for (int l = 1; l < HP_LANES; l++) most = x.lane[l] > most ? x.lane[l] : most;
  return most;
}
#endif

/* Sine and cosine to about 1e-7 for |x| < 1e4: x = k pi/2 + r, polynomials of Cephes (sinf, cosf). The
 * rounding by adding 1.5 2^23 needs the order of sums: never -fassociative-math. */
HP_HOT void hp_sincos(hp_v x, hp_v *s, hp_v *c) {
  const hp_v magic = hp_splat(12582912.0f), shifted = x * 0.636619772f + magic, k = shifted - magic;
  const hp_i n = (hp_i)shifted;
  hp_v r = x - k * 1.5703125f;
  r = r - k * 4.83751297e-4f;
  r = r - k * 7.54978942e-8f;
  const hp_v z = r * r;
  const hp_v sr = r + r * z * (-1.6666654611e-1f + z * (8.3321608736e-3f - z * 1.9515295891e-4f));
  const hp_v cr =
      1.0f - 0.5f * z + z * z * (4.166664568298827e-2f + z * (-1.388731625493765e-3f + z * 2.443315711809948e-5f));
  const hp_i swap = -(n & 1);
  *s = (hp_v)((hp_i)hp_select(swap, cr, sr) ^ ((n & 2) << 30));
  *c = (hp_v)((hp_i)hp_select(swap, sr, cr) ^ (((n + 1) & 2) << 30));
}

#endif
