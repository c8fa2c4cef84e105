/* Rows of samples in memory <-> one vector for each column; included by vector_math.h. Without optimisation the
 * shuffles take longer to compile than they gain: element by element then. */
#ifndef HELICOID_VECTOR_ROWS_H
#define HELICOID_VECTOR_ROWS_H

#ifndef HC_LANES
#error "include vector_math.h, which includes this file"
#endif

#if HC_LANES == 1
#define HC_SHUFFLE(a, b, pick, h) a
#elif defined(__clang__) || __GNUC__ >= 12
#define HC_SHUFFLE(a, b, pick, h) __builtin_shufflevector(a, b, HC_EACH(pick, h))
#else
#define HC_SHUFFLE(a, b, pick, h) __builtin_shuffle(a, b, (hc_i){HC_EACH(pick, h)})
#endif

/* Transpose by exchanging, for h = 1, 2, 4, ..., the off-diagonal blocks of all 2h x 2h blocks. The
 * lanes of the upper and the lower row of such a pair of rows, out of both rows laid end to end: */
#define HC_UPPER(l, h) ((l) & (h) ? (l) - (h) + HC_LANES : (l))
#define HC_LOWER(l, h) ((l) & (h) ? (l) + HC_LANES : (l) + (h))
#define HC_EXCHANGE(h)                                                            \
  HC_HOT void hc_exchange_##h(hc_v *a, hc_v *b) {                                 \
    const hc_v upper = HC_SHUFFLE(*a, *b, HC_UPPER, h);                           \
    const hc_v lower = HC_SHUFFLE(*a, *b, HC_LOWER, h);                           \
    *a = upper;                                                                   \
    *b = lower;                                                                   \
  }
#define HC_EXCHANGE_ROWS(l, h) ((l) & (h) ? (void)0 : hc_exchange_##h(&t[l], &t[(l) ^ (h)]))

#if HC_LANES >= 2
HC_EXCHANGE(1)
#endif
#if HC_LANES >= 4
HC_EXCHANGE(2)
#endif
#if HC_LANES >= 8
HC_EXCHANGE(4)
#endif
#if HC_LANES >= 16
HC_EXCHANGE(8)
#endif

HC_HOT void hc_transpose(hc_v *t) {
  (void)t;
#if HC_LANES >= 2
  HC_EACH(HC_EXCHANGE_ROWS, 1);
#endif
#if HC_LANES >= 4
  HC_EACH(HC_EXCHANGE_ROWS, 2);
#endif
#if HC_LANES >= 8
  HC_EACH(HC_EXCHANGE_ROWS, 4);
#endif
#if HC_LANES >= 16
  HC_EACH(HC_EXCHANGE_ROWS, 8);
#endif
}

HC_HOT hc_v hc_load(const double *p) { return *(const hc_u *)p; }
HC_HOT void hc_store(double *p, hc_v x) { *(hc_u *)p = x; }

/* Samples s = 0 .. r-1 of n doubles each, at p + s stride, 1 <= r <= W: x[j] = (column j of the samples),
 * j < n; the lanes without a sample repeat the last one. Reads and writes nothing else. */
HC_CALL void hc_load_rows_partial(const double *p, ptrdiff_t stride, ptrdiff_t n, hc_v *x, ptrdiff_t r) {
  for (ptrdiff_t j = 0; j < n; j++) {
    hc_lanes column;
    for (ptrdiff_t l = 0; l < HC_LANES; l++) column.lane[l] = p[(l < r ? l : r - 1) * stride + j];
    x[j] = column.v;
  }
}

/* The same for W samples, in registers. Rows shorter than W are read as whole vectors, beyond their end,
 * where the `readable` doubles from p on allow it. */
static inline void hc_load_rows(const double *p, ptrdiff_t stride, ptrdiff_t n, hc_v *x, ptrdiff_t readable) {
#define HC_LOAD_ROW(l, j) (t[l] = hc_load(p + (l) * stride + (j)))
#define HC_KEEP_BLOCK(l, j) (x[(j) + (l)] = t[l])
#define HC_KEEP_COLUMN(l, n) ((l) < n ? (void)(x[l] = t[l]) : (void)0)
  hc_v t[HC_LANES];
  if (!HC_OPTIMISED) {
    hc_load_rows_partial(p, stride, n, x, HC_LANES);
  } else if (stride == 0) {
    for (ptrdiff_t j = 0; j < n; j++) x[j] = hc_splat(p[j]);
  } else if (n == 1 && stride == 1) {
    x[0] = hc_load(p);
  } else if (n >= HC_LANES) {
    /* Blocks of W columns; the last one reaches back so that it ends with the row. */
    for (ptrdiff_t done = 0; done < n; done += HC_LANES) {
      const ptrdiff_t j = done < n - HC_LANES ? done : n - HC_LANES;
      HC_EACH(HC_LOAD_ROW, j);
      hc_transpose(t);
      HC_EACH(HC_KEEP_BLOCK, j);
    }
  } else if ((HC_LANES - 1) * stride + HC_LANES <= readable) {
    HC_EACH(HC_LOAD_ROW, 0);
    hc_transpose(t);
    HC_EACH(HC_KEEP_COLUMN, n);
  } else {
    hc_load_rows_partial(p, stride, n, x, HC_LANES);
  }
}

HC_CALL void hc_store_elements(double *p, ptrdiff_t n, hc_v x) {
  const hc_lanes row = {.v = x};
  for (ptrdiff_t j = 0; j < n; j++) p[j] = row.lane[j];
}

/* The reverse: writes the first r <= W samples one after the other, from p on, and nothing else. */
HC_CALL void hc_store_rows_partial(double *p, ptrdiff_t n, const hc_v *y, ptrdiff_t r) {
  for (ptrdiff_t j = 0; j < n; j++) {
    const hc_lanes column = {.v = y[j]};
    for (ptrdiff_t l = 0; l < r; l++) p[l * n + j] = column.lane[l];
  }
}

/* The same for W samples, in registers: writes the W n doubles from p on, no others. */
static inline void hc_store_rows(double *p, ptrdiff_t n, const hc_v *y) {
#define HC_TAKE_BLOCK(l, j) (t[l] = y[(j) + (l)])
#define HC_TAKE_COLUMN(l, n) (t[l] = (l) < n ? y[l] : hc_splat(0.0))
#define HC_STORE_BLOCK(l, j) hc_store(p + (l) * n + (j), t[l])
/* A whole vector spills into the next rows, which are written after it; at the end there is no room. */
#define HC_STORE_ROW(l, n) \
  ((l) * n + HC_LANES <= HC_LANES * n ? hc_store(p + (l) * n, t[l]) : hc_store_elements(p + (l) * n, n, t[l]))
  hc_v t[HC_LANES];
  if (!HC_OPTIMISED) {
    hc_store_rows_partial(p, n, y, HC_LANES);
  } else if (n == 1) {
    hc_store(p, y[0]);
  } else if (n >= HC_LANES) {
    for (ptrdiff_t done = 0; done < n; done += HC_LANES) {
      const ptrdiff_t j = done < n - HC_LANES ? done : n - HC_LANES;
      HC_EACH(HC_TAKE_BLOCK, j);
      hc_transpose(t);
      HC_EACH(HC_STORE_BLOCK, j);
    }
  } else {
    HC_EACH(HC_TAKE_COLUMN, n);
    hc_transpose(t);
    HC_EACH(HC_STORE_ROW, n);
  }
}

#endif
