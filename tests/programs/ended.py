"""Runs that a signal or too little memory ends; `python -m programs.ended function [argument]`.

Each prints "ready" when the problem exists, and in the end what the exception carried.
"""

import mmap
import resource
import signal
import sys
import threading
import time
from contextlib import suppress

import numpy as np

from programs.runs import ENDLESS, Fit, Solve, listen, matrix, outcome, report, runs
from quartz import Problem, losses, methods, samplings, solve
from quartz.methods.newton import method

SECONDS = 60.0  # after which a run ends that nothing else ended


def problem(n=400, features=40, lam=1e-6):
    return Problem(*matrix(n, features), losses.Logistic(), lam)


# Signals


def loop():
    """A loop of runs, each of which would return after an interruption."""
    listen()
    task = problem()
    solve(task, max_passes=3)
    report("ready")
    try:
        while True:
            found = solve(task, **ENDLESS, max_seconds=SECONDS)
            report({"status": found.status.value, "gap": found.certificate.gap})
    except KeyboardInterrupt as error:
        report({"status": error.result.status.value, "gap": error.result.certificate.gap})
        raise


def raising():
    """A run that raises after an interruption."""
    listen()
    run = Solve(problem(), max_seconds=SECONDS, on_interrupt="raise")
    run(max_passes=3)
    report("ready")
    report(outcome(run))


def elsewhere(kind):
    """The system gives the signal to another thread than the main one, which only waits."""
    listen()
    run = next(runs(kind))
    run(max_seconds=0.2)
    report("ready")

    def send():
        time.sleep(0.3)
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)

    report(outcome(run, threading.Thread(target=send).start))


def long_kernels():
    """Hundreds of epochs in each call of a kernel."""
    run = Solve(problem(4000, 100), samplings.Importance(), max_seconds=SECONDS)
    run(max_passes=0.01)
    report("ready")
    report(outcome(run, passes_per_check=1e4))


class EndedError(Exception):
    """What a user's handler raises."""


def handled():
    """Handlers that exit, or have an exception of their own."""
    run = Solve(problem(), max_seconds=SECONDS)
    run(max_passes=3)
    for error in (SystemExit(7), EndedError("by SIGTERM")):
        _handled(error, run)


def handled_fit():
    """A handler that exits while runs go on in threads."""
    run = Fit(2, max_seconds=15.0)
    run(max_passes=3)
    _handled(SystemExit(7), run)


def _handled(error, run):
    def handler(number, frame):
        raise error

    signal.signal(signal.SIGTERM, handler)
    report("ready")
    report(outcome(run))


# Memory


def memory():
    """Allocations that fail at certain places, and at others."""
    report("ready")
    Solve(problem(500, 300), methods.Newton())(max_passes=20)  # OpenBLAS exits if its first fails
    calls = []

    def callback(state, certificate):
        calls.append(certificate)
        if len(calls) == 3:
            calls.append(np.ones(2**27))

    greedy = Solve(problem(), callback=callback, passes_per_check=1)
    method.DEAR = np.inf  # so that a matrix is formed however dear it is
    newton = Solve(problem(500, 3000), methods.Newton())
    for name, run, room in (
        ("callback", greedy, 2**28),
        ("no d x d matrix", newton, 2**25),
        ("no second d x d matrix", newton, int(1.5 * 8 * 3000**2)),
    ):
        run(max_passes=0)
        calls.clear()
        _starved(name, run, room)
    for name, run in {
        "automatic": Solve(problem(30_000, 200)),
        "sampling": Solve(problem(30_000, 200), samplings.Nice(8)),
        "intercept": Solve(Problem(*matrix(30_000, 20), losses.Logistic(), 1e-6, intercept="free")),
        "newton": Solve(problem(2000, 500), methods.Newton()),
    }.items():
        run(max_seconds=0.2, max_passes=10)
        for room in (2**24, 2**22, 2**21, 2**20, 2**18, 2**16, 0):
            _starved(name, run, room, max_seconds=0.3, max_passes=10)


def _starved(name, run, room, **limits):
    memory = _Memory(room)
    report({"name": name, "room": room} | outcome(run, memory.limit, memory.free, **limits))


class _Memory:
    """All memory in use, except for so many bytes."""

    def __init__(self, room):
        self._room, self._hoard = room, []
        self._before = resource.getrlimit(resource.RLIMIT_AS)

    def limit(self):
        with open("/proc/self/statm") as file:
            used = int(file.read().split()[0]) * resource.getpagesize()
        room = mmap.mmap(-1, max(self._room, 1))
        resource.setrlimit(resource.RLIMIT_AS, (used + self._room + 2**20, self._before[1]))
        for size in 2 ** np.arange(20, 9, -1):  # what was freed before is not given back
            with suppress(MemoryError):
                while True:
                    self._hoard.append(bytearray(size))
        room.close()

    def free(self):
        resource.setrlimit(resource.RLIMIT_AS, self._before)
        self._hoard.clear()


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
