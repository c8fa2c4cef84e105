/* Contact phases of an exported controller: bounds and parameters of all nodes follow a schedule of phases.
 *
 * The C counterpart of phases.py and switching.py, with the same names; tests compare them. A phase is PHASE_SIZE
 * numbers: its duration, then for each foot whether it is in contact and where it lands (NaN where free). The file that
 * includes this defines FEET, MAX_PHASES, CYCLIC, STARTS_ANYWHERE (a foot may land anywhere at the first node),
 * PROFILE_AT (the column of the swing's parameters, or -1), WEIGHT (N), and the tables `path_contacts` and
 * `end_contacts` of N_PATH_CONTACTS and N_END_CONTACTS rows. */
#ifndef HELICOID_MPC_CONTACT_PHASES_H
#define HELICOID_MPC_CONTACT_PHASES_H
#include "../nodes.h"

static const double *phase_of(const mpc *s, int phase) { return s->phases + phase * PHASE_SIZE; }
static int stands(const mpc *s, int phase, int foot) { return phase_of(s, phase)[1 + 4 * foot] != 0; }

/* Where a foot is put that lands in a phase; a height that is not given is that of the ground. */
static double step_of(const mpc *s, int phase, int foot, int axis) {
  const double at = phase_of(s, phase)[2 + 4 * foot + axis];
  return axis == 2 && isnan(at) ? s->schedule[GROUND] : at;
}

static double total_duration(const mpc *s) {
  double total = 0;
  for (int k = 0; k < (int)s->schedule[N_PHASES]; k++) total += phase_of(s, k)[0];
  return total;
}

static double folded(double time, double total) {
  if (!CYCLIC) return time;
  const double rest = fmod(time, total);
  return rest < 0 ? rest + total : rest;
}

/* The phase at a time. */
static int phase_at(const mpc *s, double time, double total) {
  const double when = folded(time, total);
  double end = 0;
  for (int k = 0; k < (int)s->schedule[N_PHASES]; k++) {
    end += phase_of(s, k)[0];
    if (end > when) return k;
  }
  return (int)s->schedule[N_PHASES] - 1;
}

/* Heights of a foot that swings at a time: `rise` is 1, the line between its stands and a bump, or zeros. Returns what
 * it must stay above. */
static double swing(const mpc *s, int foot, double time, double total, double *rise) {
  const int count = (int)s->schedule[N_PHASES];
  const double when = folded(time, total);
  double floor = s->schedule[GROUND], before = s->schedule[GROUND], begin = 0, end = 0;
  int swings = 0;
  rise[0] = rise[1] = rise[2] = 0;
  for (int turn = CYCLIC ? -1 : 0; turn < (CYCLIC ? 2 : 1); turn++) {
    end = 0;
    for (int i = 0; i < count; i++) {
      const double start = (turn ? turn * total : 0) + end;
      end += phase_of(s, i)[0];
      if (!stands(s, i, foot)) {
        if (!swings) begin = start;
        swings = 1;
        continue;
      }
      const double height = step_of(s, i, foot, 2), part = (when - begin) / (start - begin);
      if (swings && begin < start && start > 0 && begin < total && part > 0 && part < 1) {
        rise[0] = 1, rise[1] = before + (height - before) * part * part * (3 - 2 * part);
        rise[2] = 16 * (part * (1 - part)) * (part * (1 - part));
        floor = smaller_of(before, height);
      }
      swings = 0, before = height;
    }
  }
  return floor;
}

/* A foot at a node. */
typedef struct {
  int holding, touching, landing, phase;
  double floor, rise[3];
} Foot;

static int is_holding(const mpc *s, int64_t node, int foot, double total, int *phase) {
  const int64_t i = node < s->n ? node : s->n - 1;
  const double middle = s->schedule[PHASE_TIME] + s->times[node] + 0.5 * (s->times[i + 1] - s->times[i]);
  *phase = phase_at(s, middle, total);
  return stands(s, *phase, foot);
}

static Foot foot_at(const mpc *s, int64_t node, int foot, double total) {
  Foot one;
  int before_phase;
  const int before = node > 0 && is_holding(s, node - 1, foot, total, &before_phase);
  one.holding = is_holding(s, node, foot, total, &one.phase);
  one.touching = one.holding || before, one.landing = one.holding && !before;
  one.floor = swing(s, foot, s->schedule[PHASE_TIME] + s->times[node], total, one.rise);
  if (one.touching) one.rise[0] = one.rise[1] = one.rise[2] = 0;
  return one;
}

static void contact_bounds(const mpc *s, const Foot *one, const ContactRow *row, int64_t node, double *low, double *high) {
  const int free = row->role == OF_VELOCITY ? !one->touching : row->role == OF_FORCE || row->role == OF_CONE ? one->holding : 1;
  *low = free ? -INFINITY : 0, *high = free ? INFINITY : 0;
  if (row->role == OF_FORCE && one->holding && row->element == 2) *low = 0;
  if (row->role == OF_CONE) *low = one->holding ? 0 : -INFINITY, *high = INFINITY;
  if (row->role != OF_POSITION) return;
  const double at = step_of(s, one->phase, row->foot, row->element);
  /* From a given state, one interval takes a foot to rest or to a place, not both. */
  if (one->landing && !isnan(at) && (STARTS_ANYWHERE || node != 1)) *low = *high = at;
  if (row->element == 2 && !one->touching) *low = one->floor;
}

/* Bounds and parameters of all nodes, as the phases have them now. */
static void write_phases(mpc *s) {
  const double total = total_duration(s);
  for (int64_t k = 0; k <= s->n; k++) {
    Foot feet[FEET];
    const ContactRow *rows = k < s->n ? path_contacts : end_contacts;
    const int count = k < s->n ? N_PATH_CONTACTS : N_END_CONTACTS;
    for (int foot = 0; foot < FEET; foot++) feet[foot] = foot_at(s, k, foot, total);
    for (int r = 0; r < count; r++) {
      double low, high;
      contact_bounds(s, feet + rows[r].foot, rows + r, k, &low, &high);
      if (k == 0 && !rows[r].at_first) low = -INFINITY, high = INFINITY;
      s->lower[k * NRP + rows[r].row] = low, s->upper[k * NRP + rows[r].row] = high;
    }
    for (int i = 0; PROFILE_AT >= 0 && i < 3 * FEET; i++)
      s->parameters[k * MAX(1, NPAR) + PROFILE_AT + i] = feet[i / 3].rise[i % 3];
  }
}

/* The grid begins later by a time: contacts come and go earlier in it. */
static void advance_phases(mpc *s, double time) {
  s->schedule[PHASE_TIME] += time;
  write_phases(s);
}

/* Forces of a shifted plan: none of feet in the air; one that stands and has none gets its share of the weight. */
static void carry_forces(mpc *s) {
  const double total = total_duration(s);
  int unused;
  for (int64_t k = 0; k < s->n; k++) {
    int standing = 0;
    for (int foot = 0; foot < FEET; foot++) standing += is_holding(s, k, foot, total, &unused);
    for (int foot = 0; foot < FEET; foot++) {
      double *f = s->u + k * NU + NU - 3 * (FEET - foot);
      const int holding = is_holding(s, k, foot, total, &unused);
      const double share = holding ? WEIGHT / MAX(1, standing) : 0;
      if (!holding || f[2] <= 0.01 * share) f[0] = f[1] = 0, f[2] = share;
    }
  }
}
#endif
