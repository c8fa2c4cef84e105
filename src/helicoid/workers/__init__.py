"""Executors of independent work items: in this process, on a process pool, or on a dask cluster."""

from helicoid.workers.contract import Executor, Failure, Work, WorkerError, WorkResult
from helicoid.workers.executor import executor
from helicoid.workers.here import Here
from helicoid.workers.processes import Processes

__all__ = ["Executor", "Failure", "Here", "Processes", "Work", "WorkResult", "WorkerError", "executor"]
