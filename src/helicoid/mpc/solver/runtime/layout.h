/* Sizes and memory of one optimal control problem.
 *
 * The sizes are constants of the translation unit, so that the compiler unrolls and vectorises:
 *   NU controls, NX state (tangent), NXA state (coordinates), NPAR parameters of a node, NTHETA of all nodes,
 *   of which the last NDIST are the disturbance (disturbance.h), a torque, followed by the change of dry friction and the
 *   breakaway velocity where there is any, or, with LACKS_RATE, of the rate of the state,
 *   NB, NG rows of a node that bound one variable / any expression, NBT, NGT the same of the last node,
 *   NGF of the NG that depend on more than q (of a robot), which come first,
 *   NTAU torques (of an ODE, controls) that are applied,
 *   LANES doubles in a vector register, DOUBLE_INTEGRATOR: v+ = v + h u, q+ = q + h v + CONTROL_SHARE h*h u with NX = 2 NU,
 *   NONLINEAR: the dynamics are forward dynamics or an ODE, CURVED: there is a kernel `second_order` of the second
 *   derivatives of dynamics and rows, which is used from the iteration FIRST_CURVED on,
 *   SPARSE_ROWS: of the derivatives of rows more than half are zero,
 *   MANIFOLD: the state moves by the kernel `retract` and not by addition.
 *
 * A node's variables are z = (u, x), each part padded with zeros to whole vectors (for a double integrator q
 * and v apart). A matrix is an array of columns of that length. */
#ifndef HELICOID_MPC_LAYOUT_H
#define HELICOID_MPC_LAYOUT_H
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernel.h"

/* Doubles processed at a time; the padding stays. Compilers without gcc's vector types process one (PLAIN_C forces
 * that); an exported library may run on a processor with smaller registers than the one that Python ran on. */
#if !defined(__GNUC__) || defined(PLAIN_C)
#define WIDTH 1
#elif defined(__x86_64__) && !defined(__AVX__) && LANES > 2
#define WIDTH 2
#elif defined(__x86_64__) && !defined(__AVX512F__) && LANES > 4
#define WIDTH 4
#else
#define WIDTH LANES
#endif
#ifndef __GNUC__
#define __attribute__(unknown)
#endif

#define PADDED(n) (((n) + LANES - 1) / LANES * LANES)
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define NUP PADDED(NU)
#if DOUBLE_INTEGRATOR
#define NXP (2 * NUP)
#define X_AT(i) ((i) < NU ? (i) : (i) + NUP - NU)
#else
#define NXP PADDED(NX)
#define X_AT(i) (i)
#endif
#define NZP (NUP + NXP)
#define NR MAX(1, MAX(NB + NG, NBT + NGT))
#define NRP PADDED(NR)
#define NGM MAX(1, MAX(NG, NGT))

/* Large problems have mostly zeros in the derivatives of their dynamics, which are worth skipping. */
#define SPARSE (NZP >= 40)

#if WIDTH > 1
typedef double vec __attribute__((vector_size(8 * WIDTH), aligned(8 * WIDTH), may_alias));
#define LANE(a, i) (a)[i]
#else
typedef double vec;
#define LANE(a, i) (a)
#endif
#define VZ (NZP / WIDTH)
#define VX (NXP / WIDTH)
#define VU (NUP / WIDTH)
#define VR (NRP / WIDTH)
#define V(p) ((vec *)(p))
#define CV(p) ((const vec *)(p))

/* In place of fmax and fmin, which are calls; a NaN as the first argument gives the second. */
static inline double larger_of(double a, double b) { return a > b ? a : b; }
static inline double smaller_of(double a, double b) { return a < b ? a : b; }
static inline vec splat(double a) { return a - (vec){0}; }
static inline double sum(vec a) {
  double total = 0;
  for (int i = 0; i < WIDTH; i++) total += LANE(a, i);
  return total;
}
#if WIDTH > 1
typedef int64_t mask __attribute__((vector_size(8 * WIDTH)));
/* Where the test is above zero a, elsewhere b. */
static inline vec choose(vec test, vec a, vec b) {
  const mask m = test > 0;
  return (vec)((m & (mask)a) | (~m & (mask)b));
}
static inline vec larger(vec a, vec b) {
#if WIDTH == 4 && defined(__AVX__) && !defined(__clang__)
  return (vec)__builtin_ia32_maxpd256(a, b); /* which gcc does not find in the other form */
#else
  const mask m = a > b;
  return (vec)((m & (mask)a) | (~m & (mask)b));
#endif
}
#else
static inline vec choose(vec test, vec a, vec b) { return test > 0 ? a : b; }
static inline vec larger(vec a, vec b) { return a > b ? a : b; }
#endif
static inline double largest(vec a) {
  double m = LANE(a, 0);
  for (int i = 1; i < WIDTH; i++) m = LANE(a, i) > m ? LANE(a, i) : m;
  return m;
}
/* The largest absolute value in so many vectors. */
static inline double largest_size(const double *x, int64_t vectors) {
  vec m = {0};
  for (int64_t i = 0; i < vectors; i++) m = larger(larger(CV(x)[i], -CV(x)[i]), m);
  return largest(m);
}
static inline double dot_z(const double *a, const double *b) {
  vec total = CV(a)[0] * CV(b)[0];
  for (int i = 1; i < VZ; i++) total += CV(a)[i] * CV(b)[i];
  return sum(total);
}

