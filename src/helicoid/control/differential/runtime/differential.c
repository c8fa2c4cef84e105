/* Differential inverse kinematics as a kernel: q and numbers in, velocities and memory out. */
#include "kernel.h"

#define DATA(q, p, first, second, A, lower, upper, errors, damping, wanted, scratch)       \
  do {                                                                             \
    const double *const data_in[] = {q, p};                                        \
    double *const data_out[] = {first, second, A, lower, upper, errors, damping, wanted};  \
    data(data_in, data_out, scratch);                                              \
  } while (0)
#include "differential.h"

static void step(const double *const *in, double *const *out, void *work) {
  differential_step(in[0], in[1], out[0], out[1], (double *)((char *)work + DATA_WORK), work);
}

static const int64_t in_size[] = {NQ, NP}, out_size[] = {NV, MEMORY};
static const helicoid_kernel kernel = {HELICOID_KERNEL_ABI, 2, 2, in_size, out_size, 1, 1000,
                                       DATA_WORK + STEP_WORK * 8, 0, step, 0};

__attribute__((visibility("default"))) const helicoid_kernel *helicoid_kernel_entry(void) { return &kernel; }
