"""SDCA and its relatives that are options of Quartz: w = z, and v as their sources have it."""

from dataclasses import dataclass

import numpy as np

from quartz.problem import Problem
from quartz.samplings import Importance, Recipe, Uniform
from quartz.solvers.plan import Plan
from quartz.solvers.sampled import SampledSteps


@dataclass(frozen=True)
class ProxSDCA:
    """Prox-SDCA (Shalev-Shwartz and Zhang, 2012): uniform serial sampling, Option I, w = z."""

    def steps(self, problem: Problem, rng: np.random.Generator) -> SampledSteps:
        """Return its steps for a problem."""
        return _dual_steps(problem, Uniform(), rng)


@dataclass(frozen=True)
class IproxSDCA:
    """Iprox-SDCA (Zhao and Zhang, 2015): p_i in proportion to 1 + ||A_i||^2 / (lam gamma_i n)."""

    def steps(self, problem: Problem, rng: np.random.Generator) -> SampledSteps:
        """Return its steps for a problem."""
        return _dual_steps(problem, Importance(), rng)


def _dual_steps(problem: Problem, sampling: Recipe, rng: np.random.Generator) -> SampledSteps:
    plan = Plan.of(problem, sampling, option=1, primal_step_factor=np.inf)
    return SampledSteps(plan, rng, 1.0, "compiled", "conjugate")
