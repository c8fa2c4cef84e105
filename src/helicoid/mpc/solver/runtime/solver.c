/* The functions that Python calls, and the memory of a problem. */
#include "loop/loop.h"

#ifndef EXPORTED
#define EXPORTED __attribute__((visibility("default")))
#endif

EXPORTED void mpc_prepare(mpc *s) { linearise(s); }
EXPORTED int mpc_feedback(mpc *s) {
  s->started = now();
  return sqp_feedback(s);
}
EXPORTED int mpc_solve(mpc *s, int64_t max_iterations) {
  s->started = now();
  return sqp_solve(s, max_iterations);
}

EXPORTED void mpc_reset(mpc *s) { reset(s); }
EXPORTED void mpc_shift(mpc *s) { shift_nodes(s); }

EXPORTED void mpc_loop_prepare(mpc *s) { loop_prepare(s); }
EXPORTED void mpc_loop_shift(mpc *s) { loop_advance(s); }
EXPORTED int mpc_loop_feedback(mpc *s, const double *x) { return loop_feedback(s, x); }
EXPORTED int mpc_loop_start(mpc *s, const double *x) { return loop_start(s, x); }
EXPORTED void mpc_loop_changed(mpc *s) { loop_changed(s); }

/* The feedback of the first node: du = K dx, NU rows of NX. */
EXPORTED void mpc_gains(const mpc *s, double *K) {
  for (int i = 0; i < NU; i++)
    for (int j = 0; j < NX; j++) K[i * NX + j] = -s->swept[(NUP + X_AT(j)) * NZP + i];
}

#define COUNT(name) +1
enum { N_KERNELS = KERNELS(COUNT) };
#undef COUNT
#define ALIGNED(count) ((((size_t)(count)) * 8 + 63) / 64 * 64)

/* Bytes of a problem with n intervals, whose work area comes after `head`; `kernels` in the order of KERNELS. */
static size_t bytes_of(int64_t n, const helicoid_kernel *const *kernels, size_t *head, size_t *work) {
  size_t scratch = 64;
  for (int i = 0; i < N_KERNELS; i++)
    if (kernels[i] && (size_t)kernels[i]->batch_work > scratch) scratch = (size_t)kernels[i]->batch_work;
  *head = (sizeof(mpc) + 63) / 64 * 64;
  *work = ALIGNED(scratch / 8 + 8);
  size_t total = *head + *work;
#define ADD(name, size) total += ALIGNED((n + 1) * (int64_t)(size));
  NODE_FIELDS(ADD)
#undef ADD
#define ADD(name, size) total += ALIGNED(size);
  ONCE_FIELDS(ADD) FEET_FIELDS(ADD)
#undef ADD
  return total;
}

/* A problem in memory of bytes_of(...), aligned to 64. */
static mpc *place(void *memory, int64_t n, const helicoid_kernel *const *kernels) {
  size_t head, work;
  const size_t total = bytes_of(n, kernels, &head, &work);
  mpc *s = memory;
  char *at = (char *)memory + head;
  memset(memory, 0, total);
  make_units();
  s->n = n;
#define PLACE(name) s->name = *kernels++;
  KERNELS(PLACE)
#undef PLACE
  s->work = at;
  at += work;
#define PLACE(name, size) s->name = (double *)at, at += ALIGNED((n + 1) * (int64_t)(size));
  NODE_FIELDS(PLACE)
#undef PLACE
#define PLACE(name, size) s->name = (double *)at, at += ALIGNED(size);
  ONCE_FIELDS(PLACE) FEET_FIELDS(PLACE)
#undef PLACE
  s->outcome[STEP_STATUS] = STEP_NOT_STARTED;
  return s;
}

#ifndef WITHOUT_ALLOCATION
EXPORTED size_t mpc_bytes(int64_t n, const helicoid_kernel *const *kernels) {
  size_t head, work;
  return bytes_of(n, kernels, &head, &work);
}

EXPORTED mpc *mpc_create(int64_t n, const helicoid_kernel *const *kernels) {
  void *memory = aligned_alloc(64, mpc_bytes(n, kernels));
  return memory ? place(memory, n, kernels) : 0;
}

EXPORTED void mpc_destroy(mpc *s) { free(s); }
#endif

/* The address of a field by its name, and how many doubles it has for a node (or in all). */
EXPORTED double *mpc_field(mpc *s, const char *name, int64_t *size) {
#define FIND(field, count)          \
  if (!strcmp(name, #field)) {      \
    *size = (count);                \
    return s->field;                \
  }
  NODE_FIELDS(FIND) ONCE_FIELDS(FIND)
#undef FIND
  return 0;
}
