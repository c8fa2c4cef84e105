/* The matrices of the linear-quadratic problem, from the last node to the first: see riccati.h. */
#ifndef HELICOID_MPC_FACTOR_H
#define HELICOID_MPC_FACTOR_H
#include "interval.h"

/* Row j of it is the unit vector j. Changing one element of a vector in memory would stall the next wide load. */
static double unit[NZP][NZP] __attribute__((aligned(64)));
static double is_row[NRP] __attribute__((aligned(64))); /* and not padding */
static void make_units(void) {
  for (int j = 0; j < NZP; j++) unit[j][j] = 1;
  for (int i = 0; i < NR; i++) is_row[i] = 1;
}

/* A tile of a matrix, so many columns and vectors of each, stays in registers while products are added to it. */
#define TILE_COLUMNS 3
#define TILE_VECTORS 4
#define CHUNK 12 /* vectors of one column that do */
#define PIVOT (NUP + NZP) /* numbers of a pivot, see eliminate */

/* A sum of `count` products: the vector k of `of`, times the number k of each column in `factors`; k are all, or those
 * of the `list`. */
typedef struct {
  const double *factors, *of;
  int count, stride; /* from one vector to the next; of the factors it is NZP */
  const int *list;
} Products;

static inline Products moved(Products p, int factors, int of) {
  p.factors += factors, p.of += of;
  return p;
}

static inline __attribute__((always_inline)) void add_to_tile(
    double *G, Products a, Products b, int columns, int vectors) {
  vec tile[TILE_COLUMNS][TILE_VECTORS];
  for (int c = 0; c < columns; c++)
    for (int i = 0; i < vectors; i++) tile[c][i] = CV(G + c * NZP)[i];
  for (int e = 0; e < a.count; e++) {
    const int k = SPARSE_ROWS ? a.list[e] : e;
    for (int c = 0; c < columns; c++)
      for (int i = 0; i < vectors; i++)
        tile[c][i] += splat(a.factors[k * NZP + c]) * CV(a.of + k * a.stride)[i];
  }
  for (int k = 0; k < b.count; k++)
    for (int c = 0; c < columns; c++)
      for (int i = 0; i < vectors; i++)
        tile[c][i] += splat(b.factors[k * NZP + c]) * CV(b.of + k * b.stride)[i];
  for (int c = 0; c < columns; c++)
    for (int i = 0; i < vectors; i++) V(G + c * NZP)[i] = tile[c][i];
}

/* The same for any number of vectors. */
static inline __attribute__((always_inline)) void add_to_columns(
    double *G, Products a, Products b, int columns, int vectors) {
  for (; vectors >= TILE_VECTORS; vectors -= TILE_VECTORS) {
    add_to_tile(G, a, b, columns, TILE_VECTORS);
    G += TILE_VECTORS * WIDTH, a.of += TILE_VECTORS * WIDTH, b.of += TILE_VECTORS * WIDTH;
  }
  if (vectors == 1) add_to_tile(G, a, b, columns, 1);
  if (vectors == 2) add_to_tile(G, a, b, columns, 2);
  if (vectors == 3) add_to_tile(G, a, b, columns, 3);
}

/* Those of which one of the columns has a factor that is not zero. */
static inline __attribute__((always_inline)) Products used(Products p, int columns, int *list) {
  int count = 0;
  for (int k = 0; k < p.count; k++) {
    int any = 0;
    for (int c = 0; c < columns; c++) any |= p.factors[k * NZP + c] != 0;
    list[count] = k, count += any;
  }
  p.count = count, p.list = list;
  return p;
}

/* Products of rows, and others, are added to a symmetric matrix, or its first columns: on and below the diagonal. Only
 * the `few` first rows count for columns that are not from `first` to `end`. */