/* Contact phases: FEET of an exported controller alone; Python advances its own phases (contact_phases.h). */
#ifndef FEET
#define FEET 0
#endif
#if FEET
#define PHASE_SIZE (1 + 4 * FEET)
#define FEET_FIELDS(G) G(schedule, N_SCHEDULE) G(phases, MAX_PHASES * PHASE_SIZE)
#else
#define FEET_FIELDS(G)
#endif
enum { PHASE_TIME, GROUND, N_PHASES, N_SCHEDULE };

#define PLAN_TOLERANCE 0.01 /* excess of hard rows (scaled) and gaps of the dynamics that a plan with the status "ok" may have */
#define QUARTERS 4 /* of a period, at whose ends velocities are limited */
#define ROWS ((QUARTERS + 1) * NTAU) /* these and torques: see limit_filter.h */
#define FILTER_SIZE 100 /* pairs in the filter, see filter_search.h */

/* One list for the fields that hold numbers: name, doubles of a node (or in all), is it for each node. */
#define NODE_FIELDS(F)                                                                                      \
  F(x, NXA) F(u, NU) F(x_trial, NXA) F(u_trial, NU) F(parameters, MAX(1, NPAR)) F(h, 1)                      \
  F(cost, 1) F(gradient, NZP) F(gap, NXP) F(rows, NRP) F(hessian, NZP * NZP) F(jacobian, NGM * NZP)           \
  F(dynamics, DOUBLE_INTEGRATOR ? 1 : NXP * NZP) F(curvature, CURVED ? NZP * NZP : 1)                         \
  F(lower, NRP) F(upper, NRP) F(penalty, NRP) F(penalty2, NRP) F(hard, NRP)                                  \
  F(step, NZP) F(target, NZP) F(costate, NXP) F(moved, NRP) F(moved_target, NRP) F(stiffness, NRP)            \
  F(swept, NZP * NZP) F(value_gradient, NXP) F(carried, NXP) F(offset, NUP) F(linear, NZP) F(trial_gap, NXP)                 \
  F(trial_rows, NRP) F(trial_cost, 1) F(weight, NRP) F(kept_rows, NRP) F(kept_gap, NXP) F(kept_step, NZP) \
  F(kept_moved, NRP) F(row_sum, NRP)                                                                        \
  F(on, 2 * NRP) F(multiplier, 2 * NRP) F(slack, 2 * NRP) F(excess, 2 * NRP) F(excess_multiplier, 2 * NRP)   \
  F(kappa, 2 * NRP) F(beta, 2 * NRP) F(inverse1, 2 * NRP) F(inverse2, 2 * NRP) F(bias2, 2 * NRP)             \
  F(d_multiplier, 2 * NRP) F(d_excess, 2 * NRP) F(second1, 2 * NRP) F(second2, 2 * NRP) F(shortfall, 2 * NRP) \
  F(times, 1) F(fraction, 1) F(good_x, NXA) F(good_u, NU) F(x_before, NXA) F(x_after, NXA) \
  F(own_lower, NRP) F(own_upper, NRP) \
  F(other_x, NXA) F(other_u, NU) F(other_multiplier, 2 * NRP) F(other_costate, NXP) F(other_weight, NRP)
#define ONCE_FIELDS(F)                                                                                      \
  F(theta, MAX(1, NTHETA)) F(initial, NXA) F(initial_gap, NXP) F(initial_free, NXP)                          \
  F(settings, N_SETTINGS) F(results, N_RESULTS) F(filter, 2 * FILTER_SIZE)                                    \
  F(loop, N_LOOP) F(outcome, N_OUTCOME) F(torque, NTAU) F(limit, NTAU) F(limit_row, NTAU) F(limit_scale, NTAU) \
  F(speed_row, NTAU) F(speed_scale, NTAU) F(held, QUARTERS * NTAU) F(midway, NTAU * NXA) F(unused, NTAU * NXA) F(nearby, NTAU * NTAU) \
  F(inertia, NTAU * NTAU) F(sensitivity, 2 * ROWS * NTAU) F(limit_filter, 3 * ROWS) \
  F(relaxed_row, NRP) F(restart, N_RESTART) F(factors, (NGM + NU) * NZP) F(pivots, NU * (NUP + NZP)) \
  F(disturbance, MAX(1, NDIST)) F(trusted, MAX(1, NDIST)) F(stuck, 2 * MAX(1, NDIST)) F(previous, NXA) F(seen, 1)

