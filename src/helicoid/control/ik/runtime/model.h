/* Data of the problem that all searches share, and the state of running searches, in SIMD lanes.
 *
 * Sizes come from the problem: N free velocities, NQ coordinates, NT numbers of a target, M rows, NF features by
 * which a start is compared with a target, STARTS of them (a multiple of 8), GROUPS norms. */
#ifndef IK_MODEL_H
#define IK_MODEL_H
#include <stdlib.h>
#include <string.h>

#define NH (N * (N + 1) / 2)
#define AT(n) ((n) > 0 ? (n) : 1) /* C has no arrays of no elements */
#define COORDINATES(k) for (int k = 0; k < NQ; k++)
#define LANES(l) for (int l = 0; l < HC_LANES; l++)

enum { CONSTRAINT, GOAL, SECONDARY };
enum { NUMBERS, ROTATION, POSE };

typedef float starts8 __attribute__((vector_size(32)));

typedef struct {
  double lower[AT(NQ)], upper[AT(NQ)], period[AT(NQ)], moves[AT(NQ)];
  double coordinate[AT(N)]; /* the coordinate of each velocity, or -1 where it has none of its own */
  double usual[AT(NQ)];     /* default values of fixed coordinates */
  double weight[AT(M)], level[AT(M)], group[AT(M)], tolerance[AT(GROUPS)];
  double start[STARTS * AT(NQ)];
  double place[AT(NF)], closeness[AT(NF)]; /* index of a feature in the target, weight of its difference */
  double target_kind[AT(TASKS)], target_at[TASKS + 1];
  double settings[8];
  starts8 feature[STARTS / 8][AT(NF)], square[STARTS / 8];
} ik_model;

enum { MOST_ITERATIONS, PATIENCE, PROGRESS, DAMPING, EASIER, HARDER };

/* Search for one target. */
typedef struct {
  int64_t number;                   /* index of the target; -1 for none */
  const double *target, *q0;
  int64_t next, ended, iterations;  /* next start, searches that ended, iterations of all */
  int64_t winner;                   /* the start that succeeded, or -1 */
  int polishing;
  double best;                      /* least error of the searches that failed */
  double q[AT(NQ)], e[AT(M)];
  starts8 distance[STARTS / 8];
} ik_search;

typedef struct {
  hc_v x[NQ + NT + M + 1];          /* the trial: q, target, weights */
  hc_v y[M + NH + N + 1];           /* e, H, g at the trial */
  hc_v work[EVALUATE_WORK];
  hc_v q[AT(NQ)], e[AT(M)], H[AT(NH)], g[AT(N)];
  hc_v E, damping, slow, count, strict, secondary, goal;
  hc_i inside;                      /* whether the accepted point is within all tolerances */
  int64_t start[HC_LANES];          /* index of the start of its search; -1 where idle */
  int fresh[HC_LANES];
  ik_search search[HC_LANES];
} ik_lanes;

HC_HOT void put(hc_v *x, int l, double value) { ((double *)x)[l] = value; }
HC_HOT double get(const hc_v *x, int l) { return ((const double *)x)[l]; }
HC_HOT hc_v least(hc_v a, hc_v b) { return hc_select(HC_MASK(a < b), a, b); }
HC_HOT hc_v most(hc_v a, hc_v b) { return hc_select(HC_MASK(a > b), a, b); }
#endif
