/* The quadratic program of a step in the free variables y: cost, bounds and rows. */
#ifndef HELICOID_WHOLE_BODY_PROGRAM_H
#define HELICOID_WHOLE_BODY_PROGRAM_H
#include "whole_body_reduce.h"

/* Kinds of rows of tasks: of accelerations, with the index of the row in E; of one variable; of a torque. */
enum { OF_ACCELERATIONS, OF_VARIABLE, OF_TORQUE };
static const int task_rows[][2] = TASK_ROWS;
static const int contact_start[] = CONTACT_START, contact_size[] = CONTACT_SIZE, cone_rows[] = CONE_ROWS;

/* Limits in order: variables, rows of friction cones, torques of actuators. */
enum { NMOST = NL + NX, NROWS = NE + NX + 4 };

typedef struct {
  const double *E, *e, *weight, *cones, *damping, *torque_limit;
  const double *lower, *upper; /* NX, of variables */
  reduction *reduced;
  double *T, *t;               /* NA x PX and NA: torques in y */
  double *H, *f, *A, *low, *high, *price, *multiplier, *state, *y;
  double *rows, *right;        /* of costs, NROWS x PX */
  double *rest;                /* work of the solver */
  int m;
  int limit_of[NX + NMOST];    /* index of the limit of a bound or a row */
} program;

enum { COSTS_WORK = NROWS * (PX + 1) + (STRICT ? NE * (NX + 1) : NX * NX) + NX };
enum { LIMITS_WORK = NMOST * NX + 5 * (NX + NMOST) + NX };
enum { PROGRAM_WORK = NA * (PX + 1) + COSTS_WORK + LIMITS_WORK };

static double *program_place(program *s, double *at) {
  s->T = at, at += NA * PX;
  s->t = at, at += NA;
  s->rows = at, at += NROWS * PX;
  s->right = at, at += NROWS;
  s->H = at, at += STRICT ? NE * NX : NX * NX;
  s->f = at, at += NX + (STRICT ? NE : 0);
  s->A = at, at += NMOST * NX;
  s->low = at, at += NX + NMOST;
  s->high = at, at += NX + NMOST;
  s->price = at, at += NX + NMOST;
  s->multiplier = at, at += NX + NMOST;
  s->state = at, at += NX + NMOST;
  s->y = at, at += NX;
  return at;
}

/* Torques of the actuators as functions of y, four rows of G at once. */
static void program_torques(program *s) {
  const reduction *reduced = s->reduced;
  int j = 0, u = 0;
  for (int i = 0; i < NV; i++) {
    if (u < NU && unactuated[u] == i) {
      u++;
      continue;
    }
    s->t[j] = reduced->K[i * PX + NX] + reduction_row(reduced, 0, NX, reduced->K + i * PX, s->T + j * PX);
    for (int c = reduced->n; c < PX; c++) s->T[j * PX + c] = 0;
    j++;
  }
}

/* Row i of the tasks as a function of y. */
static void program_task_row(const program *s, int i, double *row, double *right) {
  const int kind = task_rows[i][0], at = task_rows[i][1];
  if (kind == OF_ACCELERATIONS) {
    double scaled[NV];
    for (int k = 0; k < NV; k++) scaled[k] = s->E[at * NV + k] * scale[k];
    *right = s->e[i] - reduction_row(s->reduced, 0, NV, scaled, row);
  } else if (kind == OF_VARIABLE) {
    const double factor = s->weight[i] * scale[at];
    *right = s->e[i] - reduction_row(s->reduced, at, at + 1, &factor, row);
  } else {
    for (int c = 0; c < s->reduced->n; c++) row[c] = s->weight[i] * s->T[at * PX + c];
    *right = s->e[i] - s->weight[i] * s->t[at];
  }
}

#if !STRICT
/* H += rows' rows, f -= rows' right; four rows at once. */
static void program_add_squares(program *s, int count) {
  const int n = s->reduced->n;
  while (count % 4) {
    for (int c = 0; c < PX; c++) s->rows[count * PX + c] = 0;
    s->right[count++] = 0;
  }
  for (int k = 0; k < count; k += 4) {
    const double *restrict a = s->rows + k * PX, *restrict b = a + PX, *restrict c = b + PX, *restrict d = c + PX;
    const double *right = s->right + k;
    for (int i = 0; i < n; i++) {
      const double ai = a[i], bi = b[i], ci = c[i], di = d[i];
      if (ai == 0 && bi == 0 && ci == 0 && di == 0) continue;
      double *restrict H = s->H + i * n;
      for (int j = 0; j <= i; j++) H[j] += (ai * a[j] + bi * b[j]) + (ci * c[j] + di * d[j]);
      s->f[i] -= (ai * right[0] + bi * right[1]) + (ci * right[2] + di * right[3]);
    }
  }
}

