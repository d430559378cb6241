"""What a run has certified so far, so that nothing is lost when it ends, however it ends."""

from contextlib import suppress

from quartz.certificate import Certificate, certify
from quartz.methods.state import State
from quartz.methods.steps import Steps
from quartz.problem import Problem
from quartz.run.budget import Budget
from quartz.run.result import Result, Status, Trace, describe
from quartz.run.stopping import StoppingRule
from quartz.signals import deferred_interrupts


class Record:
    """The certificates of a run, as far as a result needs them.

    Parameters
    ----------
    problem : Problem
    rule : StoppingRule
    budget : Budget

    Attributes
    ----------
    trace : Trace
    best : Certificate or None
        That with the smallest gap, or the one that met the rule.
    steps : Steps or None
        Those of the method, as soon as they are made.
    """

    def __init__(self, problem: Problem, rule: StoppingRule, budget: Budget) -> None:
        self._problem, self._rule, self._budget = problem, rule, budget
        self.trace = Trace()
        self.best: Certificate | None = None
        self.steps: Steps | None = None

    def add(self, state: State, certificate: Certificate) -> None:
        """Record the certificate of a state, wholly or not at all."""
        with deferred_interrupts() as presses:
            if self.best is None or certificate.gap < self.best.gap:
                self.best = certificate
            passes = state.visited / self._problem.n
            self.trace.record(state.iteration, passes, self._budget.seconds, certificate)
        if presses:
            raise KeyboardInterrupt

    def certify_something(self) -> None:
        """Certify w = 0 and the duals 0 if there is no certificate yet."""
        if self.best is None:
            state = State.start(self._problem)
            self.add(state, certify(self._problem, state.duals, state.w))

    def at_worst_zero(self) -> None:
        """Take w = 0 if it is better than what was certified, and the start was not certified."""
        if self.best is None or not self.trace.passes or not self.trace.passes[0]:
            return
        state = State.start(self._problem)
        zero = certify(self._problem, state.duals, state.w)
        if zero.gap < self.best.gap:
            self.best = zero

    def result(self, status: Status) -> Result:
        """The result with the best certificate, of which there must be one."""
        best, steps = self.best, self.steps
        assert best is not None
        coef, intercept = self._problem.coefficients(best.w)
        promise = None if steps is None else steps.promise
        return Result(
            self._problem.data.shaped(coef).copy(),
            intercept,
            best,
            status,
            describe(status, best, self._rule, self.trace, promise),
            self.trace,
            None if steps is None else steps.plan,
        )

    def attach_to(self, error: BaseException) -> None:
        """Let what was raised carry the best pair so far, as its attribute `result`."""
        if self.best is None:
            return
        with suppress(Exception):  # what was raised first counts, not what it carries
            interrupted = isinstance(error, KeyboardInterrupt)
            error.result = self.result(  # type: ignore[attr-defined]
                Status.INTERRUPTED if interrupted else Status.FAILED
            )
            error.add_note("The best certified pair so far is this exception's `result`.")
