"""SPDC, stochastic primal-dual coordinate (Zhang and Xiao, 2015), with mini-batches.

Its steps are those of :mod:`quartz.methods.pulled`, with the dual step

    alpha_i^{t+1} = argmin phi_i*(-a) + a A_i' xbar^t + (a - alpha_i^t)^2 / (2 sigma)

    tau = 1/(2R) sqrt(m gamma / (n lam)),   sigma = 1/(2R) sqrt(n lam / (m gamma)),
    theta = 1 - 1 / (n/m + R sqrt(n / (m lam gamma))),

where m is the size of the mini-batch. With these step sizes the distance to the saddle point falls
by the factor theta in an iteration, which is the bound of [tab-comtau]. The source writes y for
-alpha.
"""

from dataclasses import dataclass

import numpy as np

from quartz.methods.pulled import PulledSteps
from quartz.methods.steps import Method
from quartz.problem import Problem


@dataclass(frozen=True)
class SPDC(Method):
    """The stochastic primal-dual coordinate method.

    Parameters
    ----------
    batch_size : int
        m, the paper's tau.
    """

    batch_size: int = 1

    def steps(self, problem: Problem, rng: np.random.Generator) -> "SPDCSteps":
        """Return its steps for a problem."""
        return SPDCSteps(problem, self.batch_size, rng)


class SPDCSteps(PulledSteps):
    """Steps of SPDC."""

    def __init__(self, problem: Problem, batch_size: int, rng: np.random.Generator) -> None:
        super().__init__("SPDC", problem, batch_size, rng)
        ratio = problem.n / batch_size
        root, radius = np.sqrt(ratio * problem.lam / self.gamma), np.sqrt(self.largest_norm)
        self.tau, self.sigma = 0.5 / (radius * root), 0.5 * root / radius
        self.theta = 1.0 - 1.0 / (ratio + np.sqrt(ratio * self.condition))