/* Weighted sum of all tasks. A row of one free variable contributes to the diagonal of H alone. */
static void program_costs(program *s) {
  const reduction *reduced = s->reduced;
  const int n = reduced->n;
  double squared[NX + 1], wanted[NX + 1];
  int count = 0;
  memset(s->H, 0, (size_t)(n * n) * sizeof(double));
  memset(s->f, 0, (size_t)n * sizeof(double));
  for (int k = 0; k < NX; k++) squared[k] = s->damping[k], wanted[k] = 0;
  for (int i = 0; i < NE; i++) {
    if (task_rows[i][0] == OF_VARIABLE) {
      squared[task_rows[i][1]] += s->weight[i] * s->weight[i];
      wanted[task_rows[i][1]] += s->weight[i] * s->e[i];
    } else if (s->weight[i] != 0) {
      program_task_row(s, i, s->rows + count * PX, s->right + count);
      count++;
    }
  }
  for (int k = 0; k < NX; k++) {
    if (!reduced->is_used[k] || squared[k] <= 0) continue;
    const int c = reduced->place[k];
    if (c >= 0) {
      s->H[c * n + c] += squared[k] * scale[k] * scale[k];
      s->f[c] -= wanted[k] * scale[k];
    } else {
      const double root = sqrt(squared[k]), *G = reduced->G + (-1 - c) * PX;
      double *row = s->rows + count * PX;
      for (int j = 0; j < n; j++) row[j] = -root * scale[k] * G[j];
      s->right[count++] = wanted[k] / root - root * scale[k] * reduced->W[(-1 - c) * PX + NX];
    }
  }
  program_add_squares(s, count);
  for (int i = 0; i < n; i++)
    for (int j = 0; j < i; j++) s->H[j * n + i] = s->H[i * n + j];
}
#else
/* Rows of all levels, stacked. */
static void program_costs(program *s) {
  const int n = s->reduced->n;
  for (int i = 0; i < NE; i++) program_task_row(s, i, s->H + i * n, s->f + i);
}
#endif

static void program_add_row(program *s, int limit, double constant, double lower, double upper, double price) {
  const int at = s->reduced->n + s->m;
  s->low[at] = lower - constant, s->high[at] = upper - constant;
  s->price[s->m++] = price;
  s->limit_of[at] = limit;
}

/* Bounds and rows. With a finite price, acceleration limits are soft; friction cones and torque limits stay hard. */
static void program_limits(program *s, const double *state, double price) {
  const reduction *reduced = s->reduced;
  const int n = reduced->n, yields = price < INFINITY;
  s->m = 0;
  for (int c = 0; c < n; c++) s->low[c] = -INFINITY, s->high[c] = INFINITY, s->limit_of[c] = reduced->free[c];
  for (int k = 0; k < NX; k++) {
    const double lower = s->lower[k] / scale[k], upper = s->upper[k] / scale[k], one = 1;
    if (!reduced->is_used[k] || (lower == -INFINITY && upper == INFINITY)) continue;
    if (reduced->place[k] >= 0 && !(yields && k < NV)) {
      s->low[reduced->place[k]] = lower, s->high[reduced->place[k]] = upper;
    } else {
      const double constant = reduction_row(reduced, k, k + 1, &one, s->A + s->m * n);
      program_add_row(s, k, constant, lower, upper, k < NV ? price : INFINITY);
    }
  }
  const double *cone = s->cones;
  for (int i = 0, number = NX; i < NCT; i++) {
    const int first = NV + contact_start[i];
    for (int k = 0; k < cone_rows[i]; k++, cone += contact_size[i], number++) {
      double scaled[6];
      if (!reduced->is_used[first]) continue;
      for (int j = 0; j < contact_size[i]; j++) scaled[j] = cone[j] * scale[first + j] * CONE_SCALE;
      const double constant = reduction_row(reduced, first, first + contact_size[i], scaled, s->A + s->m * n);
      program_add_row(s, number, constant, -INFINITY, 0, INFINITY);
    }
  }
  for (int j = 0; j < NA; j++) {
    if (s->torque_limit[j] == INFINITY) continue;
    memcpy(s->A + s->m * n, s->T + j * PX, (size_t)n * sizeof(double));
    program_add_row(s, NX + NC + j, s->t[j], -s->torque_limit[j], s->torque_limit[j], INFINITY);
  }
  for (int k = 0; k < n + s->m; k++) {
    const int side = (int)state[s->limit_of[k]], fits = side && (k >= n || s->low[k] > -INFINITY || s->high[k] < INFINITY);
    s->state[k] = fits ? side : QP_IDLE;
  }
}

/* Solve, and store the active set for the warm start of the next step. */
static int program_solve(program *s, double *state, int *iterations) {
  const int n = s->reduced->n, most = 10 * (n + s->m) + 50;
#if STRICT
  static const int levels[] = LEVELS;
  double damping[NLEVELS];
  for (int k = 0; k < NLEVELS; k++) damping[k] = s->damping[0];
  qp_levels q = {0};
  q.n = n, q.m = s->m, q.levels = NLEVELS, q.rows = levels, q.E = s->H, q.e = s->f, q.A = s->A;
  q.lower = s->low, q.upper = s->high, q.damping = damping, q.x = s->y, q.state = s->state, q.multiplier = s->multiplier;
  q.work = s->rest, q.max_iterations = most + 10 * NE;
  const int status = qp_solve_levels(&q);
#else
  qp q = {0};
  q.n = n, q.m = s->m, q.H = s->H, q.f = s->f, q.A = s->A, q.lower = s->low, q.upper = s->high, q.price = s->price;
  q.x = s->y, q.state = s->state, q.multiplier = s->multiplier, q.work = s->rest, q.max_iterations = most;
  const int status = qp_solve(&q);
#endif
  *iterations += q.iterations;
  memset(state, 0, NL * sizeof(double));
  for (int k = 0; k < n + s->m; k++) state[s->limit_of[k]] = s->state[k];
  return status;
}
#endif
