"""Plans, the solutions of problems: between nodes, in files and as plots."""

from helicoid.mpc.plan.plan import Plan, PlanSample, Violation, as_numbers

__all__ = ["Plan", "PlanSample", "Violation", "as_numbers"]
