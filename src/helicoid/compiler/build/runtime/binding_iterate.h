/* Repeats a kernel whose results are its next arguments: a rollout, or many side by side. */
#ifndef HELICOID_BINDING_ITERATE_H
#define HELICOID_BINDING_ITERATE_H
#include "binding_run.h"

enum {
  BLOCK_GROUPS = 16, /* groups of lanes that advance together: their states stay in the first cache */
  BLOCKS_EACH = 2,   /* at least, for each thread, so that a slow one does not keep the others waiting */
  LOOK_OPERATIONS = 100000000, /* between looks at whether to stop: some 50 ms */
};

typedef struct {
  const helicoid_kernel *code; /* as many outputs as there are states, which are the first inputs */
  double *const *state;        /* rows of `samples` each; row k + 1 follows from row k */
  const double *const *input;  /* per input of the kernel; those of states are not read */
  const ptrdiff_t *row_stride, *sample_stride; /* in doubles; 0 where all rows, or samples, share one */
  ptrdiff_t samples, first, last; /* rows first + 1 to last are computed */
  ptrdiff_t repeats;              /* calls from one row to the next */
  ptrdiff_t block, next;          /* samples of a block, and the first that no thread has taken */
  size_t scratch;                 /* bytes for each thread before what the kernel needs */
  int (*interrupted)(void);       /* asked now and then by the thread that asked for it all; may be NULL */
  int stop;                       /* for all threads: leave the rest */
} Iteration;

/* Whether to leave the rest, looked at once for every so many operations. */
static int is_stopped(Iteration *it, const Worker *worker, double *operations) {
  if (*operations < LOOK_OPERATIONS) return 0;
  *operations = 0;
  if (worker->asking && it->interrupted != NULL && it->interrupted())
    __atomic_store_n(&it->stop, 1, __ATOMIC_RELAXED);
  return __atomic_load_n(&it->stop, __ATOMIC_RELAXED);
}

/* States between two rows take turns on two places. -1 when it was stopped, else 0. */
static int iterate_block(Iteration *it, const Worker *worker, ptrdiff_t start, ptrdiff_t n, double *operations) {
  const helicoid_kernel *code = it->code;
  const double *in[code->n_in + 1];
  ptrdiff_t stride[code->n_in + 1];
  double *out[code->n_out + 1], *spare = worker->work;
  void *work = (char *)worker->work + it->scratch;
  for (int64_t i = 0; i < code->n_in; i++) stride[i] = i < code->n_out ? code->in_size[i] : it->sample_stride[i];
  for (ptrdiff_t k = it->first; k < it->last; k++) {
    for (int64_t i = code->n_out; i < code->n_in; i++)
      in[i] = it->input[i] + k * it->row_stride[i] + start * it->sample_stride[i];
    for (ptrdiff_t r = 0; r < it->repeats; r++) {
      double *even = spare;
      for (int64_t i = 0; i < code->n_out; i++) {
        ptrdiff_t size = code->in_size[i];
        double *row = it->state[i] + (k * it->samples + start) * size, *odd = even + n * size;
        in[i] = r == 0 ? row : r % 2 ? even : odd;
        out[i] = r + 1 == it->repeats ? row + it->samples * size : r % 2 ? odd : even;
        even = odd + n * size;
      }
      if (it->samples == 1)
        code->scalar(in, out, work);
      else
        code->batch(in, stride, out, n, n, work);
      *operations += (double)n * (double)code->operations;
      if (is_stopped(it, worker, operations)) return -1;
    }
  }
  return 0;
}

static void *iterate_blocks(void *argument) {
  Worker *worker = argument;
  Iteration *it = worker->task;
  double operations = 0;
  for (;;) {
    ptrdiff_t start = __atomic_fetch_add(&it->next, it->block, __ATOMIC_RELAXED);
    if (start >= it->samples) return NULL;
    ptrdiff_t rest = it->samples - start;
    if (iterate_block(it, worker, start, rest < it->block ? rest : it->block, &operations) < 0) return NULL;
  }
}

/* All rows of all samples on at most `n_threads` threads; -1 when there is no memory for scratch, else 0. */
static int run_iteration(Iteration *it, int n_threads) {
  const helicoid_kernel *code = it->code;
  double calls = (double)it->samples * (double)(it->last - it->first) * (double)it->repeats;
  int n_workers = count_workers(code, calls, (double)it->samples, n_threads);
  ptrdiff_t n_blocks = (ptrdiff_t)n_workers * BLOCKS_EACH;
  ptrdiff_t groups = (it->samples + n_blocks * code->lanes - 1) / (n_blocks * code->lanes);
  it->block = (groups < BLOCK_GROUPS ? groups : BLOCK_GROUPS) * code->lanes;
  it->next = 0;
  size_t doubles = 0;
  for (int64_t i = 0; i < code->n_out; i++) doubles += 2 * (size_t)(it->block * code->in_size[i]);
  it->scratch = (doubles * sizeof(double) + 127) & ~(size_t)127;
  return run_workers_with_work(it, iterate_blocks, n_workers,
                               it->scratch + (size_t)(it->samples == 1 ? code->scalar_work : code->batch_work));
}
#endif
