"""Several runs at once, in threads that share the data: the kernels release the GIL."""

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from numbers import Integral
from threading import Event
from typing import TypeVar

from joblib import effective_n_jobs
from sklearn import config_context, get_config
from threadpoolctl import threadpool_limits

from quartz.progress import counting_bar
from quartz.run.interruption import is_raised

T = TypeVar("T")


def threads(n_jobs: int | None) -> int:
    """The number of threads that `n_jobs` means, by joblib's rules."""
    return int(effective_n_jobs(checked_jobs(n_jobs)))


def checked_jobs(n_jobs: int | None) -> int | None:
    """Return `n_jobs` if it means a number of threads."""
    if n_jobs == 0 or not isinstance(n_jobs, Integral | None):
        raise ValueError(
            f"n_jobs must be a number of threads, -1 for all cores, or None, got {n_jobs!r}."
        )
    return n_jobs


def in_threads(
    tasks: Sequence[Callable[[], T]], n_jobs: int | None, stop: Event, shown: bool = False
) -> list[T]:
    """Return what the tasks return, in their order.

    Ctrl-C sets `stop`, which the tasks must respect, and waits until they have ended. Therefore
    even a single task runs in a thread of its own: the main thread only waits, and an interruption
    between two runs of a task loses nothing. A second Ctrl-C soon after the first one raises
    KeyboardInterrupt, with what the tasks returned as its attribute `results`.

    Each task has one BLAS thread, because more of them change the rounding of sums, and results
    must be the same for all `n_jobs`.

    Parameters
    ----------
    tasks : sequence of callables
    n_jobs : int or None
        Number of threads, by joblib's rules.
    stop : threading.Event
        Set after Ctrl-C, and after an exception in one of the tasks, which is then raised.
    shown : bool
        Whether to show a progress bar that counts tasks.
    """
    jobs, config = min(threads(n_jobs), len(tasks)), get_config()
    with threadpool_limits(1), counting_bar(shown, len(tasks)) as count:

        def run(task: Callable[[], T]) -> T:
            with config_context(**config):  # scikit-learn's configuration is local to a thread
                result = task()
            count()
            return result

        with ThreadPoolExecutor(jobs) as pool:
            futures: list[Future[T]] = []
            interrupts: list[KeyboardInterrupt] = []
            try:
                futures.extend(pool.submit(run, task) for task in tasks)
                if wait(futures, return_when=FIRST_EXCEPTION).not_done:
                    stop.set()  # after an exception the other runs need not go on
            except KeyboardInterrupt as interrupt:
                interrupts.append(interrupt)
            results = _gathered(futures, stop, interrupts)
            if len(results) < len(tasks):  # it came before all tasks were there
                raise interrupts[0]
            if len(interrupts) > 1 or (interrupts and is_raised("return")):
                interrupts[-1].results = results  # type: ignore[attr-defined]
                raise interrupts[-1]
            return results


def _gathered(
    futures: list[Future[T]], stop: Event, interrupts: list[KeyboardInterrupt]
) -> list[T]:
    """What the tasks return, however often Ctrl-C is pressed while they end."""
    while True:
        if interrupts:
            stop.set()
        try:
            return [future.result() for future in futures]
        except KeyboardInterrupt as interrupt:
            interrupts.append(interrupt)
