/* Inverses of matrices that a tree gives, and products with them (code/tree_inverse.py); included by matrix_steps.h,
 * whose conventions it follows. Blocks of results have HC_ROWS rows of HC_VECTORS vectors; no vector leaves a row. */

#ifndef HC_RELATIONS
#define HC_RELATIONS
/* Rows of a tree: parents (-1: none), numbers of ancestors, ends of what descends from each; `lines`: row k, a range of
 * its ancestors and itself, and how many of them stand before that range; `pivots`: rows that are eliminated together,
 * their last one and their number. */
typedef struct {
  const int *parents, *depths, *ends, (*lines)[4], (*pivots)[2];
  int n_lines, n_pivots;
} hc_relations;
#endif
#define HC_MARGIN (HC_VECTORS * HC_PACK > HC_ROWS ? HC_VECTORS * HC_PACK : HC_ROWS)
#define HC_EACH_OF_BLOCK(statement)              \
  HC_UNROLLED for (int r = 0; r < HC_ROWS; r++)  \
    HC_UNROLLED for (int c = 0; c < HC_VECTORS; c++) statement

/* The columns that share a block with those from k to before `end`, in a matrix of `width` columns. */
HC_HOT int HC_STEP(near)(int k) { return k - k % HC_PACK >= HC_MARGIN ? k - k % HC_PACK - HC_MARGIN : 0; }
HC_HOT int HC_STEP(reach)(int end, int width) { return end + HC_MARGIN < width ? end + HC_MARGIN : width; }

/* The rows k, k - 1, ... of M, `count` of them, each the parent of the one before and without other children: what they
 * subtract from each other, and from rows and columns of their common ancestors. */
HC_HOT void HC_STEP(eliminate)(HC_ELEMENT *H, int stride, HC_ELEMENT *W, HC_ELEMENT *V, int width, int k,
                               const int count, hc_relations tree) {
  const HC_ELEMENT *h[4], *w[4];
  HC_ELEMENT inverse[4];
  const int end = tree.ends[k], last = k - count + 1, depth = tree.depths[last];
  HC_UNROLLED for (int p = 0; p < count; p++) {
    const int row = k - p, first = row - row % HC_PACK;
    h[p] = H + row * stride, w[p] = W + row * width;
    inverse[p] = 1.0 / h[p][tree.depths[row]];
    for (int j = HC_STEP(near)(row), to = HC_STEP(reach)(end, width); j < to; j += HC_PACK)
      HC_PUT(V + row * width + j, HC_SAME(inverse[p]) * HC_AT(w[p] + j));
    HC_UNROLLED for (int i = row - 1; i >= last; i--) {
      const int d = depth + i - last;
      const hc_v l = HC_SAME(h[p][d] * inverse[p]);
      HC_ELEMENT *above = H + i * stride, *column = W + i * width;
      for (int j = 0; j <= d; j += HC_PACK) HC_PUT(above + j, HC_AT(above + j) - l * HC_AT(h[p] + j));
      for (int j = first; j < end; j += HC_PACK) HC_PUT(column + j, HC_AT(column + j) - l * HC_AT(w[p] + j));
    }
  }
  for (int i = tree.parents[last], d = depth - 1; d >= 0; i = tree.parents[i], d--) {
    hc_v l[4];
    HC_ELEMENT *above = H + i * stride, *column = W + i * width;
    HC_UNROLLED for (int p = 0; p < count; p++) l[p] = HC_SAME(h[p][d] * inverse[p]);
    for (int j = 0; j <= d; j += HC_PACK) {
      hc_v sum = HC_AT(above + j);
      HC_UNROLLED for (int p = 0; p < count; p++) sum -= l[p] * HC_AT(h[p] + j);
      HC_PUT(above + j, sum);
    }
    for (int j = last - last % HC_PACK; j < end; j += HC_PACK) {
      hc_v sum = HC_AT(column + j);
      HC_UNROLLED for (int p = 0; p < count; p++) sum -= l[p] * HC_AT(w[p] + j);
      HC_PUT(column + j, sum);
    }
  }
}

/* The factors of M = L' D L with M[i, j] = F[:, i] S[:, j]. Row k of H holds those of M in the order of its ancestors
 * and itself, `stride` elements apart. Rows of W are columns of inv(L), rows of V those of inv(L) inv(D), `width` apart:
 * zero in all elements that share a block with others. */
