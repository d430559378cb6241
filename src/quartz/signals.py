"""Ctrl-C kept for later, where an interruption would break something or lose it."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def deferred_interrupts(
    pressed: Callable[[], object] = lambda: None, patience: int = 2
) -> Iterator[list[int]]:
    """Yield a list to which every Ctrl-C inside is added, in place of a KeyboardInterrupt.

    It does nothing in other threads, which get no signals, and where a user has a handler of his
    own. After `patience` times Ctrl-C raises at once.

    Parameters
    ----------
    pressed : callable
        Called at every Ctrl-C.
    patience : int
    """
    presses: list[int] = []
    in_main = threading.current_thread() is threading.main_thread()
    if not in_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield presses
        return

    def keep(number: int, frame: FrameType | None) -> None:
        presses.append(number)
        pressed()
        if len(presses) > patience:
            raise KeyboardInterrupt

    signal.signal(signal.SIGINT, keep)
    try:
        yield presses
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
