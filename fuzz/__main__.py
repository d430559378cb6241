"""python -m fuzz [--seconds S] [--seed N] [--state FILE] [--only SEED:COMBINATION:CASE] ..."""

import argparse
import itertools
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # the workers are the parallelism

try:
    from fuzz import draw
    from fuzz.report import Findings, Tally
    from fuzz.run import run
    from fuzz.workers import Task, reports
except ImportError as error:
    sys.exit(f"{error}. The fuzz harness needs more packages: pip install -e '.[fuzz]'.")

QUICK_SECONDS = 60.0
SAVE_EVERY = 10.0  # seconds


def main(arguments: list[str] | None = None) -> int:
    """Fuzz for some time; returns 1 if a law was broken."""
    options = _parser().parse_args(arguments)
    if options.only is not None:
        return _one(*map(int, options.only.split(":")))
    tally = Tally() if options.state is None else Tally.load(options.state, options.seed)
    findings, began = Findings(options.failures), time.time()
    until = began + (options.seconds or (QUICK_SECONDS if options.quick else 600.0))
    tasks = _tasks(options.seed, tally, until, options.quick)
    line, saved = _Line(), began
    try:
        for report in reports(tasks, options.processes, until):
            tally.seconds += report.seconds
            tally.compiling += report.compiling
            if report.finished is not None:
                tally.finished.append(report.finished)
            if report.outcome is not None:
                tally.add(report.outcome)
                line.print(findings.add(report.outcome))
            line.show(tally.progress(time.time() - began))
            if options.state is not None and time.time() - saved > SAVE_EVERY:
                tally.save(options.state, options.seed)
                saved = time.time()
    except KeyboardInterrupt:
        line.print("Interrupted.")
    if options.state is not None:
        tally.save(options.state, options.seed)
    line.print(f"{tally.summary()}\n{tally.progress(time.time() - began)}")
    if tally.failures:
        print(f"Reproducers: {options.failures}")
    return int(tally.failures > 0)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m fuzz", description="Prove that no certificate of random problems is false."
    )
    parser.add_argument("--seconds", type=float, help="by default 600, with --quick 60")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--state", type=Path, help="JSON with what is done, to go on from")
    parser.add_argument("--failures", type=Path, default=Path("build/fuzz/failures.md"))
    parser.add_argument("--quick", action="store_true", help="few kernels to compile, for CI")
    parser.add_argument("--only", metavar="SEED:COMBINATION:CASE", help="run one case again")
    return parser


def _tasks(seed: int, tally: Tally, until: float, quick: bool) -> Iterator[Task]:
    """Combinations that are not done; those that were begun go on where they ended."""
    finished = set(tally.finished)
    for number in itertools.count(draw.QUICK if quick else 0):
        if number in finished:
            continue
        yield Task(seed, number, tally.done.get(number, 0), until)


def _one(seed: int, combination: int, number: int) -> int:
    """Run one case in this process, and show everything."""
    of = draw.combination(seed, combination)
    case = draw.case(of, number)
    print(of, case.code(), sep="\n\n")
    outcome = run(of, number)
    print(f"\n{outcome.status} {outcome.refusal}")
    for violation in outcome.violations:
        print(f"\n{violation.law}: {violation.detail}")
    return int(bool(outcome.violations))


class _Line:
    """A line that is overwritten each second, with other text above it."""

    def __init__(self) -> None:
        self._shown = 0.0
        self._is_terminal = sys.stderr.isatty()
        self._interval = 1.0 if self._is_terminal else 60.0
        self._begin = "\r\033[K" if self._is_terminal else ""  # erases the line

    def show(self, text: str) -> None:
        if time.monotonic() - self._shown >= self._interval:
            self._shown = time.monotonic()
            end = "" if self._is_terminal else "\n"
            print(self._begin + text, end=end, file=sys.stderr, flush=True)

    def print(self, text: str) -> None:
        if text:
            print(self._begin + text, flush=True)


if __name__ == "__main__":
    sys.exit(main())
