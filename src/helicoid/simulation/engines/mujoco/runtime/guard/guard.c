/* Calls of MuJoCo whose fatal errors return to the caller: MuJoCo itself would end the process. */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static __thread jmp_buf *destination;
static __thread char text[512];

#define VISIBLE __attribute__((visibility("default")))

/* `mju_user_error`: an error in a thread without a guarded call is fatal, as it is without a handler. */
VISIBLE void hc_mujoco_error(const char *message) {
  strncpy(text, message, sizeof text - 1);
  if (destination) longjmp(*destination, 1);
  fprintf(stderr, "ERROR: %s\n", message);
  exit(EXIT_FAILURE);
}

/* `mju_user_warning`: states that diverge are found by the simulation. */
VISIBLE void hc_mujoco_warning(const char *message) { (void)message; }

/* run(x), and the message of its error; null where it ends well. */
VISIBLE const char *hc_mujoco_guard(void (*run)(const void *), const void *x) {
  jmp_buf here;
  destination = &here;
  text[0] = 0;
  const int failed = setjmp(here);
  if (!failed) run(x);
  destination = 0;
  return failed ? text : 0;
}
