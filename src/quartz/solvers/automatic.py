"""Which method when: plain epochs, acceleration or Newton steps. A heuristic.

Where plain epochs are most likely slow, because n > d and v_i / (gamma_i n) is mostly many times
lam, acceleration comes first, or Newton steps if one solves the problem; else plain epochs. (With
d >= n the rows may be nearly orthogonal, and then plain epochs are fast whatever the bound says.)
From how fast the estimate of the gap falls follows how many passes are still to go; where
these are many, Newton steps take over if they are cheaper by a rough count of operations, else
acceleration. Where this seems slow, some plain passes are tried. Unless they soon regain the gap
that acceleration had, it resumes where it stood; if they do, or if it has lost dual value, plain
epochs go on, and the next attempt waits longer.

All decisions depend on counts and estimates, never on clocks: the same seed gives the same run.
"""

from collections import deque
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from quartz.arrays import Array, Floats
from quartz.certificate import Certificate, PrimalPoint, certify
from quartz.kernels.gram import outer_products, prefers_blas
from quartz.losses import Squared
from quartz.problem import Problem
from quartz.solvers import newton
from quartz.solvers.accelerated import ProximalPoints, accelerate
from quartz.solvers.newton import NewtonSteps
from quartz.solvers.permuted import PermutedEpochs
from quartz.solvers.plan import Plan
from quartz.solvers.sampled import SampledSteps
from quartz.solvers.state import State

PROBE = 3.0  # passes over which a rate is measured
FEW = 6.0  # passes still to go that are not worth a change
ROOTS = 4.0  # roots of the passes to go, which acceleration will need instead
TRIAL = 20.0  # passes of acceleration after which there must not be too many to go
MANY, MANY_NOT_SMOOTH = 60.0, 200.0  # which are these; losses that are not smooth take long anyway
SHARE, SHARE_NOT_SMOOTH = 0.1, 0.3  # of its passes, in which plain ones must regain its gap
SOON = 1.5  # passes: or are about to
PATIENCE = 4.0  # growth of the wait after each attempt that did not pay, of the trial if it did
HARD = (
    4.0  # v_i / (gamma_i n lam) of half the examples, from which plain epochs are not tried first
)
MOST_NEWTON_STEPS = 40
MOST_FIRST_PASSES = 60.0  # what a Newton step for least squares may cost to be taken at once
SLOWEST = 0.1  # least fall of log(gap) that is assumed over the passes seen
MOST_FEATURES = 5000  # beyond it a d x d matrix is out of proportion

# A rough model of the times of one core, in nanoseconds
STEP, NONZERO = 40.0, 3.5  # a step of an epoch, and each of the row's nonzeros
ITERATED = 60.0  # more of a step that iterates
PRODUCT, FLOP = 1.0, 0.05  # a product in the sparse Gram matrix, an operation of BLAS
PREDICTION, STREAM = 100.0, 0.8  # vectors of a Newton step for each example, a nonzero in order
NEWTON_STEPS, HESSIANS = 4, 1.5  # Newton steps that are expected, and whole Hessians in them
LEAST_SQUARES_STEPS = 2  # with one Hessian; no other loss is so sure to need few


_Method = PermutedEpochs | SampledSteps | ProximalPoints | NewtonSteps


