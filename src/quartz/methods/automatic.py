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
- Newton steps, which need a d x d matrix, come first or take over where a count of operations
  (:mod:`quartz.costs`) says that they are cheaper.

All decisions depend on counts and estimates, never on clocks: the same seed gives the same run.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from quartz.certificate import Certificate, PrimalPoint
from quartz.methods.candidates import CANDIDATES, Candidate, PlainCandidate, Situation
from quartz.methods.permuted import Permuted
from quartz.methods.quartz import as_method
from quartz.methods.state import State
from quartz.methods.steps import Epochs, Method, Steps
from quartz.problem import Problem
from quartz.rounding import Predicted
from quartz.samplings import Recipe

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
        if self.inner is None:
            return AutomaticSteps(problem, lambda: Permuted().epochs(problem, rng), rng)
        epochs = as_method(self.inner).epochs(problem, rng)
        if not epochs.is_ascent:
            raise ValueError(
                "Automatic needs option=1: it judges by the dual value, which Option II does not "
                "always increase. Use option=1, or Accelerated."
            )
        steps = AutomaticSteps(problem, lambda: epochs, rng, more_than_epochs=False)
        steps.plan = epochs.plan
        return steps


class AutomaticSteps(Steps):
    """The steps of the current candidate, and a decision after each advance.

    Parameters
    ----------
    problem : Problem
    make_epochs : callable
        Returns the plain epochs.
    rng : numpy.random.Generator
        For other candidates.
    more_than_epochs : bool
        Whether candidates that replace the epochs, such as Newton steps, may be taken.
    """

    def __init__(
        self,
        problem: Problem,
        make_epochs: Callable[[], Epochs],
        rng: np.random.Generator,
        more_than_epochs: bool = True,
    ) -> None:
        self.problem = problem
        self.plain = PlainCandidate(make_epochs)
        self.others: list[Candidate] = []
        for kind in CANDIDATES:
            other = kind(problem, self.plain, rng)
            if other.applies() and (more_than_epochs or not other.replaces_epochs):
                self.others.append(other)
        first = next((other for other in self.others if other.may_come_first()), None)
        self.current: Candidate = first or self.plain
        self.certifies_start = not more_than_epochs
        self._at_start: float | None = None  # P at w = 0, for methods that know no better
        self._pace = _Pace(self.current.window)
        self._begun = False

    @property
    def primal(self) -> PrimalPoint:  # type: ignore[override]
        """The primal point that belongs to the current method."""
        return self.current.steps.primal if self._begun else "best"

    @property
    def reached(self) -> Predicted | None:  # type: ignore[override]
        """The point of the current method with its predictions."""
        return self.current.steps.reached if self._begun else None

    @property
    def objective(self) -> float | None:  # type: ignore[override]
        """P, if the current method knows it."""
        known = self.current.steps.objective if self._begun else None
        return self._at_start if known is None else known

    def advance(self, state: State, wanted: float, target: float) -> float:
        """Advance by the current candidate, then let it decide how to go on."""
        if not self._begun:
            self._begun = True
            self.current.begin(state, 0.0, w_is_stale=False)
            if self.current.expects_objective_at_zero:
                self._at_start = self.problem.primal_at(*self.problem.at_zero)
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
        if self._begun:
            self.current.steps.refresh(state, certificate)
        else:
            super().refresh(state, certificate)

    def turn_to(
        self, candidate: Candidate, state: State, passes: float, w_is_stale: bool = False
    ) -> None:
        """Make a candidate the current one, from that number of passes on.

        `w_is_stale` says that the state comes from plain epochs, whose primal point is z.
        """
        candidate.begin(state, passes, w_is_stale)
        self.current = candidate
        self._pace = _Pace(candidate.window)
        if candidate is self.plain:
            self.plain.steps.turn_to(self.problem)  # an outer loop leaves its own problem behind
            self.plain.steps.reactivate()  # w has moved far since examples became inactive

    def drop(self, candidate: Candidate) -> None:
        """Never choose a candidate again."""
        self.others.remove(candidate)


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
