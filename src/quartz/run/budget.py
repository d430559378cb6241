"""What a run may spend: passes, seconds, and the user's patience."""

import time
from threading import Event

import numpy as np

from quartz.run.result import Status


class Budget:
    """Limits of a run, which begins when this is made.

    Parameters
    ----------
    max_passes, max_seconds : float
    stop : threading.Event, optional
        Another thread may set it to end the run.
    """

    def __init__(
        self, max_passes: float = np.inf, max_seconds: float = np.inf, stop: Event | None = None
    ) -> None:
        for name, value in (("max_passes", max_passes), ("max_seconds", max_seconds)):
            if not isinstance(value, int | float) or not value >= 0:
                raise ValueError(f"{name} must be 0 or more, got {value!r}.")
        self.max_passes, self.max_seconds = max_passes, max_seconds
        self._stop = Event() if stop is None else stop
        self._began = time.perf_counter()

    @property
    def seconds(self) -> float:
        """Since the beginning."""
        return time.perf_counter() - self._began

    def interrupt(self) -> None:
        """End this run, and all others that share the event."""
        self._stop.set()

    def exhausted(self, passes: float) -> Status | None:
        """Why the run must end after so many passes, if it must."""
        if self._stop.is_set():
            return Status.INTERRUPTED
        if passes >= self.max_passes:
            return Status.PASS_LIMIT
        return Status.TIME_LIMIT if self.seconds >= self.max_seconds else None
