/* One time step of robots with contacts, end stops, dry friction and equations; a vector of lanes is a robot each.
 *
 * Sizes: NQ, NV; LINKS that may touch; POINTS of them, GROUNDS; at most TOUCHES at once, reported as CONTACTS; STOPS
 * joints with end stops; FRICTION_ROWS with dry friction; EQUATIONS of constraints. `prepare` works at the middle of the step, q_m = q + h/2 v,
 * where M + h D = L' D L (Featherstone 2008, 6.5), and puts its results in y from AT_... on, by name. Links are
 * at their predicted poses, q_e = q + h v: pose, then twists with v_free and with v, and that of the beginning.
 * Rows of velocities u = J v are stored as Y = D^(-1/2) L^(-T) J', so that G = Y Y'. The step ends h/2 (v+ - v) from
 * q_e: with u+ as the velocity, a gap g of q_e becomes (g - h/2 u) + h/2 u+, of which the first part is stored. */
#ifndef CONTACT_STEP_H
#define CONTACT_STEP_H
#include "solve.h"
#include "surfaces.h"

#define PAIRS (POINTS * GROUNDS)

/* memory: the touches of the last step, as (pair, impulse), then the impulses of stops, friction and equations; of all
   steps since the last row the largest error and depth, and their number */
enum { UNUSED, ERROR, STEPS, DEPTH, DONE, FIRST_STORED, STORED = 4, OTHERS = FIRST_STORED + STORED * TOUCHES };
static const double MARGIN = 0.1;   /* m/s: pairs nearer than half a step at this speed are candidates */
static const double MAX_DEPTH = 1e-7;  /* m: deeper penetration at the end of a step is corrected */
static const double MAX_OPENING = 1e-11; /* m or rad: larger residuals of equations are corrected */
/* Decay per step of impulses in the null space of G, as where two points of a foot push against each other. */
static const double FADING = 0.9;

typedef struct {
  Touch touch;
  int pair, link;
  hc_v free[3];             /* velocities at the end without impulses */
  hc_v before, start;       /* normal velocity and gap at the beginning */
  hc_v start_velocity[3];   /* J v with the v of the beginning and the J of the end */
  hc_v bounce, height;      /* normal speed and gap at the end after a rebound; else 0 */
} NearContact;

/* Indices of the nonzero entries of a row of Y, largest first. */
typedef struct {
  const int *rows;
  int n;
} Support;

typedef struct {
  Cones cones, spare;
  Support support[ROWS];
  hc_v rows[ROWS][NV + 1]; /* Y */
  hc_v smooth[ROWS];       /* velocities without impulses */
  hc_v gap[ROWS];          /* of normals, stops and equations: less h/2 u+, then at the end of the step */
  hc_v plain[ROWS], mean[ROWS], lowest[PAIRS + 1], side[STOPS + 1];
  NearContact near[TOUCHES];
  int count, stops, first_stop, first_friction, first_equation, n, joint[STOPS + 1];
} Scratch;

/* Y from J' in `rows` rows, over the rows of L that their support names, largest first. */
HC_HOT void transform(const hc_v *y, Support support, int rows, hc_v (*x)[NV + 1]) {
  EACH(a, support.n) {
    const int k = support.rows[a];
    hc_v value[3];
    EACH(r, rows) value[r] = x[r][k], x[r][k] = value[r] * y[AT_ROOT + k];
    for (int e = L_START[k]; e < L_START[k + 1]; e++) {
      const hc_v l = y[AT_L + e];
      EACH(r, rows) x[r][L_COLUMN[e]] -= l * value[r];
    }
  }
}

/* The velocity of a point x of a link that moves by a twist (w, v) about the world's origin: v + w x x. */
static inline void point_velocity(const hc_v *twist, const hc_v *x, hc_v *u) {
  cross3(twist, x, u);
  EACH(k, 3) u[k] += twist[3 + k];
}

static double least(hc_v x) {
  double found = LANE(x, 0);
  for (int l = 1; l < HC_LANES; l++) found = fmin(found, LANE(x, l));
  return found;
}

