"""AccProx-SDCA (Shalev-Shwartz and Zhang, 2014): outer steps with momentum around Prox-SDCA.

Outer step t minimizes P(w) + kappa/2 ||w - y^{t-1}||^2 to the duality gap eps_t, and then sets

    y^t = w^t + beta (w^t - w^{t-1}),    beta = (1 - eta) / (1 + eta)
    kappa = R^2 / (gamma n) - lam,       eta = sqrt(mu / rho),  mu = lam / 2,  rho = mu + kappa
    eps_t = eta xi_{t-1} / (2 (1 + eta^{-2})),    xi_t = (1 - eta / 2)^{t-1} xi_1,
    xi_1 = (1 + eta^{-2})(P(0) - D(0)),

with which P(w^t) - P* <= xi_t. The inner gap is measured after each pass. Accelerated Quartz
(:mod:`quartz.methods.accelerated`) differs in two ways: its accuracy eps_t depends on the length of
the outer step that was taken, and it allows any sampling in its inner steps.
"""

from dataclasses import dataclass

import numpy as np

from quartz.arrays import Array
from quartz.methods.accelerated import ProximalPoints
from quartz.methods.compared import dual_steps
from quartz.methods.requirements import require_smooth
from quartz.methods.steps import Method
from quartz.problem import Problem
from quartz.samplings import Uniform


@dataclass(frozen=True)
class AccProxSDCA(Method):
    """Accelerated Prox-SDCA."""

    def steps(self, problem: Problem, rng: np.random.Generator) -> "AccProxSteps":
        """Return its steps for a problem."""
        return AccProxSteps(problem, rng)


class AccProxSteps(ProximalPoints):
    """Outer steps of AccProx-SDCA.

    Attributes
    ----------
    eta : float
    bound : float
        xi_t, a bound on P(w^t) - P* if the run started at w = 0 and alpha = 0.
    """

    def __init__(self, problem: Problem, rng: np.random.Generator) -> None:
        require_smooth("AccProx-SDCA", problem)
        super().__init__(dual_steps(problem, Uniform(), rng))
        zero = np.zeros(problem.data.dual_shape)
        gap = problem.primal(np.zeros(problem.data.d)) - problem.dual(zero)
        self.eta = self._root
        self.bound = (1 + self.eta**-2) * gap

    def _enough(self, w: Array) -> float:
        return 0.5 * self.eta * self.bound / (1 + self.eta**-2)

    @property
    def _root(self) -> float:
        half = self._problem.lam / 2
        return float(np.sqrt(half / (half + self.kappa)))

    def _move_centre(self, w: Array, estimate: float, epochs: int) -> None:
        super()._move_centre(w, estimate, epochs)
        self.bound *= 1 - 0.5 * self.eta
