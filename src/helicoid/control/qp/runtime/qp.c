/* A program of QP_N variables and QP_M rows as a kernel: data in; solution, multipliers, active set and info out. */
#include "kernel.h"
#include "qp.h"

enum { QP_INFO = 4 };

static void solve(const double *const *in, double *const *out, void *work) {
  qp s = {QP_N, QP_M, in[0], in[1], in[2], in[3], in[4], in[5], out[0], out[1], out[2], work,
          (int)in[6][0], 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  double *info = out[3];
  info[0] = qp_solve(&s);
  info[1] = s.iterations;
  info[2] = s.shift;
  info[3] = s.elastic;
}

static const int64_t in_size[] = {QP_N * QP_N, QP_N, QP_M * QP_N, QP_N + QP_M, QP_N + QP_M, QP_M, 1};
static const int64_t out_size[] = {QP_N, QP_N + QP_M, QP_N + QP_M, QP_INFO};
static const helicoid_kernel kernel = {HELICOID_KERNEL_ABI, 7, 4, in_size, out_size, 1,
                                       QP_N * QP_N * (QP_N + QP_M), QP_WORK(QP_N, QP_M) * 8, 0, solve, 0};

__attribute__((visibility("default"))) const helicoid_kernel *helicoid_kernel_entry(void) { return &kernel; }