/* Slot for a touch with this gap: a free one, or that of the furthest if this is nearer; or -1. */
static int place(const Scratch *s, hc_v gap) {
  int at = 0;
  if (s->count < TOUCHES) return s->count;
  for (int i = 1; i < TOUCHES; i++)
    if (least(s->near[i].touch.gap) > least(s->near[at].touch.gap)) at = i;
  return least(gap) < least(s->near[at].touch.gap) ? at : -1;
}

/* How a point stands to a ground at the predicted end of the step, or to what is first in its way. */
static void approach(const double *point, const hc_v *link, const double *ground, const double *field, double h, Touch *t) {
  hc_v d[3];
  touch(point, link, ground, field, t);
  if (ground[IS_FIELD] == 0) return;
  point_velocity(link + 18, t->center, d);
  EACH(k, 3) d[k] *= h;
  touch_on_way(point, ground, field, d, t);
}

/* Pairs of a point and a ground that may touch in this step, in any lane; of more than TOUCHES, the nearest. */
static void find_touches(Scratch *s, const hc_v *y, double h, const double *points, const double *grounds,
                         const double *field) {
  hc_v fastest = hc_splat(0), u[3];
  NearContact now;
  EACH(k, PAIRS) {
    const double *point = points + k / GROUNDS * POINT_SIZE;
    const hc_v *link = y + AT_LINK[(int)point[LINK]];
    approach(point, link, grounds + k % GROUNDS * GROUND_SIZE, field, h, &now.touch);
    point_velocity(link + 12, now.touch.point, u);
    fastest = hc_fmax(fastest, hc_fabs(dot3(now.touch.frame[0], u)));
    point_velocity(link + 18, now.touch.point, u);
    s->lowest[k] = now.touch.gap - h / 2 * dot3(now.touch.frame[0], u);
  }
  const hc_v far = h / 2 * (MARGIN + 2.0 * fastest); /* candidates within the distance of the fastest approach */
  s->count = 0;
  EACH(k, PAIRS) {
    const double *point = points + k / GROUNDS * POINT_SIZE;
    const int at = hc_any(HC_MASK(s->lowest[k] < far)) ? place(s, s->lowest[k]) : -1;
    if (at < 0) continue;
    now.link = (int)point[LINK], now.pair = k;
    const hc_v *link = y + AT_LINK[now.link];
    approach(point, link, grounds + k % GROUNDS * GROUND_SIZE, field, h, &now.touch);
    tangents(now.touch.frame);
    point_velocity(link + 12, now.touch.point, u);
    EACH(i, 3) now.free[i] = dot3(now.touch.frame[i], u);
    now.start = 2.0 * s->lowest[k] - now.touch.gap, now.touch.gap = s->lowest[k];
    point_velocity(link + 18, now.touch.point, u);
    EACH(i, 3) now.start_velocity[i] = dot3(now.touch.frame[i], u);
    EACH(i, 3) u[i] = now.touch.point[i] - h * u[i]; /* position at the beginning */
    point_velocity(link + 24, u, u);
    now.before = dot3(now.touch.frame[0], u);
    now.bounce = now.height = hc_splat(0);
    s->near[at] = now;
    s->count += at == s->count;
  }
}

/* Speed and gap at the end of a step with an impact at time t: Newton's law of restitution, with the free
   acceleration before and after. A rebound that ends within the step counts as rest. */
static void restitute(NearContact *now, double e, double h, hc_i hit) {
  const hc_v zero = hc_splat(0), speed = -now->before, a = (now->before - now->free[0]) / h;
  const hc_v gap = hc_fmax(now->start, zero), square = speed * speed + 2.0 * a * gap;
  const hc_v root = hc_sqrt(hc_fmax(square, zero));
  const hc_v t = hc_select(HC_MASK(square > 0.0), hc_fmin(2.0 * gap / (speed + root), hc_splat(h)), hc_splat(h));
  const hc_v left = h - t, rebound = e * (speed + a * t), after = rebound - a * left;
  hit &= HC_MASK(speed > 0.0) & HC_MASK(after > 0.0) & HC_MASK(rebound > 0.0);
  now->bounce = hc_select(hit, after, zero);
  now->height = hc_select(hit, hc_fmax(rebound * left - a * left * left * 0.5, zero), zero);
}

