/* Numbers of an exported controller that change at run time, by the tables of its names. Each function changes all
 * that it is asked to or, with a code below zero, nothing; the rules are those of memory.py. */
#ifndef HELICOID_MPC_SETTERS_H
#define HELICOID_MPC_SETTERS_H
#include "loop/loop.h"

enum { CHANGED = 0, WRONG_COUNT = -1, NOT_A_NUMBER = -2, NEGATIVE = -3, CROSSED = -4 };

/* A target, weight or parameter: `size` numbers from `column` on, of `nodes` nodes from `node` on. */
typedef struct {
  int column, size, node, nodes, is_weight;
} Numbers;

/* Row `row` of the nodes `node` to `end` - 1 bounds element `element` of a constraint, times `scale`. */
typedef struct {
  int row, element, node, end;
  double scale;
} BoundRow;
typedef struct {
  int size, first, count; /* elements; its rows in the table of rows */
} Bounds;

/* One number for all, one for each element, or as many for each node. */
EXPORTED int set_numbers(mpc *s, const Numbers *of, const double *values, size_t count) {
  const size_t size = (size_t)of->size, all = size * (size_t)of->nodes;
  if (!values || (count != 1 && count != size && count != all)) return WRONG_COUNT;
  if (!all_finite(values, (int64_t)count)) return NOT_A_NUMBER;
  for (size_t i = 0; i < count; i++)
    if (of->is_weight && values[i] < 0) return NEGATIVE;
  for (int k = 0; k < of->nodes; k++)
    for (size_t i = 0; i < size; i++)
      s->parameters[(of->node + k) * MAX(1, NPAR) + of->column + (int)i] =
          values[count == 1 ? 0 : count == size ? i : (size_t)k * size + i];
  loop_changed(s);
  return CHANGED;
}

EXPORTED int set_theta(mpc *s, const double *values, size_t count) {
  if (!values || count != NTHETA - NDIST) return WRONG_COUNT;
  if (!all_finite(values, NTHETA - NDIST)) return NOT_A_NUMBER;
  memcpy(s->theta, values, count * sizeof(double));
  loop_changed(s);
  return CHANGED;
}

/* An element's new bound; where none is given, the one that a row has. */
static double bound(const double *values, size_t count, const BoundRow *row, double old) {
  return values ? values[count == 1 ? 0 : row->element] * row->scale : old;
}

static int refused_bound(const double *values, size_t count, int size, double never) {
  if (!values) return CHANGED;
  if (count != 1 && count != (size_t)size) return WRONG_COUNT;
  for (size_t i = 0; i < count; i++)
    if (isnan(values[i]) || values[i] == never) return NOT_A_NUMBER;
  return CHANGED;
}

/* Bounds of a constraint, both at once or, where the other is NULL, one of them. */
EXPORTED int set_bounds(mpc *s, const Bounds *of, const BoundRow *rows, const double *lower, size_t n_lower,
                      const double *upper, size_t n_upper) {
  if (!lower && !upper) return WRONG_COUNT;
  int code = refused_bound(lower, n_lower, of->size, INFINITY);
  if (code == CHANGED) code = refused_bound(upper, n_upper, of->size, -INFINITY);
  if (code != CHANGED) return code;
  for (int change = 0; change < 2; change++) /* look at all of them first */
    for (const BoundRow *row = rows + of->first; row < rows + of->first + of->count; row++)
      for (int k = row->node; k < row->end; k++) {
        double *low = s->lower + k * NRP + row->row, *high = s->upper + k * NRP + row->row;
        const double new_low = bound(lower, n_lower, row, *low), new_high = bound(upper, n_upper, row, *high);
        if (new_low > new_high) return CROSSED;
        if (change) *low = new_low, *high = new_high;
      }
  loop_changed(s);
  return CHANGED;
}

#if FEET
/* New phases are for the next step, which first advances by a period. */
static int phases_changed(mpc *s, int from_now) {
  if (from_now && (s->outcome[PHASE] == PLANNED || s->outcome[PHASE] == LOST)) s->schedule[PHASE_TIME] -= s->loop[PERIOD];
  write_phases(s);
  loop_changed(s);
  return CHANGED;
}

static int refused_phase(const double *phase, int is_last) {
  if (isnan(phase[0]) || (isinf(phase[0]) && (CYCLIC || !is_last))) return NOT_A_NUMBER;
  if (!(phase[0] > 0)) return NEGATIVE;
  for (int foot = 0; foot < FEET; foot++) {
    if (isnan(phase[1 + 4 * foot])) return NOT_A_NUMBER;
    for (int axis = 0; axis < 3; axis++)
      if (isinf(phase[2 + 4 * foot + axis])) return NOT_A_NUMBER;
  }
  return CHANGED;
}

EXPORTED int set_phases(mpc *s, const double *values, size_t count) {
  const size_t phases = count / PHASE_SIZE;
  if (!values || count % PHASE_SIZE != 0 || phases < 1 || phases > MAX_PHASES) return WRONG_COUNT;
  for (size_t k = 0; k < phases; k++) {
    const int code = refused_phase(values + k * PHASE_SIZE, k + 1 == phases);
    if (code != CHANGED) return code;
  }
  memcpy(s->phases, values, count * sizeof(double));
  s->schedule[N_PHASES] = (double)phases, s->schedule[PHASE_TIME] = 0;
  return phases_changed(s, 1);
}

EXPORTED int set_schedule(mpc *s, int which, const double *value, size_t count) {
  if (!value || count != 1) return WRONG_COUNT;
  if (!isfinite(*value)) return NOT_A_NUMBER;
  s->schedule[which] = *value;
  return phases_changed(s, which == PHASE_TIME);
}
#endif
#endif
