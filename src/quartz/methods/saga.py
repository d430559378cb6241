"""SAGA (Defazio, Bach and Lacoste-Julien, 2014), a primal method, for comparison.

It keeps the gradients phi_i'(A_i' w) at earlier points, here as -alpha_i, and takes the step

    w^+ = prox_{eta lam g}(w - eta (A_i (phi_i'(A_i' w) + alpha_i) - lam abar)),   eta = 1 / (3 L),

with a random i, where L = max_i ||A_i||^2 / gamma_i. These are the steps of
:mod:`quartz.methods.pulled` with m = 1, no momentum, and the dual step alpha_i = -phi_i'(A_i' w).
The source assumes strongly convex losses. Here the strong convexity is in lam g, and the source's
argument then gives, with r = (1 + eta lam)^{-2} and the potential
V = ||w - w*||^2 + 4 r eta^2 sum_i ||A_i (alpha_i - alpha_i*)||^2,

    E V^+ <= max(r, 1 - 1/(2n)) V.

Let N be the mean of ||A_i (phi_i'(A_i' w) + alpha_i*)||^2. Before the proximal step, which
contracts squared distances by r, convexity subtracts 2 eta N / L = 6 eta^2 N from the squared
distance, and the variance adds at most eta^2 (2 N + 2/n sum_i ||A_i (alpha_i - alpha_i*)||^2). Each
term of the sum in V is replaced with probability 1/n, which adds 4 r eta^2 N. The multiples of N
therefore cancel, and the factor of the sum becomes 4 r eta^2 (1 - 1/n + 1/(2n)).
"""

from dataclasses import dataclass

import numpy as np

from quartz.methods.pulled import PulledSteps
from quartz.methods.steps import Method
from quartz.problem import Problem


@dataclass(frozen=True)
class SAGA(Method):
    """SAGA with the step size of its source."""

    def steps(self, problem: Problem, rng: np.random.Generator) -> "SAGASteps":
        """Return its steps for a problem."""
        return SAGASteps(problem, rng)


class SAGASteps(PulledSteps):
    """Steps of SAGA; tau is eta."""

    option = 2

    def __init__(self, problem: Problem, rng: np.random.Generator) -> None:
        super().__init__("SAGA", problem, 1, rng)
        self.tau = 1.0 / (3.0 * self.largest_ratio)
