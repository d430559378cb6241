"""The status of a run as a sentence, with a forecast where it did not converge."""

import numpy as np

from quartz.certificate import Certificate
from quartz.solvers.plan import Plan
from quartz.solvers.result import Status, Trace
from quartz.theory import iterations


def describe(status: Status, best: Certificate, tol: float, trace: Trace, plan: Plan | None) -> str:
    """Say how the run ended, and for one that did not converge what it would still take.

    With a plan also what the theorem promises.
    """
    passes = f"{trace.passes[-1]:.4g} passes"
    reached = f"relative gap {best.relative_gap:.2e}"
    if status is Status.CONVERGED:
        return f"Converged: {reached} <= tol = {tol:g}, certified after {passes}."
    if status is Status.DIVERGED:
        return (
            f"Diverged: the iterates overflowed after {passes}; the best pair has {reached}. "
            "The ESO v of the sampling is too small for the data, the loss breaks its laws (try "
            "verify_eso and check_loss), or v / (lam n) overflows (scale X, or increase lam)."
        )
    sentences = [f"Not converged ({status.value}): {reached} > tol = {tol:g} after {passes}."]
    target = tol * abs(best.primal)
    if 0 < target < best.gap < np.inf:
        decades = np.log(best.gap / target)
        rate = trace.decay_per_pass()
        if rate > 0:
            sentences.append(f"At the observed rate {decades / rate:.3g} more passes are needed.")
        if plan is not None and plan.theta > 0:
            steps = iterations(plan.theta, best.gap, target)
            bound = steps * plan.sampling.expected_size / plan.problem.n
            sentences.append(f"The theorem promises {bound:.3g} in expectation.")
    sentences.append("Raise the limit, loosen tol, or increase lam.")
    return " ".join(sentences)
