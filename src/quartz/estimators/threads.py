"""Several runs at once, in threads that share the data: the kernels release the GIL."""

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from numbers import Integral
from signal import SIGINT
from threading import Event
from typing import TypeVar

from joblib import cpu_count, effective_n_jobs
from sklearn import config_context, get_config

from quartz.parallel import one_blas_thread
from quartz.progress import counting_bar
from quartz.run.interruption import is_raised
from quartz.signals import deferred_interrupts

T = TypeVar("T")

AT_MOST = 0.2  # seconds until the main thread sees a Ctrl-C


def threads(n_jobs: int | None) -> int:
    """The number of threads that `n_jobs` means, by joblib's rules.

    joblib itself thinks of processes, of which children may have none.
    """
    jobs = checked_jobs(n_jobs)
    if jobs is None:
        return int(effective_n_jobs(None))
    return int(jobs) if jobs > 0 else max(1, cpu_count() + 1 + int(jobs))


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

    Ctrl-C sets `stop`, which the tasks must respect, and nothing else until they have ended.
    Therefore even a single task runs in a thread of its own: the main thread only waits, and an
    interruption between two runs of a task loses nothing. A second Ctrl-C soon after the first one
    raises KeyboardInterrupt, with what the tasks returned as its attribute `results`.

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
    results: list[T] | None = None
    try:
        with deferred_interrupts(stop.set) as presses:
            results = _results(tasks, min(threads(n_jobs), len(tasks)), stop, shown, presses)
            if len(presses) > 1 or (presses and is_raised("return")):
                raise _interrupt(results)
    except KeyboardInterrupt as interrupt:
        if results is None or hasattr(interrupt, "results"):
            raise
        if is_raised("return"):  # it came just when interruptions were no longer kept for later
            raise _interrupt(results) from None
    return results


def _interrupt(results: list[T]) -> KeyboardInterrupt:
    """What a second Ctrl-C raises."""
    interrupt = KeyboardInterrupt()
    interrupt.results = results  # type: ignore[attr-defined]
    return interrupt


def _results(
    tasks: Sequence[Callable[[], T]], jobs: int, stop: Event, shown: bool, presses: list[int]
) -> list[T]:
    """Run the tasks, while interruptions are kept in `presses`."""
    config = get_config()
    with one_blas_thread(), counting_bar(shown, len(tasks)) as count:

        def run(task: Callable[[], T]) -> T:
            with config_context(**config):  # scikit-learn's configuration is local to a thread
                result = task()
            count()
            return result

        with ThreadPoolExecutor(jobs) as pool:
            futures: list[Future[T]] = []
            try:
                futures.extend(pool.submit(run, task) for task in tasks)
                _wait(futures)
            except KeyboardInterrupt:  # by a handler of the user
                stop.set()
                presses.append(SIGINT)
                if len(futures) < len(tasks):
                    raise
            except BaseException:
                stop.set()  # the other runs need not go on
                raise
            return [future.result() for future in futures]


def _wait(futures: Sequence[Future[T]]) -> None:
    """Wait for all; an exception of one is raised.

    It looks up now and then: a signal that another thread was given does not wake this one.
    """
    waiting = set(futures)
    while waiting:
        done, waiting = wait(waiting, timeout=AT_MOST, return_when=FIRST_EXCEPTION)
        for future in done:
            future.result()
