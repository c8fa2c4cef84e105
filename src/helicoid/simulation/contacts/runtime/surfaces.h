/* Where points of links are above the grounds, and along which normal: half-spaces, and a field of heights. */
#ifndef CONTACT_SURFACES_H
#define CONTACT_SURFACES_H
#include <math.h>

/* A row of `points`: the link, what kind it is, the contact that it belongs to, and in the frame of the link a
   center, an axis, a radius and an angle. A ball has its lowest point below its center; a point of a rim (a circle
   about an axis) lies at an angle from its lowest point. */
enum { LINK, KIND, CONTACT, CENTER, AXIS = CENTER + 3, RADIUS = AXIS + 3, ANGLE, POINT_SIZE };
enum { BALL, RIM };
/* A row of `grounds`: x . normal = offset is the surface of a half-space; of a field, the normal is its up. */
enum { NORMAL, OFFSET = NORMAL + 3, FRICTION, RESTITUTION, IS_FIELD, GROUND_SIZE };
/* `field`: columns and rows, where the first one lies, the spacing, and then the heights, row by row (y, then x). */
enum { COLUMNS, LINES, FIRST_X, FIRST_Y, SPACING_X, SPACING_Y, HEIGHTS };

#define LANE(x, l) (((const double *)&(x))[l])

typedef struct {
  hc_v gap, point[3], frame[3][3]; /* normal and tangents, a row each */
  hc_v center[3];                  /* of a ball; else the point */
  hc_v offset;                     /* normal . center where it touches the plane that it met on its way; or -INFINITY */
} Touch;

