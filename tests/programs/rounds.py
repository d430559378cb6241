"""Many runs in one process, each with a SIGINT at a random moment.

`python -m programs.rounds kind rounds seed [ending]`; each round prints what became of the run. A
run that ends by itself (`ending`) is interrupted about then.
"""

import os
import signal
import sys

import numpy as np

from programs.runs import forget, listen, outcome, report, runs


def main(kind, rounds, seed, ending=""):
    listen()
    signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), signal.SIGINT))
    rng, choices = np.random.default_rng(int(seed)), list(runs(kind))
    limits = {"max_passes": 30} if ending else {}
    report("ready")
    for run in choices:
        run(max_seconds=0.2)  # kernels are compiled, or loaded
    usual = [outcome(run, **limits)["seconds"] if ending else 0.0 for run in choices]
    counted = 0
    for k in range(4 * int(rounds)):
        run = choices[k % len(choices)]
        delay = rng.uniform(0.0, 1.2 * usual[k % len(choices)]) if ending else _delay(rng)
        found = {"delay": delay, "run": k % len(choices)} | _interrupted(run, delay, limits)
        report(found)
        counted += found.get("begun", True)
        lost = found.get("begun", False) or found.get("status") == "time limit"
        if counted == int(rounds) or (lost and not ending):
            break


def _delay(rng):
    """Seconds: mostly within the set-up or soon after it, some longer."""
    kind = rng.random()
    if kind < 0.4:
        return float(10 ** rng.uniform(-4.3, -1.2))
    return float(rng.uniform(0.0, 0.06) if kind < 0.8 else rng.uniform(0.06, 0.3))


def _interrupted(run, delay, limits):
    forget()
    try:
        found = outcome(run, lambda: signal.setitimer(signal.ITIMER_REAL, delay), **limits)
        signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt:
        return {"raised": "KeyboardInterrupt", "begun": False}  # here, after the run
    return found


if __name__ == "__main__":
    main(*sys.argv[1:])
