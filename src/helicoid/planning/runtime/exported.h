/* A planner as a library: its scene, which may change, and one query at a time. The generated file includes it after
 * the robot's kinematics and tables, and wraps each function under the library's name. */
#ifndef HELICOID_PLANNING_EXPORTED_H
#define HELICOID_PLANNING_EXPORTED_H

enum { BAD_INPUT = EXHAUSTED + 1 };

typedef struct {
  const hp_robot *robot;
  const hp_world *world;       /* the scene that was exported */
  const uint8_t *ignored;      /* its allowed contacts, or NULL */
  const hp_space *space;
  const hp_settings *settings;
  float margin, least;
  int32_t passes, capacity;    /* obstacles that fit, a multiple of HP_LANES */
} hp_exported;

typedef struct {
  const hp_exported *from;
  hp_work *work;
  hp_world world;
  hp_obstacle *obstacle;
  float *bounds;
  uint8_t *ignored;
} hp_instance;

static void hp_instance_free(hp_instance *p) {
  if (!p) return;
  planner_free(p->work);
  free(p->obstacle), free(p->bounds), free(p->ignored), free(p);
}

static void hp_no_obstacles(hp_instance *p) {
  const int32_t most = p->from->capacity;
  p->world.n = 0;
  p->world.padded = most; /* rows of `ignored` are as long */
  for (int k = 0; k < 3 * most; k++) p->bounds[k] = INFINITY, p->bounds[3 * most + k] = -INFINITY;
  memset(p->ignored, 0, (size_t)(p->from->robot->n_groups * most));
}

/* Back to the scene that was exported. */
static void hp_instance_reset(hp_instance *p) {
  const hp_world *scene = p->from->world;
  hp_no_obstacles(p);
  p->world.n = scene->n;
  for (int k = 0; k < 3 && scene->n; k++) {
    memcpy((float *)p->world.low[k], scene->low[k], sizeof(float) * (size_t)scene->padded);
    memcpy((float *)p->world.high[k], scene->high[k], sizeof(float) * (size_t)scene->padded);
  }
  if (scene->n) memcpy(p->obstacle, scene->obstacle, sizeof *p->obstacle * (size_t)scene->n);
  for (int g = 0; g < p->from->robot->n_groups && p->from->ignored; g++)
    memcpy(p->ignored + g * p->from->capacity, p->from->ignored + g * scene->padded, (size_t)scene->padded);
}

static hp_instance *hp_instance_create(const hp_exported *from) {
  const size_t most = (size_t)from->capacity;
  const hp_robot *r = from->robot;
  hp_instance *p = hp_aligned(sizeof *p);
  if (!p) return NULL;
  p->from = from;
  p->work = planner_work(r->n_groups, r->n_clusters, r->n_spheres, r->n_pairs, from->capacity);
  p->obstacle = hp_aligned(sizeof *p->obstacle * most);
  p->bounds = hp_aligned(sizeof(float) * 6 * most);
  p->ignored = hp_aligned((size_t)r->n_groups * most);
  if (!p->work || !p->obstacle || !p->bounds || !p->ignored) {
    hp_instance_free(p);
    return NULL;
  }
  p->world = (hp_world){.obstacle = p->obstacle, .field = from->world->field};
  for (size_t k = 0; k < 3; k++) p->world.low[k] = p->bounds + k * most, p->world.high[k] = p->bounds + (3 + k) * most;
  hp_instance_reset(p);
  return p;
}

/* An obstacle with its pose, R by rows then p, and the half extents of the box around it in its own axes: its number,
 * or -1 where there is no room or a number is not valid. */
static int32_t hp_instance_add(hp_instance *p, int32_t kind, const double *pose, const double *half, double radius) {
  const int32_t most = p->from->capacity, n = p->world.n;
  hp_obstacle o = {.kind = kind};
  if (n == most || !(radius >= 0 && radius < 1e30)) return -1;
  for (int k = 0; k < 12; k++)
    if (!(fabs(pose[k]) < 1e30)) return -1;
  for (int k = 0; k < 3; k++)
    if (!(half[k] >= 0 && half[k] < 1e30)) return -1;
  for (int k = 0; k < 9; k++) o.R[k] = (float)pose[k];
  for (int k = 0; k < 3; k++) o.p[k] = (float)pose[9 + k], o.half[k] = (float)half[k];
  o.radius = (float)radius + p->from->margin;
  for (int k = 0; k < 3; k++) {
    double extent = radius + p->from->margin;
    for (int j = 0; j < 3; j++) extent += fabs(pose[3 * k + j]) * half[j];
    extent += 1e-6 * (1 + fabs(pose[9 + k]) + extent);
    ((float *)p->world.low[k])[n] = (float)(pose[9 + k] - extent);
    ((float *)p->world.high[k])[n] = (float)(pose[9 + k] + extent);
  }
  p->obstacle[n] = o;
  p->world.n = n + 1;
  return n;
}