enum {
  TOLERANCE, QP_TOLERANCE, MAX_QP_ITERATIONS, BUDGET, HARD_PENALTY, MAX_PENALTY, WARM_LEVEL, COLD_LEVEL, REGULARISATION,
  SCALE, /* of the cost: levels, penalties, tolerances and regularisation are multiplied by it */
  N_SETTINGS
};
enum {
  STATUS, ITERATIONS, QP_ITERATIONS, COST, STATIONARITY, GAP, VIOLATION, COMPLEMENTARITY, STEP_LENGTH,
  QP_GAP, MERIT, GAP_WEIGHT, STEP_SIZE, SECONDS, QP_EXCESS, DECREASE, COST_DECREASE, COST_BROUGHT, N_RESULTS
};
enum { SOLVED, ITERATION_LIMIT, INFEASIBLE, NOT_FINITE, NO_PROGRESS, TIME_LIMIT };

/* Settings of the loop around the solver (loop.h), and the outcome of its last step. */
enum {
  PERIOD, STEP_ITERATIONS, COLD_ITERATIONS, LOOP_BUDGET,
  N_MEASURED,     /* measured coordinates of the state; after them are those that a problem adds */
  DURATION_START, /* (s) where the duration is free, else 0 */
  WHOLE_NODES,    /* a period is one interval of the grid */
  HAS_PREVIOUS,   /* the last NU elements of the state are the control before */
  VELOCITY_AT, VELOCITY_END, /* the coordinates that are zero of a robot at rest */
  USES_RESTARTS, /* see restart.h */
  DISTURBANCE_SHARE, /* of a sample that goes into the disturbance, 0 for none: see disturbance.h */
  N_LOOP
};
/* State of restart.h: periods with constant cost, and how many of them precede a restart; the present guess and its
 * iterations; the cost of the plan; the solver's state of the other plan; the patience without that due to failed
 * restarts; the cost that is constant, and that of the last restart. */
enum {
  SAME_FOR, PATIENCE, GUESS, TRIED, COST_HERE, OTHER_DAMPING, OTHER_GAP_WEIGHT, OTHER_PENALTY, OTHER_WARM,
  OWN_PATIENCE, SAME_COST, SEARCHED_COST, OTHER_DAMPING_FLOOR, NUMBERS_CHANGED, /* since the last step */
  N_RESTART
};
enum { PHASE, STEP_STATUS, OK, FAILURES, FALLBACK, REASON, RAN, HAS_PLAN, STEP_SECONDS, N_OUTCOME };
enum { NEW, PLANNED, SHIFTED, PREPARED, LOST };  /* PHASE of the loop: which plan there is */
enum {                                           /* STEP_STATUS */
  STEP_OK, STEP_ITERATION_LIMIT, STEP_INFEASIBLE, STEP_NO_PROGRESS, STEP_TIME_LIMIT, STEP_NOT_FINITE,
  STEP_BAD_MEASUREMENT, STEP_NOT_STARTED
};
enum { NEW_PLAN, OLD_PLAN, BRAKING };            /* FALLBACK: what was applied */
enum { INVALID_STATE = -2, INVALID_PLAN = -1 };          /* REASON, where it is not the status of the solver */

/* One list for the generated functions; those that a problem does not have are NULL. The last six are of a controller of
 * a robot: the torque to apply, the braking torque, the controls at rest; velocities under a constant torque, the mass
 * matrix; the torque that the model does not explain. */
#define KERNELS(F) \
  F(stage) F(values) F(last) F(last_values) F(second_order) F(retract) F(local) F(applied) F(braking) F(holding) \
  F(moving) F(inertias) F(unexplained)

/* Duration of an operation (s), see clock.h. */
typedef struct {
  double expected, least, before, seen; /* before: the last one; seen: number of runs */
} duration;

typedef struct {
  int64_t n; /* intervals: nodes 0 to n */
#define DECLARE(name) const helicoid_kernel *name;
  KERNELS(DECLARE)
#undef DECLARE
  void *work;
  double started; /* start of the time budget */
  /* Of linearisation; interior-point iteration; line search; torque, and one prediction of it. */
  duration linearisation, iteration, search, torquing, round;
  double solved, left_out; /* end of the last interior-point iteration; prediction skipped for lack of time (s) */
  double delay; /* (s) recent excess of a duration over the expected one, see clock.h */
  double step_curvature; /* d'Hd of the program's solution d */
  double damping_floor; /* lower bound of the damping in a loop (damping.h) */
  int warm, filtered, late; /* late: an operation was ended by the budget */
#define DECLARE(name, size) double *name;
  NODE_FIELDS(DECLARE) ONCE_FIELDS(DECLARE) FEET_FIELDS(DECLARE)
#undef DECLARE
} mpc;

/* Rows that bound one variable: its place in z, and the scale of the row. */
static const int box_at[] = BOX_AT;
static const double box_scale[] = BOX_SCALE;
static const int last_box_at[] = LAST_BOX_AT;
static const double last_box_scale[] = LAST_BOX_SCALE;
#endif
