"""Runs with a SIGINT at moments that have a name, each in a process of its own.

`python -m programs.moments`; prints what became of each run, and of another one after it.
"""

import signal
import sys
from functools import partial

from programs.runs import Fit, forget, in_a_fork, listen, outcome, report, runs

# Where: file and function, and there the number of the call, or of the line if there is a second
# number. `ending` runs are those that end by themselves.
COLD = {
    "import": ("solve", "numba/core/types/__init__.py", "<module>"),
    "load": ("solve", "numba/core/caching.py", "load_overload"),
    "link": ("solve", "llvmlite/binding/executionengine.py", "_raw_object_cache_getbuffer"),
}
WARM = {
    "steps": ("solve", "methods/automatic.py", "steps"),
    "start": ("solve", "run/start.py", "state"),
    "first certificate": ("solve", "quartz/certificate.py", "certify"),
    "certificate": ("solve", "quartz/certificate.py", "certify", 2),
    "epoch": ("solve", "methods/permuted.py", "run", 2),
    "row of the trace": ("solve", "run/result.py", "record", 2),
    "first row of the trace": ("solve", "run/result.py", "record", 1, 2),
    "result": ("ending", "run/record.py", "result"),
    "message": ("ending", "run/result.py", "describe"),
    "BLAS": ("fit", "threadpoolctl.py", "_load_libraries"),
    "first thread": ("fit", "concurrent/futures/thread.py", "submit", 1),
    "last thread": ("fit", "concurrent/futures/thread.py", "submit", 3),
    "waiting": ("fit", "concurrent/futures/_base.py", "wait"),
    "pool": ("ending fit", "concurrent/futures/thread.py", "shutdown"),
    "BLAS again": ("ending fit", "threadpoolctl.py", "restore_original_limits"),
    "attributes": ("ending fit", "estimators/base.py", "_keep"),
}
LIMIT = 4.0  # seconds that a run takes if the interruption is lost


def main():
    listen()
    choices = {"solve": next(runs("solve")), "fit": Fit(2)}
    report("ready")
    for name, moment in COLD.items():
        report({"moment": name} | in_a_fork(partial(_round, choices, *moment)))
    for run in choices.values():
        run(max_seconds=0.2)
    for name, moment in WARM.items():
        report({"moment": name} | in_a_fork(partial(_round, choices, *moment)))


def _round(choices, kind, file, function, call=1, line=0):
    run = choices["fit" if kind.endswith("fit") else "solve"]
    limits = {"max_seconds": LIMIT} | ({"max_passes": 3} if kind.startswith("ending") else {})
    place = _Place(file, function, call, line)
    found = outcome(run, place.watch, **limits)
    sys.settrace(None)
    forget()
    afterwards = outcome(run, max_seconds=0.0)
    return found | {"reached": place.reached, "afterwards": afterwards}


class _Place:
    """A line of a function, the first being 0; when it is reached, there is a SIGINT."""

    def __init__(self, file, function, call, line):
        self._code, self._left, self._line = (file, function), call, line
        self.reached = False

    def watch(self):
        sys.settrace(self._called)

    def _called(self, frame, event, argument):
        file, function = self._code
        code = frame.f_code
        if code.co_name != function or not code.co_filename.endswith(file):
            return None
        self._left -= 1
        if self._left:
            return None
        if self._line:
            return self._moved
        return self._interrupt()

    def _moved(self, frame, event, argument):
        if event == "line":
            self._line -= 1
            if not self._line:
                self._interrupt()
        return self._moved

    def _interrupt(self):
        sys.settrace(None)
        self.reached = True
        signal.raise_signal(signal.SIGINT)


if __name__ == "__main__":
    main()