static int32_t hp_instance_plane(hp_instance *p, const double *normal, double offset) {
  const double zero[12] = {0};
  const double length = sqrt(normal[0] * normal[0] + normal[1] * normal[1] + normal[2] * normal[2]);
  if (!(length > 1e-12 && length < 1e30 && fabs(offset) < 1e30)) return -1;
  const int32_t n = hp_instance_add(p, PLANE, zero, zero, 0);
  if (n < 0) return n;
  for (int k = 0; k < 3; k++) {
    p->obstacle[n].R[6 + k] = (float)(normal[k] / length);
    ((float *)p->world.low[k])[n] = -INFINITY, ((float *)p->world.high[k])[n] = INFINITY;
  }
  p->obstacle[n].p[0] = (float)offset;
  return n;
}

/* q as float32, angles and quaternions normalised; 0 where it is not finite or beyond the limits. */
static int hp_instance_read(const hp_instance *p, const double *q, float *x) {
  const hp_space *s = p->from->space;
  for (int j = 0; j < HP_NQ; j++) {
    double at = q[j];
    if (!(fabs(at) < 1e30)) return 0;
    if (s->kind[j] == CIRCLE) at -= 2 * 3.14159265358979323846 * rint(at / (2 * 3.14159265358979323846));
    if (hp_is_quaternion(s, j)) {
      const double size = sqrt(q[j] * q[j] + q[j + 1] * q[j + 1] + q[j + 2] * q[j + 2] + q[j + 3] * q[j + 3]);
      if (!(size > 1e-12 && size < 1e30)) return 0;
      for (int k = 0; k < 4; k++) x[j + k] = (float)(q[j + k] / size);
      j += 3;
      continue;
    }
    const double slack = 1e-6 * (1 + fabs(s->lower[j]) + fabs(s->upper[j]));
    if (at < s->lower[j] - slack || at > s->upper[j] + slack) return 0;
    x[j] = (float)at;
  }
  return 1;
}

static int hp_instance_in_collision(hp_instance *p, const double *q) {
  float x[HP_NQ];
  uint8_t touches = 1;
  if (!hp_instance_read(p, q, x)) return -1;
  planner_configurations(p->work, p->from->robot, &p->world, p->ignored, x, 1, &touches);
  return touches;
}

/* Waypoints of the path, angles and signs of quaternions without jumps. */
static void hp_instance_write(const hp_instance *p, const double *start, double *path) {
  const hp_space *s = p->from->space;
  const hp_path *found = &p->work->path;
  for (int i = 0; i < found->n; i++)
    for (int j = 0; j < HP_NQ; j++) {
      double *at = path + (int64_t)i * HP_NQ + j;
      const double *before = i ? at - HP_NQ : start + j;
      *at = found->q[(int64_t)i * HP_NQ + j];
      if (s->kind[j] == CIRCLE)
        *at -= 2 * 3.14159265358979323846 * rint((*at - *before) / (2 * 3.14159265358979323846));
      if (hp_is_quaternion(s, j)) {
        double dot = 0;
        for (int k = 0; k < 4; k++) at[k] = found->q[(int64_t)i * HP_NQ + j + k], dot += at[k] * before[k];
        for (int k = 0; k < 4 && dot < 0; k++) at[k] = -at[k];
        j += 3;
      }
    }
}

static int hp_instance_plan(hp_instance *p, const double *start, const double *goal, double seconds, uint64_t seed,
                            double *path, int32_t room, int32_t *n) {
  const hp_exported *f = p->from;
  float a[HP_NQ], b[HP_NQ];
  *n = 0;
  if (!hp_instance_read(p, start, a) || !hp_instance_read(p, goal, b) || !(seconds > 0)) return BAD_INPUT;
  int status = planner_begin(p->work, f->robot, &p->world, p->ignored, f->space, f->settings, a, 1, b, 1, seed,
                             INFINITY, 0);
  if (status == RUNNING)
    status = planner_advance(p->work, f->robot, &p->world, p->ignored, f->space, f->settings, seconds);
  if (status != SOLVED) return status;
  planner_simplify(p->work, f->robot, &p->world, p->ignored, f->space, f->passes, f->least);
  *n = p->work->path.n;
  if (*n <= room) hp_instance_write(p, start, path);
  return SOLVED;
}

#endif
