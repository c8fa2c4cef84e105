"""What solving a problem gives: a motion and how good it is, at any time, in files and pictures."""

from helicoid.mpc.plan.plan import Moment, Plan, Violation, as_numbers

__all__ = ["Moment", "Plan", "Violation", "as_numbers"]
