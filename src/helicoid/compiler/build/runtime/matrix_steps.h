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
#define HC_NO_MEMSET __asm__ volatile("" ::: "memory") /* of a few vectors, whose call takes longer */
#define HC_UNROLLED _Pragma("GCC unroll 16")

HC_HOT void HC_STEP(put)(HC_ELEMENT *p, hc_v x) { HC_PUT(p, x); }

/* HC_PACK columns y of n elements as rows next to each other. */
HC_HOT void HC_STEP(store_transposed)(HC_ELEMENT *rows, int n, const hc_v *y) {
#if HC_PACK == 1
  for (int c = 0; c < n; c++) rows[c] = y[c];
#else
  hc_store_rows(rows, n, y);
#endif
}

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

/* target[j, i] = target[i, j] for the ranges {i, first, last}. */
HC_HOT void HC_STEP(mirror_ranges)(HC_ELEMENT *target, int stride, const int (*ranges)[3], int n) {
  for (int r = 0; r < n; r++) {
    const int i = ranges[r][0];
    for (int j = ranges[r][1]; j < ranges[r][2]; j++) target[j * stride + i] = target[i * stride + j];
  }
}

/* target[:, parents[j]] += target[:, j] from the last column to the first. */
HC_HOT void HC_STEP(sum_to_parents)(HC_ELEMENT *target, int rows, int columns, const int *parents) {
  for (int j = columns - 1; j >= 0; j--)
    if (parents[j] >= 0)
      for (int c = 0; c < rows; c++) target[c * columns + parents[j]] += target[c * columns + j];
}

/* target[:, k] = target[:, parents[k]] + sum of source[:, i] with own[i] = k, k < columns; target[:, columns] = 0. */
HC_HOT void HC_STEP(sum_from_parents)(HC_ELEMENT *target, int rows, int columns, const HC_ELEMENT *source, int n,
                                      const int *own, const int *parents) {
  const int stride = columns + 1;
  for (int c = 0; c < rows; c++) target[c * stride + columns] = (HC_ELEMENT){0};
  for (int i = 0; i < n; i++) {
    const int k = own[i], from = i > 0 && own[i - 1] == k ? k : parents[k] < 0 ? columns : parents[k];
    for (int c = 0; c < rows; c++) target[c * stride + k] = target[c * stride + from] + source[c * n + i];
  }
}

/* target = row matrix, n x n with rows `stride` apart. */
HC_CALL void HC_STEP(multiply_row)(HC_ELEMENT *target, const HC_ELEMENT *row, const HC_ELEMENT *matrix, int n,
                                   int stride) {
  for (int first = 0; first < n; first += HC_PACK) {
    const int j = HC_STEP(place)(first, n);
    hc_v even = {0}, odd = {0};
    for (int k = 0; k + 1 < n; k += 2) {
      even += HC_SAME(row[k]) * HC_AT(matrix + k * stride + j);
      odd += HC_SAME(row[k + 1]) * HC_AT(matrix + (k + 1) * stride + j);
    }
    if (n % 2) even += HC_SAME(row[n - 1]) * HC_AT(matrix + (n - 1) * stride + j);
    HC_PUT(target + j, even + odd);
  }
}

HC_HOT void HC_STEP(add_diagonal)(HC_ELEMENT *target, int n, int stride, const HC_ELEMENT *row) {
  for (int i = 0; i < n; i++) target[i * stride + i] += row[i];
}

/* A tree of rows. `to`: HC_ON_CHAIN where the parent is the row before, which then gets all from registers; else the
 * number of the parent among the `branches`, or -1 without parent. `own`: the number of a row among them, or -1. The
 * rows that descend from row i are those after it and before end[i]. In the first `free` rows, none or six, S = 1. */
#ifndef HC_TREE
#define HC_TREE
#define HC_ON_CHAIN -2
#define HC_FACTOR 8 /* FACTOR_COLUMNS: U / D, then 1 / D, and U / D times S of the row before */
#if HC_LANES >= 8 || defined(__aarch64__)
#define HC_WIDE 4 /* vectors of columns that are solved together: 32 registers */
#else
#define HC_WIDE 2
#endif
typedef struct {
  int branches, free;
  const int *to, *own, *parents, *end;
} hc_tree;
#endif
#define HC_SIX ((6 + HC_PACK - 1) / HC_PACK) /* vectors that hold six elements */

