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

Part = TypeVar("Part")
Outcome = TypeVar("Outcome")

WORTH = 3e6  # numbers that are multiplied in all parts, from which threads pay


class _Setting(threading.local):
    """How many threads this thread may use for parts; 0 if nothing was said."""

    threads = 0


_setting = _Setting()


@contextmanager
def several_threads(count: int | None) -> Iterator[None]:
    """Use so many threads for parts inside, and one of BLAS; None is as many as BLAS has now.

    Inside of another context nothing changes.
    """
    if _setting.threads:
        yield
        return
    libraries = _blas()
    before = [library.get_num_threads() for library in libraries]
    allowed = max(before, default=1) if count is None else count
    _setting.threads = max(1, allowed)
    changed = [pair for pair in zip(libraries, before, strict=True) if pair[1] not in (1, None)]
    try:
        for library, _ in changed:
            library.set_num_threads(1)
        yield
    finally:
        for library, number in changed:
            library.set_num_threads(number)
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

    others = [_pool(os.getpid(), threads - 1).submit(run, share) for share in shares[1:]]
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
