"""The loop of a run: advance, certify, record, until there is a reason to end."""

from collections.abc import Callable

import numpy as np

from quartz.certificate import Certificate, PrimalPoint, certify
from quartz.methods.state import State
from quartz.methods.steps import Steps
from quartz.problem import Problem
from quartz.run.budget import Budget
from quartz.run.result import Status, Trace
from quartz.run.schedule import Schedule
from quartz.run.stopping import StoppingRule

Callback = Callable[[State, Certificate], object]  # a true return value stops the run
Display = Callable[[float, float, float], None]  # relative gap, the one to reach, passes


class Loop:
    """One run of a method on a problem.

    Parameters
    ----------
    problem : Problem
    steps : Steps
    state : State
        The start, overwritten.
    rule : StoppingRule
    budget : Budget
    schedule : Schedule

    Attributes
    ----------
    trace : Trace
    best : Certificate
        That with the smallest gap, as soon as there is one.
    """

    best: Certificate

    def __init__(
        self,
        problem: Problem,
        steps: Steps,
        state: State,
        rule: StoppingRule,
        budget: Budget,
        schedule: Schedule,
    ) -> None:
        self._problem, self._steps, self._state = problem, steps, state
        self._rule, self._budget, self._schedule = rule, budget, schedule
        self.trace = Trace()

    def run(self, callback: Callback | None, show: Display | None) -> Status:
        """Advance and certify until there is a reason to end, and return it."""
        state, steps, schedule = self._state, self._steps, self._schedule
        estimate = schedule.first_estimate
        while True:
            exhausted = self._budget.exhausted(self._passes)
            if exhausted or schedule.is_due(estimate, self._passes):
                if not state.is_finite():
                    return Status.DIVERGED
                point = steps.primal if state.iteration else steps.first_primal
                certificate = self.certify(point, estimate)
                steps.refresh(state, certificate)
                self._show(show, certificate.relative_gap)
                asked = callback is not None and callback(state, certificate)
                if self._rule.is_met(certificate):
                    self.best = certificate  # another may have a smaller gap and miss the rule
                    return Status.CONVERGED
                if asked:
                    return Status.STOPPED
                exhausted = exhausted or self._budget.exhausted(self._passes)
                if exhausted:
                    return exhausted
            elif estimate is not None:
                self._show(show, estimate / (abs(schedule.objective) or np.nan))
            estimate = steps.advance(state, schedule.wanted(), schedule.target())

    def certify_moved(self) -> None:
        """Certify what an interruption left, if the state is newer than the last certificate."""
        moved = not len(self.trace) or self._state.iteration > self.trace.iterations[-1]
        if moved and self._state.is_finite():
            self.certify(self._steps.first_primal)

    def certify_something(self) -> None:
        """Certify a fresh start if there is no certificate yet."""
        if not len(self.trace):
            self._state.restore(State.start(self._problem).saved())
            self.certify(self._steps.first_primal)

    def certify(self, primal: PrimalPoint, estimate: float | None = None) -> Certificate:
        """Certify the state, and record it."""
        state, first = self._state, not len(self.trace)
        certificate = certify(
            self._problem,
            state.duals,
            state.w,
            primal,
            state.carried,
            state.abar,
            enough=self._rule.gap_is_small,
        )
        if first or certificate.gap < self.best.gap:
            self.best = certificate
        self.trace.record(state.iteration, self._passes, self._budget.seconds, certificate)
        if first:
            state.abar[:] = certificate.abar  # a start need not have one
        state.duals[:] = certificate.duals  # a free intercept has them repaired
        self._schedule.record(certificate, self.best, estimate, self._passes)
        return certificate

    def _show(self, show: Display | None, relative_gap: float) -> None:
        if show is None:
            return
        objective = self._schedule.objective
        target = self._rule.gap(objective) / (abs(objective) or np.nan)
        show(relative_gap, target, self._passes)

    @property
    def _passes(self) -> float:
        return self._state.visited / self._problem.n
