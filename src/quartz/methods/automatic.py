"""Which method when: plain epochs, acceleration or Newton steps. A heuristic.

The policy goes over a list of candidates. Each says whether it applies, what it would cost, how to
go on from a state, and what to do after each advance while it is the current one:

- `Plain` epochs, measured by how fast the estimate of the gap falls: from its rate follows how many
  passes remain. Where these are many, another candidate takes over.
- `Acceleration` is tried first where plain epochs are most likely slow, because n > d and
  v_i / (gamma_i n) is mostly many times lam. (With d >= n the rows may be nearly orthogonal, and
  then plain epochs are fast whatever the bound says.) Where it seems slow itself, it pauses for
  some plain passes. Unless they soon regain the gap that acceleration had, it resumes where it
  stood; if they do, or if it has lost dual value, plain epochs go on, and the next attempt waits
  longer.
- `Newtons`, steps with a d x d matrix, take over where a count of operations
  (:mod:`quartz.costs`) says that they are cheaper; they come first where one solves the problem.

All decisions depend on counts and estimates, never on clocks: the same seed gives the same run.
"""

from abc import ABC, abstractmethod
from collections import deque
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from quartz import costs
from quartz.certificate import Certificate, PrimalPoint, certify
from quartz.methods import newton
from quartz.methods.accelerated import accelerate
from quartz.methods.newton import NewtonSteps
from quartz.methods.permuted import Permuted
from quartz.methods.plan import Plan
from quartz.methods.quartz import as_method
from quartz.methods.state import Saved, State
from quartz.methods.steps import Epochs, Method, Steps
from quartz.problem import Problem
from quartz.regularizers.base import abilities
from quartz.samplings import Recipe

# All measured on the cells of docs/benchmarks-acceleration.md; passes unless it says otherwise.
PROBE = 3.0  # window over which the rate of plain epochs is measured
TRIAL = 20.0  # window for acceleration, and the passes after which it must look promising
NOT_WORTH_A_CHANGE = 6.0  # remaining passes up to which nothing is changed
TOO_MANY, TOO_MANY_NOT_SMOOTH = 60.0, 200.0  # remaining passes after a trial that are no promise
# Plain passes that are tried while acceleration pauses
TRIED_SHARE, TRIED_SHARE_NOT_SMOOTH = 0.1, 0.3  # as a share of the accelerated ones
ABOUT_TO_REGAIN = 1.5  # within so many passes they will: then they may go on
PATIENCE = 4.0  # factor: of the wait after an attempt that did not pay, of the trial if it did
ILL_CONDITIONED = 4.0  # v_i / (gamma_i n lam) of half the examples, where plain steps are slow
MOST_NEWTON_STEPS = 40  # steps, after which something is wrong
MOST_FIRST_NEWTON_PASSES = 60.0  # cost of a Newton step for least squares that is taken at once
LEAST_FALL = 0.1  # of log(gap), assumed over a window: a gap that has just risen says little
LEAST_WINDOW = 0.9  # passes below which there is no rate


@dataclass(frozen=True)
class Automatic(Method):
    """Plain epochs, acceleration or Newton steps, as they promise to be fast; a heuristic.

    Parameters
    ----------
    inner : Method or sampling, optional
        The plain epochs, by default Permuted(). Newton steps are taken only with the default.
    """

    has_free_columns = True

    inner: Method | Recipe | None = None

    def steps(self, problem: Problem, rng: np.random.Generator) -> "AutomaticSteps":
        """Return its steps for a problem."""
        inner = Permuted() if self.inner is None else self.inner
        epochs = as_method(inner).epochs(problem, rng)
        if not epochs.is_ascent:
            raise ValueError(
                "Automatic needs option=1: it judges by the dual value, which Option II does not "
                "always increase. Use option=1, or Accelerated."
            )
        return AutomaticSteps(epochs, with_newton=self.inner is None)


