"""Many runs and many logs: studies over random cases, on all cores or many machines."""

from helicoid.deprecation import warn_renamed
from helicoid.study.cases import Case, Cases
from helicoid.study.distributions import Distribution, choice, log_uniform, normal, uniform
from helicoid.study.loops.closed_loop import closed_loop
from helicoid.study.loops.measures import Loops, usual_measures
from helicoid.study.results.folder import StudyError, StudyWarning
from helicoid.study.results.table import Row, StudyTable, read
from helicoid.study.study import Replay, Study

__all__ = [
    "Case",
    "Cases",
    "Distribution",
    "Loops",
    "Replay",
    "Row",
    "Study",
    "StudyError",
    "StudyTable",
    "StudyWarning",
    "choice",
    "closed_loop",
    "log_uniform",
    "normal",
    "read",
    "uniform",
    "usual_measures",
]


def __getattr__(name: str) -> object:
    if name != "Table":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    warn_renamed("hc.study.Table", "hc.study.StudyTable")
    return StudyTable
