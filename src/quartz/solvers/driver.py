"""`solve`: runs steps until the certificate, a limit or the user says stop."""

import time
from collections.abc import Callable
from threading import Event
from typing import Any, Literal

import numpy as np

from quartz import checks
from quartz.arrays import Array
from quartz.certificate import Certificate, PrimalPoint, certify
from quartz.problem import Problem
from quartz.progress import progress_bar
from quartz.samplings import Recipe, Uniform
from quartz.solvers.accelerated import accelerate
from quartz.solvers.automatic import AutomaticSteps
from quartz.solvers.iteration import EngineName
from quartz.solvers.message import describe
from quartz.solvers.permuted import PermutedEpochs
from quartz.solvers.plan import Option, Plan
from quartz.solvers.result import Result, Status, Trace
from quartz.solvers.sampled import SampledSteps
from quartz.solvers.state import State
from quartz.solvers.steps import Method, Steps

_NEXT_RECORD = 1e-3  # a run that estimates its gap certifies at least when it fell so much
_LEAST_SHARE = 0.1  # of an estimate; it is made while the gap falls, hence mostly too high
_OF_QUARTZ = (None, 1, 1.0, "best", "compiled")  # arguments that another method cannot take
_LONGEST_WAIT = 32  # passes: and at least so often, for callbacks and the record

Acceleration = Literal["auto", "on", "off"]
Start = Result | State | tuple[Array, Array] | Array | None


