/* Runs an exported controller of a robot, called `model`: standard input gives doubles, for each step a target of three
   numbers (WITH_FEET: the height of the ground, twice unused), q and v; standard output gets for each the torque, the status, whether it is ok and what was applied. */
#include <stdio.h>

#include "model.h"

static unsigned char memory[MODEL_MEMORY + 1];

int main(void) {
  double target[3], state[MODEL_Q_SIZE + MODEL_V_SIZE], answer[MODEL_TORQUE_SIZE + 3];
  model_controller *controller = model_init(memory + 1, MODEL_MEMORY);
  if (controller == NULL) return 2;
  while (fread(target, sizeof target, 1, stdin) == 1) {
    if (fread(state, sizeof state, 1, stdin) != 1) return 2;
#ifdef WITH_FEET
    if (model_set_ground_height(controller, target, 1) != 0) return 3;
#else
    if (model_set_position(controller, target, 3) != 0) return 3;
#endif
    model_prepare(controller);
    answer[MODEL_TORQUE_SIZE] = model_feedback(controller, state, state + MODEL_Q_SIZE, answer);
    answer[MODEL_TORQUE_SIZE + 1] = model_ok(controller);
    answer[MODEL_TORQUE_SIZE + 2] = model_applied(controller);
    fwrite(answer, sizeof answer, 1, stdout);
  }
  return 0;
}
