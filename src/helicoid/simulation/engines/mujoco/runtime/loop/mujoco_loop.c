/* Steps of MuJoCo with a law, forces and changes of coordinates around each, in one call.
 *
 * Before this text stand `before` (q, v, states of the law, inputs -> qfrc, next states of the law), `after`
 * (qpos, qvel -> q, v), and the numbers NQ, NV (of the robot), STATES, INPUTS (arrays beside q and v), BEFORE_IN,
 * BEFORE_OUT and SLOTS (of contacts). Rows are (rows, rollouts, size) with strides in doubles, zero where one
 * row or one rollout holds for all. */
#include <mujoco/mujoco.h>
#include <stdint.h>
#include <string.h>

typedef struct {
  double *first;
  int64_t row, rollout, size;
} hc_rows;

typedef struct {
  void (*step)(const mjModel *, mjData *);
  void (*forward)(const mjModel *, mjData *);
  void (*contact_force)(const mjModel *, const mjData *, int, mjtNum *);
  void (*get_state)(const mjModel *, const mjData *, mjtNum *, int);
  void (*set_state)(const mjModel *, mjData *, const mjtNum *, int);
  const mjModel *model;
  mjData *data;
  const hc_rows *rows; /* q, v, states, inputs, qacc, contacts, depth */
  const int32_t *slot; /* of each geom, or -1 */
  double *saved;       /* (rollouts, size of the state) of MuJoCo, or null */
  int64_t saved_size, first_rollout, last_rollout, first, last, end, substeps, forward_first;
} hc_run;

static double *at(const hc_rows *x, int64_t k, int64_t r) { return x->first + k * x->row + r * x->rollout; }

static void add(double *slot, const double *f, double sign, const double *point, double weight) {
  for (int i = 0; i < 3; i++) {
    slot[i] += sign * f[i];
    slot[3 + i] += weight * point[i];
  }
  slot[6] += weight;
}

/* Force and weighted points of every slot; the depth of the deepest contact. */
static void contacts(const hc_run *p, double *sum, double *depth) {
  mjData *d = p->data;
  for (int c = 0; c < (int)d->ncon; c++) {
    const mjContact *one = &d->contact[c];
    const int a = one->geom[0], b = one->geom[1];
    if (a < 0 || b < 0 || one->efc_address < 0) continue;
    mjtNum local[6];
    double f[3];
    p->contact_force(p->model, d, c, local);
    for (int i = 0; i < 3; i++)
      f[i] = one->frame[i] * local[0] + one->frame[3 + i] * local[1] + one->frame[6 + i] * local[2];
    if (p->slot[a] >= 0) add(sum + 7 * p->slot[a], f, -1.0, one->pos, local[0]);
    if (p->slot[b] >= 0) add(sum + 7 * p->slot[b], f, 1.0, one->pos, local[0]);
    if (-one->dist > *depth) *depth = -one->dist;
  }
}

static void rollout(const hc_run *p, int64_t r) {
  double x[BEFORE_IN + 1], y[BEFORE_OUT + 1], z[NQ + NV + 1], sum[7 * SLOTS + 1];
  static __thread hc_v before_work[BEFORE_WORK + 1], after_work[AFTER_WORK + 1];
  const hc_rows *rows = p->rows, *recorded = rows + 2 + STATES + INPUTS;
  mjData *d = p->data;
  const int64_t nv = p->model->nv, nq = p->model->nq;
  double there[nq + nv + 1];
  memset(y, 0, sizeof y);
  memset(z, 0, sizeof z);
  before_constants(y);
  after_constants(z);
  if (p->saved) p->set_state(p->model, d, p->saved + r * p->saved_size, mjSTATE_INTEGRATION);
  for (int64_t k = p->first; k < p->last; k++) {
    double *to = x;
    for (int i = 0; i < 2 + STATES + INPUTS; i++) {
      memcpy(to, at(rows + i, k, r), 8 * rows[i].size);
      to += rows[i].size;
    }
    before(x, y, before_work);
    memcpy(d->qfrc_applied, y, 8 * nv);
    const double *from = y + nv;
    for (int i = 2; i < 2 + STATES; i++) {
      memcpy(at(rows + i, k + 1, r), from, 8 * rows[i].size);
      from += rows[i].size;
    }
    double depth = 0.0;
    memset(sum, 0, sizeof sum);
    for (int64_t s = 0; s < p->substeps; s++) {
      /* Runge-Kutta steps leave the accelerations of their last stage behind. */
      if (s == 0 && p->forward_first) {
        p->forward(p->model, d);
        memcpy(at(recorded, k, r), d->qacc, 8 * nv);
      }
      p->step(p->model, d);
      if (s == 0 && !p->forward_first) memcpy(at(recorded, k, r), d->qacc, 8 * nv);
      if (SLOTS) contacts(p, sum, &depth);
    }
    for (int i = 0; i < SLOTS; i++) {
      double *record = at(recorded + 1, k, r) + 6 * i;
      const double *one = sum + 7 * i;
      for (int j = 0; j < 3; j++) {
        record[j] = one[j] / p->substeps;
        record[3 + j] = one[6] > 0 ? one[3 + j] / one[6] : 0.0;
      }
    }
    if (SLOTS) *at(recorded + 2, k, r) = depth;
    memcpy(there, d->qpos, 8 * nq);
    memcpy(there + nq, d->qvel, 8 * nv);
    after(there, z, after_work);
    memcpy(at(rows, k + 1, r), z, 8 * NQ);
    memcpy(at(rows + 1, k + 1, r), z + NQ, 8 * NV);
  }
  if (p->last == p->end) { /* the accelerations of the last row */
    p->forward(p->model, d);
    memcpy(at(recorded, p->end, r), d->qacc, 8 * nv);
  }
  if (p->saved) p->get_state(p->model, d, p->saved + r * p->saved_size, mjSTATE_INTEGRATION);
}

__attribute__((visibility("default"))) void hc_mujoco_run(const hc_run *p) {
  for (int64_t r = p->first_rollout; r < p->last_rollout; r++) rollout(p, r);
}
