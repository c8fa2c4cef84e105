/* Inverse kinematics by multi-start searches, HC_LANES of them at once in SIMD lanes.
 *
 * One target takes all lanes, with a start in each; of many targets each takes one lane, which then goes to the next.
 * Either way the result is that of the first start in order that succeeds, so both agree. Where none does, the best
 * is refined and returned with its residual. All memory is of fixed size. */
#include "model.h"
#include "starts.h"
#include "step.h"

#define API __attribute__((visibility("default")))

typedef struct {
  const double *target, *q0;
  int64_t n, next, shared, most; /* targets, the next one, whether lanes share one target, starts of each */
  double *q, *e, *facts; /* facts: success, error, starts, iterations */
} ik_queue;

static void *clean(size_t size) {
  void *memory = aligned_alloc(64, (size + 63) / 64 * 64);
  if (memory) memset(memory, 0, (size + 63) / 64 * 64);
  return memory;
}

API void *ik_model_create(void) { return clean(sizeof(ik_model)); }
API void *ik_lanes_create(void) {
  ik_lanes *s = clean(sizeof(ik_lanes));
  if (s) evaluate_constants(s->y);
  return s;
}
API void ik_free(void *memory) { free(memory); }

#define FIELD(name) if (!strcmp(wanted, #name)) { *size = sizeof m->name / sizeof(double); return m->name; }
API double *ik_field(ik_model *m, const char *wanted, int64_t *size) {
  FIELD(lower) FIELD(upper) FIELD(period) FIELD(moves) FIELD(coordinate) FIELD(usual)
  FIELD(weight) FIELD(level) FIELD(group) FIELD(tolerance) FIELD(start) FIELD(place) FIELD(closeness)
  FIELD(target_kind) FIELD(target_at) FIELD(settings)
  return NULL;
}

/* Store the features of all starts, row by row, by which they are compared with targets. */
API void ik_features(ik_model *m, const double *features) {
  for (int k = 0; k < STARTS; k++) {
    double square = 0.0;
    for (int f = 0; f < NF; f++) {
      const double value = features[k * NF + f];
      square += m->closeness[f] * value * value;
      m->feature[k / 8][f][k % 8] = (float)value;
    }
    m->square[k / 8][k % 8] = (float)square;
  }
}

static int is_rotation(const double *R, int stride) {
  for (int i = 0; i < 3; i++)
    for (int j = 0; j <= i; j++) {
      double sum = 0.0;
      for (int k = 0; k < 3; k++) sum += R[stride * i + k] * R[stride * j + k];
      if (!(fabs(sum - (i == j)) <= 1e-6)) return 0;
    }
  const double *a = R, *b = R + stride, *c = R + 2 * stride;
  return a[0] * (b[1] * c[2] - b[2] * c[1]) - a[1] * (b[0] * c[2] - b[2] * c[0]) + a[2] * (b[0] * c[1] - b[1] * c[0]) > 0;
}

/* Index of the first of n targets that is invalid or has a start that is not finite; -1 if none. */
API int64_t ik_refuses(const ik_model *m, const double *target, const double *q0, int64_t n) {
  for (int64_t k = 0; k < n; k++, target += NT) {
    for (int i = 0; i < NT; i++) if (!isfinite(target[i])) return k;
    for (int i = 0; i < TASKS; i++) {
      const double *T = target + (int)m->target_at[i];
      if (m->target_kind[i] == ROTATION && !is_rotation(T, 3)) return k;
      if (m->target_kind[i] != POSE) continue;
      if (!is_rotation(T, 4) || !(fabs(T[12]) + fabs(T[13]) + fabs(T[14]) + fabs(T[15] - 1.0) <= 1e-9)) return k;
    }
    if (q0) COORDINATES(i) if (!isfinite(q0[k * NQ + i])) return k;
  }
  return -1;
}

static void open_search(const ik_queue *u, ik_search *p, int64_t k) {
  p->number = k;
  p->target = u->target + k * NT;
  p->q0 = u->q0 ? u->q0 + k * NQ : NULL;
  p->next = p->ended = p->iterations = 0;
  p->winner = -1;
  p->polishing = 0;
  p->best = INFINITY;
}

static void keep(ik_lanes *s, ik_search *p, int l, double E) {
  const int counted = E < INFINITY; /* else the square of the error overflows at the start already */
  p->best = E;
  COORDINATES(k) p->q[k] = get(s->q + k, l);
  for (int i = 0; i < M; i++) {
    const double e = get((counted ? s->e : s->y) + i, l);
    p->e[i] = isfinite(e) ? e : 1e300;
  }
}

