/* A Levenberg-Marquardt step in every lane: (H + λ 1) d = g over the free joints, with Chan's damping λ = μ E.
 * A joint at a limit at which the descent direction points outwards is fixed; the others are clipped to their limits.
 * A step that does not decrease E is rejected, and μ grows. */
#ifndef IK_STEP_H
#define IK_STEP_H
#include "model.h"

#define FLOOR 1e-10 /* least λ relative to H, for joints that no row depends on */

HC_HOT void weights(const ik_model *m, ik_lanes *s) {
  hc_v *w = s->x + NQ + NT;
  for (int i = 0; i < M; i++) {
    const hc_v weight = m->level[i] == GOAL ? s->goal : s->goal * s->secondary;
    const hc_v scale = m->level[i] == CONSTRAINT ? hc_splat(1.0) : weight;
    w[i] = scale * m->weight[i];
  }
}

/* ½ Σ w e² of the trial, and whether every norm of `success` is within its tolerance. */
HC_HOT hc_v score(const ik_model *m, const ik_lanes *s, hc_i *inside) {
  const hc_v *e = s->y, *w = s->x + NQ + NT;
  hc_v norm[AT(GROUPS)], E = hc_splat(0.0);
  for (int k = 0; k < GROUPS; k++) norm[k] = hc_splat(0.0);
  for (int i = 0; i < M; i++) {
    E += 0.5 * w[i] * e[i] * e[i];
    if (m->weight[i] > 0 && m->level[i] != SECONDARY) norm[(int)m->group[i]] += e[i] * e[i];
  }
  *inside = HC_MASK(E >= 0.0);
  for (int k = 0; k < GROUPS; k++) *inside &= HC_MASK(norm[k] <= m->tolerance[k] * m->tolerance[k]);
  return E;
}

/* d of (H + λ 1) d = g by the factors L D Lᵀ; where `held`, d is zero. */
HC_HOT void solve(const ik_lanes *s, hc_v lambda, const hc_i *held, hc_v *d) {
  hc_v L[AT(NH)], D[AT(N)];
  const hc_v zero = hc_splat(0.0);
  for (int i = 0; i < N; i++) {
    hc_v *Li = L + i * (i + 1) / 2;
    const hc_v *Hi = s->H + i * (i + 1) / 2;
    hc_v pivot = Hi[i] + lambda, right = hc_select(held[i], zero, s->g[i]);
    for (int j = 0; j < i; j++) {
      const hc_v *Lj = L + j * (j + 1) / 2;
      hc_v sum = hc_select(held[i] | held[j], zero, Hi[j]);
      for (int k = 0; k < j; k++) sum -= Li[k] * Lj[k]; /* Li[k] is L D until the row is complete */
      Li[j] = sum;
    }
    for (int j = 0; j < i; j++) {
      const hc_v U = Li[j];
      Li[j] = U * D[j];
      pivot -= U * Li[j];
      right -= Li[j] * d[j];
    }
    D[i] = 1.0 / pivot;
    d[i] = right;
  }
  for (int i = N - 1; i >= 0; i--) {
    hc_v sum = d[i] * D[i];
    for (int k = i + 1; k < N; k++) sum -= L[k * (k + 1) / 2 + i] * d[k];
    d[i] = sum;
  }
}

/* From the accepted point to the next trial; new lanes evaluate their start first. */
HC_HOT void advance(const ik_model *m, ik_lanes *s) {
  hc_v d[AT(N)], trace = hc_splat(0.0);
  hc_i held[AT(N)];
  for (int i = 0; i < N; i++) {
    const int k = (int)m->coordinate[i];
    const hc_v zero = hc_splat(0.0);
    trace += s->H[i * (i + 1) / 2 + i];
    held[i] = HC_MASK(zero != zero);
    if (k >= 0)
      held[i] = (HC_MASK(s->q[k] <= m->lower[k]) & HC_MASK(s->g[i] < zero)) |
                (HC_MASK(s->q[k] >= m->upper[k]) & HC_MASK(s->g[i] > zero));
  }
  solve(s, s->damping * s->E + FLOOR * trace + 1e-14, held, d);
  hc_v moved[AT(NQ)];
#if MANIFOLD
  hc_v in[NQ + N + 1], work[RETRACT_WORK];
  memcpy(in, s->q, NQ * sizeof(hc_v));
  memcpy(in + NQ, d, N * sizeof(hc_v));
  retract_constants(moved);
  retract(in, moved, work);
#else
  memcpy(moved, s->q, sizeof moved);
  for (int i = 0; i < N; i++) moved[(int)m->coordinate[i]] += d[i];
#endif
  COORDINATES(k)
  if (m->moves[k]) moved[k] = most(least(moved[k], hc_splat(m->upper[k])), hc_splat(m->lower[k]));
  hc_lanes fresh;
  LANES(l) fresh.bits[l] = s->fresh[l] ? UINT64_MAX : 0;
  COORDINATES(k) s->x[k] = hc_select(fresh.i, s->x[k], moved[k]);
}

/* Evaluate the trial and accept it where E decreases; returns the lanes that stalled. */
HC_HOT hc_i try(const ik_model *m, ik_lanes *s) {
  evaluate(s->x, s->y, s->work);
  hc_i reached;
  const hc_v E = score(m, s, &reached);
  const hc_i better = HC_MASK(E < s->E);
  const hc_i much = HC_MASK(E < s->E * (1.0 - s->strict));
  COORDINATES(k) s->q[k] = hc_select(better, s->x[k], s->q[k]);
  for (int i = 0; i < M; i++) s->e[i] = hc_select(better, s->y[i], s->e[i]);
  for (int i = 0; i < NH; i++) s->H[i] = hc_select(better, s->y[M + i], s->H[i]);
  for (int i = 0; i < N; i++) s->g[i] = hc_select(better, s->y[M + NH + i], s->g[i]);
  s->E = hc_select(better, E, s->E);
  s->damping *= hc_select(better, hc_splat(m->settings[EASIER]), hc_splat(m->settings[HARDER]));
  s->slow = hc_select(much, hc_splat(0.0), s->slow + 1.0);
  s->count += 1.0;
  s->inside = (reached & better) | (s->inside & ~better);
  return HC_MASK(s->slow >= m->settings[PATIENCE]) | HC_MASK(s->count >= m->settings[MOST_ITERATIONS]);
}
#endif
