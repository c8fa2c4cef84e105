"""Work in many processes: here, on a pool of this machine, or on a dask cluster; knows nothing of robots."""

from helicoid.workers.contract import Engine, Failure, Outcome, Work, WorkerError
from helicoid.workers.engine import engine
from helicoid.workers.here import Here
from helicoid.workers.processes import Processes

__all__ = ["Engine", "Failure", "Here", "Outcome", "Processes", "Work", "WorkerError", "engine"]
