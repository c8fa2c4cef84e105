/* Steps of a matrix program (code/matrix_program.py), for one sample or a batch.
 *
 * HC_ELEMENT is the type of an element: double, or hc_v with one sample in each lane. HC_PACK elements that are
 * neighbours in a row make one vector: HC_LANES of them, or one. HC_STEP(name) is the name of a function. Included
 * once for each kind. Matrices are row-major, and their rows have at least HC_PACK columns. */

#if HC_PACK == 1
#define HC_AT(p) (*(p))
#define HC_PUT(p, vector) (*(p) = (vector))
#define HC_SAME(element) (element)
#else
#define HC_AT(p) hc_load(p)
#define HC_PUT(p, vector) hc_store(p, vector)
#define HC_SAME(element) hc_splat(element)
#endif
#define HC_UNROLLED _Pragma("GCC unroll 16")

/* The first of HC_PACK columns from j on that lie before `end`: the last vector overlaps the one before. */
HC_HOT int HC_STEP(place)(int j, int end) { return j + HC_PACK <= end ? j : end - HC_PACK; }

/* x in the columns start..end) of a vector whose first column is `at`, y in the others. */
HC_HOT hc_v HC_STEP(between)(hc_v x, hc_v y, int at, int start, int end) {
#if HC_PACK == 1
  return at >= start && at < end ? x : y;
#else
  hc_i column;
  HC_UNROLLED for (int k = 0; k < HC_PACK; k++) column[k] = at + k;
  return hc_select((hc_i)((column >= start) & (column < end)), x, y);
#endif
}

/* target[start..end) = sum of left[c, i] right[c, .] over `depth` <= 16 rows c; both have at least HC_PACK columns. */
HC_HOT void HC_STEP(product)(HC_ELEMENT *target, const HC_ELEMENT *left, int left_columns, const HC_ELEMENT *right,
                             int columns, const int depth, int i, int start, int end) {
  hc_v l[16];
  HC_UNROLLED for (int c = 0; c < depth; c++) l[c] = HC_SAME(left[c * left_columns + i]);
  for (int j = start; j < end; j += HC_PACK) {
    const int at = HC_STEP(place)(j, end - start >= HC_PACK ? end : columns);
    hc_v sum = l[0] * HC_AT(right + at);
    HC_UNROLLED for (int c = 1; c < depth; c++) sum += l[c] * HC_AT(right + c * columns + at);
    if (at < start || at + HC_PACK > end) sum = HC_STEP(between)(sum, HC_AT(target + at), at, start, end);
    HC_PUT(target + at, sum);
  }
}

/* target[:, parents[j]] += target[:, j] from the last column to the first. */
HC_HOT void HC_STEP(sum_to_parents)(HC_ELEMENT *target, int rows, int columns, const int *parents) {
  for (int j = columns - 1; j >= 0; j--)
    if (parents[j] >= 0)
      for (int c = 0; c < rows; c++) target[c * columns + parents[j]] += target[c * columns + j];
}

HC_HOT void HC_STEP(add_diagonal)(HC_ELEMENT *target, int n, int stride, const HC_ELEMENT *row) {
  for (int i = 0; i < n; i++) target[i * stride + i] += row[i];
}

/* A pattern of nonzeros below the diagonal: of row k the columns above[first_above[k]..first_above[k + 1]), of
 * column i the rows below[first_below[i]..first_below[i + 1]). */
#ifndef HC_PATTERN
#define HC_PATTERN
typedef struct {
  const int *first_above, *above, *first_below, *below;
} hc_pattern;
#endif

/* `wide` vectors of columns of row i of M reduced by all rows below that depend on it: M_ij - sum_k D_k L_ki L_kj. */
HC_HOT void HC_STEP(reduce_row)(HC_ELEMENT *M, int stride, const HC_ELEMENT *D, hc_pattern pattern, int i, int start,
                                const int wide) {
  hc_v even[4], odd[4];
  HC_UNROLLED for (int w = 0; w < wide; w++) {
    even[w] = HC_AT(M + i * stride + start + w * HC_PACK);
    odd[w] = (hc_v){0};
  }
  int b = pattern.first_below[i + 1] - 1;
  for (; b > pattern.first_below[i]; b -= 2) {
    const HC_ELEMENT *one = M + pattern.below[b] * stride, *two = M + pattern.below[b - 1] * stride;
    const hc_v of_one = HC_SAME(one[i] * D[pattern.below[b]]), of_two = HC_SAME(two[i] * D[pattern.below[b - 1]]);
    HC_UNROLLED for (int w = 0; w < wide; w++) {
      even[w] -= of_one * HC_AT(one + start + w * HC_PACK);
      odd[w] -= of_two * HC_AT(two + start + w * HC_PACK);
    }
  }
  if (b == pattern.first_below[i]) {
    const HC_ELEMENT *one = M + pattern.below[b] * stride;
    const hc_v of_one = HC_SAME(one[i] * D[pattern.below[b]]);
    HC_UNROLLED for (int w = 0; w < wide; w++) even[w] -= of_one * HC_AT(one + start + w * HC_PACK);
  }
  HC_UNROLLED for (int w = 0; w < wide; w++) HC_PUT(M + i * stride + start + w * HC_PACK, even[w] + odd[w]);
}

/* L and 1 / D of M = L' D L in place of the lower triangle of M, and D. A row has `stride` elements, a multiple of
 * two vectors; what is above the diagonal is lost. */
