/* Whole-body control as a kernel: q, v and numbers in, torques and memory out. */
#include "kernel.h"

#define DATA(q, v, p, out, scratch)         \
  do {                                      \
    const double *const data_in[] = {q, v, p}; \
    data(data_in, out, scratch);            \
  } while (0)
#include "whole_body.h"

static void step(const double *const *in, double *const *out, void *work) {
  step_of_body(in[0], in[1], in[2], out[0], out[1], (double *)((char *)work + DATA_WORK), work);
}

static const int64_t in_size[] = {NQ, NV, NP}, out_size[] = {NV, MEMORY};
static const helicoid_kernel kernel = {HELICOID_KERNEL_ABI, 3, 2, in_size, out_size, 1, 1000,
                                       DATA_WORK + STEP_WORK * 8, 0, step, 0};

__attribute__((visibility("default"))) const helicoid_kernel *helicoid_kernel_entry(void) { return &kernel; }
