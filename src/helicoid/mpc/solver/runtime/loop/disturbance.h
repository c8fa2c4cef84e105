/* Estimate of the disturbance torque d beyond the model: tau = ID(q, v, a) + d.
 *
 * With an unmodelled payload, a plan at rest does not hold the robot: it sinks until its costs balance the missing
 * torque, and drifts where they leave it free. So each step compares the torque held for a period with the inverse
 * dynamics of the measured motion, through a first-order filter,
 *   d += share (tau - ID(q, v, dv / h) - d),   share = 1 - exp(-h / T),
 * and the next plan has d at all nodes. At rest d is the whole mismatch, whatever its cause, and the plan has no offset.
 * The applied torque is known, so torque limits cause no windup. Uninformative samples are left out: without two
 * states, or when q is not where the velocities took it in a period (a late or early step, a shock, another robot).
 *
 * A joint that does not move, whatever torque acts on it, is held: by a hand, the end of its range, dry friction. The
 * holding torque equals the applied one and says nothing about the model. So from where a joint was last seen to
 * move, d grows by at most MAX_GROWTH_AT_REST. A robot that is released shows at once that d is far too large: then d
 * shrinks faster than it grows.
 *
 * Where joints have dry friction, k follows d: their friction is (1 + k) times that of the model, -1 <= k <= 0. More
 * friction than there is, compensated in the direction of motion, throws a light joint to and fro; what a moving joint
 * shows of its friction bounds the compensation from above. It is never more than the model's: a load that is not in the
 * model looks like friction until the joint moves back.
 *
 * w follows k. Near its target a joint is planned to move so little that friction, compensated in proportion over a
 * narrow width of velocity, holds it: a dead band. So planned changes of velocity that it does not take up add up in w,
 * with a forgetting factor; w adds to the velocity that decides the direction of compensation, until the joint breaks
 * away, and while it creeps. A plan to the other side has to undo w first, so friction holds the joint meanwhile. Fast
 * motion, or in the other direction, resets w. Real friction yields near rest, as MuJoCo's does: there a joint that is
 * pushed by its whole friction is thrown to and fro. So w grows over several periods, and each reversal halves its bound,
 * for a while.
 *
 * For an ODE or a vehicle d is a rate, dx/dt = f(x, u) + d. A sample of it is the prediction error of f + d after one
 * period, over h, plus d. Since it is not known which state is the derivative of which, outliers (a jump that comes and
 * goes; a late step) are rejected by the median of the last three samples. */
#ifndef HELICOID_MPC_DISTURBANCE_H
#define HELICOID_MPC_DISTURBANCE_H
#include "limit_filter.h" /* `within` */

#define MAX_POSITION_MISMATCH 0.25      /* of the displacement in a period, */
#define RESOLUTION 2e-3 /* plus the resolution of sensors (rad, m): less counts as no motion */
#define MAX_GROWTH_AT_REST 0.07       /* of the largest d */
#define MIN_LARGE_ERROR 0.3       /* of the largest d: larger errors are no noise */
#define BREAKAWAY_MEMORY 1.0     /* (s) time constant of w */
#define MIN_BREAKAWAY_TIME 0.3   /* (s) in which w reaches its bound */
#define REVERSAL_MEMORY 10.0     /* (s) time constant of the bound after reversals */
#define MAX_CREEP 2             /* of the largest w: a velocity beyond has a direction of its own */
#define SHRINKING_FACTOR 4         /* by which d then shrinks faster */

/* No disturbance is known before a start. */
static void reset_disturbance(mpc *s) {
  memset(s->disturbance, 0, NDIST * sizeof(double));
  memset(s->stuck, 0, 2 * NDIST * sizeof(double));
  s->seen[0] = 0;
}

/* The next sample has no state to be compared with. */
static void drop_previous_state(mpc *s) { s->seen[0] = 0; }

/* First-order filter towards a sample; faster where d is far too large. */
static void move_estimate(mpc *s, int j, double shown) {
  const double d = s->disturbance[j], error = shown - d, share = s->loop[DISTURBANCE_SHARE];
  const int hasty = d * error < 0 && fabs(error) > MIN_LARGE_ERROR * s->trusted[j];
  s->disturbance[j] = d + (hasty ? smaller_of(SHRINKING_FACTOR * share, 1) : share) * error;
}

#if LACKS_RATE
static double median(double a, double b, double c) {
  return larger_of(smaller_of(a, b), smaller_of(larger_of(a, b), c));
}

