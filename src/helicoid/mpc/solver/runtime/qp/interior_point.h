/* A primal-dual interior point method (Mehrotra) for the quadratic program of one iteration.
 *
 * Every row a'z has a lower and an upper side. A side, +-a'z <= b + s with s >= 0, may be exceeded by s at the
 * price rho s + 1/2 rho2 s^2: the program always has an interior, and with a large rho a side is hard. With
 * t = b + s -+ a'z (slack), lambda its multiplier and mu = rho + rho2 s - lambda that of s >= 0, the central
 * path is t lambda = s mu = sigma. mu is exact from the start and stays so, since steps are linear; t falls short
 * by r0 = b + s -+ a'z - t. For a step dc of +-a'z, with i1 = 1 / (rho2 s + mu), i2 = 1 / (t + lambda s i1),
 *   dlambda = kappa dc + beta,  kappa = lambda i2,  beta = (r1 - lambda (r0 + i1 r2)) i2,
 *   ds = s i1 dlambda + i1 r2,  dt = ds - dc + r0,  dmu = rho2 ds - dlambda,
 * where r1, r2 are what t lambda and s mu lack to their targets.
 *
 * An active side has t near 0 and a huge kappa, beside which the Hessian would drown in rounding. A proximal
 * term delta (dlambda)^2 / 2 bounds it: t + lambda (s i1 + delta) in i2, delta dlambda in dt. It changes steps,
 * not where they lead: it goes to the shortfall, and vanishes with dlambda. */
#ifndef HELICOID_MPC_INTERIOR_POINT_H
#define HELICOID_MPC_INTERIOR_POINT_H
#include "../clock.h"
#include "riccati.h"

/* Loop over the vectors of both sides: e numbers them, r is the same of the row; `sign` of the side. Addresses are taken
 * before such a loop: for all that the compiler knows, what is stored in it might change those of the problem. */
#define FOR_SIDES(n)                                                          \
  for (int64_t k_ = 0; k_ <= (n); k_++)                                       \
    for (int side_ = 0; side_ < 2; side_++)                                   \
      for (int64_t i_ = 0, e = (2 * k_ + side_) * VR, r = k_ * VR; i_ < VR; i_++, e++, r++)
#define SIGN (side_ ? 1.0 : -1.0)

/* The start: every side at the level sigma, at the linearisation point. A warm start keeps multipliers that are
 * larger than that. Where a side has less room than its slack t, the difference is its shortfall, which
 * shrinks with every step as all other residuals do. Returns the number of pairs. */
static double begin(mpc *s, double sigma, int warm) {
  const vec one = splat(1), zero = {0}, level = splat(sigma), least = splat(warm ? 1e-9 : 0.1);
  vec count = {0};
  const vec *const lower = CV(s->lower), *const upper = CV(s->upper), *const rows = CV(s->rows);
  const vec *const penalty = CV(s->penalty), *const penalty2 = CV(s->penalty2);
  vec *const all_on = V(s->on), *const multiplier = V(s->multiplier), *const slack = V(s->slack);
  vec *const excess = V(s->excess), *const excess_multiplier = V(s->excess_multiplier);
  vec *const shortfall = V(s->shortfall);
  FOR_SIDES(s->n) {
    const vec bound = side_ ? upper[r] : -lower[r], rho = penalty[r];
    const vec on = choose(1e19 - bound, CV(is_row)[i_], zero), room = bound - SIGN * rows[r];
    vec t = larger(room, least), lambda = level / t;
    if (warm) lambda = larger(lambda, multiplier[e]);
    lambda = -larger(-lambda, -0.5 * rho);
    t = larger(t, level / lambda);
    const vec x = level / (rho - lambda);
    all_on[e] = on;
    multiplier[e] = choose(on, lambda, zero);
    slack[e] = choose(on, t, one);
    excess[e] = choose(on, x, one);
    excess_multiplier[e] = choose(on, rho + penalty2[r] * x - lambda, one);
    shortfall[e] = choose(on, room + x - t, zero);
    count += 2 * on;
  }
  memset(s->moved, 0, (s->n + 1) * NRP * sizeof(double));
  memset(s->step, 0, (s->n + 1) * NZP * sizeof(double));
  return sum(count);
}

