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