def solve(
    problem: Problem,
    sampling: Recipe | Literal["permuted"] | None = None,
    *,
    tol: float = 1e-6,
    max_passes: float = 1000,
    max_seconds: float = np.inf,
    option: Option = 1,
    primal_step_factor: float = 1.0,
    primal: PrimalPoint = "best",
    start: Start = None,
    seed: int | np.random.Generator = 0,
    passes_per_check: float | None = None,
    callback: Callable[[State, Certificate], Any] | None = None,
    progress: bool = False,
    engine: EngineName = "compiled",
    acceleration: Acceleration | None = None,
    method: Method | None = None,
    stop: Event | None = None,
    objective: float | None = None,
) -> Result:
    """Solve a problem by Quartz until its relative duality gap is certified to be at most `tol`.

    Parameters
    ----------
    problem : Problem
    sampling : Sampling, recipe or "permuted", optional
        See :mod:`quartz.samplings`. "permuted" is the practical mode: random permutations that skip
        settled examples, Option I, w = z. It is a heuristic outside the theorem; its certificate is
        the same as that of all others. Without a sampling, that mode, acceleration and Newton steps
        are used as they promise to be fast; but if option, primal, primal_step_factor or engine ask
        for Algorithm 1, Uniform().
    tol : float
        Target for the relative gap, gap / |P(w)|.
    max_passes, max_seconds : float
        Limits; one pass visits n examples. They are looked at between chunks of work, a pass or
        so, with acceleration up to 20 epochs (100 for losses that are not smooth) for the seconds,
        which include compilation.
    option : {1, 2}
        Dual update of Algorithm 1.
    primal_step_factor : float
        Multiplies theta in the update of w; infinite gives Prox-SDCA (see :meth:`Plan.of`).
    primal : {"best", "quartz", "conjugate"}
        Which primal point to certify and return: the averaged w, z = grad g*(abar), or the better;
        at the end w if that is good enough for `tol`.
    start : Result, State or array, optional
        Where to begin: a previous result (also of another lam), a state, a pair (w, alpha), or
        dual variables alone.
    seed : int or numpy.random.Generator
        The same seed and arguments give the same trajectory.
    passes_per_check : float, optional
        Passes between certificates, or a little more. By default one with a sampling or another
        method, while "permuted" and acceleration certify when an estimate of the gap says so.
    callback : callable, optional
        Called as ``callback(state, certificate)`` after each certificate; a true return value stops
        the run.
    progress : bool
        Show a progress bar (needs tqdm).
    engine : {"compiled", "reference"}
        The compiled kernels, or the reference implementation in NumPy.
    acceleration : {"auto", "on", "off"}, optional
        A proximal-point loop with momentum around the sampling
        (:mod:`quartz.solvers.accelerated`), for small lam: never, always, or where it seems to pay
        (:mod:`quartz.solvers.automatic`, a heuristic). By default "auto" without a sampling, and
        "off" with one, so that the theorem applies.
    method : optional
        Another method than Quartz, such as ``SPDC(batch_size=8)``; see :mod:`quartz.methods`. It
        has a sampling and step sizes of its own.
    stop : threading.Event, optional
        Another thread may set it to end the run, as Ctrl-C does in the main thread.
    objective : float, optional
        Roughly what P will be, as known from a similar problem. Then the start is not certified:
        the first certificate waits until the gap seems small enough, which a good start needs
        anyway.

    Returns
    -------
    Result
        The pair with the smallest certified gap, also after a limit or Ctrl-C.

    Examples
    --------
    >>> from quartz import Problem, data, losses, samplings, solve
    >>> X, y = data.make_classification(200, 20, density=0.3)
    >>> problem = Problem(X, y, losses.SmoothedHinge(), lam=0.01)
    >>> result = solve(problem, samplings.Importance(), tol=1e-6)
    >>> result.converged, bool(0 <= result.certificate.relative_gap <= 1e-6)
    (True, True)
    """
    checks.nonnegative("tol", tol, "It bounds the relative duality gap.")
    interval = 1.0 if passes_per_check is None else passes_per_check
    _check_limits(max_passes, max_seconds, interval)
    if objective is not None:
        objective = float(checks.finite_array("objective", objective, ()))
    began = time.perf_counter()
    rng = np.random.default_rng(seed)
    if method is None:
        steps = _quartz(
            problem,
            sampling,
            rng,
            option,
            primal_step_factor,
            primal,
            min(interval, max_passes),
            engine,
            acceleration,
        )
    elif not hasattr(method, "steps") or isinstance(method, type):
        raise ValueError(
            f"method must be an object such as quartz.methods.SPDC(batch_size=8), got {method!r}."
        )
    elif problem.intercept == "free":
        raise ValueError(f"{method!r} has no free intercept. Use Quartz, or leave it out.")
    elif acceleration or (sampling, option, primal_step_factor, primal, engine) != _OF_QUARTZ:
        raise ValueError(
            f"{method!r} has a sampling and steps of its own: leave sampling, option, primal, "
            "primal_step_factor, engine and acceleration as they are."
        )
    else:
        steps = method.steps(problem, rng)
    by_the_book = method is None and isinstance(steps, SampledSteps)
    # to certify at first, and after an interruption; a start may bring a w of its own
    first_point: PrimalPoint = steps.primal if by_the_book else "best"
    state = _start(problem, start, certified=objective is None and first_point == "best")
    state.most_visited = max_passes * problem.n
    longest_wait = np.inf if passes_per_check is None else interval
    run = _Run(problem, state, tol, began, longest_wait, objective)
    stop = Event() if stop is None else stop
    with progress_bar(progress, tol) as show:
        try:
            status = run.go(steps, first_point, max_passes, max_seconds, callback, show, stop)
        except KeyboardInterrupt:
            status = Status.INTERRUPTED
            stop.set()
            if run.has_moved() and run.state_is_finite():
                run.certify(first_point)
    if not len(run.trace):  # nothing finite was left to certify
        run.start_anew()
        run.certify(first_point)
    message = describe(status, run.best, tol, run.trace, _promised(steps) if by_the_book else None)
    best = run.best
    return Result(best.w, best.alpha, best, status, message, run.trace, steps.plan)


