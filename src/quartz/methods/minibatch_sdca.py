"""Mini-batch SDCA with safe mini-batching (Takac, Bijral, Richtarik and Srebro, 2013).

All examples of a random set of size b take the step of SDCA at the same z, shortened by the factor

    beta_b = 1 + (b - 1)(n sigma^2 - 1) / (n - 1),    n sigma^2 = lambda_max(X X'),

for unit rows. For other rows, the eigenvalue here is that of the rows scaled to unit length, and
v_i = beta_b ||A_i||^2, which is the spectral ESO of the tau-nice sampling. The source has the hinge
loss; for smooth losses the analysis of SDCA gives 1/theta [a-theta] iterations to divide the dual
suboptimality by e.
"""

from dataclasses import dataclass

import numpy as np

from quartz.methods.compared import WithStepSizes, dual_steps
from quartz.methods.quartz import SampledSteps
from quartz.methods.steps import Method
from quartz.problem import Problem
from quartz.samplings import Nice
from quartz.samplings.spectral import relative_eigenvalue


@dataclass(frozen=True)
class MiniBatchSDCA(Method):
    """Mini-batch SDCA with safe mini-batching.

    Parameters
    ----------
    batch_size : int
        b, the paper's tau.
    """

    batch_size: int = 1

    def steps(self, problem: Problem, rng: np.random.Generator) -> SampledSteps:
        """Return its steps for a problem."""
        sampling, norms = Nice(self.batch_size).bind(problem), problem.data.norms
        product = sampling.joint_product(problem.data)
        beta = 1.0
        if norms.any():
            beta = relative_eigenvalue(product, sampling.probabilities, norms, problem.data)
        return dual_steps(problem, WithStepSizes(sampling, beta * norms), rng)
