"""The header of an exported controller: types, sizes, functions, and what each means."""

from __future__ import annotations

from collections.abc import Sequence

from helicoid.compiler import c_comment, c_declaration, c_header, c_text
from helicoid.mpc.export.settable import Setter
from helicoid.mpc.solver.receding_horizon.loop import RecedingHorizonLoop
from helicoid.mpc.structure import Structure

STATUS = {
    "OK": "a new plan that meets the hard constraints",
    "ITERATION_LIMIT": "a cold start ended before it converged; its plan is applied",
    "INFEASIBLE": "the plan, which is applied, violates hard constraints: see {p}_missed",
    "NO_PROGRESS": "no new plan: no step improved the former one",
    "TIME_LIMIT": "no new plan: the time budget was used up",
    "NOT_FINITE": "no new plan: the model gave numbers that are not finite",
    "BAD_MEASUREMENT": "no new plan: the state is not finite, or has a quaternion that is not unit",
    "NOT_STARTED": "there was no step yet",
}
REFUSALS = {
    "WRONG_COUNT": (-1, "no values, or as many as the name does not take"),
    "NOT_A_NUMBER": (-2, "a value is not finite; a bound is NaN, or infinite so that nothing can meet it"),
    "NEGATIVE": (-3, "a weight is negative, or a duration not positive"),
    "CROSSED": (-4, "a lower bound would be above its upper one: set both at once"),
}
STATISTICS = {
    "iterations": "of the step",
    "qp_iterations": "of the interior point, in all of them",
    "seconds": "that the feedback took, with what prepare does if it was not called",
    "cost": "of the plan",
    "violation": "the largest excess of a hard constraint, in scaled units",
    "gap": "by which the plan misses the dynamics or the measured state",
    "step_length": "1 for a full step",
    "stationarity": "of the Lagrangian, where the step began",
}