class Situation(NamedTuple):
    """What is known after an advance."""

    passes: float
    estimate: float  # of the gap
    rate: float | None  # fall of log(estimate) in a pass
    remaining: float  # passes to the target at that rate; infinite if it is not known


class AutomaticSteps(Steps):
    """The steps of the current candidate, and a decision after each advance.

    Parameters
    ----------
    epochs : Epochs
        The plain ones.
    with_newton : bool
        Whether Newton steps may be taken.
    """

    def __init__(self, epochs: Epochs, with_newton: bool) -> None:
        self.problem = epochs.problem
        self.plain = Plain(epochs)
        possible = [Newtons(epochs), Acceleration(epochs)][not with_newton :]
        self.others = [other for other in possible if other.applies()]
        self.current: Candidate = self.plain
        self._pace = _Pace(PROBE)
        self._begun = False

    @property
    def plan(self) -> Plan | None:  # type: ignore[override]
        """That of the plain epochs."""
        return self.plain.steps.plan

    @property
    def primal(self) -> PrimalPoint:  # type: ignore[override]
        """The primal point that belongs to the current method."""
        return self.current.steps.primal

    def advance(self, state: State, wanted: float, target: float) -> float:
        """Advance by the current candidate, then think again."""
        if not self._begun:
            self._begun = True
            self._begin(state)
        estimate = self.current.advance(state, wanted, target)
        passes = state.visited / self.problem.n
        self._pace.record(passes, estimate)
        if estimate > max(wanted, target):
            rate = self._pace.rate()
            remaining = np.inf
            if rate is not None:
                remaining = (np.log(estimate) - np.log(max(target, 1e-300))) / rate
            self.current.decide(self, state, Situation(passes, estimate, rate, remaining))
        return estimate

    def refresh(self, state: State, certificate: Certificate) -> None:
        """Take over what a certificate computed from scratch."""
        self.current.steps.refresh(state, certificate)

    def turn_to(
        self, candidate: "Candidate", state: State, passes: float, w_is_stale: bool = False
    ) -> None:
        """Make a candidate the current one, from that number of passes on.

        `w_is_stale` says that the state comes from plain epochs, whose primal point is z.
        """
        candidate.begin(state, passes, w_is_stale)
        self.current = candidate
        self._pace = _Pace(candidate.window)
        self.plain.steps.turn_to(self.problem)  # an outer loop left the epochs with another
        if candidate is self.plain:
            self.plain.steps.reactivate()  # all has changed for the inactive examples

    def drop(self, candidate: "Candidate") -> None:
        """Never choose a candidate again."""
        self.others.remove(candidate)

    def _begin(self, state: State) -> None:
        if self.others and _is_ill_conditioned(self.plain.steps):
            first = next((other for other in self.others if other.may_come_first()), None)
            if first is not None:
                self.turn_to(first, state, 0.0)


class Candidate(ABC):
    """A method that the choice may take. Costs are in passes of plain epochs.

    Attributes
    ----------
    steps : Steps
    window : float
        Passes over which its rate is measured.
    """

    steps: Steps
    window: float = PROBE

    def applies(self) -> bool:
        """Whether it can solve the problem at all."""
        return True

    def may_come_first(self) -> bool:
        """Whether an ill-conditioned problem should begin with it."""
        return True

    @abstractmethod
    def pays(self, remaining: float, passes: float) -> bool:
        """Whether to turn to it from plain epochs, which would take `remaining` passes more."""

    def beats(self, remaining: float) -> bool:
        """Whether it would take less than `remaining` passes, from any point near the solution."""
        return False

    @abstractmethod
    def begin(self, state: State, passes: float, w_is_stale: bool) -> None:
        """Go on from a state."""

    def advance(self, state: State, wanted: float, target: float) -> float:
        """Advance; return the estimate of the gap."""
        estimate = self.steps.advance(state, wanted, target)
        assert estimate is not None
        return estimate

    @abstractmethod
    def decide(self, choice: AutomaticSteps, state: State, now: Situation) -> None:
        """Go on, or turn to another candidate."""

    def is_paused(self) -> bool:
        """Whether it waits for the plain epochs that are tried in its place."""
        return False

    def judge(self, choice: AutomaticSteps, state: State, now: Situation) -> None:
        """While it is paused: whether to resume."""
        raise NotImplementedError