static void close_search(const ik_model *m, ik_queue *u, ik_search *p) {
  double *q = u->q + p->number * NQ, *facts = u->facts + 4 * p->number, error = 0.0;
  COORDINATES(k) {
    const double about = p->q0 ? p->q0[k] : 0.0, period = m->period[k];
    const int near = fabs(about) <= 1e13 * m->tolerance[0]; /* beyond, the rounding error of q exceeds the tolerance */
    q[k] = period > 0 && m->moves[k] && near ? p->q[k] - period * rint((p->q[k] - about) / period) : p->q[k];
  }
  for (int i = 0; i < M; i++) {
    u->e[p->number * M + i] = p->e[i];
    if (m->level[i] != SECONDARY && m->weight[i] > 0) error += m->weight[i] * p->e[i] * p->e[i];
  }
  facts[0] = p->winner >= 0;
  facts[1] = sqrt(error);
  facts[2] = (double)p->next;
  facts[3] = (double)p->iterations;
  p->number = -1;
}

/* Whether a search from a start before `winner` is still running. */
static int waits(const ik_lanes *s, const ik_queue *u, const ik_search *p) {
  if (u->shared)
    LANES(l) if (s->start[l] >= 0 && s->start[l] < p->winner) return 1;
  return 0;
}

/* Give an idle lane the next start of its search, or the next target, if any. */
static void refill(const ik_model *m, ik_lanes *s, ik_queue *u, int l) {
  ik_search *p = s->search + (u->shared ? 0 : l);
  s->start[l] = -1;
  if (p->number < 0 && u->next < u->n) open_search(u, p, u->next++);
  if (p->number >= 0 && !p->polishing && p->winner < 0 && p->next < u->most)
    begin(m, s, p, l);
}

/* End a lane that converged to its target or stalled. */
static void end(const ik_model *m, ik_lanes *s, ik_queue *u, int l, int success) {
  ik_search *p = s->search + (u->shared ? 0 : l);
  const double E = get(&s->E, l);
  p->ended++;
  if (success && (p->winner < 0 || s->start[l] < p->winner)) {
    p->winner = s->start[l];
    keep(s, p, l, E);
  } else if (p->winner < 0 && (E < p->best || p->best == INFINITY || p->polishing)) keep(s, p, l, E);
  s->start[l] = -1;
  const int exhausted = p->winner < 0 && p->ended == u->most;
  if (exhausted) {
    p->polishing = 1;
    begin(m, s, p, l);
    return;
  }
  if (p->polishing || (p->winner >= 0 && !waits(s, u, p))) {
    close_search(m, u, p);
    if (u->shared) LANES(k) s->start[k] = -1;
  }
}

/* Restart a lane that stalled at an error of a higher level with smaller weights of lower ones. 0 if there is none. */
static int relax(const ik_model *m, ik_lanes *s, ik_queue *u, int l) {
  const int polishing = s->search[u->shared ? 0 : l].polishing;
  if (HAS_SECONDARY && get(&s->secondary, l) > 1e-9) put(&s->secondary, l, 1e-2 * get(&s->secondary, l));
  else if (CONSTRAINTS && polishing && get(&s->goal, l) > 1e-9) put(&s->goal, l, 1e-2 * get(&s->goal, l));
  else return 0;
  COORDINATES(k) put(s->x + k, l, get(s->q + k, l));
  restart(m, s, l, 1);
  return 1;
}

static int busy(const ik_lanes *s) {
  LANES(l) if (s->start[l] >= 0) return 1;
  return 0;
}

/* Search for n targets (n, NT) from q0 (n, NQ), or from the table alone if that is NULL, from at most `starts` starts
 * each. */
API void ik_solve(const ik_model *m, ik_lanes *s, const double *target, const double *q0, int64_t n,
                  int64_t starts, double *q, double *e, double *facts) {
  ik_queue u = {target, q0, n, 0, n == 1, starts, q, e, facts};
  LANES(l) s->start[l] = s->search[l].number = -1;
  LANES(l) refill(m, s, &u, l);
  weights(m, s);
  while (busy(s)) {
    const hc_lanes stuck = {.i = try(m, s)}, inside = {.i = s->inside};
    LANES(l) s->fresh[l] = 0;
    int changed = 0;
    LANES(l) {
      if (s->start[l] < 0) continue;
      s->search[u.shared ? 0 : l].iterations++;
      const int reached = inside.bits[l] != 0;
      if (!stuck.bits[l] && !(reached && !HAS_SECONDARY)) continue;
      if (reached || !relax(m, s, &u, l)) end(m, s, &u, l, reached);
      changed = 1;
    }
    if (changed) {
      LANES(l) if (s->start[l] < 0) refill(m, s, &u, l);
      weights(m, s);
    }
    advance(m, s);
  }
}

/* Search for one target; 0 if it is invalid. */
API int64_t ik_one(const ik_model *m, ik_lanes *s, const double *target, const double *q0, int64_t starts,
                   double *q, double *e, double *facts) {
  if (ik_refuses(m, target, q0, 1) >= 0) return 0;
  ik_solve(m, s, target, q0, 1, starts, q, e, facts);
  return 1;
}
