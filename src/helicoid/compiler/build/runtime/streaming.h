/* Results too large for the caches go past them: a line that is overwritten whole is then never read.
 * Include after vector_math.h. Where a compiler has no such stores, HC_STREAMS is 0 and nothing else is used. */
#ifndef HELICOID_STREAMING_H
#define HELICOID_STREAMING_H

#define HC_STREAM_BYTES (4 << 20) /* of results still to come, from which it pays */

#if !(defined(__x86_64__) && defined(__SSE2__)) || HC_LANES == 1
#define HC_STREAMS 0
#define HC_STREAM(p, x) ((void)(p), (void)(x))
#elif defined(__clang__)
#define HC_STREAMS 1
#define HC_STREAM(p, x) __builtin_nontemporal_store(x, (hc_v *)(p))
#elif defined(__AVX512F__) && HC_LANES == 8
#define HC_STREAMS 1
#define HC_STREAM(p, x) __builtin_ia32_movntpd512(p, x)
#elif defined(__AVX__) && HC_LANES == 4
#define HC_STREAMS 1
#define HC_STREAM(p, x) __builtin_ia32_movntpd256(p, x)
#elif HC_LANES == 2
#define HC_STREAMS 1
#define HC_STREAM(p, x) __builtin_ia32_movntpd(p, x)
#else
#define HC_STREAMS 0
#define HC_STREAM(p, x) ((void)(p), (void)(x))
#endif

/* hc_store_rows past the caches, through n + 1 vectors of scratch; then hc_stream_end before others read. */
HC_HOT void hc_stream_rows(double *p, ptrdiff_t n, const hc_v *y, hc_v *scratch) {
  /* The scratch lies against vectors as the target does; only whole vectors of the target are streamed. */
  const ptrdiff_t before = (ptrdiff_t)((uintptr_t)p / sizeof(double) % HC_LANES), size = HC_LANES * n;
  const double *t = (double *)scratch + before;
  ptrdiff_t j = 0;
  hc_store_rows((double *)scratch + before, n, y);
  for (; j < size && (before + j) % HC_LANES != 0; j++) p[j] = t[j];
  for (; j + HC_LANES <= size; j += HC_LANES) HC_STREAM(p + j, scratch[(before + j) / HC_LANES]);
  for (; j < size; j++) p[j] = t[j];
}

HC_HOT void hc_stream_end(void) {
#if HC_STREAMS
  __builtin_ia32_sfence();
#endif
}

#endif