class Plain(Candidate):
    """Plain epochs."""

    steps: Epochs

    def __init__(self, epochs: Epochs) -> None:
        self.steps = epochs
        self.began = 0.0

    def pays(self, remaining: float, passes: float) -> bool:
        return False

    def begin(self, state: State, passes: float, w_is_stale: bool) -> None:
        self.began = passes

    def advance(self, state: State, wanted: float, target: float) -> float:
        return self.steps.run(state, wanted, passes=1.0)

    def decide(self, choice: AutomaticSteps, state: State, now: Situation) -> None:
        paused = next((other for other in choice.others if other.is_paused()), None)
        if paused is not None:
            paused.judge(choice, state, now)
        elif np.isfinite(now.remaining):
            paying = (other for other in choice.others if other.pays(now.remaining, now.passes))
            better = next(paying, None)
            if better is not None:
                choice.turn_to(better, state, now.passes, w_is_stale=True)


class Newtons(Candidate):
    """Newton steps, which are given up for good where they fail."""

    def __init__(self, epochs: Epochs) -> None:
        problem = epochs.problem
        self._problem = problem
        self._cost = np.inf
        if newton.applies(problem):
            can = problem.losses.abilities
            iterated = can.quick_step is not can.step
            self._cost = costs.newton_passes(problem.data, can.quadratic, iterated)
        self._first_iteration = 0

    def applies(self) -> bool:
        return self._cost < np.inf

    def may_come_first(self) -> bool:
        """Only where one step solves the problem."""
        quadratic = self._problem.losses.abilities.quadratic
        return quadratic and self._cost < MOST_FIRST_NEWTON_PASSES

    def pays(self, remaining: float, passes: float) -> bool:
        """Whether they are cheaper than plain and than accelerated epochs."""
        return self._cost < min(remaining, costs.accelerated_passes(remaining))

    def beats(self, remaining: float) -> bool:
        return self._cost < remaining

    def begin(self, state: State, passes: float, w_is_stale: bool) -> None:
        if w_is_stale:
            state.w = self._problem.conjugate_point(state.abar).copy()
        self.steps = NewtonSteps(self._problem)
        self._first_iteration = state.iteration

    def decide(self, choice: AutomaticSteps, state: State, now: Situation) -> None:
        steps = state.iteration - self._first_iteration
        if now.estimate == np.inf or steps > MOST_NEWTON_STEPS:
            choice.drop(self)
            choice.turn_to(choice.plain, state, now.passes)