class AutomaticSteps:
    """Chooses between plain epochs, their acceleration and `NewtonSteps`.

    Parameters
    ----------
    epochs : PermutedEpochs or SampledSteps
    with_newton : bool
        Whether Newton steps may be taken.
    """

    def __init__(self, epochs: PermutedEpochs | SampledSteps, with_newton: bool) -> None:
        self._epochs = epochs
        self.plan: Plan = epochs.plan
        self._current: _Method = epochs
        self._newton_passes = newton_passes(self.plan.problem) if with_newton else np.inf
        self._can_accelerate = hasattr(self.plan.problem.penalty, "weakened")
        smooth = self.plan.problem.loss.gamma > 0
        self._too_many = MANY if smooth else MANY_NOT_SMOOTH
        self._share = SHARE if smooth else SHARE_NOT_SMOOTH
        self._pace = _Pace()
        self._began = self._hold = 0.0  # passes when the current method began; when to try again
        self._wait, self._trial = 0.0, TRIAL
        self._before = _Before(np.empty(0), 0.0)
        self._paused: _Paused | None = None
        self._begun = False

    @property
    def primal(self) -> PrimalPoint:
        """The primal point that belongs to the current method."""
        return self._current.primal

    def advance(self, state: State, wanted: float, target: float) -> float:
        """Advance by the current method, then think again."""
        if not self._begun:
            self._begin(state)
        method = self._current
        if isinstance(method, PermutedEpochs | SampledSteps):
            estimate = method.run(state, wanted, passes=1.0)
        else:
            estimate = method.advance(state, wanted, target)
        passes = state.visited / self.plan.problem.n
        self._pace.record(passes, estimate)
        if estimate > max(wanted, target):
            self._choose(state, passes, estimate, target)
        return estimate

    def refresh(self, state: State, certificate: Certificate) -> None:
        """Take over what a certificate computed from scratch."""
        self._current.refresh(state, certificate)

    def _begin(self, state: State) -> None:
        self._begun = True
        problem = self.plan.problem
        if not self._is_hard():
            return
        if isinstance(problem.loss, Squared) and self._newton_passes < MOST_FIRST_PASSES:
            self._change(NewtonSteps(problem), 0.0)
        elif self._can_accelerate:
            self._accelerate(state, 0.0)

    def _is_hard(self) -> bool:
        problem = self.plan.problem
        if problem.loss.gamma == 0 or problem.n <= problem.data.d:
            return False
        hard = self.plan.v >= HARD * problem.n * problem.lam * problem.gammas
        return 2 * int(np.count_nonzero(hard)) >= problem.n

    def _choose(self, state: State, passes: float, estimate: float, target: float) -> None:
        method = self._current
        if isinstance(method, NewtonSteps):
            if estimate == np.inf or state.iteration - self._began > MOST_NEWTON_STEPS:
                self._newton_passes = np.inf
                self._change(self._epochs, passes)
            return
        rate = self._pace.rate()
        if rate is None:
            remaining = np.inf
        else:
            remaining = (np.log(estimate) - np.log(max(target, 1e-300))) / rate
        if not isinstance(method, ProximalPoints):
            self._after_plain(state, passes, estimate, remaining)
        elif rate is not None and self._newton_passes < remaining:
            self._begin_newton(state)
        elif passes - self._began >= self._trial and remaining > self._too_many:
            most = state.most_visited / self.plan.problem.n
            if passes + PROBE < most:  # a run should not end within a trial
                point = state.alpha.copy(), state.abar.copy(), state.w.copy(), state.multiplier
                self._paused = _Paused(method, estimate, passes - self._began, *point)
                self._change(self._epochs, passes)

    def _after_plain(self, state: State, passes: float, estimate: float, remaining: float) -> None:
        known = np.isfinite(remaining)
        if self._paused is not None:
            least = max(PROBE, self._share * self._paused.passes)
            lost = np.log(estimate) - np.log(self._paused.estimate)
            soon = remaining <= FEW or lost <= SOON * (self._pace.rate() or 0.0)
            over = passes - self._began >= least and not soon
            self._judge(self._paused, state, passes, estimate, over)
        elif known and self._newton_passes < min(remaining, ROOTS * np.sqrt(remaining)):
            self._begin_newton(state)
        elif known and remaining > FEW and passes >= self._hold and self._can_accelerate:
            self._accelerate(state, passes)

    def _accelerate(self, state: State, passes: float) -> None:
        self._remember(state)
        self._change(accelerate(self._epochs), passes)

    def _remember(self, state: State) -> None:
        self._before = _Before(state.alpha.copy(), state.multiplier)

    def _dual(self, alpha: Array, multiplier: Floats, abar: Array | None = None) -> float:
        problem = self.plan.problem
        if problem.intercept == "free":  # these duals need a repair first
            near = {"multiplier": multiplier, "abar": abar}
            return certify(problem, alpha, primal="conjugate", **near).dual
        return problem.dual_at(alpha, problem.abar(alpha) if abar is None else abar)

    def _judge(
        self, paused: "_Paused", state: State, passes: float, estimate: float, over: bool
    ) -> None:
        """Whether plain passes have regained the gap of acceleration, or it has lost dual value.

        Plain epochs never decrease that, while the gap jumps with rows of very different norms.
        """
        before = self._before
        if before.dual is None:
            before.dual = self._dual(before.alpha, before.multiplier)
        lost = self._dual(state.alpha, state.multiplier, state.abar) < before.dual
        if estimate <= paused.estimate or (over and lost):
            self._paused = None
            if lost:
                state.alpha[:], state.multiplier = before.alpha, before.multiplier
                state.abar[:] = self.plan.problem.abar(state.alpha)
                self._epochs.wake()
            self._trial, self._wait = TRIAL, max(TRIAL, PATIENCE * self._wait)
            self._hold = passes + self._wait
        elif over:
            self._paused = None
            self._remember(state)
            self._wait /= 2
            self._trial *= PATIENCE
            state.alpha[:], state.abar[:], state.w = paused.alpha, paused.abar, paused.w
            state.multiplier = paused.multiplier
            self._epochs.wake()
            self._change(paused.method, passes)

    def _begin_newton(self, state: State) -> None:
        if self._current is self._epochs:
            state.w = self.plan.problem.conjugate_point(state.abar).copy()
        self._change(NewtonSteps(self.plan.problem), state.iteration)

    def _change(self, method: _Method, began: float) -> None:
        accelerated = isinstance(method, ProximalPoints)
        self._current, self._began = method, began
        self._pace = _Pace(TRIAL if accelerated else PROBE)
        self._epochs.turn_to(self.plan.problem)  # acceleration left them with another
        if method is self._epochs:
            self._epochs.wake()  # all has changed for those who sleep


