"""Timing of single functions."""

import time


def best_of(function, repeats=7):
    """Seconds of the fastest of several calls."""
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        function()
        times.append(time.perf_counter() - began)
    return min(times)


def in_turn(runs, repeats):
    """Name -> seconds of the fastest call, the functions being called one after another."""
    times = {name: [] for name in runs}
    for _ in range(repeats):
        for name, run in runs.items():
            times[name].append(best_of(run, 1))
    return {name: min(seconds) for name, seconds in times.items()}