/* Update d by the median of the unexplained rates of the last three periods. */
static void learn_from_sample(mpc *s, const double *rest, const double *moved) {
  double *before = s->stuck, *earlier = s->stuck + NDIST;
  (void)moved;
  if (!all_finite(rest, NDIST)) { /* d is not finite either: it would make every later plan so */
    reset_disturbance(s);
    return;
  }
  for (int j = 0; j < NDIST; j++) {
    const double now = within(rest[j], -s->trusted[j], s->trusted[j]);
    if (s->seen[0] > 2) move_estimate(s, j, median(now, before[j], earlier[j]));
    earlier[j] = before[j], before[j] = now;
  }
}
#else
/* Whether all joints moved as far in the period as their velocities before and now predict: by any velocity between the
 * two, since light joints with friction take up another one within a fraction of a period. */
static int is_consistent(const mpc *s, const double *moved) {
  const int at = (int)s->loop[VELOCITY_AT];
  const double *before = s->previous + at, *v = s->initial + at, h = s->loop[PERIOD];
  for (int j = 0; j < NTAU; j++) {
    const double most = larger_of(before[j], v[j]), least = smaller_of(before[j], v[j]);
    const double slack = MAX_POSITION_MISMATCH * h * larger_of(fabs(most), fabs(least)) + RESOLUTION;
    if (!(moved[j] >= h * least - slack && moved[j] <= h * most + slack)) return 0;
  }
  return 1;
}

/* Update d of joint j, which moved by `moved` under the unexplained torque `rest`. */
static void learn_disturbance(mpc *s, int j, double moved, double rest) {
  const double most = s->trusted[j];
  double *way = s->stuck + j, *since = s->stuck + NTAU + j; /* displacement since it was last seen to move, and d then */
  *way += moved;
  if (fabs(*way) > RESOLUTION) *way = 0, *since = s->disturbance[j];
  move_estimate(s, j, within(rest, -most, most));
  const double low = smaller_of(*since, 0) - MAX_GROWTH_AT_REST * most, high = larger_of(*since, 0) + MAX_GROWTH_AT_REST * most;
  s->disturbance[j] = within(within(s->disturbance[j], low, high), -most, most);
}

static void learn_from_sample(mpc *s, const double *rest, const double *moved) {
  if (!all_finite(rest, NTAU) || !is_consistent(s, moved)) return;
  for (int j = 0; j < NTAU; j++) learn_disturbance(s, j, moved[j], rest[j]);
  if (NDIST > NTAU)
    for (int j = NTAU; j < 2 * NTAU; j++) move_estimate(s, j, within(rest[j], -s->trusted[j], 0));
}
#endif

/* Update d from the state just measured, under the torque of the step before, still in `torque`. */
static void update_disturbance(mpc *s) {
  if (!s->unexplained || s->loop[DISTURBANCE_SHARE] == 0) return;
  double rest[MAX(1, NDIST)], moved[NTAU], *out[] = {rest, moved};
  const double *in[] = {s->previous, s->initial, s->torque, s->theta, s->loop + PERIOD};
  const ptrdiff_t stride[] = {0, 0, 0, 0, 0};
  if (s->seen[0] != 0) {
    run(s, s->unexplained, in, stride, out, 1);
    learn_from_sample(s, rest, moved);
  }
  memcpy(s->previous, s->initial, NXA * sizeof(double));
  s->seen[0] += 1;
}

/* Update w by the planned accelerations, for the torque that is applied now. */
static void update_breakaway(mpc *s, const double *planned) {
#if !LACKS_RATE && NDIST > NTAU
  if (!s->unexplained || s->loop[DISTURBANCE_SHARE] == 0) return;
  const double h = s->loop[PERIOD], *v = s->initial + (int)s->loop[VELOCITY_AT];
  for (int j = 0; j < NTAU; j++) {
    const double largest = s->trusted[2 * NTAU + j], w = s->disturbance[2 * NTAU + j];
    const int fast = fabs(v[j]) > MAX_CREEP * largest, reversed = w * v[j] < -fabs(w) * largest / 10;
    double *lost = s->stuck + 2 * NTAU + j; /* share of the bound, by reversals */
    *lost = reversed ? (1 + *lost) / 2 : exp(-h / REVERSAL_MEMORY) * *lost;
    const double most = (1 - *lost) * largest, growth = smaller_of(h / MIN_BREAKAWAY_TIME, 1) * most;
    const double sum = fast || reversed ? 0 : exp(-h / BREAKAWAY_MEMORY) * w + within(h * planned[j], -growth, growth);
    s->disturbance[2 * NTAU + j] = isfinite(sum) ? within(sum, -most, most) : 0;
  }
  memcpy(s->theta + NTHETA - NTAU, s->disturbance + 2 * NTAU, NTAU * sizeof(double));
#else
  (void)s, (void)planned;
#endif
}

/* Put d into the parameters of the next plan. */
static void apply_disturbance(mpc *s) {
  if (s->unexplained) memcpy(s->theta + NTHETA - NDIST, s->disturbance, NDIST * sizeof(double));
}
#endif