class _Run:
    """The certificates of a run: when one is due, all of them, and the best."""

    best: Certificate

    def __init__(
        self,
        problem: Problem,
        state: State,
        tol: float,
        began: float,
        longest_wait: float,
        objective: float | None,
    ) -> None:
        self._problem, self._state = problem, state
        self._expected = objective or None  # 0 has no relative gaps
        self._tol, self._began, self._longest_wait = tol, began, longest_wait
        self._estimate_then, self._passes_then = np.inf, 0.0  # at the last certificate
        self._share = 1.0  # of that estimate, which was the gap
        self.trace = Trace()

    def go(
        self,
        steps: Steps,
        first_point: PrimalPoint,
        max_passes: float,
        max_seconds: float,
        callback: Callable[[State, Certificate], Any] | None,
        show: Callable[[float, float], None],
        stop: Event,
    ) -> Status:
        """Advance and certify until there is a reason to end, and return it."""
        state, estimate = self._state, None if self._expected is None else np.inf
        while True:
            passes = state.visited / self._problem.n
            late = time.perf_counter() - self._began >= max_seconds or stop.is_set()
            out = passes >= max_passes or late
            if out or self.is_due(estimate):
                if not self.state_is_finite():
                    return Status.DIVERGED
                point = steps.primal if state.iteration else first_point
                certificate = self.certify(point, estimate)
                steps.refresh(state, certificate)
                show(certificate.relative_gap, passes)
                asked = callback is not None and callback(state, certificate)
                ended = _ended(
                    certificate, self._tol, asked, stop.is_set(), passes >= max_passes, late
                )
                if ended is not None:
                    return ended
            elif estimate is not None:
                show(estimate / (abs(self.objective) or np.nan), passes)
            estimate = steps.advance(state, self.wanted(), self.target())

    def state_is_finite(self) -> bool:
        return bool(np.isfinite(self._state.alpha).all() and np.isfinite(self._state.w).all())

    def start_anew(self) -> None:
        fresh = State.start(self._problem)
        for name in ("w", "alpha", "abar", "multiplier"):
            setattr(self._state, name, getattr(fresh, name))

    def has_moved(self) -> bool:
        """Whether the state is newer than the last certificate."""
        return not len(self.trace) or self._state.iteration > self.trace.iterations[-1]

    def wanted(self) -> float:
        """The estimate of the gap at which to certify next: for success, or for the record.

        After a certificate that failed, the estimate must halve first.
        """
        if not len(self.trace):
            return self.target()
        target = min(self.target(), 0.5 * self._estimate_then)
        return max(target, _NEXT_RECORD * self._estimate_then)

    def is_due(self, estimate: float | None) -> bool:
        """Whether to certify: without an estimate always; also if it is not a number.

        An estimate that was far too low may never halve; then waiting counts.
        """
        if estimate is None or not estimate > self.wanted():
            return True
        waited = self._state.visited / self._problem.n - self._passes_then
        patience = 1 + 0.25 * self._passes_then if estimate <= self.target() else _LONGEST_WAIT
        return waited >= min(patience, self._longest_wait)

    def target(self) -> float:
        """The estimate that promises success, as far as the last one told the truth."""
        return self._tol * abs(self.objective) / self._share

    @property
    def objective(self) -> float:
        """P of the best certificate, or what is expected before there is one."""
        return self.best.primal if len(self.trace) else float(self._expected or 0.0)

    def certify(self, primal: PrimalPoint, estimate: float | None = None) -> Certificate:
        state = self._state
        point = state.alpha, state.w, primal, state.multiplier, state.abar
        certificate = certify(self._problem, *point, enough=self._tol)
        passes, seconds = state.visited / self._problem.n, time.perf_counter() - self._began
        self.trace.record(state.iteration, passes, seconds, certificate)
        if len(self.trace) == 1:
            state.abar[:] = certificate.abar  # a start need not have one
        if len(self.trace) == 1 or certificate.gap < self.best.gap:
            self.best = certificate
        if self._problem.intercept == "free":  # they were made feasible
            state.alpha[:] = certificate.alpha
        self._estimate_then = certificate.gap if estimate is None else estimate
        if estimate is not None and estimate > 0:
            self._share = min(1.0, max(_LEAST_SHARE, certificate.gap / estimate))
        self._passes_then = passes
        return certificate


def _promised(steps: Steps) -> Plan | None:
    """The plan, if [th-mainth] holds: it is about the averaged w with the primal step theta."""
    plan = steps.plan
    if plan is None or plan.primal_step != plan.theta or steps.primal == "conjugate":
        return None
    return plan


