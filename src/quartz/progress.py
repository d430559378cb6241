"""Progress bars: how far the gap has fallen in its logarithm, or how many runs are done."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

import numpy as np


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


def _tqdm(**options: object) -> AbstractContextManager[_Bar]:
    try:
        from tqdm.auto import tqdm
    except ImportError as error:
        raise ImportError("A progress bar needs tqdm: pip install tqdm.") from error
    return tqdm(**options)
