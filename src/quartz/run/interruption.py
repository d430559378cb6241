"""Ctrl-C: the first one ends a run and returns its best pair, a second one soon after it raises.

Otherwise a loop of many runs could not be left: each Ctrl-C would end one run, and the loop would
go on with the next.
"""

import time
from typing import Literal

OnInterrupt = Literal["return", "raise"]

SOON = 1.5  # seconds after a run has returned from one Ctrl-C in which another one raises

_returned = -float("inf")  # when a run last returned from a Ctrl-C


def is_raised(on_interrupt: OnInterrupt) -> bool:
    """Whether a Ctrl-C that has just ended a run is to be raised, and not only reported."""
    global _returned
    now = time.monotonic()
    if on_interrupt == "raise" or now - _returned < SOON:
        return True
    _returned = now
    return False