def _quartz(
    problem: Problem,
    sampling: Recipe | Literal["permuted"] | None,
    rng: np.random.Generator,
    option: Option,
    primal_step_factor: float,
    primal: PrimalPoint,
    chunk: float,
    engine: EngineName,
    acceleration: Acceleration | None,
) -> Steps:
    """Algorithm 1 with the sampling, or the practical mode; accelerated as asked for."""
    asked = option != 1 or primal != "best" or primal_step_factor != 1 or engine != "compiled"
    if sampling is None and asked:
        sampling = Uniform()
    epochs: PermutedEpochs | SampledSteps
    if sampling is None or isinstance(sampling, str):
        _check_permuted(sampling, option, engine, primal, primal_step_factor)
        epochs = PermutedEpochs(problem, rng)
    else:
        if problem.intercept == "free":
            if option == 2 or primal == "quartz" or primal_step_factor != 1:
                raise ValueError(
                    "A free intercept is for Option I with w = z: leave option, primal and "
                    "primal_step_factor as they are."
                )
            primal = "conjugate"
        plan = Plan.of(problem, sampling, option, primal_step_factor)
        passes = chunk if acceleration in (None, "off") else min(1.0, chunk)
        epochs = SampledSteps(plan, rng, passes, engine, primal)
    return _accelerated(epochs, acceleration, sampling is not None)


def _accelerated(
    epochs: PermutedEpochs | SampledSteps, acceleration: Acceleration | None, named: bool
) -> Steps:
    """Acceleration as asked for; Newton steps only where no sampling was named."""
    if acceleration not in (None, "auto", "on", "off"):
        raise ValueError(f'acceleration must be "auto", "on" or "off", got {acceleration!r}.')
    if acceleration == "off" or (named and acceleration is None):
        return epochs
    free = epochs.plan.problem.intercept == "free"
    if isinstance(epochs, SampledSteps) and epochs.primal != "best" and not free:
        raise ValueError(
            f"Acceleration has a primal point of its own: leave primal, got {epochs.primal!r}."
        )
    if acceleration == "on":
        return accelerate(epochs)
    if epochs.plan.option == 2:
        raise ValueError(
            'acceleration="auto" needs option=1: it judges by the dual value, which Option II does '
            'not always increase. Use option=1, or acceleration="on".'
        )
    return AutomaticSteps(epochs, with_newton=not named)


def _check_permuted(
    name: str | None,
    option: Option,
    engine: EngineName,
    primal: PrimalPoint,
    primal_step_factor: float,
) -> None:
    if name not in (None, "permuted"):
        raise ValueError(
            f'The only sampling with a name is "permuted", got {name!r}. The others are objects '
            "such as Uniform() or Nice(batch_size=8)."
        )
    if option != 1 or engine != "compiled":
        raise ValueError('sampling="permuted" runs Option I with the compiled engine only.')
    if primal not in ("best", "conjugate") or primal_step_factor != 1.0:
        raise ValueError(
            'sampling="permuted" has w = z: leave primal and primal_step_factor as they are.'
        )


def _start(problem: Problem, start: Start, certified: bool) -> State:
    if isinstance(start, State | Result):
        fits = start.w.shape == (problem.data.d,)  # not if it had another intercept
        state = State.start(problem, start.alpha, start.w if fits else None, certified)
        if isinstance(start, State):  # its w may lack the intercept
            state.multiplier = start.multiplier
        return state
    if isinstance(start, tuple):
        return State.start(problem, start[1], start[0], certified)
    return State.start(problem, start)


def _check_limits(max_passes: float, max_seconds: float, passes_per_check: float) -> None:
    for name, value in (("max_passes", max_passes), ("max_seconds", max_seconds)):
        if not isinstance(value, int | float) or not value >= 0:
            raise ValueError(f"{name} must be 0 or more, got {value!r}.")
    checks.positive("passes_per_check", passes_per_check, "1 certifies after each pass.")


def _ended(
    certificate: Certificate,
    tol: float,
    asked: Any,
    interrupted: bool,
    out_of_passes: bool,
    late: bool,
) -> Status | None:
    """The first reason to end the run, if there is one."""
    reasons = (
        (Status.CONVERGED, certificate.relative_gap <= tol),
        (Status.STOPPED, bool(asked)),
        (Status.INTERRUPTED, interrupted),
        (Status.PASS_LIMIT, out_of_passes),
        (Status.TIME_LIMIT, late),
    )
    return next((status for status, holds in reasons if holds), None)
