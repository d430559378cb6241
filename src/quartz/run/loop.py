"""The loop of a run: advance, certify, record, until there is a reason to end."""

from collections.abc import Callable

import numpy as np

from quartz.certificate import Certificate, PrimalPoint, certify, certify_accurately
from quartz.methods.state import State
from quartz.methods.steps import Steps
from quartz.problem import Problem
from quartz.run.budget import Budget
from quartz.run.record import Record
from quartz.run.result import Status
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
    record : Record
        Takes the certificates.
    """

    def __init__(
        self,
        problem: Problem,
        steps: Steps,
        state: State,
        rule: StoppingRule,
        budget: Budget,
        schedule: Schedule,
        record: Record,
    ) -> None:
        self._problem, self._steps, self._state = problem, steps, state
        self._rule, self._budget, self._schedule = rule, budget, schedule
        self._record = record

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
                    # Another certificate may have a smaller gap, and yet miss the rule.
                    self._record.best = certificate
                    return Status.CONVERGED
                if asked:
                    return Status.STOPPED
                limited = certificate.is_accurate and certificate.is_rounding
                if limited and certificate is self._record.best:
                    return Status.ROUNDING
                exhausted = exhausted or self._budget.exhausted(self._passes)
                if exhausted:
                    return exhausted
            elif estimate is not None:
                self._show(show, estimate / (abs(schedule.objective) or np.nan))
            estimate = steps.advance(state, schedule.wanted(), schedule.target())
            schedule.expect(steps.objective)

    def certify_moved(self) -> None:
        """Certify what an interruption left, if the state is newer than the last certificate."""
        done = self._record.trace.iterations
        if (not done or self._state.iteration > done[-1]) and self._state.is_finite():
            self.certify(self._steps.first_primal)

    def certify(self, primal: PrimalPoint, estimate: float | None = None) -> Certificate:
        """Certify the state, and record it."""
        state, first = self._state, self._record.best is None
        certificate = certify(
            self._problem,
            state.duals,
            state.w,
            primal,
            state.carried,
            state.abar,
            enough=self._rule.gap_is_small,
            reached=self._steps.reached if primal == "own" else None,
        )
        if self._rounding_decides(certificate):
            certificate = certify_accurately(self._problem, certificate)
        self._record.add(state, certificate)
        if first:
            state.abar[:] = certificate.abar  # a start need not have one
        state.duals[:] = certificate.duals  # a free intercept has them repaired
        best = self._record.best or certificate
        self._schedule.record(certificate, best, estimate, self._passes)
        return certificate

    def _rounding_decides(self, certificate: Certificate) -> bool:
        """Whether the rule might be met if rounding were less, or rounding hides all progress.

        A rule that asks for no gap, or a gap of 0, goes on until the limit.
        """
        wanted = self._rule.gap(certificate.primal_value)
        if wanted <= 0 or self._rule.gap_is_small(certificate):
            return False
        return certificate.gap - certificate.rounding <= wanted or certificate.is_rounding

    def _show(self, show: Display | None, relative_gap: float) -> None:
        if show is None:
            return
        objective = self._schedule.objective
        target = self._rule.gap(objective) / (abs(objective) or np.nan)
        show(relative_gap, target, self._passes)

    @property
    def _passes(self) -> float:
        return self._state.visited / self._problem.n
