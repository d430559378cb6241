"""`solve`: arguments become objects, the loop runs, a result comes back."""

from contextlib import nullcontext, suppress
from threading import Event

import numpy as np

from quartz import checks
from quartz.arrays import quiet
from quartz.laws import LawError
from quartz.methods.automatic import Automatic
from quartz.methods.quartz import as_method
from quartz.methods.steps import Method
from quartz.parallel import several_threads
from quartz.problem import Problem
from quartz.progress import progress_bar
from quartz.run.budget import Budget
from quartz.run.interruption import OnInterrupt, is_raised
from quartz.run.loop import Callback, Loop
from quartz.run.record import Record
from quartz.run.result import Result, Status
from quartz.run.schedule import Schedule
from quartz.run.start import AnyStart, as_start
from quartz.run.stopping import StoppingRule, as_rule
from quartz.samplings import Recipe


def solve(
    problem: Problem,
    method: Method | Recipe | None = None,
    *,
    tol: float | StoppingRule = 1e-6,
    max_passes: float = 1000,
    max_seconds: float = np.inf,
    start: AnyStart = None,
    seed: int | np.random.Generator = 0,
    passes_per_check: float | None = None,
    callback: Callback | None = None,
    progress: bool = False,
    stop: Event | None = None,
    on_interrupt: OnInterrupt = "return",
) -> Result:
    """Solve a problem until its duality gap is certified to be small enough.

    Parameters
    ----------
    problem : Problem
    method : sampling or method, optional
        A sampling of :mod:`quartz.samplings` runs Algorithm 1 of the paper with it, at the rate
        that the theorem promises; ``methods.Quartz(sampling, option=2)`` has its options. Others
        are in :mod:`quartz.methods`, such as ``Accelerated(sampling)`` for small lam. By default
        ``Automatic()``: permuted epochs, acceleration and Newton steps as they promise to be fast,
        a heuristic. The certificate is the same for all.
    tol : float or StoppingRule
        Target for the relative gap, gap / |P(w)|; or a rule such as ``AbsoluteGap(1e-3)`` or
        ``When(condition)``.
    max_passes, max_seconds : float
        Limits; one pass visits n examples. They are looked at between chunks of work, a pass or
        so, with acceleration up to 20 epochs (100 for losses that are not smooth) for the seconds,
        which include compilation.
    start : Result, State, Start or array, optional
        Where to begin: a previous result (also of another lam), a state, a pair (w, duals), or
        dual variables alone.
    seed : int or numpy.random.Generator
        The same seed and arguments give the same trajectory.
    passes_per_check : float, optional
        Passes between certificates, or a little more. By default one, while methods that estimate
        their gap are certified when the estimate says so.
    callback : callable, optional
        Called as ``callback(state, certificate)`` after each certificate; a true return value stops
        the run.
    progress : bool
        Show a progress bar; without tqdm, lines on stderr.
    stop : threading.Event, optional
        Another thread may set it to end the run, as Ctrl-C does in the main thread.
    on_interrupt : {"return", "raise"}
        What Ctrl-C does: end the run and return the best pair so far, or raise KeyboardInterrupt.
        A second Ctrl-C within about a second raises in any case, so that a loop of runs can be
        left.

    Returns
    -------
    Result
        The pair with the smallest certified gap, also after a limit or Ctrl-C. Whatever is raised
        after the first certificate, also by a callback, has that pair as its attribute `result`.

    Examples
    --------
    >>> from quartz import Problem, data, losses, samplings, solve
    >>> X, y = data.make_classification(200, 20, density=0.3)
    >>> problem = Problem(X, y, losses.SmoothedHinge(), lam=0.01)
    >>> result = solve(problem, samplings.Importance(), tol=1e-6)
    >>> result.converged, bool(0 <= result.certificate.relative_gap <= 1e-6)
    (True, True)
    """
    if not isinstance(problem, Problem):
        raise TypeError(
            f"solve takes a Problem, got {type(problem).__name__}. Write\n"
            "    problem = Problem(X, y, losses.Logistic(), lam=1e-3)\n"
            "    result = solve(problem)"
        )
    rule, budget = as_rule(tol), Budget(max_passes, max_seconds, stop)
    interval = 1.0 if passes_per_check is None else passes_per_check
    checks.positive("passes_per_check", interval, "1 certifies after each pass.")
    checks.one_of("on_interrupt", on_interrupt, ("return", "raise"))
    chosen = Automatic() if method is None else as_method(method)
    if not chosen.has_free_columns:
        problem.intercept.require_no_free_columns(repr(chosen), "Use Quartz, or leave it out.")
    record, loop = Record(problem, rule, budget), None
    shown = progress_bar() if progress else nullcontext()
    try:
        # A run that overflows ends as diverged.
        with quiet(), several_threads(None), shown as show:
            try:
                record.steps = steps = chosen.steps(problem, np.random.default_rng(seed))
                begin = as_start(start, problem)
                w_is_certified = begin.objective is None and steps.first_primal == "best"
                state = begin.state(problem, certified=w_is_certified)
                state.most_visited = max_passes * problem.n
                state.interval = min(interval, max_passes)
                longest_wait = np.inf if passes_per_check is None else interval
                watched = progress or callback is not None or passes_per_check is not None
                certifies_start = steps.certifies_start or watched or not begin.is_cold
                schedule = Schedule(rule, longest_wait, begin.objective, certifies_start)
                loop = Loop(problem, steps, state, rule, budget, schedule, record)
                status = loop.run(callback, show)
            except KeyboardInterrupt:
                status = Status.INTERRUPTED
                budget.interrupt()
                if loop is not None:
                    with suppress(LawError, MemoryError):  # then there is an older certificate
                        loop.certify_moved()
                record.certify_something()
                if is_raised(on_interrupt):
                    raise
            record.certify_something()
            if status not in (Status.CONVERGED, Status.ROUNDING):  # which belong to their pair
                record.at_worst_zero()
            return record.result(status)
    except BaseException as error:  # also a Ctrl-C on the way out of the contexts above
        record.attach_to(error)
        raise