/* Rows of contact i: J' of its point from the twists of its link, in its frame. */
static void point_rows(Scratch *s, const hc_v *y, int i) {
  const NearContact *now = &s->near[i];
  const Support support = {SUPPORT + SUPPORT_START[now->link],
                           SUPPORT_START[now->link + 1] - SUPPORT_START[now->link]};
  EACH(k, 3) EACH(j, NV) s->rows[3 * i + k][j] = hc_splat(0);
  for (int j = COLUMN_START[now->link]; j < COLUMN_START[now->link + 1]; j++) {
    hc_v v[3];
    point_velocity(y + TWIST[j], now->touch.point, v);
    EACH(k, 3) s->rows[3 * i + k][COLUMN[j]] = dot3(now->touch.frame[k], v);
  }
  transform(y, support, 3, s->rows + 3 * i);
  EACH(k, 3) s->support[3 * i + k] = support;
}

static void contact_rows(Scratch *s, const hc_v *y, const double *grounds, double h) {
  Cones *c = &s->cones;
  EACH(i, s->count) {
    NearContact *now = &s->near[i];
    const double *ground = grounds + now->pair % GROUNDS * GROUND_SIZE;
    point_rows(s, y, i);
    EACH(k, 3) s->smooth[3 * i + k] = c->b[3 * i + k] = now->free[k];
    s->gap[3 * i] = now->touch.gap;
    c->mu[i] = hc_splat(ground[FRICTION]);
    const hc_i hit = HC_MASK(now->touch.gap + h / 2 * now->free[0] <= 0.0);
    if (ground[RESTITUTION] > 0 && hc_any(hit)) restitute(now, ground[RESTITUTION], h, hit);
    /* a point above the ground may approach until it touches */
    const hc_v slack = 2 / h * hc_fmax(now->touch.gap, hc_splat(0));
    c->b[3 * i] += hc_select(hit, -now->bounce, slack);
  }
}

/* A row of one velocity; `side` is its sign. */
static void joint_row(Scratch *s, const hc_v *y, int row, int joint, hc_v side) {
  EACH(j, NV) s->rows[row][j] = hc_splat(0);
  s->rows[row][joint] = side;
  s->support[row] = (Support){JOINT_SUPPORT + JOINT_START[joint], JOINT_START[joint + 1] - JOINT_START[joint]};
  transform(y, s->support[row], 1, s->rows + row);
  s->smooth[row] = s->cones.b[row] = side * y[AT_FREE + joint];
}

/* Rows of end stops within reach, of joints with dry friction, and of equations. */
static void other_rows(Scratch *s, const hc_v *y, double h) {
  Cones *c = &s->cones;
  int row = s->first_stop = 3 * s->count;
  s->stops = 0;
  EACH(k, STOPS) {
    const hc_v q = y[AT_MIDDLE + STOP_COORDINATE[k]], free = y[AT_FREE + STOP_VELOCITY[k]];
    const hc_v below = q - STOP_LOWER[k], above = STOP_UPPER[k] - q, gap = hc_fmin(below, above);
    if (!hc_any(HC_MASK(gap < h / 2 * (MARGIN + 2.0 * hc_fabs(free))))) continue;
    const hc_v side = hc_select(HC_MASK(below < above), hc_splat(1), hc_splat(-1));
    joint_row(s, y, row, STOP_VELOCITY[k], side);
    const hc_i hit = HC_MASK(gap + h / 2 * side * free <= 0.0);
    c->b[row] += hc_select(hit, hc_splat(0), 2 / h * hc_fmax(gap, hc_splat(0)));
    c->lo[row] = hc_splat(0), c->hi[row] = hc_splat(INFINITY), s->gap[row] = gap;
    s->joint[s->stops] = k, s->side[s->stops++] = side, row++;
  }
  s->first_friction = row;
  EACH(k, FRICTION_ROWS) {
    joint_row(s, y, row, FRICTION_VELOCITY[k], hc_splat(1));
    c->hi[row] = hc_fmax(h * y[AT_BOUND + k], hc_splat(0)), c->lo[row] = -c->hi[row], s->gap[row] = hc_splat(0), row++;
  }
  s->first_equation = row;
  EACH(k, EQUATIONS) {
    hc_v u = hc_splat(0);
    EACH(j, NV) s->rows[row][j] = y[AT_EQUATIONS + k * NV + j], u += s->rows[row][j] * y[AT_FREE + j];
    s->support[row] = (Support){EVERY, NV};
    transform(y, s->support[row], 1, s->rows + row);
    s->smooth[row] = c->b[row] = u, c->lo[row] = hc_splat(-INFINITY), c->hi[row] = hc_splat(INFINITY);
    s->gap[row] = y[AT_EQUATIONS + EQUATIONS * NV + k], row++;
  }
  s->n = c->n = row, c->nc = s->count;
}

