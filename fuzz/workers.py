"""Processes that run cases, and a parent that outlives their hanging or dying.

A worker gets the number of a combination and sends the outcome of each of its cases. The parent
waits for all of them. One that has been silent for too long is ended and counts as a hang, one that
is gone counts as a crash; a new worker goes on with the case after it.
"""

import faulthandler
import multiprocessing
import signal
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from importlib import import_module
from multiprocessing.connection import Connection, wait
from typing import IO, Any

from fuzz import draw
from fuzz.check import Violation
from fuzz.run import Outcome, run

LIMIT = 120.0  # seconds for a case, compilation included
MOST_TIMES = 10  # as many cases as a combination asks for, if its kernels took long to compile
RENEWAL = 20  # combinations after which a process is replaced
MOST_LOST = 3  # cases that hang or crash, after which a combination is given up
GRACE = 20.0  # seconds after the end of a run in which workers may finish their case
CONTEXT = multiprocessing.get_context("spawn")


@dataclass(frozen=True)
class Task:
    """The cases of a combination from `first` on, until a time of `time.time()`."""

    seed: int
    combination: int
    first: int
    until: float


@dataclass(frozen=True)
class Report:
    """An outcome, or at the end of a task none.

    Attributes
    ----------
    outcome : Outcome or None
    seconds, compiling : float
        Since the last report, and in compilation among them.
    finished : int or None
        The combination of which no case is left.
    """

    outcome: Outcome | None
    seconds: float = 0.0
    compiling: float = 0.0
    finished: int | None = None


def reports(tasks: Iterator[Task], processes: int, until: float) -> Iterator[Report]:
    """Run the tasks in processes, and give what they report; ends soon after `until`."""
    workers = [_Worker() for _ in range(processes)]
    try:
        for worker in workers:
            worker.begin(next(tasks))
        while any(worker.task for worker in workers):
            ready = wait([worker.pipe for worker in workers if worker.task], timeout=1.0)
            if time.time() > until + GRACE:
                break
            for worker in workers:
                if worker.task is None:
                    continue
                report = worker.receive() if worker.pipe in ready else worker.watch()
                if report is not None:
                    yield report
                if worker.task is None and time.time() < until:
                    worker.renew()
                    worker.begin(next(tasks))
    finally:
        for worker in workers:
            worker.end()


class _Worker:
    """A process, its pipe, and what it is at."""

    def __init__(self) -> None:
        self.task: Task | None = None
        self._tasks = self._lost_cases = 0
        self._start()

    def _start(self) -> None:
        self._log = tempfile.NamedTemporaryFile("r", suffix=".traceback")  # noqa: SIM115
        self.pipe, other = CONTEXT.Pipe()
        self._process = CONTEXT.Process(target=_work, args=(other, self._log.name), daemon=True)
        self._process.start()
        other.close()

    def renew(self) -> None:
        """Begin with a new process after some tasks: compiled kernels are never freed."""
        self._tasks += 1
        if self._tasks % RENEWAL == 0:
            self.end()
            self._start()

    def begin(self, task: Task) -> None:
        """Send a task."""
        self.task, self._next, self._since = task, task.first, time.monotonic()
        self.pipe.send(task)

    def receive(self) -> Report | None:
        """What it has sent, or that it has died."""
        try:
            report: Report = self.pipe.recv()
        except (EOFError, ConnectionError):
            return self._lost("the process dies")
        self._since = time.monotonic()
        if report.outcome is None:
            self.task = None
        else:
            self._next = report.outcome.case + 1
        return report

    def watch(self) -> Report | None:
        """That it hangs, if it does."""
        if time.monotonic() - self._since < LIMIT:
            return None
        return self._lost(f"a case takes more than {LIMIT:.0f} s")

    def end(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.join()

    def _lost(self, law: str) -> Report:
        """End the process, report its case, and go on with the next one in a new process."""
        assert self.task is not None
        self.end()
        where = self._log.read()[:3000] or f"exit code {self._process.exitcode}"
        task, number = self.task, self._next
        key = f"{task.seed}:{task.combination}:{number}"
        lost = Outcome(
            task.combination,
            number,
            {},
            "failed",
            violations=[Violation(law, where)],
            code=f"# python -m fuzz --only {key}",
        )
        self._start()
        self._lost_cases += 1
        if self._lost_cases < MOST_LOST:
            self.begin(replace(task, first=number + 1))
            return Report(lost)
        self.task, self._lost_cases = None, 0
        return Report(lost, finished=task.combination)


def _work(pipe: Connection, log: str) -> None:
    """The main function of a worker; Ctrl-C is for the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    compiling = compile_clock()
    with open(log, "w") as file:
        faulthandler.enable(file)
        try:
            while True:
                _do(pipe.recv(), pipe, compiling, file)
        except (EOFError, BrokenPipeError):
            return  # the parent is gone
        except Exception:
            traceback.print_exc(file=file)  # a bug of the harness, which the parent reports
            raise


def _do(task: Task, pipe: Any, compiling: Callable[[], float], file: IO[str]) -> None:
    """Run the cases of a task; a traceback is left in the file if one hangs."""
    number, solving, compiled = task.first, 0.0, 0.0
    began, compiled_before = time.perf_counter(), compiling()
    faulthandler.dump_traceback_later(LIMIT - 5, file=file)
    of = draw.combination(task.seed, task.combination)
    while _wants_more(of, number, solving, compiled) and time.time() < task.until:
        faulthandler.dump_traceback_later(LIMIT - 5, file=file)
        outcome = run(of, number)
        seconds, spent = time.perf_counter() - began, compiling() - compiled_before
        began, compiled_before = began + seconds, compiled_before + spent
        number, compiled, solving = number + 1, compiled + spent, solving + seconds - spent
        pipe.send(Report(outcome, seconds, spent))
    faulthandler.cancel_dump_traceback_later()
    is_cut_off = _wants_more(of, number, solving, compiled)
    pipe.send(Report(None, finished=None if is_cut_off else task.combination))


def _wants_more(of: draw.Combination, number: int, solving: float, compiled: float) -> bool:
    """Whether to run one more case: so many, or more if the compilation took longer than they."""
    return number < of.cases or (solving < compiled and number < MOST_TIMES * of.cases)


def compile_clock() -> Callable[[], float]:
    """A function that tells how many seconds Numba has been compiling, from now on."""
    event: Any = import_module("numba.core.event")
    clock = event.TimingListener()
    event.register("numba:compile", clock)
    return lambda: clock.duration if clock.done else 0.0
