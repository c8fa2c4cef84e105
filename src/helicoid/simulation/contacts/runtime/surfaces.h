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
  if (point[KIND] == BALL) {
    t->gap -= point[RADIUS];
    for (int k = 0; k < 3; k++) x[k] -= point[RADIUS] * n[k];
  }
  for (int k = 0; k < 3; k++) t->point[k] = x[k];
}
#endif
