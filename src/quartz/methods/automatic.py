"""Which method when: plain epochs, acceleration or Newton steps. A heuristic.

The policy goes over a list of candidates (:mod:`quartz.methods.candidates`). Each says whether it
applies, what it would cost, how to go on from a state, and what to do after each advance:

- Plain epochs, measured by how fast the estimate of the gap falls: from its rate follows how many
  passes remain. Where these are many, another candidate takes over.
- Acceleration is tried first where plain epochs are most likely slow, because n > d and
  v_i / (gamma_i n) is mostly many times lam. (With d >= n the rows may be nearly orthogonal, and
  then plain epochs are fast whatever the bound says.) Where it seems slow itself, it pauses for
  some plain passes. Unless they soon regain the gap that acceleration had, it resumes where it
  stood; if they do, or if it has lost dual value, plain epochs go on, and the next attempt waits
  longer.
- Newton steps, which need a d x d matrix, take over where a count of operations
  (:mod:`quartz.costs`) says that they are cheaper; they come first where one step solves the
  problem.

All decisions depend on counts and estimates, never on clocks: the same seed gives the same run.
"""

from collections import deque
from dataclasses import dataclass

import numpy as np

from quartz.certificate import Certificate, PrimalPoint
from quartz.methods.candidates import CANDIDATES, PROBE, Candidate, PlainCandidate, Situation
from quartz.methods.permuted import Permuted
from quartz.methods.quartz import as_method
from quartz.methods.state import State
from quartz.methods.steps import Epochs, Method, Steps
from quartz.problem import Problem
from quartz.rounding import Predicted
from quartz.samplings import Recipe

ILL_CONDITIONED = 4.0  # v_i / (gamma_i n lam) of half the examples, where plain epochs are slow
LEAST_FALL = 0.1  # fall of log(gap) that is assumed over a window: a rise says little
LEAST_WINDOW = 0.9  # passes below which no rate is measured


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
        return AutomaticSteps(epochs, more_than_epochs=self.inner is None)


class AutomaticSteps(Steps):
    """The steps of the current candidate, and a decision after each advance.

    Parameters
    ----------
    epochs : Epochs
        The plain ones.
    more_than_epochs : bool
        Whether candidates that replace the epochs, such as Newton steps, may be taken.
    """

    def __init__(self, epochs: Epochs, more_than_epochs: bool) -> None:
        self.problem, self.plan = epochs.problem, epochs.plan
        self.plain = PlainCandidate(epochs)
        self.others: list[Candidate] = []
        for kind in CANDIDATES:
            other = kind(epochs)
            if other.applies() and (more_than_epochs or not other.replaces_epochs):
                self.others.append(other)
        self.current: Candidate = self.plain
        self._pace = _Pace(PROBE)
        self._begun = False

    @property
    def primal(self) -> PrimalPoint:  # type: ignore[override]
        """The primal point that belongs to the current method."""
        return self.current.steps.primal

    @property
    def reached(self) -> Predicted | None:  # type: ignore[override]
        """The point of the current method with its predictions."""
        return self.current.steps.reached

    def advance(self, state: State, wanted: float, target: float) -> float:
        """Advance by the current candidate, then let it decide how to go on."""
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
        self, candidate: Candidate, state: State, passes: float, w_is_stale: bool = False
    ) -> None:
        """Make a candidate the current one, from that number of passes on.

        `w_is_stale` says that the state comes from plain epochs, whose primal point is z.
        """
        candidate.begin(state, passes, w_is_stale)
        self.current = candidate
        self._pace = _Pace(candidate.window)
        self.plain.steps.turn_to(self.problem)  # an outer loop leaves its own problem behind
        if candidate is self.plain:
            self.plain.steps.reactivate()  # w has moved far since examples became inactive

    def drop(self, candidate: Candidate) -> None:
        """Never choose a candidate again."""
        self.others.remove(candidate)

    def _begin(self, state: State) -> None:
        if self.others and _is_ill_conditioned(self.plain.steps):
            first = next((other for other in self.others if other.may_come_first()), None)
            if first is not None:
                self.turn_to(first, state, 0.0)


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
