/* Initial configurations of searches: q0, then those of the table, nearest to the target first. */
#ifndef IK_STARTS_H
#define IK_STARTS_H
#include "model.h"

#define STATIONARY 1e-7 /* least relative decrease of E of an accepted step near a minimum */

/* |f - t|² of all starts, up to a constant. */
static void compare(const ik_model *m, ik_search *p) {
  starts8 factor[AT(NF)];
  for (int f = 0; f < NF; f++)
    factor[f] = (float)(-2.0 * m->closeness[f] * p->target[(int)m->place[f]]) - (starts8){0};
  for (int b = 0; b < STARTS / 8; b++) {
    starts8 sum = m->square[b];
    for (int f = 0; f < NF; f++) sum += m->feature[b][f] * factor[f];
    p->distance[b] = sum;
  }
}

/* The nearest unused start. */
static int take(ik_search *p) {
  typedef int32_t mask8 __attribute__((vector_size(32)));
  starts8 lowest = p->distance[0];
  mask8 at = {0};
  for (int b = 1; b < STARTS / 8; b++) {
    const mask8 lower = p->distance[b] < lowest;
    lowest = (starts8)(((mask8)p->distance[b] & lower) | ((mask8)lowest & ~lower));
    at = (lower & b) | (at & ~lower);
  }
  int best = 0;
  for (int k = 1; k < 8; k++)
    if (lowest[k] < lowest[best] || (lowest[k] == lowest[best] && at[k] < at[best])) best = k;
  p->distance[at[best]][best] = INFINITY;
  return 8 * at[best] + best;
}

/* Restart the search of a lane at its trial point, with the initial damping. */
static void restart(const ik_model *m, ik_lanes *s, int l, int patiently) {
  put(&s->E, l, INFINITY);
  put(&s->damping, l, m->settings[DAMPING]);
  put(&s->slow, l, 0.0);
  put(&s->count, l, patiently ? -4.0 * m->settings[MOST_ITERATIONS] : 0.0);
  ((uint64_t *)&s->inside)[l] = 0;
  s->fresh[l] = 1;
}

/* Put the next start of a search into a lane. */
static void begin(const ik_model *m, ik_lanes *s, ik_search *p, int l) {
  const double *base = p->q0 ? p->q0 : m->usual, *from = base;
  if (p->polishing) from = p->q;
  else if (!p->q0 || p->next > 0) {
    if (p->next == (p->q0 != 0)) compare(m, p);
    from = m->start + NQ * take(p);
  }
  COORDINATES(k) {
    const double low = m->lower[k], high = m->upper[k], q = m->moves[k] ? from[k] : base[k];
    put(s->x + k, l, q < low ? low : q > high ? high : q);
    put(s->q + k, l, get(s->x + k, l));
  }
  for (int k = 0; k < NT; k++) put(s->x + NQ + k, l, p->target[k]);
  put(&s->strict, l, p->polishing || HAS_SECONDARY ? STATIONARY : m->settings[PROGRESS]);
  put(&s->secondary, l, 1.0);
  put(&s->goal, l, 1.0);
  restart(m, s, l, p->polishing || HAS_SECONDARY);
  s->start[l] = p->next++;
}
#endif
