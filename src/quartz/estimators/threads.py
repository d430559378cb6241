"""Several runs at once, in threads that share the data: the kernels release the GIL."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from threading import Event
from typing import TypeVar

from joblib import effective_n_jobs
from threadpoolctl import threadpool_limits

T = TypeVar("T")


def in_threads(tasks: Sequence[Callable[[], T]], n_jobs: int | None, stop: Event) -> list[T]:
    """Return what the tasks return, in their order; Ctrl-C sets `stop` and lets them end."""
    jobs = min(effective_n_jobs(n_jobs), len(tasks))
    if jobs <= 1:
        return [task() for task in tasks]
    with threadpool_limits(1), ThreadPoolExecutor(jobs) as pool:
        futures = [pool.submit(task) for task in tasks]
        try:
            wait(futures)
        except KeyboardInterrupt:
            stop.set()
            wait(futures)
        return [future.result() for future in futures]
