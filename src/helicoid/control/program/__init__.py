"""Controllers that solve quadratic programs: settable numbers, levels of tasks, compiled step, export."""
