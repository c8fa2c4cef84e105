/* Runs a kernel on what comes by standard input: the number of samples, then each input of all of them. Gives
   the outputs by standard output, of `scalar` for one sample after the other, then of `batch`. Every array is
   as long as it must be and no longer, so that a sanitizer sees what goes beyond. */
#include <stdio.h>
#include <stdlib.h>

#include "kernel.h"

static void *memory(size_t bytes) {
  void *p = NULL;
  if (posix_memalign(&p, 64, bytes ? bytes : 1)) exit(2);
  return p;
}

int main(void) {
  const helicoid_kernel *k = helicoid_kernel_entry();
  int64_t n;
  if (fread(&n, sizeof n, 1, stdin) != 1) return 2;
  double *in[k->n_in + 1], *out[k->n_out + 1];
  const double *one[k->n_in + 1];
  ptrdiff_t stride[k->n_in + 1];
  for (int64_t i = 0; i < k->n_in; i++) {
    size_t count = (size_t)(n * k->in_size[i]);
    in[i] = malloc(count * sizeof(double) + !count);
    if (fread(in[i], sizeof(double), count, stdin) != count) return 2;
    stride[i] = k->in_size[i];
  }
  for (int64_t i = 0; i < k->n_out; i++) out[i] = malloc((size_t)(n * k->out_size[i]) * sizeof(double) + 1);
  void *work = memory((size_t)k->scalar_work);
  for (int64_t s = 0; s < n; s++) {
    double *to[k->n_out + 1];
    for (int64_t i = 0; i < k->n_in; i++) one[i] = in[i] + s * k->in_size[i];
    for (int64_t i = 0; i < k->n_out; i++) to[i] = out[i] + s * k->out_size[i];
    k->scalar(one, to, work);
  }
  free(work);
  for (int64_t i = 0; i < k->n_out; i++) fwrite(out[i], sizeof(double), (size_t)(n * k->out_size[i]), stdout);
  work = memory((size_t)k->batch_work);
  for (int64_t i = 0; i < k->n_in; i++) one[i] = in[i];
  k->batch(one, stride, out, n, n, work);
  free(work);
  for (int64_t i = 0; i < k->n_out; i++) {
    fwrite(out[i], sizeof(double), (size_t)(n * k->out_size[i]), stdout);
    free(out[i]);
  }
  for (int64_t i = 0; i < k->n_in; i++) free(in[i]);
  return 0;
}