HC_CALL void HC_STEP(factor)(HC_ELEMENT *M, int n, int stride, HC_ELEMENT *D, hc_pattern pattern) {
  for (int i = n - 1; i >= 0; i--) {
    HC_ELEMENT *row = M + i * stride;
    for (int start = 0; start <= i;) {
      const int wide = i + 1 - start > 2 * HC_PACK && start + 4 * HC_PACK <= stride ? 4 : 2;
      if (wide == 4)
        HC_STEP(reduce_row)(M, stride, D, pattern, i, start, 4);
      else
        HC_STEP(reduce_row)(M, stride, D, pattern, i, start, 2);
      start += wide * HC_PACK;
    }
    D[i] = row[i];
    const HC_ELEMENT inverse = 1.0 / row[i];
    for (int j = 0; j < i; j += HC_PACK) HC_PUT(row + j, HC_AT(row + j) * HC_SAME(inverse));
    row[i] = inverse;
  }
}

/* `wide` vectors of columns of X, whose rows have `columns` elements, become (L' D L)^-1 X in its first n rows, where
 * those below are zero at first. */
HC_HOT void HC_STEP(solve_columns)(HC_ELEMENT *X, int n, int columns, const HC_ELEMENT *L, int stride,
                                   hc_pattern pattern, const int wide) {
  for (int i = n - 1; i >= 0; i--) {
    HC_ELEMENT *own = X + i * columns;
    hc_v x[8];
    HC_UNROLLED for (int w = 0; w < wide; w++) x[w] = HC_AT(own + w * HC_PACK);
    int b = pattern.first_below[i + 1] - 1;
    while (b >= pattern.first_below[i] && pattern.below[b] >= n) b--;
    for (; b >= pattern.first_below[i]; b--) { /* the row computed last comes last: nothing waits for it */
      const hc_v l = HC_SAME(L[pattern.below[b] * stride + i]);
      const HC_ELEMENT *other = X + pattern.below[b] * columns;
      HC_UNROLLED for (int w = 0; w < wide; w++) x[w] -= l * HC_AT(other + w * HC_PACK);
    }
    HC_UNROLLED for (int w = 0; w < wide; w++) HC_PUT(own + w * HC_PACK, x[w]);
  }
  for (int k = 0; k < n; k++) {
    HC_ELEMENT *own = X + k * columns;
    const hc_v inverse = HC_SAME(L[k * stride + k]);
    hc_v x[8];
    HC_UNROLLED for (int w = 0; w < wide; w++) x[w] = inverse * HC_AT(own + w * HC_PACK);
    for (int a = pattern.first_above[k]; a < pattern.first_above[k + 1]; a++) {
      const hc_v l = HC_SAME(L[k * stride + pattern.above[a]]);
      const HC_ELEMENT *other = X + pattern.above[a] * columns;
      HC_UNROLLED for (int w = 0; w < wide; w++) x[w] -= l * HC_AT(other + w * HC_PACK);
    }
    HC_UNROLLED for (int w = 0; w < wide; w++) HC_PUT(own + w * HC_PACK, x[w]);
  }
}

/* X becomes (L' D L)^-1 X; its rows are whole vectors. The columns from `unit` on are those of the unit matrix: of
 * their solution, which is symmetric, only the rows up to the last column of each vector are computed. */
HC_CALL void HC_STEP(solve)(HC_ELEMENT *X, int n, int columns, const HC_ELEMENT *L, int stride, hc_pattern pattern,
                            int unit) {
  for (int start = 0; start < columns;) {
    const int left = ((start < unit ? unit : columns) - start) / HC_PACK; /* vectors */
    const int wide = left >= 8 ? (start < unit ? 8 : 4) : left >= 4 ? 4 : left >= 2 ? 2 : 1;
    const int end = start - unit + wide * HC_PACK, rows = start >= unit && end < n ? end : n;
    if (wide == 8)
      HC_STEP(solve_columns)(X + start, rows, columns, L, stride, pattern, 8);
    else if (wide == 4)
      HC_STEP(solve_columns)(X + start, rows, columns, L, stride, pattern, 4);
    else if (wide == 2)
      HC_STEP(solve_columns)(X + start, rows, columns, L, stride, pattern, 2);
    else
      HC_STEP(solve_columns)(X + start, rows, columns, L, stride, pattern, 1);
    start += wide * HC_PACK;
  }
  for (int i = 0; i < n && unit < columns; i++)
    for (int j = 0; j < i; j++) X[i * columns + unit + j] = X[j * columns + unit + i];
}

/* A matrix with rows of `stride` elements, as one with rows next to each other. */
HC_HOT void HC_STEP(copy)(HC_ELEMENT *target, const HC_ELEMENT *source, int rows, int columns, int stride) {
  for (int i = 0; i < rows; i++)
    for (int j = 0; j < columns; j += HC_PACK) {
      const int at = HC_STEP(place)(j, columns);
      HC_PUT(target + i * columns + at, HC_AT(source + i * stride + at));
    }
}

HC_HOT void HC_STEP(unit)(HC_ELEMENT *target, int n, int stride) {
  const HC_ELEMENT zero = {0};
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) target[i * stride + j] = i == j ? zero + 1.0 : zero;
}

#undef HC_AT
#undef HC_PUT
#undef HC_SAME