/* kappa of each side, stiffness of each row. Returns the sum of t lambda + s mu. */
static double stiffnesses(mpc *s, double delta, double *worst) {
  vec total = {0}, missing = {0};
  const vec *const slack = CV(s->slack), *const multiplier = CV(s->multiplier), *const excess = CV(s->excess);
  const vec *const excess_multiplier = CV(s->excess_multiplier), *const penalty2 = CV(s->penalty2);
  const vec *const on = CV(s->on), *const shortfall = CV(s->shortfall);
  vec *const inverse1 = V(s->inverse1), *const inverse2 = V(s->inverse2), *const kappa = V(s->kappa);
  vec *const stiffness = V(s->stiffness);
  const int64_t n = s->n;
  for (int64_t k = 0; k <= n; k++)
    for (int i = 0; i < VR; i++) {
      const int64_t r = k * VR + i;
      vec both = {0};
      for (int side = 0; side < 2; side++) {
        const int64_t e = (2 * k + side) * VR + i;
        const vec t = slack[e], l = multiplier[e], x = excess[e], m = excess_multiplier[e];
        const vec i1 = 1 / (penalty2[r] * x + m), i2 = 1 / (t + l * (x * i1 + delta));
        inverse1[e] = i1, inverse2[e] = i2;
        both += kappa[e] = l * i2;
        total += on[e] * (t * l + x * m);
        missing = larger(missing, shortfall[e] * shortfall[e]);
      }
      stiffness[r] = both;
    }
  *worst = sqrt(largest(missing));
  return sum(total);
}

/* The linear terms that aim at t lambda = s mu = sigma, less the second order of the predictor if `corrected`. */
static inline __attribute__((always_inline)) void aim(mpc *s, double sigma, int corrected, double *weight) {
  const vec target = splat(sigma);
  const vec *const slack = CV(s->slack), *const multiplier = CV(s->multiplier), *const excess = CV(s->excess);
  const vec *const excess_multiplier = CV(s->excess_multiplier), *const all_on = CV(s->on);
  const vec *const second1 = CV(s->second1), *const second2 = CV(s->second2), *const shortfall = CV(s->shortfall);
  const vec *const inverse1 = CV(s->inverse1), *const inverse2 = CV(s->inverse2);
  const vec *const stiffness = CV(s->stiffness), *const moved = CV(s->moved);
  vec *const bias2 = V(s->bias2), *const all_beta = V(s->beta);
  const int64_t n = s->n;
  for (int64_t k = 0; k <= n; k++)
    for (int i = 0; i < VR; i++) {
      const int64_t r = k * VR + i;
      vec w = -stiffness[r] * moved[r];
      for (int side = 0; side < 2; side++) {
        const int64_t e = (2 * k + side) * VR + i;
        const vec l = multiplier[e], on = all_on[e];
        vec r1 = target - slack[e] * l, r2 = target - excess[e] * excess_multiplier[e];
        if (corrected) r1 -= second1[e], r2 -= second2[e];
        const vec q2 = on * r2 * inverse1[e];
        const vec beta = on * (r1 - l * (shortfall[e] + q2)) * inverse2[e];
        bias2[e] = q2, all_beta[e] = beta;
        w += side ? l + beta : -(l + beta);
      }
      V(weight)[r] = w;
    }
}

static inline __attribute__((always_inline)) void moved_rows(
    const mpc *s, int64_t k, const double *z, double *c, int nb, int ng, const int *at, const double *scale) {
  for (int r = 0; r < nb; r++) c[r] = scale[r] * z[at[r]];
  for (int r = 0; r < ng; r++) c[nb + r] = dot_z(s->jacobian + (k * NGM + r) * NZP, z);
}

/* The Newton point for given linear terms, and where it puts the rows. */
static void newton(mpc *s, const double *weight, Gaps gaps, int any_free) {
  row_gradients(s, weight, s->linear);
  solve_linear(s, s->linear, s->target, gaps, any_free);
  for (int64_t k = 0; k < s->n; k++)
    moved_rows(s, k, s->target + k * NZP, s->moved_target + k * NRP, NB, NG, box_at, box_scale);
  moved_rows(s, s->n, s->target + s->n * NZP, s->moved_target + s->n * NRP, NBT, NGT, last_box_at,
             last_box_scale);
}