/* G of `a` rows from i on and `b` rows from j on, which have a support in common. */
HC_HOT void block(Scratch *s, int i, int a, int j, int b, Support both) {
  hc_v sum[3][3];
  EACH(x, a) EACH(y, b) sum[x][y] = hc_splat(0);
  EACH(e, both.n) {
    const int k = both.rows[e];
    EACH(x, a) EACH(y, b) sum[x][y] += s->rows[i + x][k] * s->rows[j + y][k];
  }
  EACH(x, a) EACH(y, b) s->cones.G[i + x][j + y] = s->cones.G[j + y][i + x] = sum[x][y];
}

/* G = Y Y', where supports meet. */
static void products(Scratch *s) {
  const int contacts = 3 * s->count;
  int shared[NV + 1];
  for (int i = 0; i < s->n; i += i < contacts ? 3 : 1)
    for (int j = 0; j <= i; j += j < contacts ? 3 : 1) {
      const Support one = s->support[i], other = s->support[j];
      Support both = {shared, 0};
      for (int a = 0, b = 0; a < one.n && b < other.n;) {
        const int k = one.rows[a], l = other.rows[b];
        if (k == l) shared[both.n++] = k;
        a += k >= l, b += l >= k;
      }
      if (i < contacts)
        block(s, i, 3, j, 3, both);
      else if (j < contacts)
        block(s, i, 1, j, 3, both);
      else
        block(s, i, 1, j, 1, both);
    }
}

/* Warm start: impulses of the same rows in the last step. */
static void warm_start(Scratch *s, const hc_v *memory) {
  hc_v *p = s->cones.p;
  EACH(i, s->count) {
    const double which = s->near[i].pair;
    hc_v found[3] = {hc_splat(0), hc_splat(0), hc_splat(0)};
    for (int k = PAIRS <= TOUCHES ? s->near[i].pair : 0; k < (PAIRS <= TOUCHES ? s->near[i].pair + 1 : TOUCHES); k++) {
      const hc_v *one = memory + FIRST_STORED + STORED * k;
      const hc_i same = HC_MASK(one[0] == 1 + which);
      EACH(j, 3) found[j] = hc_select(same, FADING * one[1 + j], found[j]);
    }
    EACH(j, 3) p[3 * i + j] = found[j];
  }
  EACH(i, s->stops) p[s->first_stop + i] = memory[OTHERS + s->joint[i]];
  EACH(k, FRICTION_ROWS + EQUATIONS) {
    const int row = s->first_friction + k;
    p[row] = clamped(memory[OTHERS + STOPS + k], s->cones.lo[row], s->cones.hi[row]);
  }
}

/* Store the impulses for the next step; `old` is the memory of the `done` steps since the last row. */
static void store_impulses(const Scratch *s, const hc_v *old, int done, int repeats, hc_v *memory) {
  const hc_v *p = s->cones.p, carried = hc_splat(done != 0);
  EACH(k, MEMORY) memory[k] = hc_splat(0);
  memory[ERROR] = hc_fmax(s->cones.error, carried * old[ERROR]), memory[STEPS] = s->cones.steps + carried * old[STEPS];
  memory[DEPTH] = carried * old[DEPTH], memory[DONE] = hc_splat(done + 1 < repeats ? done + 1 : 0);
  EACH(i, s->count) {
    hc_v *one = memory + FIRST_STORED + STORED * (PAIRS <= TOUCHES ? s->near[i].pair : i);
    one[0] = hc_splat(1 + s->near[i].pair);
    EACH(j, 3) one[1 + j] = p[3 * i + j];
  }
  EACH(i, s->stops) memory[OTHERS + s->joint[i]] = p[s->first_stop + i];
  EACH(k, FRICTION_ROWS + EQUATIONS) memory[OTHERS + STOPS + k] = p[s->first_friction + k];
}