/* The sum of the first six products of elements. */
HC_HOT HC_ELEMENT HC_STEP(dot_of_six)(const hc_v *u, const HC_ELEMENT *s) {
#if HC_PACK == 1
  return (u[0] * s[0] + u[2] * s[2] + u[4] * s[4]) + (u[1] * s[1] + u[3] * s[3] + u[5] * s[5]);
#else
  hc_v p[HC_SIX];
  HC_UNROLLED for (int k = 0; k < HC_SIX; k++) p[k] = u[k] * HC_AT(s + k * HC_PACK);
#define HC_PRODUCT(c) p[(c) / HC_PACK][(c) % HC_PACK]
  return (HC_PRODUCT(0) + HC_PRODUCT(1)) + (HC_PRODUCT(2) + HC_PRODUCT(3)) + (HC_PRODUCT(4) + HC_PRODUCT(5));
#undef HC_PRODUCT
#endif
}

/* Factors of n rows, from the 6 x 6 matrices in the rows `at` of `inertias`, and from the rows S. Each of the
 * `branches` is six rows of HC_SIX vectors, of what its children pass on. Lanes beyond the sixth hold anything. */
HC_CALL void HC_STEP(articulate)(HC_ELEMENT *factors, int n, const HC_ELEMENT *inertias, const int *at,
                                 const HC_ELEMENT *S, const HC_ELEMENT *diagonal, HC_ELEMENT *branches, hc_tree tree) {
#define HC_EACH_VECTOR(statement)                                                        \
  HC_UNROLLED for (int r = 0; r < 6; r++)                                                \
    HC_UNROLLED for (int k = 0; k < HC_SIX; k++) statement
#define HC_PLACE(number) (branches + (((number)*6 + r) * HC_SIX + k) * HC_PACK)
  hc_v K[6][HC_SIX], U[HC_SIX];
  for (int k = 0; k < tree.branches * 6 * HC_SIX; k++) HC_PUT(branches + k * HC_PACK, (hc_v){0});
  for (int i = n - 1; i >= 0; i--) {
    HC_ELEMENT *own = factors + i * HC_FACTOR;
    const HC_ELEMENT *s = S + i * 6, *inertia = inertias + at[i] * 36;
    if (i + 1 == n || tree.to[i + 1] != HC_ON_CHAIN) HC_EACH_VECTOR(K[r][k] = (hc_v){0});
    if (at[i] >= 0) HC_EACH_VECTOR(K[r][k] += HC_AT(inertia + r * 6 + k * HC_PACK));
    if (tree.own[i] >= 0) HC_EACH_VECTOR(K[r][k] += HC_AT(HC_PLACE(tree.own[i])));
    HC_UNROLLED for (int k = 0; k < HC_SIX; k++) {
      hc_v even = K[0][k] * HC_SAME(s[0]), odd = K[1][k] * HC_SAME(s[1]);
      HC_UNROLLED for (int c = 2; c < 6; c += 2) {
        even += K[c][k] * HC_SAME(s[c]);
        odd += K[c + 1][k] * HC_SAME(s[c + 1]);
      }
      U[k] = even + odd;
      HC_PUT(own + k * HC_PACK, U[k]);
    }
    const HC_ELEMENT inverse = 1.0 / (diagonal[i] + HC_STEP(dot_of_six)(U, s));
    HC_UNROLLED for (int k = 0; k < HC_SIX; k++) {
      U[k] *= HC_SAME(inverse);
      HC_UNROLLED for (int r = 0; r < 6; r++) K[r][k] -= HC_SAME(own[r]) * U[k];
    }
    if (tree.to[i] >= 0) HC_EACH_VECTOR(HC_PUT(HC_PLACE(tree.to[i]), HC_AT(HC_PLACE(tree.to[i])) + K[r][k]));
    for (int k = 0; k < HC_SIX; k++) HC_PUT(own + k * HC_PACK, U[k]);
    own[6] = inverse;
    if (tree.to[i] == HC_ON_CHAIN) {
      const HC_ELEMENT *before = s - 6;
      own[7] = (before[0] * own[0] + before[2] * own[2] + before[4] * own[4]) +
               (before[1] * own[1] + before[3] * own[3] + before[5] * own[5]);
    }
  }
#undef HC_EACH_VECTOR
#undef HC_PLACE
}

/* Vectors of columns of X, whose rows have `columns` elements, become the first n rows of the solution: `each`
 * neighbours, and those `apart` elements after them if `wide` is twice as many. They are zero at first but in the rows
 * from `first` to before `last` and in those that `first` descends from, and only these pass anything on. */