typedef struct {
  double longest;          /* the step to the boundary */
  double first, second;    /* sum of t lambda + s mu along the step: first and second order */
} Direction;

#if WIDTH > 1
typedef float short_vec __attribute__((vector_size(4 * WIDTH)));
typedef int32_t short_mask __attribute__((vector_size(4 * WIDTH)));
#define SHORT(a) __builtin_convertvector(a, short_vec)
static inline short_vec larger_short(short_vec a, short_vec b) {
#if WIDTH == 4 && defined(__AVX__) && !defined(__clang__)
  return (short_vec)__builtin_ia32_maxps(a, b);
#else
  const short_mask m = a > b;
  return (short_vec)((m & (short_mask)a) | (~m & (short_mask)b));
#endif
}
static inline double largest_short(short_vec a) { return largest(__builtin_convertvector(a, vec)); }
#else
typedef float short_vec;
#define SHORT(a) ((float)(a))
static inline short_vec larger_short(short_vec a, short_vec b) { return a > b ? a : b; }
static inline double largest_short(short_vec a) { return a; }
#endif
#define RATIO(d, v) (SHORT(-(d)) / SHORT(v))

/* Directions of all sides from that of the rows. The ratios need few digits: floats divide faster. */
static Direction directions(mpc *s, int keep_second, double delta) {
  vec second = {0}, first = {0};
  short_vec ratio = {0};
  const vec *const moved_target = CV(s->moved_target), *const moved = CV(s->moved), *const all_on = CV(s->on);
  const vec *const slack = CV(s->slack), *const multiplier = CV(s->multiplier), *const excess = CV(s->excess);
  const vec *const excess_multiplier = CV(s->excess_multiplier), *const penalty2 = CV(s->penalty2);
  const vec *const kappa = CV(s->kappa), *const beta = CV(s->beta), *const inverse1 = CV(s->inverse1);
  const vec *const bias2 = CV(s->bias2), *const shortfall = CV(s->shortfall);
  vec *const d_multiplier = V(s->d_multiplier), *const d_excess = V(s->d_excess);
  vec *const second1 = V(s->second1), *const second2 = V(s->second2);
  FOR_SIDES(s->n) {
    const vec dc = SIGN * (moved_target[r] - moved[r]), on = all_on[e];
    const vec t = slack[e], l = multiplier[e], x = excess[e], m = excess_multiplier[e];
    const vec dl = kappa[e] * dc + beta[e];
    const vec dx = on * (x * inverse1[e] * dl) + bias2[e];
    const vec dt = on * (dx - dc + shortfall[e] + delta * dl), dm = on * (penalty2[r] * dx - dl);
    d_multiplier[e] = dl, d_excess[e] = dx;
    const vec s1 = dt * dl, s2 = dx * dm;
    if (keep_second) second1[e] = s1, second2[e] = s2;
    second += s1 + s2;
    first += t * dl + l * dt + x * dm + m * dx;
    ratio = larger_short(ratio, larger_short(larger_short(RATIO(dt, t), RATIO(dl, larger(l, splat(1e-30)))),
                                             larger_short(RATIO(dx, x), RATIO(dm, m))));
  }
  const double worst = largest_short(ratio);
  return (Direction){worst > 1e-9 ? 1 / worst : 1e9, sum(first), sum(second)};
}

static void move(mpc *s, double alpha, double delta) {
  const vec a = splat(alpha), rest = splat(1 - alpha);
  const vec *const moved_target = CV(s->moved_target), *const target = CV(s->target), *const all_on = CV(s->on);
  const vec *const d_multiplier = CV(s->d_multiplier), *const d_excess = CV(s->d_excess);
  const vec *const penalty2 = CV(s->penalty2);
  vec *const multiplier = V(s->multiplier), *const excess = V(s->excess), *const slack = V(s->slack);
  vec *const shortfall = V(s->shortfall), *const excess_multiplier = V(s->excess_multiplier);
  vec *const moved = V(s->moved), *const step = V(s->step);
  const int64_t nodes = s->n + 1;
  FOR_SIDES(nodes - 1) {
    const vec dc = SIGN * (moved_target[r] - moved[r]), on = all_on[e], dl = d_multiplier[e], dx = d_excess[e];
    multiplier[e] += a * dl;
    excess[e] += a * dx;
    slack[e] += a * on * (dx - dc + shortfall[e] + delta * dl);
    shortfall[e] = rest * shortfall[e] - a * on * delta * dl;
    excess_multiplier[e] += a * on * (penalty2[r] * dx - dl);
  }
  for (int64_t r = 0; r < nodes * VR; r++) moved[r] += a * (moved_target[r] - moved[r]);
  for (int64_t i = 0; i < nodes * VZ; i++) step[i] += a * (target[i] - step[i]);
}