static inline __attribute__((always_inline)) void add_products(
    double *G, Products rows, Products others, int columns, int vectors, int few, int first, int end) {
  int list[NGM];
  for (int j = 0; j < columns; j += TILE_COLUMNS) {
    const int above = j / WIDTH, at = above * WIDTH, whole = j + TILE_COLUMNS <= columns;
    Products a = moved(rows, j, at), b = moved(others, j, at);
    if (j + TILE_COLUMNS <= first || j >= end) a.count = few;
    if (SPARSE_ROWS) a = used(a, whole ? TILE_COLUMNS : columns % TILE_COLUMNS, list);
    if (whole)
      add_to_columns(G + j * NZP + at, a, b, TILE_COLUMNS, vectors - above);
    else
      add_to_columns(G + j * NZP + at, a, b, columns % TILE_COLUMNS, vectors - above);
  }
}

/* Marquardt's damping, in proportion to the diagonal of the Hessian, and stiffness of rows that bound a variable. */
static inline __attribute__((always_inline)) void add_diagonal(
    const mpc *s, int64_t k, double *G, int nb, const int *at, const double *scale, int first) {
  const double *H = s->hessian + k * NZP * NZP, reg = s->settings[REGULARISATION];
  const double least = 1e-6 * s->settings[SCALE];
  double diagonal[NZP];
  if (reg == 0) { /* as it mostly is */
    for (int r = 0; r < nb; r++)
      V(G + at[r] * NZP)[at[r] / WIDTH] +=
          s->stiffness[k * NRP + r] * scale[r] * scale[r] * CV(unit[at[r]])[at[r] / WIDTH];
    return;
  }
  for (int j = first; j < NZP; j++) diagonal[j] = reg * (fabs(H[j * NZP + j]) + least);
  for (int r = 0; r < nb; r++) diagonal[at[r]] += s->stiffness[k * NRP + r] * scale[r] * scale[r];
  for (int j = first; j < NZP; j++) V(G + j * NZP)[j / WIDTH] += diagonal[j] * CV(unit[j])[j / WIDTH];
}

/* The Jacobian of the rows, each times its stiffness. */
static inline Products stiff_rows(const mpc *s, int64_t k, int nb, int ng) {
  const double *J = s->jacobian + k * NGM * NZP, *w = s->stiffness + k * NRP + nb;
  for (int r = 0; r < ng; r++)
    for (int i = 0; i < VZ; i++) V(s->factors + r * NZP)[i] = w[r] * CV(J + r * NZP)[i];
  return (Products){s->factors, J, ng, NZP, NULL};
}

/* column = column + sum of `count` columns, each times its factor. */
static inline __attribute__((always_inline)) void combine_part(
    double *column, const double *factors, int step, const double *of, int stride, int count, int vectors) {
  vec total[CHUNK];
  for (int i = 0; i < vectors; i++) total[i] = CV(column)[i];
  for (int k = 0; k < count; k++) {
    const vec f = splat(factors[k * step]);
    for (int i = 0; i < vectors; i++) total[i] += f * CV(of + k * stride)[i];
  }
  for (int i = 0; i < vectors; i++) V(column)[i] = total[i];
}
static inline __attribute__((always_inline)) void combine(
    double *column, const double *factors, int step, const double *of, int stride, int count, int vectors) {
  int i = 0;
  for (; i + CHUNK <= vectors; i += CHUNK)
    combine_part(column + i * WIDTH, factors, step, of + i * WIDTH, stride, count, CHUNK);
  if (vectors % CHUNK)
    combine_part(column + i * WIDTH, factors, step, of + i * WIDTH, stride, count, vectors % CHUNK);
}

/* Guu = L D L' with ones on the diagonal of L. The columns of the controls become (Guu^-1, K'): forwards (1, G) becomes
 * (L^-1, L^-1 G), which stays in `pivots`, and times -1 / d in `factors`; then backwards through L'. Returns whether
 * all of D was positive. */
