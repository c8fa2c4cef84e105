/* Runs the solver of a controller, which is included before this: standard input gives the intervals, then
   fields, each as the length of its name, the name, how many numbers, the numbers. Standard output gets states
   and controls of the solution. */
#include <stdio.h>

const helicoid_kernel *kernel0(void), *kernel1(void), *kernel2(void), *kernel3(void);

static void write_field(mpc *s, const char *name) {
  int64_t size;
  const double *values = mpc_field(s, name, &size);
  fwrite(values, sizeof(double), (size_t)((s->n + 1) * size), stdout);
}

int main(void) {
  int64_t n, length, count, size;
  if (fread(&n, sizeof n, 1, stdin) != 1) return 2;
  const helicoid_kernel *kernels[N_KERNELS] = {kernel0(), kernel1(), kernel2(), kernel3()};
  mpc *s = mpc_create(n, kernels);
  if (s == NULL) return 2;
  while (fread(&length, sizeof length, 1, stdin) == 1) {
    char name[64] = {0};
    if (fread(name, 1, (size_t)length, stdin) != (size_t)length || fread(&count, sizeof count, 1, stdin) != 1)
      return 2;
    double *field = mpc_field(s, name, &size);
    if (field == NULL || fread(field, sizeof(double), (size_t)count, stdin) != (size_t)count) return 2;
  }
  mpc_reset(s);
  if (mpc_solve(s, 30) != SOLVED) return 3;
  write_field(s, "x"), write_field(s, "u");
  double K[NU * NX];
  mpc_gains(s, K); /* of a barrier that is nearly a wall: as many digits fewer as that is steep */
  mpc_shift(s);
  mpc_prepare(s);
  int status = mpc_feedback(s); /* stops at its tolerance, which the last digit of a number can move by a step */
  mpc_destroy(s);
  return status == NOT_FINITE ? 3 : 0;
}
