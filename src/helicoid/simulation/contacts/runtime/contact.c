/* A kernel (see kernel.h) that moves robots with contacts by one time step, HC_LANES of them at once.
 *
 * Its inputs are STATES states of which the first are q and v, then `memory` and `record`, then REST inputs of
 * `prepare` of which dt is the last, then tables of points, grounds and heights, and the number of steps in a row.
 * Its outputs are the states, `memory` and `record` after the step. `prepare` takes the states and the rest, and
 * returns one vector, which begins with the inputs of `finish`: q_m, v_free, L, root. */
#include "correction.h"

enum { IN_MEMORY = STATES, IN_RECORD, IN_REST, IN_DT = IN_REST + REST - 1, IN_TABLES, IN_REPEATS = IN_TABLES + 3, INPUTS };
enum { CORRECTIONS = 8 };

typedef struct {
  hc_v x[GIVEN], memory[MEMORY], record[6 * CONTACTS + 1]; /* before the step */
  hc_v y[PREPARED], last[MIDDLE + 2 * NV + 1], z[FINISHED], memory_next[MEMORY], record_next[6 * CONTACTS + 1];
  hc_v work[PREPARE_WORK > FINISH_WORK ? PREPARE_WORK : FINISH_WORK];
  Scratch scratch;
} Workspace;

static void step(Workspace *w, const double *const *in) {
  const double h = in[IN_DT][0], *const *tables = in + IN_TABLES;
  const int repeats = (int)in[IN_REPEATS][0], done = (int)LANE(w->memory[DONE], 0);
  Scratch *s = &w->scratch;
  hc_v *sum = w->last + MIDDLE, *moved = sum + NV;
  prepare(w->x, w->y, w->work);
  solve_impulses(s, w->y, w->memory, tables, h, sum);
  EACH(k, NV) moved[k] = hc_splat(0);
  if (s->n) predicted_gaps(s, h), correct_positions(s, moved);
  store_impulses(s, w->memory, done, repeats, w->memory_next);
  report(s, tables[0], w->record, done, repeats, h, w->record_next);
  memcpy(w->last, w->y, sizeof(hc_v) * MIDDLE);
  moved[NV] = hc_splat(h);
  for (int k = 0;; k++) {
    finish(w->last, w->z, w->work);
    if (!s->n) break;
    const hc_v deepest = final_gaps(s, w->y, w->z, tables);
    if (k < CORRECTIONS && correct_positions(s, moved)) continue;
    w->memory_next[DEPTH] = hc_fmax(w->memory_next[DEPTH], deepest);
    break;
  }
}

static void batch(const double *const *in, const ptrdiff_t *stride, double *const *out, ptrdiff_t n,
                  ptrdiff_t readable, void *work) {
  Workspace *w = work;
  prepare_constants(w->y), finish_constants(w->z);
  for (ptrdiff_t s = 0; s < n; s += HC_LANES) {
    const ptrdiff_t lanes = n - s < HC_LANES ? n - s : HC_LANES;
    hc_v *at = w->x;
    for (int i = 0; i < IN_TABLES; i++) {
      hc_v *to = i == IN_MEMORY ? w->memory : i == IN_RECORD ? w->record : at;
      if (i != IN_MEMORY && i != IN_RECORD) at += IN_SIZE[i];
      const double *rows = in[i] + s * stride[i];
      if (lanes == HC_LANES)
        hc_load_rows(rows, stride[i], IN_SIZE[i], to, (readable - s) * stride[i]);
      else
        hc_load_rows_partial(rows, stride[i], IN_SIZE[i], to, lanes);
    }
    step(w, in);
    const hc_v *law = w->y + AT_LAW;
    for (int i = 0; i < IN_REST; i++) {
      const hc_v *from = i == 0 ? w->z + NV : i == 1 ? w->z : i == IN_MEMORY ? w->memory_next : w->record_next;
      if (i > 1 && i < STATES) from = law, law += IN_SIZE[i];
      double *to = out[i] + s * IN_SIZE[i];
      if (lanes == HC_LANES)
        hc_store_rows(to, IN_SIZE[i], from);
      else
        hc_store_rows_partial(to, IN_SIZE[i], from, lanes);
    }
  }
}

static void scalar(const double *const *in, double *const *out, void *work) {
  ptrdiff_t stride[INPUTS];
  for (int i = 0; i < INPUTS; i++) stride[i] = IN_SIZE[i];
  batch(in, stride, out, 1, 1, work);
}

static const helicoid_kernel kernel = {
    HELICOID_KERNEL_ABI, INPUTS, IN_REST, IN_SIZE, IN_SIZE, HC_LANES, OPERATIONS, sizeof(Workspace), sizeof(Workspace), scalar, batch,
};

__attribute__((visibility("default"))) const helicoid_kernel *helicoid_kernel_entry(void) { return &kernel; }