static inline int eliminate(double *G, double *factors, double *pivots, double smallest) {
  int positive = 1;
  for (int j = 0; j < NU; j++) {
    double *own = pivots + j * PIVOT, *g = G + j * NZP, *f = factors + j * NZP;
    for (int i = 0; i < VU; i++) V(own)[i] = CV(unit[j])[i];
    for (int i = 0; i < VZ; i++) V(own)[VU + i] = CV(g)[i];
    combine(own, factors + j, NZP, pivots, PIVOT, j, VU + VZ);
    const double d = own[NUP + j], inverse = 1 / d;
    if (!(d > smallest)) positive = 0;
    for (int i = 0; i < VZ; i++) V(f)[i] = -inverse * CV(own)[VU + i];
    for (int i = 0; i < VU; i++) V(g)[i] = inverse * CV(own)[i];
    for (int i = VU; i < VZ; i++) V(g)[i] = CV(f)[i];
  }
  for (int j = NU - 2; j >= 0; j--)
    combine(G + j * NZP, factors + j * NZP + j + 1, 1, G + (j + 1) * NZP, NZP, NU - 1 - j, VZ);
  return positive;
}

/* What is above the diagonal of P, and above that -K, of which the columns of the controls hold the transpose. */
#if WIDTH == 4 && !defined(__clang__)
/* Four rows of four become columns. */
static inline __attribute__((always_inline)) void transpose(vec *r) {
  const mask low = {0, 4, 2, 6}, high = {1, 5, 3, 7}, left = {0, 1, 4, 5}, right = {2, 3, 6, 7};
  const vec a = __builtin_shuffle(r[0], r[1], low), b = __builtin_shuffle(r[0], r[1], high);
  const vec c = __builtin_shuffle(r[2], r[3], low), d = __builtin_shuffle(r[2], r[3], high);
  r[0] = __builtin_shuffle(a, c, left), r[1] = __builtin_shuffle(b, d, left);
  r[2] = __builtin_shuffle(a, c, right), r[3] = __builtin_shuffle(b, d, right);
}
static inline void mirror(double *G, int first) {
  for (int j = first; j < NZP; j += WIDTH)
    for (int i = MAX(NUP, j + WIDTH); i < NZP; i += WIDTH) {
      vec across[WIDTH];
      for (int c = 0; c < WIDTH; c++) across[c] = CV(G + (j + c) * NZP)[i / WIDTH];
      transpose(across);
      for (int c = 0; c < WIDTH; c++) V(G + (i + c) * NZP)[j / WIDTH] = j < NUP ? -across[c] : across[c];
    }
}
#else
static inline void mirror(double *G, int first) {
  for (int j = first; j < NZP; j += WIDTH)
    for (int i = MAX(NUP, j + WIDTH); i < NZP; i++) {
      vec across = {0};
      for (int c = 0; c < WIDTH; c++) LANE(across, c) = G[(j + c) * NZP + i];
      V(G + i * NZP)[j / WIDTH] = j < NUP ? -across : across;
    }
}
#endif

/* The matrices, from the last node to the first. */
static int factor(mpc *s) {
  const Products none = {s->factors, s->factors, 0, NZP, NULL}, end = stiff_rows(s, s->n, NBT, NGT);
  double *last = s->swept + s->n * NZP * NZP, *factors = s->factors + NGM * NZP;
  memcpy(last + NUP * NZP, s->hessian + (s->n * NZP + NUP) * NZP, NXP * NZP * sizeof(double));
  add_diagonal(s, s->n, last, NBT, last_box_at, last_box_scale, NUP);
  add_products(last + NUP * NZP + NUP, moved(end, NUP, NUP), none, NXP, VX, NGT, 0, NXP);
  mirror(last, NUP);
  const Products controls = {factors + NUP, s->pivots + 2 * NUP, NU, PIVOT, NULL};
  int positive = 1;
  for (int64_t k = s->n - 1; k >= 0; k--) {
    double *G = s->swept + k * NZP * NZP;
    start_from(G, s->hessian + k * NZP * NZP, G + NZP * NZP, s->h[k], AB_OF(s, k));
    add_diagonal(s, k, G, NB, box_at, box_scale, 0);
    const Products rows = stiff_rows(s, k, NB, NG);
    add_products(G, rows, none, NUP, VZ, NGF, 0, 0);
    positive &= eliminate(G, factors, s->pivots, 1e-14 * s->settings[SCALE]);
    add_products(G + NUP * NZP + NUP, moved(rows, NUP, NUP), controls, NXP, VX, NGF, 0, DOUBLE_INTEGRATOR ? NU : NXP);
    mirror(G, 0);
  }
  return positive;
}
#endif