class Acceleration(Candidate):
    """Accelerated epochs, which pause for a trial of plain ones where they seem slow."""

    window = TRIAL

    def __init__(self, epochs: Epochs) -> None:
        self._epochs, self._problem = epochs, epochs.problem
        smooth = self._problem.losses.abilities.smooth
        self._too_many = TOO_MANY if smooth else TOO_MANY_NOT_SMOOTH
        self._share = TRIED_SHARE if smooth else TRIED_SHARE_NOT_SMOOTH
        self._began = 0.0  # passes
        self._not_before = 0.0  # passes at which it may be tried again
        self._wait, self._trial = 0.0, TRIAL
        self._before: Saved | None = None  # where plain epochs were when it began or resumed
        self._dual_before: float | None = None  # the dual value there, found when it is needed
        self._paused: _Paused | None = None

    def applies(self) -> bool:
        return abilities(self._problem.regularizer).weakened is not None

    def pays(self, remaining: float, passes: float) -> bool:
        return remaining > NOT_WORTH_A_CHANGE and passes >= self._not_before

    def begin(self, state: State, passes: float, w_is_stale: bool) -> None:
        self._before, self._dual_before = state.saved(), None
        self._began = passes
        if self._paused is None:
            self.steps = accelerate(self._epochs)
        else:  # it resumes where it stood
            state.restore(self._paused.point)
            self._epochs.reactivate()
            self._paused = None

    def decide(self, choice: AutomaticSteps, state: State, now: Situation) -> None:
        if now.rate is not None:
            better = next((other for other in choice.others if other.beats(now.remaining)), None)
            if better is not None:
                choice.turn_to(better, state, now.passes)
                return
        if now.passes - self._began >= self._trial and now.remaining > self._too_many:
            most = state.most_visited / self._problem.n
            if now.passes + PROBE < most:  # a run should not end within a trial
                self._paused = _Paused(state.saved(), now.estimate, now.passes - self._began)
                choice.turn_to(choice.plain, state, now.passes)

    def is_paused(self) -> bool:
        return self._paused is not None

    def judge(self, choice: AutomaticSteps, state: State, now: Situation) -> None:
        """Whether plain passes have regained the gap of acceleration, or it has lost dual value.

        Plain epochs never decrease that, while the gap jumps with rows of very different norms.
        """
        paused, before = self._paused, self._before
        assert paused is not None
        assert before is not None
        if self._dual_before is None:
            self._dual_before = self._dual(before, abar_is_known=False)
        lost = self._dual(state) < self._dual_before
        tried = max(PROBE, self._share * paused.passes)
        distance = np.log(now.estimate) - np.log(paused.estimate)
        soon = now.remaining <= NOT_WORTH_A_CHANGE or distance <= ABOUT_TO_REGAIN * (
            now.rate or 0.0
        )
        over = now.passes - choice.plain.began >= tried and not soon
        if now.estimate <= paused.estimate or (over and lost):
            self._paused = None
            if lost:
                state.duals[:], state.carried[:] = before.duals, before.carried
                state.abar[:] = self._problem.abar(state.duals)
                self._epochs.reactivate()
            self._trial, self._wait = TRIAL, max(TRIAL, PATIENCE * self._wait)
            self._not_before = now.passes + self._wait
        elif over:
            self._wait /= 2
            self._trial *= PATIENCE
            choice.turn_to(self, state, now.passes)

    def _dual(self, state: State | Saved, abar_is_known: bool = True) -> float:
        problem, abar = self._problem, state.abar if abar_is_known else None
        if problem.intercept.repairs_duals:
            near = certify(
                problem, state.duals, primal="conjugate", carried=state.carried, abar=abar
            )
            return near.dual_value
        known = problem.abar(state.duals) if abar is None else abar
        return problem.dual_at(state.duals, known)


class _Paused(NamedTuple):
    """Where acceleration stands while plain passes are tried."""

    point: Saved
    estimate: float
    passes: float  # that it took


class _Pace:
    """How fast the estimate of the gap falls, over a window of passes."""

    def __init__(self, window: float) -> None:
        self._records: deque[tuple[float, float]] = deque()
        self._window = window

    def record(self, passes: float, estimate: float) -> None:
        if 0 < estimate < np.inf:
            self._records.append((passes, float(np.log(estimate))))
        while len(self._records) > 2 and passes - self._records[1][0] >= self._window:
            self._records.popleft()

    def rate(self) -> float | None:
        """Fall of log(estimate) in a pass, never 0 or less; None before about a pass."""
        if not self._records:
            return None
        (first, high), (last, low) = self._records[0], self._records[-1]
        if last - first < LEAST_WINDOW:
            return None
        return max(high - low, LEAST_FALL) / (last - first)


def _is_ill_conditioned(epochs: Epochs) -> bool:
    """Whether plain epochs are most likely slow."""
    problem = epochs.problem
    if not problem.losses.abilities.smooth or problem.n <= problem.data.d:
        return False
    hard = epochs.v >= ILL_CONDITIONED * problem.n * problem.lam * problem.gammas
    return 2 * int(np.count_nonzero(hard)) >= problem.n