class Header:
    """The text of the header, and the parameters that the source shares with it."""

    def __init__(self, prefix: str, structure: Structure, loop: RecedingHorizonLoop, n_bytes: int) -> None:
        self.prefix, self.big = prefix, prefix.upper()
        self.structure, self.loop, self.bytes = structure, loop, n_bytes
        robot = structure.robot
        nu = structure.system.nu
        self.n_torques = nu if robot is None else robot.nv
        if robot is None:
            self.measured = f"const double x[{structure.n_measured}]"
            self.applied = f"double u[{nu}]"
        else:
            self.measured = f"const double q[{robot.nq}], const double v[{robot.nv}]"
            self.applied = f"double tau[{robot.nv}]"

    def text(self, setters: Sequence[Setter]) -> str:
        """The whole header."""
        p, big = self.prefix, self.big
        lines = [
            *self._sizes(),
            c_comment(
                ["What a step returns. Whatever it is, there is a torque to apply, finite and within limits."]
            ),
            *self._enumeration([(name, k, text) for k, (name, text) in enumerate(STATUS.items())]),
            c_comment(["What was applied: of the new plan, of the last good one, or what brakes."]),
            f"enum {{ {big}_NEW_PLAN, {big}_OLD_PLAN, {big}_BRAKING }};\n",
            c_comment([f"What the functions {p}_set_... return: 0, or why nothing has changed."]),
            *self._enumeration([(name, code, text) for name, (code, text) in REFUSALS.items()]),
            f"typedef struct {p}_controller {p}_controller;\n",
            c_comment(["Of the last step; NaN where no solver ran."]),
            "typedef struct {",
            *(f"  double {name}; /* {text} */" for name, text in STATISTICS.items()),
            f"}} {p}_statistics;\n",
            *self._functions(),
            "/* ---- Numbers that change at run time -------------------------------------------------- */\n",
        ]
        for setter in setters:
            lines += [c_comment([setter.meaning]), c_declaration(f"{setter.prototype.format(p)};")]
        return c_header(p, self._about(), lines, "#include <stddef.h>\n")

    def _about(self) -> list[str]:
        structure, robot, p = self.structure, self.structure.robot, self.prefix
        what = "an ODE" if robot is None else f"robot {c_text(robot.name)}"
        lines = [
            f"Model predictive control of {what}: {structure.intervals} intervals, "
            f"a step every {self.loop.setting('period'):g} s.",
            "",
            "C99 with libm and a clock of POSIX (elsewhere compile with -DHELICOID_NOW=seconds and give a"
            f" function `double seconds(void)`). Nothing is allocated: {p}_init takes memory of yours. Each"
            " controller has its own; one belongs to one thread at a time. SI units, radians.",
        ]
        if robot is not None:
            lines += ["", "q, coordinates (rad, m): " + self._coordinates()]
            names = ", ".join(map(c_text, robot.model.velocity_names))
            lines += [f"v (rad/s, m/s) and tau (N m, N): {names}"]
        else:
            lines += ["", "x: " + ", ".join(map(c_text, structure.system.state_names))]
        return lines

    def _coordinates(self) -> str:
        robot = self.structure.robot
        assert robot is not None
        names = []
        for joint in robot.joint_names:
            part = robot.index(joint)[0]
            count = part.stop - part.start
            names += [c_text(joint)] if count == 1 else [f"{c_text(joint)} ({count})"]
        text = ", ".join(names)
        return f"{text} (quaternions are w, x, y, z)" if robot.nq != robot.nv else text

    def _sizes(self) -> list[str]:
        one, big = self.structure, self.big
        robot = one.robot
        sizes = {
            "MEMORY": (self.bytes + 64, "bytes that init needs"),
            "NODES": (one.intervals + 1, "nodes of the plan"),
            "STATE_SIZE": (one.system.x.numel(), "coordinates of a node's state"),
            "CONTROL_SIZE": (one.system.nu, "controls of a node"),
            "TORQUE_SIZE": (self.n_torques, "numbers that are applied"),
        }
        if robot is None:
            sizes["X_SIZE"] = one.n_measured, "measured state"
        else:
            sizes |= {"Q_SIZE": (robot.nq, "coordinates"), "V_SIZE": (robot.nv, "velocities")}
        period = f"#define {big}_PERIOD {self.loop.setting('period')!r} /* s, between steps */\n"
        return [*(f"#define {big}_{name} {n} /* {text} */" for name, (n, text) in sizes.items()), period]

    def _enumeration(self, rows: Sequence[tuple[str, int, str]]) -> list[str]:
        body = [
            f"  {self.big}_{name} = {code}, /* {text.format(p=self.prefix)} */" for name, code, text in rows
        ]
        body[-1] = body[-1].replace(", /*", "  /*", 1)
        return ["enum {", *body, "};\n"]

    def _functions(self) -> list[str]:
        p, one = self.prefix, f"{self.prefix}_controller *controller"
        functions = {
            f"{p}_controller *{p}_init(void *memory, size_t bytes)": [
                f"A controller that has not started, in memory of at least {self.big}_MEMORY bytes, which"
                " need not be aligned and must live as long. It begins with the numbers that the controller"
                " had in Python. NULL if there is too little."
            ],
            f"int {p}_start({one}, {self.measured})": [
                "Solve from scratch for a state, before the loop begins; it may take far longer than a step."
                " The first step does it by itself."
            ],
            f"void {p}_prepare({one})": [
                "What can be done before the measurement: moves the plan on by a period and linearises."
                " Call it as soon as the step before is done; feedback does it where it was not."
            ],
            f"int {p}_feedback({one}, {self.measured}, {self.applied})": [
                "Once in a period: from the measured state to what is to be applied. Returns one of"
                f" {self.big}_OK, ... Never fails: without a new plan it applies the last good one, and"
                " when that is used up brakes under gravity compensation. Before the first plan a state of no"
                " use gives zeros."
            ],
            f"int {p}_ok(const {one})": [
                "1 if the plan of the last step is new and meets the constraints to 1 %."
            ],
            f"int {p}_status(const {one})": ["What the last step returned."],
            f"int {p}_applied(const {one})": [f"What the last step applied: {self.big}_NEW_PLAN, ..."],
            f"const char *{p}_status_text(int status)": ["A status in words."],
            f"const char *{p}_missed(const {one}, double *amount, int *node)": [
                "The hard constraint that the plan exceeds most, by its name, by how much in its own unit and"
                " at which node; NULL if the plan exceeds none by more than 1 %. amount and node may be NULL."
            ],
            f"void {p}_get_statistics(const {one}, {p}_statistics *statistics)": [
                "Figures of the last step."
            ],
            f"const double *{p}_plan_states(const {one})": [
                f"The plan: {self.big}_NODES rows of {self.big}_STATE_SIZE, the first of now (after"
                " prepare, of the step to come)."
            ],
            f"const double *{p}_plan_controls(const {one})": [
                f"Its controls: {self.big}_NODES - 1 rows of {self.big}_CONTROL_SIZE."
            ],
        }
        missing, robot = self.structure.system.disturbance.numel(), self.structure.robot
        if missing:
            missing = missing if robot is None else robot.nv  # what is known of dry friction follows
            rate = "rate of the state" if self.structure.carried is None else "acceleration"
            what = "torque" if self.structure.system.disturbed is None else rate
            functions[f"const double *{p}_disturbance(const {one})"] = [
                f"The {what} ({missing}) that the model does not explain, as the last step found it: there is"
                " that of the model, and this. The next plan counts with it; start sets it to zero."
            ]
        lines = []
        for prototype, text in functions.items():
            lines += [c_comment(text), c_declaration(f"{prototype};") + "\n"]
        return lines
