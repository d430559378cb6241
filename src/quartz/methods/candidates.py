"""The candidates of the automatic choice: what each applies to, what it costs, when it hands over.

A candidate wraps the steps of one method. The policy (:mod:`quartz.methods.automatic`) keeps the
current one advancing, and asks it after each advance whether to go on. To add a method to the
choice, write its candidate here and name it in `CANDIDATES`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np

from quartz import costs
from quartz.certificate import certify
from quartz.methods import newton
from quartz.methods.accelerated import accelerate
from quartz.methods.newton import sample
from quartz.methods.permuted import Permuted
from quartz.methods.state import Saved, State
from quartz.methods.steps import Epochs, Steps
from quartz.problem import Problem
from quartz.regularizers.base import abilities

# Passes, unless it says otherwise. All were chosen on the cells of docs/benchmarks-acceleration.md.

# How long to watch a method before its rate counts
PROBE = 3.0  # window over which the rate of plain epochs is measured
TRIAL = 20.0  # window for acceleration, and the passes after which it must look promising
# When a change pays
NOT_WORTH_A_CHANGE = 6.0  # remaining passes up to which nothing is changed
TOO_MANY, TOO_MANY_NOT_SMOOTH = 60.0, 200.0  # remaining passes after a trial: not promising
# Steps after which Newton's method is given up, in all and while no estimate is half the least one
MOST_NEWTON_STEPS = 60, 15
MOST_MULTIPLIER_STEPS = 150, 40
# What to begin with
ILL_CONDITIONED = 4.0  # v_i / (gamma_i n lam) of half the examples, where plain epochs are slow
PASSES_WELL_CONDITIONED, PASSES_ILL_CONDITIONED = 5.0, 15.0  # that epochs are expected to take
FIRST_SHARE = 0.8  # of their cost that Newton's method may have, to be taken first
# For losses that are not smooth: passes by mean ||x_i||^2 / (n lam), with these bounds between them
PASSES_NOT_SMOOTH, CONDITIONS_NOT_SMOOTH = (3.0, 4.5, 15.0), (0.3, 1.0)
ROWS_PER_FEATURE = 100  # with fewer of them the method of multipliers takes many steps
RARE = 0.1  # share of a label, below which epochs are fast
SHORT = 1e6  # entries of X up to which a step of Newton's method is mostly Python
# While acceleration pauses and plain epochs are tried in its place
TRIED_SHARE, TRIED_SHARE_NOT_SMOOTH = 0.1, 0.3  # passes to try, as a share of the accelerated ones
ABOUT_TO_REGAIN = 1.5  # passes within which its gap would be regained: then the trial goes on
# Factor by which the wait grows after acceleration lost to plain epochs, and its next trial after
# it won.
PATIENCE = 4.0


class Situation(NamedTuple):
    """What is known after an advance."""

    passes: float
    estimate: float  # of the gap
    rate: float | None  # fall of log(estimate) in a pass
    remaining: float  # passes to the target at that rate; infinite if it is not known


class Choice(Protocol):
    """What a candidate sees of the policy."""

    plain: "PlainCandidate"
    others: "list[Candidate]"

    def turn_to(
        self, candidate: "Candidate", state: State, passes: float, w_is_stale: bool = False
    ) -> None:
        """Make a candidate the current one."""

    def drop(self, candidate: "Candidate") -> None:
        """Never choose a candidate again."""


class Candidate(ABC):
    """A method that the choice may take. Costs are in passes of plain epochs.

    Attributes
    ----------
    steps : Steps
    window : float
        Passes over which its rate is measured.
    replaces_epochs : bool
        Whether it replaces the epochs; then it is taken only if the user named no inner method.
    expects_objective_at_zero : bool
        Whether its steps do not find P by themselves, so that P at w = 0 stands for it at first.
    """

    steps: Steps
    window: float = PROBE
    replaces_epochs: bool = False
    expects_objective_at_zero: bool = True

    def applies(self) -> bool:
        """Whether it can solve the problem at all."""
        return True

    def may_come_first(self) -> bool:
        """Whether the run should begin with it."""
        return False

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
    def decide(self, choice: Choice, state: State, now: Situation) -> None:
        """Go on, or turn to another candidate."""

    def is_paused(self) -> bool:
        """Whether it waits for the plain epochs that are tried in its place."""
        return False

    def judge(self, choice: Choice, state: State, now: Situation) -> None:
        """While it is paused: whether to resume."""
        raise NotImplementedError


class PlainCandidate(Candidate):
    """Plain epochs, which are made when they are needed: that may compile kernels."""

    def __init__(self, make: Callable[[], Epochs]) -> None:
        self._make = make
        self.began = 0.0

    @cached_property
    def steps(self) -> Epochs:  # type: ignore[override]
        """The epochs."""
        return self._make()

    def pays(self, remaining: float, passes: float) -> bool:
        return False

    def begin(self, state: State, passes: float, w_is_stale: bool) -> None:
        self.began = passes

    def advance(self, state: State, wanted: float, target: float) -> float:
        return self.steps.run(state, wanted, passes=1.0)

    def decide(self, choice: Choice, state: State, now: Situation) -> None:
        paused = next((other for other in choice.others if other.is_paused()), None)
        if paused is not None:
            paused.judge(choice, state, now)
        elif np.isfinite(now.remaining):
            paying = (other for other in choice.others if other.pays(now.remaining, now.passes))
            better = next(paying, None)
            if better is not None:
                choice.turn_to(better, state, now.passes, w_is_stale=True)


class NewtonCandidate(Candidate):
    """Newton steps, which are given up for good where they fail."""

    replaces_epochs = True
    expects_objective_at_zero = False
    _for_smooth_losses = True
    _most_steps = MOST_NEWTON_STEPS

    def __init__(self, problem: Problem, plain: PlainCandidate, rng: np.random.Generator) -> None:
        self._problem, self._rng = problem, rng
        self._first_iteration = 0
        self._least, self._steps_then = np.inf, 0  # the least estimate, and the step that found it

    def applies(self) -> bool:
        problem = self._problem
        right = problem.losses.abilities.smooth == self._for_smooth_losses
        return right and newton.applies(problem) and problem.data.features <= costs.MOST_FEATURES

    @cached_property
    def _cost(self) -> float:
        """Of the steps from a point near the solution, in passes."""
        can = self._problem.losses.abilities
        return costs.newton_passes(self._problem.data, can.quadratic, can.step_iterates)

    def may_come_first(self) -> bool:
        """Where they are likely cheaper than all that epochs would do, from w = 0."""
        problem = self._problem
        data, can = problem.data, problem.losses.abilities
        ill = (
            data.storage.mean_square
            >= ILL_CONDITIONED * problem.n * problem.lam * problem.loss.gamma
        )
        passes = PASSES_ILL_CONDITIONED if ill else PASSES_WELL_CONDITIONED
        whole = costs.newton(data, can.quadratic)
        return whole < FIRST_SHARE * passes * costs.epoch(data, can.step_iterates)

    def pays(self, remaining: float, passes: float) -> bool:
        """Whether they are cheaper than plain and than accelerated epochs."""
        return self._cost < min(remaining, costs.accelerated_passes(remaining))

    def beats(self, remaining: float) -> bool:
        return self._cost < remaining

    def begin(self, state: State, passes: float, w_is_stale: bool) -> None:
        if w_is_stale:
            state.w = self._problem.conjugate_point(state.abar).copy()
        self.steps = newton.Newton().steps(self._problem, self._rng)
        self._first_iteration = state.iteration
        self._least, self._steps_then = np.inf, 0

    def decide(self, choice: Choice, state: State, now: Situation) -> None:
        steps = state.iteration - self._first_iteration
        if not now.estimate > 0.5 * self._least:
            self._least, self._steps_then = now.estimate, steps
        most, most_of_a_stall = self._most_steps
        stalls = steps - self._steps_then > most_of_a_stall
        if now.estimate == np.inf or steps > most or stalls:
            choice.drop(self)
            state.abar[:] = self._problem.abar(state.duals)
            choice.turn_to(choice.plain, state, now.passes)


class MultiplierCandidate(NewtonCandidate):
    """The same for losses that are not smooth."""

    _for_smooth_losses = False
    _most_steps = MOST_MULTIPLIER_STEPS

    @cached_property
    def _cost(self) -> float:
        data = self._problem.data
        return costs.multipliers(data, costs.MANY_MULTIPLIERS) / costs.epoch(data, iterated=False)

    def may_come_first(self) -> bool:
        """Where they are likely cheaper than epochs, by how many these are likely to be."""
        problem = self._problem
        data, labels = problem.data, problem.losses.by_label
        if not data.storage.gram_by_blas:
            return False
        small = sample.is_small(data)
        if not small and problem.n < ROWS_PER_FEATURE * data.features:
            return False
        if labels is not None:
            shares = labels.weights_or_ones / problem.n
            if shares.min() < RARE:  # then w is nearly 0, or many examples are at the kink
                return False
        condition = data.storage.mean_square / (problem.n * problem.lam)
        if small:
            return bool(condition >= ILL_CONDITIONED)
        passes = PASSES_NOT_SMOOTH[int(np.searchsorted(CONDITIONS_NOT_SMOOTH, condition))]
        whole = costs.multipliers(data)
        return whole < FIRST_SHARE * passes * costs.epoch(data, iterated=False)


def is_short(problem: Problem) -> bool:
    """Whether the default choice makes many short calls of NumPy, in which threads do not help.

    They wait for one another between the calls, because each call needs Python's lock. Epochs are
    compiled loops, and do without it.
    """
    if problem.n * problem.data.features > SHORT:
        return False
    plain = PlainCandidate(lambda: Permuted().epochs(problem, np.random.default_rng()))
    newtons = (
        kind(problem, plain, np.random.default_rng())
        for kind in (NewtonCandidate, MultiplierCandidate)
    )
    return any(candidate.applies() and candidate.may_come_first() for candidate in newtons)


class AccelerationCandidate(Candidate):
    """Accelerated epochs, which pause for a trial of plain ones where they seem slow."""

    window = TRIAL

    def __init__(self, problem: Problem, plain: PlainCandidate, rng: np.random.Generator) -> None:
        self._problem, self._plain = problem, plain
        smooth = self._problem.losses.abilities.smooth
        self._too_many = TOO_MANY if smooth else TOO_MANY_NOT_SMOOTH
        self._share = TRIED_SHARE if smooth else TRIED_SHARE_NOT_SMOOTH
        self._began = 0.0  # passes
        self._not_before = 0.0  # passes at which it may be tried again
        self._wait, self._trial = 0.0, TRIAL
        self._before: Saved | None = None  # where plain epochs were when it began or resumed
        self._dual_before: float | None = None  # the dual value there, found when it is needed
        self._paused: _Paused | None = None

    @property
    def _epochs(self) -> Epochs:
        return self._plain.steps

    def applies(self) -> bool:
        return abilities(self._problem.regularizer).weakened is not None

    def may_come_first(self) -> bool:
        """Where plain epochs are most likely slow."""
        problem = self._problem
        if not problem.losses.abilities.smooth or problem.n <= problem.data.d:
            return False
        hard = self._epochs.v >= ILL_CONDITIONED * problem.n * problem.lam * problem.gammas
        return int(np.count_nonzero(hard)) > problem.n / 2

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

    def decide(self, choice: Choice, state: State, now: Situation) -> None:
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

    def judge(self, choice: Choice, state: State, now: Situation) -> None:
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


CANDIDATES: Sequence[Callable[[Problem, PlainCandidate, np.random.Generator], Candidate]] = (
    NewtonCandidate,
    MultiplierCandidate,
    AccelerationCandidate,
)
"""Those that may come first or follow plain epochs; where several pay, the first one is taken."""
