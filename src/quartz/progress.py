"""Progress bars: how far the gap has fallen in its logarithm, or how many runs are done.

They are those of tqdm. Where that is not installed, there are plain lines in their place.
"""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from threading import Lock
from typing import Any, Protocol

import numpy as np

SECONDS_PER_LINE = 2.0  # between two lines, without tqdm


@contextmanager
def progress_bar() -> Iterator[Callable[[float, float, float], None]]:
    """Yield a function of the relative gap, the relative gap to reach, and the passes so far."""
    first: list[float] = []
    form = "{desc} |{bar}| {percentage:3.0f}% of the way, {elapsed}"
    with _tqdm(total=1.0, bar_format=form) as bar:

        def show(gap: float, target: float, passes: float) -> None:
            if not first and 0 < gap < np.inf:
                first.append(gap)
            if first and gap > 0 and first[0] > target > 0:
                done = np.log(first[0] / gap) / np.log(first[0] / target)
                bar.n = min(max(done, bar.n), 1.0)
            elif gap <= target:
                bar.n = 1.0
            bar.set_description_str(f"pass {passes:6.1f}  relative gap {gap:.1e}")

        yield show


@contextmanager
def counting_bar(shown: bool, total: int) -> Iterator[Callable[[], None]]:
    """Yield a function to call, from any thread, when one of `total` runs is done."""
    if not shown:
        yield lambda: None
        return
    with _tqdm(total=total, unit="run") as bar:
        yield lambda: bar.update()


class _Bar(Protocol):
    """What is used of tqdm's bars."""

    n: float

    def update(self) -> None: ...

    def set_description_str(self, text: str) -> None: ...


class _Lines:
    """A line on stderr now and then, where tqdm is not installed; used like one of its bars."""

    def __init__(self, total: float, unit: str = "", bar_format: str = "") -> None:
        self.n, self._total, self._unit = 0.0, total, unit
        self._lock = Lock()  # runs are counted from several threads
        self._latest = ""
        self._next = time.monotonic() + SECONDS_PER_LINE

    def __enter__(self) -> "_Lines":
        return self

    def __exit__(self, *_: object) -> None:
        """Print what came last, unless that is printed already."""
        with self._lock:
            self._print()

    def update(self) -> None:
        with self._lock:
            self.n += 1
            self._show(f"{self.n:.0f} of {self._total:.0f} {self._unit}s")

    def set_description_str(self, text: str) -> None:
        with self._lock:
            self._show(text)

    def _show(self, text: str) -> None:
        self._latest = text
        if time.monotonic() >= self._next:
            self._print()

    def _print(self) -> None:
        if self._latest:
            print(self._latest, file=sys.stderr, flush=True)
        self._latest, self._next = "", time.monotonic() + SECONDS_PER_LINE


def _tqdm(**options: Any) -> AbstractContextManager[_Bar]:
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return _Lines(**options)
    bar: AbstractContextManager[_Bar] = tqdm(**options)
    return bar
