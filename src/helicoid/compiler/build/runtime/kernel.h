/* The interface between a compiled kernel and whoever calls it. */
#ifndef HELICOID_KERNEL_H
#define HELICOID_KERNEL_H
#include <stddef.h>
#include <stdint.h>

#define HELICOID_KERNEL_ABI 1

typedef struct {
  int64_t abi;             /* HELICOID_KERNEL_ABI */
  int64_t n_in, n_out;     /* number of inputs and outputs */
  const int64_t *in_size;  /* doubles in each input, dense and row-major */
  const int64_t *out_size;
  int64_t lanes;           /* samples that `batch` computes at once */
  int64_t operations;      /* arithmetic operations of one sample */
  int64_t scalar_work;     /* bytes of scratch for `scalar`, aligned to 64; may be 0 */
  int64_t batch_work;      /* the same for `batch`, for each thread */
  /* One sample. NULL where the library has none. */
  void (*scalar)(const double *const *in, double *const *out, void *work);
  /* Samples 0 to n-1. Input i advances by stride[i] doubles a sample, 0 when it is the same for all. At
     least `readable` >= n samples of each input may be read. NULL where the library has none. */
  void (*batch)(const double *const *in, const ptrdiff_t *stride, double *const *out, ptrdiff_t n,
                ptrdiff_t readable, void *work);
} helicoid_kernel;

const helicoid_kernel *helicoid_kernel_entry(void);
#endif