@dataclass
class _Before:
    """Where plain epochs were when acceleration began or went on."""

    alpha: Array
    multiplier: Floats
    dual: float | None = None  # found when it is needed


class _Paused(NamedTuple):
    """Where acceleration stands while plain passes are tried."""

    method: ProximalPoints
    estimate: float
    passes: float
    alpha: Array
    abar: Array
    w: Array
    multiplier: Floats


class _Pace:
    """How fast the estimate of the gap falls."""

    def __init__(self, window: float = PROBE) -> None:
        self._records: deque[tuple[float, float]] = deque()
        self._window = window

    def record(self, passes: float, estimate: float) -> None:
        if 0 < estimate < np.inf:
            self._records.append((passes, float(np.log(estimate))))
        while len(self._records) > 2 and passes - self._records[1][0] >= self._window:
            self._records.popleft()

    def rate(self) -> float | None:
        """Fall of log(estimate) in a pass, over the window; None before two passes.

        Never 0 or less: a gap that has just risen says little.
        """
        if not self._records:
            return None
        (first, high), (last, low) = self._records[0], self._records[-1]
        return max(high - low, SLOWEST) / (last - first) if last - first >= 0.9 else None


def newton_passes(problem: Problem) -> float:
    """What Newton steps will cost, roughly, in passes of plain epochs; infinite if impossible."""
    X = problem.data.matrix
    n, d = X.shape
    if not newton.applies(problem) or d > MOST_FEATURES:
        return np.inf
    nonzeros = X.size if isinstance(X, np.ndarray) else X.nnz
    hessian = 2 * FLOP * n * d**2 if prefers_blas(X) else PRODUCT / 2 * outer_products(X)
    step = PREDICTION * n + 2 * STREAM * nonzeros + FLOP * d**3 / 3
    row = STEP + ITERATED * hasattr(problem.loss, "quick_step")
    squared = isinstance(problem.loss, Squared)
    steps, hessians = (LEAST_SQUARES_STEPS, 1.0) if squared else (NEWTON_STEPS, HESSIANS)
    return float((hessians * hessian + steps * step) / (row * n + NONZERO * nonzeros))
