/* One step of whole-body control: from q, v and numbers to torques.
 *
 * Sizes are constants: those of configuration.h, NV velocities, NU of them without an actuator, NP numbers, NCT
 * contacts with NF forces and NC rows of friction cones, NK rows of the robot's own constraints, NE rows of tasks, NM of
 * them of accelerations, NS of errors; NX = NV + NF + NK variables, NL limits.
 * DATA(q, v, p, out, scratch) calls the generated function; P_... are indices in p.
 *
 * `memory` is the state between steps, with the results of the last one. */
#ifndef HELICOID_WHOLE_BODY_H
#define HELICOID_WHOLE_BODY_H
#include "configuration.h"
#include "whole_body_reduce.h"
#if STRICT
#include "qp_lexicographic.h"
#else
#include "qp.h"
#endif
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC push_options
#ifndef HELICOID_OPTIMISE /* defined where a short build matters more than speed */
/* The passes without which it builds faster gain nothing here. */
#pragma GCC optimize("O3", "associative-math", "no-signed-zeros", "no-trapping-math", "no-math-errno", \
                     "no-tree-pre", "no-gcse", "no-code-hoisting", "no-unswitch-loops", "no-split-loops", \
                     "no-predictive-commoning")
#endif
#endif
#include "whole_body_program.h"

#define MEMORY_FIELDS(F)                                                                        \
  F(TORQUE, NV) F(WANTED, NV) F(X, NX) F(FORCES, NF) F(STATE, NL) F(LOWER, NX) F(UPPER, NX)     \
  F(CAP, NCT) F(IS_ON, NCT) F(FALL, NCT) F(ERRORS, NS) F(INFO, 3)
enum { MEMORY_FIELDS(PLACE) MEMORY };
enum { D_M = NV * NV, D_J = NH * NV, D_E = NM * NV,
       DATA_SIZE = D_M + NV + D_J + NH + D_E + 2 * NE + 2 * NV + CONE_NUMBERS + NX + 9 * NCT };
#if STRICT
enum { SOLVER_WORK = QP_LEVELS_WORK(NX, NMOST, NE) };
#else
enum { SOLVER_WORK = QP_WORK(NX, NMOST) };
#endif

#define ACCURACY 1e-6 /* relative, of limits and equations of motion in a result that is ok */
#define AWAY 0.2 /* velocity (rad/s, m/s) of joints that move further beyond their range where they cannot return */

enum { STEP_WORK = DATA_SIZE + REDUCTION_WORK + PROGRAM_WORK + SOLVER_WORK + NX };

static int are_numbers(int size, const double *values) {
  for (int i = 0; i < size; i++)
    if (!(fabs(values[i]) <= 1e300)) return 0;
  return 1;
}

/* Active contacts of this step and the force limit of each, which ramps up when a contact is made and down to zero
 * before it is broken. Returns the number of active contacts. */
static int contacts_now(const double *p, double *memory) {
  const int started = memory[INFO + 2] != 0;
  const double dt = p[P_DT], ramp = p[P_RAMP], share = ramp > dt ? dt / ramp : 1;
  int holding = 0;
  for (int i = 0; i < NCT; i++) {
    double *cap = memory + CAP + i, *is_on = memory + IS_ON + i, *fall = memory + FALL + i;
    const double most = p[P_MOST + i], rise = p[P_RISE];
    if (!(*cap >= 0)) *cap = 0; /* after numbers that were none */
    if (p[P_ACTIVE + i] > 0) {
      if (!*is_on) *cap = started ? 0 : most;
      *is_on = 1, *fall = 0;
      *cap = qp_smaller(most, *cap + share * rise);
      if (share == 1 || *cap >= rise) *cap = most;
    } else if (*is_on) {
      const double last = memory[X + NV + contact_start[i] + contact_size[i] - 1];
      if (*fall == 0) *cap = qp_smaller(*cap, qp_larger(last, 0)), *fall = qp_larger(*cap * share, 1e-9);
      *cap -= *fall;
      if (*cap <= 0.5 * *fall) *is_on = 0, *cap = 0, *fall = 0;
    }
    holding += *is_on != 0;
  }
  return holding;
}

static void limit_forces(const double *p, double *memory) {
  for (int k = NV; k < NX; k++) memory[LOWER + k] = -INFINITY, memory[UPPER + k] = INFINITY;
  for (int i = 0; i < NCT; i++) {
    const int normal = NV + contact_start[i] + contact_size[i] - 1;
    memory[UPPER + normal] = memory[CAP + i];
    memory[LOWER + normal] = qp_smaller(p[P_LEAST + i], memory[CAP + i]);
  }
}

