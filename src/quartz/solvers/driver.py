"""The solver's front: `iterate` yields states, `solve` only certifies, records and stops."""

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from quartz import checks
from quartz.arrays import Array
from quartz.certificate import Certificate, PrimalPoint, certify
from quartz.problem import Problem
from quartz.progress import progress_bar
from quartz.samplings import Recipe, Uniform
from quartz.solvers.plan import Option, Plan
from quartz.solvers.reference import advance
from quartz.solvers.result import Result, Status, Trace
from quartz.solvers.state import State
from quartz.theory import iterations

_MOST_SETS = 1_000_000  # drawn at once, however rarely the sampling hits an example

Start = Result | State | tuple[Array, Array] | Array | None


def iterate(plan: Plan, state: State, rng: np.random.Generator, chunk: int = 1) -> Iterator[State]:
    """Run Algorithm 1 without end; yield the state every `chunk` iterations.

    Parameters
    ----------
    plan : Plan
    state : State
        The start, overwritten: each yield is this object.
    rng : numpy.random.Generator
        Source of the index sets.
    chunk : int
        Iterations between yields.

    Examples
    --------
    >>> import numpy as np
    >>> from quartz import Plan, Problem, iterate, losses, samplings
    >>> from quartz.solvers import State
    >>> problem = Problem(np.eye(3), [1.0, -1.0, 1.0], losses.Squared(), lam=0.1)
    >>> plan = Plan.of(problem, samplings.Nice(batch_size=2))
    >>> for state in iterate(plan, State.start(problem), np.random.default_rng(0)):
    ...     if problem.primal(state.w) - problem.dual(state.alpha) < 1e-9:
    ...         break
    >>> state.w.round(3)
    array([ 0.769, -0.769,  0.769])
    """
    checks.count("chunk", chunk, 1, None, "It is the number of iterations between yields.")
    own = not type(plan.sampling).__module__.startswith("quartz.")
    while True:
        sets = plan.sampling.draw(rng, chunk)
        if own:
            sets.check(chunk, plan.problem.n, type(plan.sampling).__name__)
        advance(state, plan, sets)
        yield state