/* Iterate at most `most` times; `step` receives the solution. Returns 1 when it got there, or most of the way before
 * the budget ended, 0 when not, and -1 when the Hessian is not positive definite. */
static int iterate(mpc *s, int warm, int most) {
  const double scale = s->settings[SCALE], tolerance = s->settings[QP_TOLERANCE] * scale;
  const double delta = 1e-7 / scale, enough = sqrt(s->settings[QP_TOLERANCE]); /* the next iteration goes on */
  const double gaps = largest_size(s->gap, s->n * VX), any_free = largest_size(s->initial_free, VX);
  double unmet = 1, *weight = s->row_sum;
  const double count = begin(s, scale * s->settings[warm ? WARM_LEVEL : COLD_LEVEL], warm);
  int ok = 0;
  for (int it = 0; it < most; it++) {
    double shortfall;
    const double total = stiffnesses(s, delta, &shortfall), level = count ? total / count : 0;
    s->results[QP_GAP] = level;
    if (it > 0 && level <= tolerance && unmet < enough && shortfall < 1e-2 * enough) {
      ok = 1;
      break;
    }
    if (no_time_for(s, shortest_rest(s))) { /* most of the way may do: the search will say */
      s->late = 1;
      ok = unmet < 0.5;
      break;
    }
    const double began = now();
    s->results[QP_ITERATIONS] += 1;
    if (!factor(s)) return -1;
    double alpha = 1;
    if (count) {
      aim(s, 0, 0, weight);
      newton(s, weight, gaps != 0 ? NEW_GAPS : NO_GAPS, any_free != 0);
      const Direction affine = directions(s, 1, delta);
      const double reach = smaller_of(1, affine.longest);
      const double left = (total + reach * affine.first + reach * reach * affine.second) / total;
      const double centring = smaller_of(1, larger_of(left * left * left, 1e-4));
      aim(s, centring * level, 1, weight);
      newton(s, weight, gaps != 0 ? SAME_GAPS : NO_GAPS, any_free != 0);
      alpha = smaller_of(1, 0.995 * directions(s, 0, delta).longest);
    } else {
      memset(weight, 0, (s->n + 1) * NRP * sizeof(double));
      memset(s->d_multiplier, 0, (s->n + 1) * 2 * NRP * sizeof(double)); /* of bounds that are no more */
      memset(s->d_excess, 0, (s->n + 1) * 2 * NRP * sizeof(double));
      newton(s, weight, gaps != 0 ? NEW_GAPS : NO_GAPS, any_free != 0);
    }
    move(s, alpha, delta);
    record_duration(s, &s->iteration, now() - began);
    unmet *= 1 - alpha;
    if (!(alpha > 1e-8)) break;
  }
  for (int64_t k = 0; k <= s->n; k++)
    for (int i = 0; i < VR; i++)
      V(weight)[k * VR + i] = V(s->multiplier)[(2 * k + 1) * VR + i] - V(s->multiplier)[2 * k * VR + i];
  s->solved = now();
  row_gradients(s, weight, s->linear);
  s->step_curvature = costates(s, s->linear, s->step + s->n * NZP);
  return ok;
}

/* Solve the program of the linearisation, from the multipliers of the one before if `warm`. They may be far off:
 * then a new start is quicker. */
static int interior_point(mpc *s, int warm) {
  const int patience = 14, most = (int)s->settings[MAX_QP_ITERATIONS];
  if (warm) {
    const int ok = iterate(s, 1, smaller_of(patience, most));
    if (ok != 0 || s->late) return ok;
  }
  return iterate(s, 0, most);
}
#endif