HC_HOT void HC_STEP(solve_columns)(HC_ELEMENT *X, int n, int columns, const HC_ELEMENT *factors, const HC_ELEMENT *S,
                                   HC_ELEMENT *branches, hc_tree tree, int first, int last, int apart, const int each,
                                   const int wide) {
#define HC_EACH_VECTOR(statement) HC_UNROLLED for (int w = 0; w < wide; w++) statement
#define HC_EACH_OF_SIX(statement) HC_UNROLLED for (int c = 0; c < 6; c++) HC_EACH_VECTOR(statement)
#define HC_PLACE(number) (branches + (((number)*6 + c) * wide + w) * HC_PACK)
#define HC_COLUMN(row) ((row) + (w < each ? w * HC_PACK : (w - each) * HC_PACK + apart))
#define HC_SUBTRACT(from, d, coupling)                                       \
  do { /* z = from - d' f, without what is pending */                        \
    HC_EACH_VECTOR(z[w] = from - HC_SAME((d)[0]) * f[0][w]);                 \
    HC_EACH_VECTOR(y[w] = HC_SAME((d)[1]) * f[1][w]);                        \
    HC_UNROLLED for (int c = 2; c < 6; c += 2) {                             \
      HC_EACH_VECTOR(z[w] -= HC_SAME((d)[c]) * f[c][w]);                     \
      HC_EACH_VECTOR(y[w] += HC_SAME((d)[c + 1]) * f[c + 1][w]);             \
    }                                                                        \
    HC_EACH_VECTOR(z[w] -= y[w]);                                            \
    if (pending) HC_EACH_VECTOR(z[w] -= HC_SAME(coupling) * x[w]);           \
  } while (0)
#define HC_ADD_PENDING                                                       \
  do {                                                                       \
    if (pending) HC_EACH_OF_SIX(f[c][w] += HC_SAME(pending[c]) * x[w]);      \
    pending = NULL;                                                          \
  } while (0)
  hc_v f[6][4], x[4], y[4], z[4]; /* f is passed on: wrenches first, then accelerations */
  /* Along a chain, what row i adds to f is pending while the next row is computed: that row subtracts it by itself,
   * and its sums need not wait for x. */
  const HC_ELEMENT *pending = NULL;
  int on_chain = 0;
  for (int k = 0; k < tree.branches * 6 * wide; k++) HC_PUT(branches + k * HC_PACK, (hc_v){0});
  for (int i = last - 1; i >= tree.free; i = i > first ? i - 1 : tree.parents[i]) {
    const HC_ELEMENT *s = S + i * 6, *u = factors + i * HC_FACTOR;
    HC_ELEMENT *row = X + i * columns;
    if (tree.own[i] >= 0) {
      HC_ADD_PENDING;
      HC_EACH_OF_SIX(f[c][w] = on_chain ? f[c][w] + HC_AT(HC_PLACE(tree.own[i])) : HC_AT(HC_PLACE(tree.own[i])));
    } else if (!on_chain) {
      HC_EACH_OF_SIX(f[c][w] = (hc_v){0});
    }
    HC_SUBTRACT(HC_AT(HC_COLUMN(row)), s, pending[7]);
    HC_ADD_PENDING;
    HC_EACH_VECTOR(HC_PUT(HC_COLUMN(row), x[w] = z[w]));
    pending = u;
    on_chain = tree.to[i] == HC_ON_CHAIN;
    if (!on_chain) {
      HC_ADD_PENDING;
      if (tree.to[i] >= 0) HC_EACH_OF_SIX(HC_PUT(HC_PLACE(tree.to[i]), HC_AT(HC_PLACE(tree.to[i])) + f[c][w]));
    }
  }
  HC_ADD_PENDING;
  if (tree.free) { /* with S = 1, U is a triangle: passed to rows before, and back */
    if (!on_chain) HC_EACH_OF_SIX(f[c][w] = (hc_v){0});
    if (tree.own[5] >= 0) HC_EACH_OF_SIX(f[c][w] += HC_AT(HC_PLACE(tree.own[5])));
    HC_EACH_OF_SIX(f[c][w] = HC_AT(HC_COLUMN(X + c * columns)) - f[c][w]);
    HC_UNROLLED for (int i = 5; i > 0; i--)
      HC_UNROLLED for (int c = 0; c < i; c++)
        HC_EACH_VECTOR(f[c][w] -= HC_SAME(factors[i * HC_FACTOR + c]) * f[i][w]);
    HC_EACH_OF_SIX(f[c][w] *= HC_SAME(factors[c * HC_FACTOR + 6]));
    HC_UNROLLED for (int c = 0; c < 6; c++)
      HC_UNROLLED for (int i = c + 1; i < 6; i++)
        HC_EACH_VECTOR(f[i][w] -= HC_SAME(factors[i * HC_FACTOR + c]) * f[c][w]);
    HC_EACH_OF_SIX(HC_PUT(HC_COLUMN(X + c * columns), f[c][w]));
    if (tree.own[5] >= 0) HC_EACH_OF_SIX(HC_PUT(HC_PLACE(tree.own[5]), f[c][w]));
  }
  for (int i = tree.free; i < n; i++) {
    const HC_ELEMENT *s = S + i * 6, *u = factors + i * HC_FACTOR;
    HC_ELEMENT *row = X + i * columns;
    if (tree.to[i] != HC_ON_CHAIN) {
      pending = NULL;
      if (tree.to[i] == -1) HC_EACH_OF_SIX(f[c][w] = (hc_v){0});
      if (tree.to[i] >= 0) HC_EACH_OF_SIX(f[c][w] = HC_AT(HC_PLACE(tree.to[i])));
    }
    HC_SUBTRACT(HC_AT(HC_COLUMN(row)) * HC_SAME(u[6]), u, u[7]);
    HC_ADD_PENDING;
    HC_EACH_VECTOR(HC_PUT(HC_COLUMN(row), x[w] = z[w]));
    pending = s;
    if (tree.own[i] >= 0) {
      HC_ADD_PENDING;
      HC_EACH_OF_SIX(HC_PUT(HC_PLACE(tree.own[i]), f[c][w]));
    }
  }
#undef HC_SUBTRACT
#undef HC_ADD_PENDING
#undef HC_EACH_VECTOR
#undef HC_EACH_OF_SIX
#undef HC_PLACE
#undef HC_COLUMN
}