def solve(
    problem: Problem,
    sampling: Recipe | None = None,
    *,
    tol: float = 1e-6,
    max_passes: float = 1000,
    max_seconds: float = np.inf,
    option: Option = 1,
    primal_step_factor: float = 1.0,
    primal: PrimalPoint = "best",
    start: Start = None,
    seed: int | np.random.Generator = 0,
    passes_per_check: float = 1.0,
    callback: Callable[[State, Certificate], Any] | None = None,
    progress: bool = False,
) -> Result:
    """Solve a problem by Quartz until its relative duality gap is certified to be at most `tol`.

    Parameters
    ----------
    problem : Problem
    sampling : Sampling or recipe, default Uniform()
        See :mod:`quartz.samplings`.
    tol : float
        Target for the relative gap, gap / |P(w)|.
    max_passes, max_seconds : float
        Limits; one pass visits n examples.
    option : {1, 2}
        Dual update of Algorithm 1.
    primal_step_factor : float
        Multiplies theta in the update of w; infinite gives Prox-SDCA (see :meth:`Plan.of`).
    primal : {"best", "quartz", "conjugate"}
        Which primal point to certify and return: the averaged w, z = grad g*(abar), or the better.
    start : Result, State or array, optional
        Where to begin: a previous result (also of another lam), a state, a pair (w, alpha), or
        dual variables alone.
    seed : int or numpy.random.Generator
        The same seed and passes_per_check give the same trajectory.
    passes_per_check : float
        Passes between certificates.
    callback : callable, optional
        Called as ``callback(state, certificate)`` after each certificate; a true return value stops
        the run.
    progress : bool
        Show a progress bar (needs tqdm).

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
    _check_limits(max_passes, max_seconds, passes_per_check)
    clock = time.perf_counter
    began = clock()
    recipe = Uniform() if sampling is None else sampling
    plan = Plan.of(problem, recipe, option, primal_step_factor)
    if primal == "quartz" and plan.primal_step == 0:
        raise ValueError(
            f'primal="quartz" needs a smooth loss: with {type(problem.loss).__name__}, gamma = 0, '
            'w never moves. Use primal="best" or primal_step_factor=inf.'
        )
    state = _start(problem, start)
    sets_per_pass = problem.n / plan.sampling.expected_size
    chunk = max(1, round(min(passes_per_check, max_passes) * sets_per_pass))
    chunk = min(chunk, _MOST_SETS)
    trace = Trace()
    best: Certificate | None = None
    alpha = state.alpha.copy()
    status = Status.PASS_LIMIT
    states = iterate(plan, state, np.random.default_rng(seed), chunk)
    with progress_bar(progress, tol) as show:
        try:
            while True:
                if not (np.isfinite(state.alpha).all() and np.isfinite(state.w).all()):
                    status = Status.DIVERGED
                    break
                certificate = certify(problem, state.alpha, state.w, primal)
                passes = state.visited / problem.n
                trace.record(state.iteration, passes, clock() - began, certificate)
                if best is None or certificate.gap < best.gap:
                    best, alpha = certificate, state.alpha.copy()
                show(certificate, passes)
                stop = callback is not None and callback(state, certificate)
                ended = _ended(certificate, tol, stop, passes >= max_passes, trace, max_seconds)
                if ended is not None:
                    status = ended
                    break
                next(states)
        except KeyboardInterrupt:
            status = Status.INTERRUPTED
    if best is None:  # interrupted before the first certificate
        best = certify(problem, alpha, state.w, primal)
        trace.record(0, 0.0, clock() - began, best)
    message = _message(status, best, tol, trace, plan)
    return Result(best.w, alpha, best, status, message, trace, plan)


def _start(problem: Problem, start: Start) -> State:
    if isinstance(start, State | Result):
        return State.start(problem, start.alpha, start.w)
    if isinstance(start, tuple):
        return State.start(problem, start[1], start[0])
    return State.start(problem, start)


def _check_limits(max_passes: float, max_seconds: float, passes_per_check: float) -> None:
    for name, value in (("max_passes", max_passes), ("max_seconds", max_seconds)):
        if not isinstance(value, int | float) or not value >= 0:
            raise ValueError(f"{name} must be 0 or more, got {value!r}.")
    checks.positive("passes_per_check", passes_per_check, "1 certifies after each pass.")


def _ended(
    certificate: Certificate,
    tol: float,
    stop: Any,
    out_of_passes: bool,
    trace: Trace,
    max_seconds: float,
) -> Status | None:
    """The first reason to end the run, if there is one."""
    reasons = (
        (Status.CONVERGED, certificate.relative_gap <= tol),
        (Status.STOPPED, bool(stop)),
        (Status.PASS_LIMIT, out_of_passes),
        (Status.TIME_LIMIT, trace.seconds[-1] >= max_seconds),
    )
    return next((status for status, holds in reasons if holds), None)


def _message(status: Status, best: Certificate, tol: float, trace: Trace, plan: Plan) -> str:
    passes = f"{trace.passes[-1]:.4g} passes"
    reached = f"relative gap {best.relative_gap:.2e}"
    if status is Status.CONVERGED:
        return f"Converged: {reached} <= tol = {tol:g}, certified after {passes}."
    if status is Status.DIVERGED:
        return (
            f"Diverged: the iterates overflowed after {passes}; the best pair has {reached}. "
            "The ESO v of the sampling is too small for the data, or the loss breaks its laws: try "
            "verify_eso and check_loss."
        )
    sentences = [f"Not converged ({status.value}): {reached} > tol = {tol:g} after {passes}."]
    target = tol * abs(best.primal)
    if 0 < target < best.gap < np.inf:
        decades = np.log(best.gap / target)
        rate = trace.decay_per_pass()
        if rate > 0:
            sentences.append(f"At the observed rate {decades / rate:.3g} more passes are needed.")
        if plan.theta > 0:
            steps = iterations(plan.theta, best.gap, target)
            bound = steps * plan.sampling.expected_size / plan.problem.n
            sentences.append(f"The theorem promises {bound:.3g} in expectation.")
    sentences.append("Raise the limit, loosen tol, or increase lam.")
    return " ".join(sentences)
