/* Signed distances of many pairs of shapes at many configurations of a robot. */
#include "trees.h"

enum { RESULT = 11 }; /* distance, pair, point of A, point of B, normal from B to A */

static int pair_contact(const shape *A, const shape *B, const double *at, const double *bt, double enough, contact *c) {
  double T[12];
  relative(at, bt, T);
  return B->tree ? tree_contact(A, B, T, enough, c) : convex_contact(A, B, T, enough, c);
}

/* A lower bound by bounding balls. */
static double bound(const shape *A, const shape *B, vec a, const double *bt, vec b) {
  if (B->kind == PLANE) return dot(turned(bt, load(B->numbers)), sub(a, make(bt[3], bt[7], bt[11]))) - B->numbers[3] - A->ball;
  if (B->kind == BOX) { /* of the ball of A to the box */
    vec c = moved_back(bt, a);
    double x = fmax(fabs(c.x) - B->half[0], 0), y = fmax(fabs(c.y) - B->half[1], 0), z = fmax(fabs(c.z) - B->half[2], 0);
    double far = x * x + y * y + z * z;
    if (far > 0) return sqrt(far) - A->ball;
  }
  return norm(sub(a, b)) - A->ball - B->ball;
}

/* Of each group of pairs the least distance, if it is at most `enough`; else infinity. With `stop` a configuration
   ends with the first distance below `enough`. A of a pair has no tree and is no plane.
   pairs: (n, 3) of A, B, group. bodies: (configurations, n_bodies, 12). out: (configurations, groups, RESULT). */
EXPORT int64_t helicoid_distances(const shape *shapes, int64_t n_shapes, const int32_t *pairs, int64_t n_pairs, int64_t n_groups,
                           const double *bodies, int64_t n_bodies, int64_t configurations, double enough, int64_t stop,
                           double *out) {
  double *poses = malloc((size_t)(15 * n_shapes + n_pairs + 1) * sizeof(double));
  if (!poses) return 1;
  double *centers = poses + 12 * n_shapes, *lower = centers + 3 * n_shapes;
  for (int64_t q = 0; q < configurations; q++) {
    const double *body = bodies + q * n_bodies * 12;
    double *row = out + q * n_groups * RESULT;
    for (int64_t s = 0; s < n_shapes; s++) {
      if (shapes[s].body >= 0) product(body + 12 * shapes[s].body, shapes[s].pose, poses + 12 * s);
      else if (!q) memcpy(poses + 12 * s, shapes[s].pose, 12 * sizeof(double));
      store(centers + 3 * s, moved(poses + 12 * s, load(shapes[s].center)));
    }
    for (int64_t g = 0; g < n_groups; g++) {
      for (int k = 0; k < RESULT; k++) row[RESULT * g + k] = 0;
      row[RESULT * g] = INFINITY;
      row[RESULT * g + 1] = -1;
    }
    for (int64_t first = 0, last; first < n_pairs; first = last) { /* a group after the other */
      int32_t group = pairs[3 * first + 2];
      int64_t nearest = first;
      for (last = first; last < n_pairs && pairs[3 * last + 2] == group; last++) {
        int32_t a = pairs[3 * last], b = pairs[3 * last + 1];
        lower[last] = bound(shapes + a, shapes + b, load(centers + 3 * a), poses + 12 * b, load(centers + 3 * b));
        if (lower[last] < lower[nearest]) nearest = last;
      }
      double *result = row + RESULT * group, best = enough;
      int done = 0;
      for (int64_t k = first - 1; k < last && !done; k++) {
        int64_t p = k < first ? nearest : k;
        if ((k >= first && k == nearest) || lower[p] > best) continue;
        int32_t a = pairs[3 * p], b = pairs[3 * p + 1];
        contact c;
        if (!pair_contact(shapes + a, shapes + b, poses + 12 * a, poses + 12 * b, best, &c)) continue;
        best = c.d;
        result[0] = c.d;
        result[1] = (double)p;
        store(result + 2, moved(poses + 12 * a, c.a));
        store(result + 5, moved(poses + 12 * a, c.b));
        store(result + 8, turned(poses + 12 * a, c.n));
        done = stop && c.d < enough;
      }
      if (done) break;
    }
  }
  free(poses);
  return 0;
}

#include "half_spaces.h"