/* Drop accelerations that limits of position or velocity demand; whether there are any. Joints beyond their range then
 * move as contacts and balance need rather than return, but away from it at AWAY and no faster. */
static int drop_demands(const double *lower, const double *upper, const double *v, double away, double *memory) {
  int any = 0;
  for (int k = 0; k < NV; k++) {
    if (lower[k] > 0) memory[LOWER + k] = v[k] < -away ? 0 : -INFINITY, any = 1;
    if (upper[k] < 0) memory[UPPER + k] = v[k] > away ? 0 : INFINITY, any = 1;
  }
  return any;
}

/* Solve; where limits contradict each other, once more without the accelerations that they demand, at any velocity if
 * need be, then with soft acceleration limits. */
static int solve(program *s, const double *v, double *memory) {
  static const double away[] = {AWAY, INFINITY};
  double *state = memory + STATE, *info = memory + INFO, lower[NV], upper[NV];
  int iterations = 0, relaxed = 0;
  program_torques(s);
  program_costs(s);
  program_limits(s, state, INFINITY);
  int status = program_solve(s, state, &iterations);
  memcpy(lower, memory + LOWER, sizeof lower), memcpy(upper, memory + UPPER, sizeof upper);
  while (status == QP_INFEASIBLE && relaxed < 2 && drop_demands(lower, upper, v, away[relaxed], memory)) {
    relaxed++;
    program_limits(s, state, INFINITY);
    status = program_solve(s, state, &iterations);
  }
  if (status == QP_INFEASIBLE || status == QP_ITERATION_LIMIT) {
    double price = 1;
    for (int i = 0; !STRICT && i < s->reduced->n; i++)
      price = qp_larger(price, qp_larger(fabs(s->f[i]), s->H[i * s->reduced->n + i]));
    memset(state, 0, NL * sizeof(double));
    program_limits(s, state, 1e3 * price);
    const int again = program_solve(s, state, &iterations);
    status = again > QP_INFEASIBLE ? again : QP_INFEASIBLE;
  }
  info[1] = iterations;
  memcpy(memory + LOWER, lower, sizeof lower), memcpy(memory + UPPER, upper, sizeof upper);
  return status == QP_OK && relaxed ? QP_INFEASIBLE : status;
}

/* Whether unactuated velocities satisfy the equations of motion, tau = K z + h = 0, to rounding. */
static int moves_as_computed(const program *s, const double *z, const double *tau) {
  for (int r = 0; r < NU; r++) {
    const double *K = s->reduced->K + unactuated[r] * PX;
    double size = fabs(K[NX]) + 1e-3 / CONE_SCALE;
    for (int k = 0; k < NX; k++) size += fabs(K[k] * z[k]);
    if (!(fabs(tau[unactuated[r]]) <= ACCURACY * size)) return 0;
  }
  return 1;
}

static inline int is_within(double value, double lower, double upper, double size) {
  const double tolerance = ACCURACY * (size + fabs(value));
  return value <= upper + tolerance && value >= lower - tolerance;
}

/* Whether accelerations, forces, friction cones and torques are within their limits. The solver's tolerance is relative
 * to the largest variable, which absurd numbers make as large as they like. */
static int keeps_limits(const program *s, const double *tau, const double *memory) {
  const double *x = memory + X, *cone = s->cones;
  for (int k = 0; k < NX; k++)
    if (s->reduced->is_used[k] && !is_within(x[k], s->lower[k], s->upper[k], k < NV ? 1 : 1e-3 / CONE_SCALE)) return 0;
  for (int i = 0; i < NCT; i++) {
    const double *f = x + NV + contact_start[i];
    for (int k = 0; k < cone_rows[i]; k++, cone += contact_size[i]) {
      double value = 0, size = 1e-3 / CONE_SCALE;
      if (!s->reduced->is_used[NV + contact_start[i]]) continue;
      for (int j = 0; j < contact_size[i]; j++) value += cone[j] * f[j], size += fabs(cone[j] * f[j]);
      if (!(value <= ACCURACY * size)) return 0;
    }
  }
  for (int i = 0, j = 0, u = 0; i < NV; i++) {
    if (u < NU && unactuated[u] == i) {
      u++;
      continue;
    }
    const double most = s->torque_limit[j++];
    if (!is_within(tau[i], -most, most, 1)) return 0;
  }
  return 1;
}

