"""SDCA with serial samplings, which is Quartz with Option I and w = z."""

from dataclasses import dataclass

import numpy as np

from quartz.methods.compared import dual_steps
from quartz.methods.quartz import SampledSteps
from quartz.methods.steps import Method
from quartz.problem import Problem
from quartz.samplings import Importance, Uniform


@dataclass(frozen=True)
class ProxSDCA(Method):
    """Prox-SDCA (Shalev-Shwartz and Zhang, 2012): uniform serial sampling."""

    def steps(self, problem: Problem, rng: np.random.Generator) -> SampledSteps:
        """Return its steps for a problem."""
        return dual_steps(problem, Uniform(), rng)


@dataclass(frozen=True)
class IproxSDCA(Method):
    """Iprox-SDCA (Zhao and Zhang, 2015): p_i in proportion to 1 + ||A_i||^2 / (lam gamma_i n)."""

    def steps(self, problem: Problem, rng: np.random.Generator) -> SampledSteps:
        """Return its steps for a problem."""
        return dual_steps(problem, Importance(), rng)
