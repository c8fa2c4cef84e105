/* What all searches share, and the state of those that go on, a vector of lanes each.
 *
 * Sizes come from the problem: N velocities that move, NQ coordinates, NT numbers of a target, M rows, NF numbers
 * by which a start is compared with a target, STARTS of them (a multiple of 8), GROUPS norms. */
#ifndef IK_MODEL_H
#define IK_MODEL_H
#include <stdlib.h>
#include <string.h>

#define NH (N * (N + 1) / 2)
#define AT(n) ((n) > 0 ? (n) : 1) /* C has no arrays of no elements */
#define COORDINATES(k) for (int k = 0; k < NQ; k++)
#define LANES(l) for (int l = 0; l < HC_LANES; l++)

enum { CONSTRAINT, GOAL, WISH };
enum { NUMBERS, ROTATION, POSE };

typedef float starts8 __attribute__((vector_size(32)));

typedef struct {
  double lower[AT(NQ)], upper[AT(NQ)], period[AT(NQ)], moves[AT(NQ)];
  double coordinate[AT(N)]; /* the coordinate of each velocity, or -1 where it has none of its own */
  double usual[AT(NQ)];     /* coordinates that nothing moves and no start gives */
  double weight[AT(M)], level[AT(M)], group[AT(M)], tolerance[AT(GROUPS)];
  double start[STARTS * AT(NQ)];
  double place[AT(NF)], closeness[AT(NF)]; /* where a number stands in the target, what a difference weighs */
  double target_kind[AT(TASKS)], target_at[TASKS + 1];
  double settings[8];
  starts8 feature[STARTS / 8][AT(NF)], square[STARTS / 8];
} ik_model;

enum { MOST_ITERATIONS, PATIENCE, PROGRESS, DAMPING, EASIER, HARDER };

/* One target that is being searched for. */
typedef struct {
  int64_t number;                   /* which of those given; -1 for none */
  const double *target, *q0;
  int64_t next, ended, iterations;  /* the start to come, how many ended, all iterations */
  int64_t winner;                   /* the start that succeeded, or -1 */
  int polishing;
  double best;                      /* the least error of those that ended without success */
  double q[AT(NQ)], e[AT(M)];
  starts8 distance[STARTS / 8];
} ik_search;

typedef struct {
  hc_v x[NQ + NT + M + 1];          /* the trial: q, target, weights */
  hc_v y[M + NH + N + 1];           /* there: e, H, g */
  hc_v work[EVALUATE_WORK];
  hc_v q[AT(NQ)], e[AT(M)], H[AT(NH)], g[AT(N)];
  hc_v E, damping, slow, count, strict, wish, goal;
  hc_i inside;                      /* whether what is kept is within all tolerances */
  int64_t start[HC_LANES];          /* which start of its search; -1 where idle */
  int fresh[HC_LANES];
  ik_search search[HC_LANES];
} ik_lanes;

HC_HOT void put(hc_v *x, int l, double value) { ((double *)x)[l] = value; }
HC_HOT double get(const hc_v *x, int l) { return ((const double *)x)[l]; }
HC_HOT hc_v least(hc_v a, hc_v b) { return hc_select(HC_MASK(a < b), a, b); }
HC_HOT hc_v most(hc_v a, hc_v b) { return hc_select(HC_MASK(a > b), a, b); }
#endif