/* X[i, j] = X[j, i] for i > j, for whole vectors of rows and columns: those on the diagonal are complete. */
HC_HOT void HC_STEP(mirror)(HC_ELEMENT *X, int n, int columns) {
  for (int i = HC_PACK; i < n; i += HC_PACK)
    for (int j = 0; j < i; j += HC_PACK) {
      hc_v t[HC_PACK];
      HC_UNROLLED for (int k = 0; k < HC_PACK; k++) t[k] = HC_AT(X + (j + k) * columns + i);
      if (HC_PACK > 1) hc_transpose(t);
      HC_UNROLLED for (int k = 0; k < HC_PACK; k++)
        if (i + k < n) HC_PUT(X + (i + k) * columns + j, t[k]);
    }
}

/* Each target, n columns of X in whole vectors, becomes the solution of M target = target, where an element is zero
 * unless its column descends from its row or its row from its column. The columns from `unit` on are made those of the
 * inverse, which is symmetric: only the rows up to the last column of each vector are computed. */
HC_CALL void HC_STEP(solve)(HC_ELEMENT *X, int n, int columns, const HC_ELEMENT *factors, const HC_ELEMENT *S,
                            HC_ELEMENT *branches, hc_tree tree, int unit) {
#define HC_SOLVE(each, wide)                                                                                   \
  HC_STEP(solve_columns)(X + at + first, rows, columns, factors, S, branches, tree, first, last, size, each, wide)
  const int size = columns - unit;
  for (int i = 0; i < n; i++) {
    const int before = i - i % HC_PACK - 3 * HC_PACK; /* columns that are solved together with column i */
    for (int j = unit + (before > 0 ? before : 0); j < columns; j += HC_PACK) {
      HC_PUT(X + i * columns + j, (hc_v){0});
      HC_NO_MEMSET;
    }
    X[i * columns + unit + i] += 1.0;
  }
  for (int at = 0, targets; at < columns; at += targets * size) {
    targets = at + 2 * size <= unit ? 2 : 1; /* two together, with the same zeros */
    const int most = HC_WIDE / targets;
    for (int first = 0, each; first < size; first += each * HC_PACK) {
      const int left = (size - first) / HC_PACK; /* vectors */
      const int parts = (left + most - 1) / most;
      each = (left + parts - 1) / parts;
      const int end = first + each * HC_PACK < n ? first + each * HC_PACK : n, rows = at < unit ? n : end;
      int last = end;
      for (int j = first; j < end && at < unit; j++) last = tree.end[j] > last ? tree.end[j] : last;
      if (targets == 2 && each == 2)
        HC_SOLVE(2, 4);
      else if (targets == 2)
        HC_SOLVE(1, 2);
      else if (each == 4)
        HC_SOLVE(4, 4);
      else if (each == 3)
        HC_SOLVE(3, 3);
      else if (each == 2)
        HC_SOLVE(2, 2);
      else
        HC_SOLVE(1, 1);
    }
  }
#undef HC_SOLVE
  if (unit < columns) HC_STEP(mirror)(X + unit, n, columns);
}

/* A matrix with rows of `stride` elements, as one with rows next to each other. */
HC_HOT void HC_STEP(copy)(HC_ELEMENT *target, const HC_ELEMENT *source, int rows, int columns, int stride) {
  for (int i = 0; i < rows; i++)
    for (int j = 0; j < columns; j += HC_PACK) {
      const int at = HC_STEP(place)(j, columns);
      HC_PUT(target + i * columns + at, HC_AT(source + i * stride + at));
    }
}

#include "tree_inverse.h"

#undef HC_AT
#undef HC_PUT
#undef HC_SAME
#undef HC_SIX
#undef HC_NO_MEMSET