/* Newton's law of restitution may add energy where several impulses act at once, which no impact does: the rebound
   is then reduced until the energy is constant. Impulses p add p' (u + u_start) / 2 = p' m + p' G p / 2. */
static void limit_rebound_energy(Scratch *s) {
  Cones *c = &s->cones;
  hc_v gained = hc_splat(0), most = hc_splat(0), rest = hc_splat(0), linear = hc_splat(0), square = hc_splat(0);
  EACH(i, s->count) most = hc_fmax(most, s->near[i].bounce);
  if (!hc_any(HC_MASK(most > 0.0))) return;
  EACH(i, s->n) {
    const hc_v start = i < 3 * s->count ? s->near[i / 3].start_velocity[i % 3] : s->smooth[i];
    s->mean[i] = (s->smooth[i] + start) * 0.5;
    gained += c->p[i] * (s->mean[i] + (c->u[i] - c->b[i]) * 0.5);
  }
  const hc_i gains = HC_MASK(gained > 0.0);
  if (!hc_any(gains)) return;
  const hc_v error = c->error;
  EACH(i, s->n) s->plain[i] = c->p[i];
  EACH(i, s->count) c->b[3 * i] += s->near[i].bounce;
  solve_cones(c); /* the impact without rebound */
  EACH(i, s->n) { /* the gain of p + share (plain - p) */
    hc_v Gd = hc_splat(0), Gp = hc_splat(0);
    const hc_v d = s->plain[i] - c->p[i];
    EACH(j, s->n) Gd += c->G[i][j] * (s->plain[j] - c->p[j]), Gp += c->G[i][j] * c->p[j];
    rest += c->p[i] * (s->mean[i] + Gp * 0.5), linear += d * (s->mean[i] + Gp), square += d * Gd * 0.5;
  }
  const hc_v root = linear * linear - 4.0 * square * rest;
  hc_v share = (-linear + hc_sqrt(hc_fmax(root, hc_splat(0)))) * inverted(2.0 * square);
  share = hc_select(HC_MASK(square > 0.0) & HC_MASK(root > 0.0), share, hc_splat(0));
  share = hc_select(gains, clamped(share, hc_splat(0), hc_splat(1)), hc_splat(1));
  EACH(i, s->n) c->p[i] += share * (s->plain[i] - c->p[i]);
  EACH(i, s->count) s->near[i].bounce = hc_select(gains, hc_splat(0), s->near[i].bounce);
  EACH(i, s->count) s->near[i].height = hc_select(gains, hc_splat(0), s->near[i].height);
  c->error = hc_fmax(error, hc_select(gains, c->error, hc_splat(0)));
}

/* Solve for the impulses of this step; sum = Y' p, from which the velocities follow. */
static void solve_impulses(Scratch *s, const hc_v *y, const hc_v *memory, const double *const *tables, double h, hc_v *sum) {
  find_touches(s, y, h, tables[0], tables[1], tables[2]);
  contact_rows(s, y, tables[1], h);
  other_rows(s, y, h);
  EACH(k, NV) sum[k] = hc_splat(0);
  s->cones.error = s->cones.steps = hc_splat(0);
  if (!s->n) return;
  products(s);
  warm_start(s, memory);
  hc_v largest = hc_splat(1);
  EACH(i, s->n) largest = hc_fmax(largest, hc_fabs(s->smooth[i]));
  s->cones.tolerance = 1e-11 * largest;
  solve_cones(&s->cones);
  limit_rebound_energy(s);
  EACH(i, s->n) EACH(k, NV) sum[k] += s->cones.p[i] * s->rows[i][k];
}

#endif
