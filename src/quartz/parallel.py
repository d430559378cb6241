"""Parts of long arrays in several threads, with the same results for any number of them.

BLAS's own threads wait for one another in every product; for tables of few columns that takes
longer than the products. Here each thread has whole parts of the rows, and BLAS one thread. The
parts depend on the data alone, and what they give is put together in their order: one thread or
several make no difference to any digit. NumPy and BLAS let other threads run meanwhile.
"""

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from itertools import pairwise
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

from quartz.arrays import as_quiet

Part = TypeVar("Part")
Outcome = TypeVar("Outcome")

WORTH = 3e6  # numbers that are multiplied in all parts, from which threads pay


class _Setting(threading.local):
    """How many threads this thread may use for parts; 0 if nothing was said."""

    threads = 0


class _Limit:
    """Who has limited BLAS, and what is to be restored when nobody does any more."""

    def __init__(self) -> None:
        self.lock, self.users = threading.Lock(), 0
        self.before: list[tuple[Any, int]] = []


_setting, _limit = _Setting(), _Limit()


@contextmanager
def one_blas_thread() -> Iterator[int]:
    """One thread of BLAS inside; yields how many it had.

    Most libraries of BLAS have one setting for the whole process. It is restored when the last of
    several runs that overlap has ended, in whatever thread that is.
    """
    own: list[tuple[Any, int]] = []
    entered = False
    try:
        with _limit.lock:
            numbers = [(library, library.get_num_threads() or 1) for library in _blas()]
            limited = [pair for pair in numbers if pair[1] > 1]
            own += [pair for pair in limited if _is_local(pair[0])]
            if not _limit.users:
                _limit.before = [pair for pair in limited if not _is_local(pair[0])]
            _limit.users += 1
            entered = True
            for library, _ in limited:
                _set(library, 1)
        yield max((number for _, number in numbers), default=1)
    finally:
        with _limit.lock:
            _limit.users -= entered
            if not _limit.users:
                own += _limit.before
                _limit.before = []
            for library, number in own:
                _set(library, number)


@contextmanager
def several_threads(count: int | None) -> Iterator[None]:
    """Use so many threads for parts inside, and one of BLAS; None is as many as BLAS has now.

    Inside of another context nothing changes.
    """
    if _setting.threads:
        yield
        return
    with one_blas_thread() as before:
        _setting.threads = max(1, before if count is None else count)
        try:
            yield
        finally:
            _setting.threads = 0


def in_parts(
    function: Callable[[Part], Outcome], parts: Sequence[Part], numbers: float
) -> list[Outcome]:
    """What the function returns for the parts, in their order; `numbers` says how much work it is.

    The function must not write where another part does.
    """
    threads = min(_setting.threads, len(parts))
    if threads <= 1 or numbers < WORTH:
        return [function(part) for part in parts]
    ends = [len(parts) * k // threads for k in range(threads + 1)]
    shares = [parts[start:end] for start, end in pairwise(ends)]

    def run(share: Sequence[Part]) -> list[Outcome]:
        return [function(part) for part in share]

    there = as_quiet(run)
    others = [_pool(os.getpid(), threads - 1).submit(there, share) for share in shares[1:]]
    found = run(shares[0])
    for other in others:
        found += other.result()
    return found


def rows_in_parts(rows: int, together: int) -> list[slice]:
    """Slices of so many rows, one after another."""
    return [slice(start, start + together) for start in range(0, rows, together)]


@cache
def _pool(process: int, workers: int) -> ThreadPoolExecutor:
    """Threads that wait for work; a forked process has its own."""
    return ThreadPoolExecutor(workers, thread_name_prefix="quartz")


@cache
def _blas() -> list[Any]:
    """The libraries of BLAS that are loaded."""
    return [lib for lib in ThreadpoolController().lib_controllers if lib.user_api == "blas"]


def _is_local(library: Any) -> bool:
    """Whether each thread of the process has a setting of its own."""
    return getattr(library, "threading_layer", "") == "openmp"


def _set(library: Any, number: int) -> None:
    """Let the library have so many threads; other threads of the process may change it again."""
    library.set_num_threads(number)
    clear = getattr(library, "clear_controlling_thread", None)
    if clear is not None:  # otherwise newer versions leave the control to the first thread
        clear()