/* Torques, accelerations and forces of y, and the status after the check of what the solver found. */
static int found(program *s, int status, const double *turn, double *z, double *tau, double *memory) {
  reduction_expand(s->reduced, s->y, z);
  for (int i = 0; i < NV; i++) {
    double value = s->reduced->K[i * PX + NX];
    for (int k = 0; k < NX; k++) value += s->reduced->K[i * PX + k] * z[k];
    tau[i] = value;
  }
  if (!are_numbers(NX, z) || !are_numbers(NV, tau)) return STEP_NOT_FINITE;
  if (!moves_as_computed(s, z, tau)) return STEP_INACCURATE;
  for (int r = 0; r < NU; r++) tau[unactuated[r]] = 0;
  for (int k = 0; k < NX; k++) memory[X + k] = z[k] * scale[k];
  for (int i = 0; i < NCT; i++, turn += 9)
    for (int part = 0; part < contact_size[i]; part += 3) {
      const double *local = memory + X + NV + contact_start[i] + part;
      double *world = memory + FORCES + contact_start[i] + part;
      for (int k = 0; k < 3; k++)
        world[k] = turn[3 * k] * local[0] + turn[3 * k + 1] * local[1] + turn[3 * k + 2] * local[2];
    }
  return status == STEP_OK && !keeps_limits(s, tau, memory) ? STEP_INACCURATE : status;
}

/* For any q and v, tau is finite and within limits, and memory has the status. work has STEP_WORK doubles. */
static int step_of_body(const double *q, const double *v, const double *p, double *tau, double *memory, double *work,
                        void *scratch) {
  double *info = memory + INFO;
  int status, holding = 1;
  (void)scratch;
  if (!is_configuration(q) || !are_numbers(NV, v)) {
    status = STEP_BAD_MEASUREMENT;
  } else {
    reduction reduced;
    program s;
    double *M = work, *h = M + D_M, *J = h + NV, *b = J + D_J, *E = b + NH, *e = E + D_E, *weight = e + NE;
    double *low = weight + NE, *high = low + NV, *cones = high + NV, *damping = cones + CONE_NUMBERS, *turn = damping + NX;
    double *at = turn + 9 * NCT, *z = at;
    double *const out[] = {M, h, J, b, E, e, weight, low, high, cones, damping, turn, memory + ERRORS};
    DATA(q, v, p, out, scratch);
    holding = contacts_now(p, memory);
    memcpy(memory + LOWER, low, NV * sizeof(double));
    memcpy(memory + UPPER, high, NV * sizeof(double));
    limit_forces(p, memory);
    for (int k = 0; k < NX; k++) reduced.is_used[k] = 1;
    for (int i = 0; i < NCT; i++)
      for (int k = 0; k < contact_size[i]; k++) reduced.is_used[NV + contact_start[i] + k] = memory[IS_ON + i] != 0;
    at += NX;
    reduced.K = at, at += NV * PX;
    reduced.W = at, at += NR * PX;
    reduced.G = at, at += NR * PX;
    s.E = E, s.e = e, s.weight = weight, s.cones = cones, s.damping = damping, s.torque_limit = p + P_TORQUE;
    s.lower = memory + LOWER, s.upper = memory + UPPER, s.reduced = &reduced;
    s.rest = program_place(&s, at);
    reduction_fill(&reduced, M, h, J, b);
    reduction_solve(&reduced);
    status = solve(&s, v, memory);
    if (status <= STEP_INFEASIBLE) status = found(&s, status, turn, z, tau, memory);
  }
  if (status > STEP_INFEASIBLE) { /* the last torque decays */
    const double decay = p[P_DECAY] >= 0 && p[P_DECAY] <= 1 ? p[P_DECAY] : 0;
    for (int i = 0; i < NV; i++) tau[i] = decay * memory[TORQUE + i];
    memset(memory + STATE, 0, NL * sizeof(double));
    info[1] = 0;
  } else {
    info[2] = 1;
    if (FLOATING && !holding && status == STEP_OK) status = STEP_NO_CONTACT;
  }
  memcpy(memory + WANTED, tau, NV * sizeof(double));
  for (int i = 0, j = 0, u = 0; i < NV; i++) {
    if (u < NU && unactuated[u] == i) {
      u++;
      continue;
    }
    const double limit = p[P_TORQUE + j++], most = limit >= 0 ? limit : 0;
    tau[i] = qp_larger(-most, qp_smaller(most, tau[i]));
  }
  memcpy(memory + TORQUE, tau, NV * sizeof(double));
  info[0] = status;
  return status;
}
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC pop_options
#endif
#endif