HC_HOT hc_v dot3(const hc_v *a, const hc_v *b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

HC_HOT void cross3(const hc_v *a, const hc_v *b, hc_v *c) {
  const hc_v x = a[1] * b[2] - a[2] * b[1], y = a[2] * b[0] - a[0] * b[2], z = a[0] * b[1] - a[1] * b[0];
  c[0] = x, c[1] = y, c[2] = z;
}

/* A constant vector turned by R, by rows. */
HC_HOT void turn(const hc_v *R, const double *x, hc_v *y) {
  for (int i = 0; i < 3; i++) y[i] = R[3 * i] * x[0] + R[3 * i + 1] * x[1] + R[3 * i + 2] * x[2];
}

/* Height and slope of the field at (x, y), bilinear between its points and level beyond its border. */
static double field_height(const double *field, double x, double y, double *slope) {
  const int nx = (int)field[COLUMNS], ny = (int)field[LINES];
  double s = (x - field[FIRST_X]) / field[SPACING_X], t = (y - field[FIRST_Y]) / field[SPACING_Y];
  const int inside_x = s >= 0 && s <= nx - 1, inside_y = t >= 0 && t <= ny - 1;
  s = s > 0 ? (s < nx - 1 ? s : nx - 1) : 0; /* NaN is at the border, too */
  t = t > 0 ? (t < ny - 1 ? t : ny - 1) : 0;
  const int i = (int)s < nx - 2 ? (int)s : nx - 2, j = (int)t < ny - 2 ? (int)t : ny - 2;
  const double *h = field + HEIGHTS + j * nx + i;
  s -= i, t -= j;
  slope[0] = inside_x ? ((1 - t) * (h[1] - h[0]) + t * (h[nx + 1] - h[nx])) / field[SPACING_X] : 0;
  slope[1] = inside_y ? ((1 - s) * (h[nx] - h[0]) + s * (h[nx + 1] - h[1])) / field[SPACING_Y] : 0;
  return (1 - t) * ((1 - s) * h[0] + s * h[1]) + t * ((1 - s) * h[nx] + s * h[nx + 1]);
}

/* Gap and normal of a point x above a field that is raised by an offset. */
static void above_field(const double *field, double offset, Touch *t, const hc_v *x) {
  for (int l = 0; l < HC_LANES; l++) {
    double slope[2];
    const double height = field_height(field, LANE(x[0], l), LANE(x[1], l), slope);
    const double size = sqrt(1 + slope[0] * slope[0] + slope[1] * slope[1]);
    ((double *)&t->frame[0][0])[l] = -slope[0] / size;
    ((double *)&t->frame[0][1])[l] = -slope[1] / size;
    ((double *)&t->frame[0][2])[l] = 1 / size;
    ((double *)&t->gap)[l] = (LANE(x[2], l) - height - offset) / size;
  }
}

/* Tangents of a normal n: those that turn along when up turns to n (Duff and others 2017). */
static void tangents(hc_v (*frame)[3]) {
  const hc_v *n = frame[0], side = hc_select(HC_MASK(n[2] < 0.0), hc_splat(-1), hc_splat(1));
  const hc_v a = -1.0 / (side + n[2]), b = n[0] * n[1] * a;
  frame[1][0] = 1.0 + side * n[0] * n[0] * a, frame[1][1] = side * b, frame[1][2] = -side * n[0];
  frame[2][0] = b, frame[2][1] = side + n[1] * n[1] * a, frame[2][2] = -n[1];
}

/* The point of a rim, relative to its center: the direction in its plane that leads down, turned by its angle. */
static void rim_point(const double *point, const hc_v *pose, const hc_v *n, hc_v *x) {
  hc_v axis[3], down[3], side[3], level[3];
  const double a = point[AXIS], other[3] = {fabs(a) < 0.7, fabs(a) >= 0.7, 0};
  const double fixed[3] = {-point[AXIS + 2] * other[1], point[AXIS + 2] * other[0],
                           point[AXIS] * other[1] - point[AXIS + 1] * other[0]};
  turn(pose, point + AXIS, axis), turn(pose, fixed, level);
  const hc_v up = dot3(n, axis);
  for (int k = 0; k < 3; k++) down[k] = up * axis[k] - n[k];
  /* level: any direction will do, but the same in the link at all times */
  const hc_i flat = HC_MASK(dot3(down, down) < 1e-18);
  for (int k = 0; k < 3; k++) down[k] = hc_select(flat, level[k], down[k]);
  const hc_v size = 1.0 / hc_sqrt(dot3(down, down));
  cross3(axis, down, side);
  const double c = point[RADIUS] * cos(point[ANGLE]), s = point[RADIUS] * sin(point[ANGLE]);
  for (int k = 0; k < 3; k++) x[k] += (c * down[k] + s * side[k]) * size;
}

/* How a point of a link at pose (R, p) stands to a ground. */
static void touch(const double *point, const hc_v *pose, const double *ground, const double *field, Touch *t) {
  hc_v x[3], *n = t->frame[0];
  turn(pose, point + CENTER, x);
  for (int k = 0; k < 3; k++) x[k] += pose[9 + k], n[k] = hc_splat(ground[NORMAL + k]);
  if (point[KIND] == RIM) rim_point(point, pose, n, x);
  if (ground[IS_FIELD] != 0)
    above_field(field, ground[OFFSET], t, x);
  else
    t->gap = dot3(n, x) - ground[OFFSET];
  for (int k = 0; k < 3; k++) t->center[k] = x[k];
  if (point[KIND] == BALL) {
    t->gap -= point[RADIUS];
    for (int k = 0; k < 3; k++) x[k] -= point[RADIUS] * n[k];
  }
  for (int k = 0; k < 3; k++) t->point[k] = x[k];
  t->offset = hc_splat(-INFINITY);
}

/* The next line of a grid of n lines after g + s d, as s; INFINITY where there is none. */
static double next_line(double g, double d, double s, int n) {
  const double at = g + s * d, line = d > 0 ? fmax(floor(at + 1e-9) + 1, 0) : fmin(ceil(at - 1e-9) - 1, n - 1);
  return d == 0 || line < 0 || line > n - 1 ? INFINITY : (line - g) / d;
}

/* The gap of a ball with its center at x + s d above a field that is raised by an offset, and the normal. */
static double gap_on_way(const double *field, double offset, double radius, const double *x, const double *d, double s,
                         double *n) {
  double slope[2];
  const double height = field_height(field, x[0] + s * d[0], x[1] + s * d[1], slope);
  n[2] = 1 / sqrt(1 + slope[0] * slope[0] + slope[1] * slope[1]), n[0] = -slope[0] * n[2], n[1] = -slope[1] * n[2];
  return (x[2] + s * d[2] - height - offset) * n[2] - radius + 1e-6; /* sliding along it is not to meet it */
}

/* The first s, 0 <= s <= 1, at which a ball with its center at x + s d meets a field from above, and the normal there;
   or INFINITY. One that begins below it and goes deeper meets it at once. Between lines of the grid the surface is
   smooth, and the gaps at both ends tell. */
static double field_on_way(const double *field, double offset, double radius, const double *x, const double *d,
                           double *n) {
  const int nx = (int)field[COLUMNS], ny = (int)field[LINES];
  const double gx = (x[0] - field[FIRST_X]) / field[SPACING_X], gy = (x[1] - field[FIRST_Y]) / field[SPACING_Y];
  const double dx = d[0] / field[SPACING_X], dy = d[1] / field[SPACING_Y];
  double first = 0;
  for (int above = 0, cells = 0; first < 1 && cells <= nx + ny; cells++) {
    const double line = fmin(next_line(gx, dx, first, nx), next_line(gy, dy, first, ny));
    const double last = fmin(fmax(line, first + 1e-9), 1), inside = 1e-6 * (last - first);
    double lo = first + inside, hi = last - inside;
    const double began = gap_on_way(field, offset, radius, x, d, lo, n);
    const int deeper = cells == 0 && n[0] * d[0] + n[1] * d[1] + n[2] * d[2] < 0;
    if ((above || deeper) && began < 0) return lo;
    above = gap_on_way(field, offset, radius, x, d, hi, n) >= 0;
    if (began >= 0 && !above) {
      for (int k = 0; k < 30; k++) {
        const double s = (lo + hi) / 2;
        *(gap_on_way(field, offset, radius, x, d, s, n) < 0 ? &hi : &lo) = s;
      }
      gap_on_way(field, offset, radius, x, d, hi, n);
      return hi;
    }
    first = last;
  }
  return INFINITY;
}

/* As `touch`, for a point that moved by d (m) during the step: one that crosses a good part of a cell of a field meets
   the plane that is first in its way, so that it cannot pass through a ridge between two steps. */
static void touch_on_way(const double *point, const double *ground, const double *field, const hc_v *d, Touch *t) {
  const double share = 0.1 * fmin(field[SPACING_X], field[SPACING_Y]), r = point[KIND] == BALL ? point[RADIUS] : 0;
  for (int l = 0; l < HC_LANES; l++) {
    const double way[3] = {LANE(d[0], l), LANE(d[1], l), LANE(d[2], l)};
    double from[3], n[3];
    if (!(fmax(fabs(way[0]), fabs(way[1])) > share) || !(fabs(way[0]) + fabs(way[1]) < 1e9)) continue;
    for (int k = 0; k < 3; k++) from[k] = LANE(t->center[k], l) - way[k];
    const double s = field_on_way(field, ground[OFFSET], r, from, way, n);
    if (s > 1) continue;
    double offset = 0, at = 0;
    for (int k = 0; k < 3; k++) offset += n[k] * (from[k] + s * way[k]), at += n[k] * LANE(t->center[k], l);
    ((double *)&t->gap)[l] = at - offset, ((double *)&t->offset)[l] = offset;
    for (int k = 0; k < 3; k++)
      ((double *)&t->frame[0][k])[l] = n[k], ((double *)&t->point[k])[l] = LANE(t->center[k], l) - r * n[k];
  }
}
#endif
