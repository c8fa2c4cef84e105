/* Lexicographic least squares with QP_N variables and QP_M rows as a kernel; QP_LEVELS lists the rows of each. */
#include "kernel.h"
#include "qp_lexicographic.h"

static void solve(const double *const *in, double *const *out, void *work) {
  static const int rows[] = QP_LEVELS;
  double damping[sizeof rows / sizeof rows[0]];
  for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) damping[k] = in[5][0];
  qp_levels s = {.n = QP_N, .m = QP_M, .levels = sizeof rows / sizeof rows[0], .rows = rows};
  s.E = in[0], s.e = in[1], s.A = in[2], s.lower = in[3], s.upper = in[4], s.damping = damping;
  s.x = out[0], s.state = out[2], s.multiplier = out[1], s.work = work, s.max_iterations = (int)in[5][1];
  out[3][0] = qp_solve_levels(&s);
  out[3][1] = s.iterations;
}

static const int64_t in_size[] = {QP_T * QP_N, QP_T, QP_M * QP_N, QP_N + QP_M, QP_N + QP_M, 2};
static const int64_t out_size[] = {QP_N, QP_N + QP_M, QP_N + QP_M, 2};
static const helicoid_kernel kernel = {HELICOID_KERNEL_ABI, 6, 4, in_size, out_size, 1,
                                       QP_N * QP_N * (QP_N + QP_M + QP_T), QP_LEVELS_WORK(QP_N, QP_M, QP_T) * 8, 0,
                                       solve, 0};

__attribute__((visibility("default"))) const helicoid_kernel *helicoid_kernel_entry(void) { return &kernel; }
