"""A fresh process for each run, with a SIGINT at a random moment of its first second or two.

`python -m programs.cold kind rounds seed`; this is where Numba is imported, and kernels are loaded
from the cache. Each round prints what became of the run, and of another one after it.
"""

import os
import signal
import sys
import time
from functools import partial

import numpy as np

from programs.runs import forget, in_a_fork, listen, outcome, report, runs


def main(kind, rounds, seed):
    listen()
    rng, run = np.random.default_rng(int(seed)), next(runs(kind))
    report("ready")
    for _ in range(int(rounds)):
        delay = float(rng.uniform(0.0, 1.5))
        report({"delay": delay} | in_a_fork(partial(_round, run, delay)))


def _round(run, delay):
    def begin():
        """Have a process of its own send the signal."""
        process = os.getpid()
        if not os.fork():
            time.sleep(delay)
            if os.getppid() == process:
                os.kill(process, signal.SIGINT)
            os._exit(0)

    found = outcome(run, begin)
    forget()
    afterwards = outcome(run, max_seconds=0.0)
    return found | {"afterwards": afterwards}


if __name__ == "__main__":
    main(*sys.argv[1:])
