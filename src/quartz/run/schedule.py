"""When a certificate is due, by the method's own estimates of the gap.

A certificate costs a pass or two. A method without an estimate is certified each time it returns.
With one, a certificate is due when the estimate promises success, when it has fallen far since the
last one, for the record, or when it is too long ago.
"""

import numpy as np

from quartz.certificate import Certificate
from quartz.run.stopping import StoppingRule

# Estimates are mostly too high, because the gap falls while they are made.
LEAST_SHARE = 0.1  # least share of an estimate that is believed to be the true gap
LONGEST_WAIT = 32.0  # passes without a certificate, for callbacks and the record
RETRY_SHARE = 0.25  # of the passes so far, after which a promise that failed is tested again


class Schedule:
    """Compares estimates with what the last certificate told.

    Parameters
    ----------
    rule : StoppingRule
    longest_wait : float
        Passes after which a certificate is due in any case, as asked for by the user.
    objective : float, optional
        What P is expected to be, before there is a certificate.
    certifies_start : bool
        Whether the start is certified, if P is not expected to be anything.
    """

    def __init__(
        self,
        rule: StoppingRule,
        longest_wait: float = np.inf,
        objective: float | None = None,
        certifies_start: bool = True,
    ) -> None:
        self._rule = rule
        self._longest_wait = longest_wait
        self._certified = False
        self._expected = objective or None  # 0 has no relative gaps
        aimless = rule.gap(1.0) <= 0  # then certificates are due as the gap falls
        self._certifies_start = (certifies_start or aimless) and self._expected is None
        self._estimate_then, self._passes_then = np.inf, 0.0  # at the last certificate
        self._share = 1.0  # certified gap over its estimate, at the last certificate

    @property
    def first_estimate(self) -> float | None:
        """What stands for an estimate before the first step: None has the start certified."""
        return None if self._certifies_start else np.inf

    def expect(self, objective: float | None) -> None:
        """Take what a method found P to be, as long as there is no certificate."""
        if not self._certified and objective:
            self._expected = objective

    @property
    def objective(self) -> float:
        """P of the best certificate, or what is expected before there is one."""
        return self._expected or 0.0

    def target(self) -> float:
        """The estimate that promises success, as far as the last one told the truth."""
        return self._rule.gap(self.objective) / self._share

    def wanted(self) -> float:
        """The estimate of the gap at which to certify next: for success, or for the record.

        After a certificate that failed, the estimate must halve first.
        """
        if not self._certified:
            return self.target()
        target = min(self.target(), 0.5 * self._estimate_then)
        return max(target, self._rule.worth_a_look * self._estimate_then)

    def is_due(self, estimate: float | None, passes: float) -> bool:
        """Whether to certify: without an estimate always; also if it is not a number.

        An estimate that was far too low may never halve; then waiting counts.
        """
        if estimate is None or not estimate > self.wanted():
            return True
        patience = LONGEST_WAIT
        if estimate <= self.target():
            patience = 1 + RETRY_SHARE * self._passes_then
        return passes - self._passes_then >= min(patience, self._longest_wait)

    def record(
        self, certificate: Certificate, best: Certificate, estimate: float | None, passes: float
    ) -> None:
        """Remember what a certificate said of an estimate."""
        self._certified, self._expected = True, best.primal_value
        self._estimate_then = certificate.gap if estimate is None else estimate
        if estimate is not None and estimate > 0:
            self._share = min(1.0, max(LEAST_SHARE, certificate.gap / estimate))
        self._passes_then = passes
