/* All solutions of the inverse kinematics of arms whose axes let it be solved by closed-form subproblems. */
#include "parallel.h"
#include "spherical.h"

#define API __attribute__((visibility("default")))

API void *closed_form_create(void) {
  void *memory = malloc(sizeof(arm));
  if (memory) memset(memory, 0, sizeof(arm));
  return memory;
}
API void closed_form_free(void *memory) { free(memory); }

#define FIELD(name) if (!strcmp(wanted, #name)) { *size = sizeof m->name / sizeof(double); return (double *)&m->name; }
API double *closed_form_field(arm *m, const char *wanted, int64_t *size) {
  FIELD(joints) FIELD(locked_joints) FIELD(kind) FIELD(first) FIELD(locked) FIELD(h) FIELD(x) FIELD(slides) FIELD(home)
  FIELD(origin) FIELD(reference) FIELD(lower) FIELD(upper) FIELD(tolerance) FIELD(slack) FIELD(spread) FIELD(same)
  return NULL;
}

static void read_motion(const double *T, const double *origin, motion *X) {
  AXES(i) {
    AXES(j) X->R[3 * i + j] = T[4 * i + j];
    X->p[i] = T[4 * i + 3] - origin[i];
  }
}

static int is_pose(const double *T) {
  double n[3];
  for (int k = 0; k < 16; k++) if (!isfinite(T[k])) return 0;
  AXES(i) for (int j = 0; j <= i; j++) if (!(fabs(dot(T + 4 * i, T + 4 * j) - (i == j)) <= 1e-6)) return 0;
  cross(T, T + 4, n);
  return dot(n, T + 8) > 0 && fabs(T[12]) + fabs(T[13]) + fabs(T[14]) + fabs(T[15] - 1.0) <= 1e-9;
}

/* The six joints that are solved for, with the others at their values: those come last, on the side of the tool. */
static void lock(search *s, const double *given) {
  const arm *m = s->m;
  motion X = {{1, 0, 0, 0, 1, 0, 0, 0, 1}, {0}}, E, home;
  int free = 0, locked = 0;
  s->linked = 0;
  for (int k = 0; k < (int)m->joints; k++) {
    screw S = {.slides = m->slides[k] != 0};
    AXES(i) S.h[i] = m->h[3 * k + i], S.x[i] = m->x[3 * k + i];
    if (m->locked[k] != 0) {
      s->values[k] = given[locked++];
      exponential(&S, s->values[k] - m->reference[k], &E);
      product(&X, &E, &X);
      continue;
    }
    s->index[free] = k;
    s->preferred[free] = s->about[k] - m->reference[k];
    s->angle[free] = NAN;
    carried(&X, &S, s->joint + free++);
  }
  read_motion(m->home, m->origin, &home);
  product(&X, &home, &s->tool);
}

static int nearer(const void *a, const void *b) {
  const double p = *(const double *)a, q = *(const double *)b;
  return (p > q) - (p < q);
}

/* Sort rows by their first number; a few by insertion. */
static void sort(double *rows, int64_t n) {
  if (n > SOLUTIONS_OF_SIX) {
    qsort(rows, (size_t)n, ROW * sizeof(double), nearer);
    return;
  }
  for (int64_t i = 1; i < n; i++) {
    double row[ROW];
    int64_t at = i;
    while (at > 0 && rows[ROW * (at - 1)] > rows[ROW * i]) at--;
    if (at == i) continue;
    memcpy(row, rows + ROW * i, sizeof row);
    memmove(rows + ROW * (at + 1), rows + ROW * at, (size_t)(i - at) * sizeof row);
    memcpy(rows + ROW * at, row, sizeof row);
  }
}

/* Solutions of one target, sorted, in the rows of a search: how many, or -1 where there are none among the values that
 * were tried of a joint that a singularity leaves free. */
static int64_t solve(search *s, const double *T, const double *given, int64_t samples) {
  s->count = s->sampled = 0;
  read_motion(T, s->m->origin, &s->target);
  for (int64_t i = 0; i < samples; i++) {
    motion back, G;
    lock(s, given + i * (int)s->m->locked_joints);
    inverse(&s->tool, &back);
    product(&s->target, &back, &G);
    s->begin = s->count;
    if ((int)s->m->kind == SPHERICAL) spherical(s, &G);
    else parallel(s, &G);
  }
  sort(s->rows, s->count);
  return s->count > 0 || !s->sampled ? s->count : -1;
}

/* Solutions of n targets T (n, 4, 4), nearest to q0 (n, joints) first, one target's after the other's in `out`, and how
 * many of each in `counts`. `given` are values of the locked joints, (samples, locked_joints). Returns the number of
 * targets whose solutions found room in `room` rows; `rows` has `most` of ROW numbers for one target. */
API int64_t closed_form_solve(const arm *m, const double *T, int64_t n, const double *q0, const double *given,
                              int64_t samples, double *rows, int64_t most, double *out, int64_t room, int64_t *counts) {
  search s;
  s.m = m, s.rows = rows, s.most = most;
  const int joints = (int)m->joints;
  for (int64_t i = 0; i < n; i++) {
    for (int k = 0; k < joints; k++) s.about[k] = q0[i * joints + k];
    counts[i] = solve(&s, T + 16 * i, given, samples);
    if (s.count > room) return i;
    room -= s.count;
    for (int64_t k = 0; k < s.count; k++, out += joints) memcpy(out, rows + ROW * k + 1, joints * sizeof(double));
  }
  return n;
}

/* What a call for one target reads and writes, so that one address is all that it is given. */
typedef struct {
  const arm *m;
  const double *T, *q0, *given;
  int64_t samples, most;
  double *rows;
} request;

/* The same of one target, whose solutions stay in `rows`: how many, -1 as above, or -2 if T is no pose. */
API int64_t closed_form_one(const request *r) {
  if (!is_pose(r->T)) return -2;
  search s;
  s.m = r->m, s.rows = r->rows, s.most = r->most;
  for (int k = 0; k < (int)r->m->joints; k++) s.about[k] = r->q0[k];
  return solve(&s, r->T, r->given, r->samples);
}
