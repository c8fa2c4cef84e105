/* Runs the code of kernels: one sample, or batches split over threads. Knows nothing of Python. */
#ifndef HELICOID_BINDING_RUN_H
#define HELICOID_BINDING_RUN_H
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "kernel.h"

enum {
  STACK_WORK = 65536,         /* bytes of scratch on the stack; more comes from malloc */
  THREAD_OPERATIONS = 500000, /* at least, for each thread: some 50 us, as starting one costs 10 to 50 us */
  BLOCKS_PER_THREAD = 8,      /* threads take blocks as they finish others, so none waits for a slow one */
  THREAD_STACK = 4 << 20,     /* some C libraries give a thread as little as 128 KiB */
};

typedef struct {
  const helicoid_kernel *code;
  const double *const *in;
  const ptrdiff_t *stride;
  double *const *out;
  ptrdiff_t n, block;
  ptrdiff_t next; /* first sample that no thread has taken */
} Batch;

typedef struct {
  void *task; /* shared by all: who takes a block of it notes that there */
  void *work;
  int asking; /* whether it runs on the thread that asked for the task */
  pthread_t thread;
} Worker;

static void *run_blocks(void *argument) {
  Worker *worker = argument;
  Batch *batch = worker->task;
  const helicoid_kernel *code = batch->code;
  const double *in[code->n_in + 1];
  double *out[code->n_out + 1];
  for (;;) {
    ptrdiff_t start = __atomic_fetch_add(&batch->next, batch->block, __ATOMIC_RELAXED);
    if (start >= batch->n) return NULL;
    ptrdiff_t rest = batch->n - start;
    for (int64_t i = 0; i < code->n_in; i++) in[i] = batch->in[i] + start * batch->stride[i];
    for (int64_t i = 0; i < code->n_out; i++) out[i] = batch->out[i] + start * code->out_size[i];
    code->batch(in, batch->stride, out, rest < batch->block ? rest : batch->block, rest, worker->work);
  }
}

/* All workers on threads of their own but the first, which is this thread. A thread that cannot be
   started leaves its blocks to the others. */
static void run_workers(Worker *workers, int n_workers, void *(*blocks)(void *)) {
  int started = 1;
  pthread_attr_t attributes;
  if (n_workers > 1 && pthread_attr_init(&attributes) == 0) {
    sigset_t all, before; /* signals are for the threads that Python knows */
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    pthread_attr_setstacksize(&attributes, THREAD_STACK);
    while (started < n_workers &&
           pthread_create(&workers[started].thread, &attributes, blocks, &workers[started]) == 0)
      started++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
  }
  blocks(&workers[0]);
  for (int k = 1; k < started; k++) pthread_join(workers[k].thread, NULL);
}

/* Threads that pay for themselves when `calls` are to be made for n samples. */
static int count_workers(const helicoid_kernel *code, double calls, double n, int n_threads) {
  double enough = calls * (double)code->operations / THREAD_OPERATIONS;
  double groups = n / (double)code->lanes;
  double most = n_threads;
  if (enough < most) most = enough;
  if (groups < most) most = groups;
  return most < 2 ? 1 : (int)most;
}

static void *aligned_memory(size_t bytes) {
  void *memory = NULL;
  return posix_memalign(&memory, 64, bytes ? bytes : 1) ? NULL : memory;
}

/* A task on so many threads, each with scratch of its own; -1 when there is no memory for that, else 0. */
static int run_workers_with_work(void *task, void *(*blocks)(void *), int n_workers, size_t work_bytes) {
  work_bytes = (work_bytes + 127) & ~(size_t)127;
  if (n_workers == 1 && work_bytes <= STACK_WORK) {
    _Alignas(64) char stack[STACK_WORK];
    blocks(&(Worker){.task = task, .work = stack, .asking = 1});
    return 0;
  }
  size_t list_bytes = ((size_t)n_workers * sizeof(Worker) + 127) & ~(size_t)127;
  char *heap = aligned_memory(list_bytes + (size_t)n_workers * work_bytes);
  if (heap == NULL) return -1;
  Worker *workers = (Worker *)heap;
  for (int k = 0; k < n_workers; k++)
    workers[k] = (Worker){.task = task, .work = heap + list_bytes + (size_t)k * work_bytes, .asking = k == 0};
  run_workers(workers, n_workers, blocks);
  free(heap);
  return 0;
}

/* Samples 0 to n-1 on at most `n_threads` threads; -1 when there is no memory for scratch, else 0. */
static int run_batch(const helicoid_kernel *code, const double *const *in, const ptrdiff_t *stride,
                     double *const *out, ptrdiff_t n, int n_threads) {
  if (n == 0) return 0;
  int n_workers = count_workers(code, (double)n, (double)n, n_threads);
  Batch batch = {code, in, stride, out, n, n, 0};
  if (n_workers > 1) {
    ptrdiff_t n_blocks = (ptrdiff_t)n_workers * BLOCKS_PER_THREAD;
    ptrdiff_t groups = (n + n_blocks * code->lanes - 1) / (n_blocks * code->lanes);
    batch.block = groups * code->lanes;
  }
  return run_workers_with_work(&batch, run_blocks, n_workers, (size_t)code->batch_work);
}

/* One sample; -1 when there is no memory for scratch, else 0. */
static int run_scalar(const helicoid_kernel *code, const double *const *in, double *const *out) {
  if (code->scalar_work <= STACK_WORK) {
    _Alignas(64) char stack[STACK_WORK];
    code->scalar(in, out, stack);
    return 0;
  }
  void *work = aligned_memory((size_t)code->scalar_work);
  if (work == NULL) return -1;
  code->scalar(in, out, work);
  free(work);
  return 0;
}
#endif