HC_CALL void HC_STEP(factor_tree)(HC_ELEMENT *H, int stride, HC_ELEMENT *W, HC_ELEMENT *V, int width, int n,
                                  const HC_ELEMENT *F, const HC_ELEMENT *S, const HC_ELEMENT *diagonal,
                                  hc_relations tree) {
  for (int l = 0; l < tree.n_lines; l++) { /* what a vector has too much, the next line replaces */
    const int k = tree.lines[l][0];
    HC_ELEMENT *own = H + k * stride + tree.lines[l][3];
    hc_v f[6];
    HC_UNROLLED for (int c = 0; c < 6; c++) f[c] = HC_SAME(F[c * n + k]);
    for (int j = tree.lines[l][1]; j < tree.lines[l][2]; j += HC_PACK, own += HC_PACK) {
      hc_v even = f[0] * HC_AT(S + j), odd = f[1] * HC_AT(S + n + j);
      HC_UNROLLED for (int c = 2; c < 6; c += 2) {
        even += f[c] * HC_AT(S + c * n + j);
        odd += f[c + 1] * HC_AT(S + (c + 1) * n + j);
      }
      HC_PUT(own, even + odd);
    }
  }
  for (int k = 0; k < n; k++) {
    H[k * stride + tree.depths[k]] += diagonal[k];
    for (int j = HC_STEP(near)(k), end = HC_STEP(reach)(tree.ends[k], width); j < end; j += HC_PACK) {
      HC_PUT(W + k * width + j, (hc_v){0});
      HC_NO_MEMSET;
    }
    W[k * width + k] += 1.0;
  }
  for (int b = 0; b < tree.n_pivots; b++) {
    const int k = tree.pivots[b][0];
    if (tree.pivots[b][1] == 4)
      HC_STEP(eliminate)(H, stride, W, V, width, k, 4, tree);
    else if (tree.pivots[b][1] == 3)
      HC_STEP(eliminate)(H, stride, W, V, width, k, 3, tree);
    else if (tree.pivots[b][1] == 2)
      HC_STEP(eliminate)(H, stride, W, V, width, k, 2, tree);
    else
      HC_STEP(eliminate)(H, stride, W, V, width, k, 1, tree);
  }
}

/* sums[r][c] = sum of left[k, r] right[k, c] over the ranges of rows k. */
HC_HOT void HC_STEP(block)(hc_v (*sums)[HC_VECTORS], const HC_ELEMENT *left, int left_stride, const HC_ELEMENT *right,
                           int right_stride, const int (*terms)[2], int first, int last) {
  HC_EACH_OF_BLOCK(sums[r][c] = (hc_v){0});
  for (int t = first; t < last; t++)
    for (int k = terms[t][0]; k < terms[t][1]; k++) {
      const HC_ELEMENT *l = left + k * left_stride;
      hc_v right_k[HC_VECTORS];
      HC_UNROLLED for (int c = 0; c < HC_VECTORS; c++) right_k[c] = HC_AT(right + k * right_stride + c * HC_PACK);
      HC_EACH_OF_BLOCK(sums[r][c] += HC_SAME(l[r]) * right_k[c]);
    }
}

/* X = sum of V[k, :]' W[k, :], which is symmetric, from the blocks {i, j, terms from, terms to} of its upper triangle. */
HC_CALL void HC_STEP(symmetric_product)(HC_ELEMENT *X, int n, const HC_ELEMENT *V, const HC_ELEMENT *W, int width,
                                        const int (*blocks)[4], int n_blocks, const int (*terms)[2]) {
  for (int b = 0; b < n_blocks; b++) {
    const int i = blocks[b][0], j = blocks[b][1];
    hc_v sums[HC_ROWS][HC_VECTORS];
    HC_STEP(block)(sums, V + i, width, W + j, width, terms, blocks[b][2], blocks[b][3]);
    HC_EACH_OF_BLOCK(HC_PUT(X + (i + r) * n + j + c * HC_PACK, sums[r][c]));
#if HC_PACK == 1
    HC_EACH_OF_BLOCK(X[(j + c) * n + i + r] = sums[r][c]);
#else
    HC_UNROLLED for (int c = 0; c < HC_VECTORS; c++) {
      hc_v t[HC_PACK];
      HC_UNROLLED for (int r = 0; r < HC_PACK; r++) t[r] = sums[r][c];
      hc_transpose(t);
      HC_UNROLLED for (int r = 0; r < HC_PACK; r++) HC_PUT(X + (j + c * HC_PACK + r) * n + i, t[r]);
    }
#endif
  }
}

/* X = left right with a symmetric `left`, from blocks {0, j, terms from, terms to} of columns. */
HC_CALL void HC_STEP(multiply)(HC_ELEMENT *X, int n, const HC_ELEMENT *left, int left_stride,
                               const HC_ELEMENT *right, const int (*blocks)[4], int n_blocks, const int (*terms)[2]) {
  for (int b = 0; b < n_blocks; b++)
    for (int first = 0; first < n; first += HC_ROWS) {
      const int i = first + HC_ROWS <= n ? first : n - HC_ROWS, j = blocks[b][1];
      hc_v sums[HC_ROWS][HC_VECTORS];
      HC_STEP(block)(sums, left + i, left_stride, right + j, n, terms, blocks[b][2], blocks[b][3]);
      HC_EACH_OF_BLOCK(HC_PUT(X + (i + r) * n + j + c * HC_PACK, sums[r][c]));
    }
}

#undef HC_EACH_OF_BLOCK
#undef HC_MARGIN
