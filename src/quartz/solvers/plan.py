"""Everything that is fixed before the first step."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from quartz import checks
from quartz.arrays import Array
from quartz.problem import Problem
from quartz.samplings import Recipe, Sampling
from quartz.theory import theta

Option = Literal[1, 2]


@dataclass(frozen=True)
class Plan:
    """Parameters of a run of Algorithm 1; make one with :meth:`Plan.of`.

    Attributes
    ----------
    problem : Problem
    sampling : Sampling
        Bound to the problem.
    p : ndarray of shape (n,)
        Its probabilities.
    v : ndarray of shape (n,)
        ESO parameters, the dual step sizes.
    theta : float
        [a-theta]; 0 for a loss that is not smooth.
    option : {1, 2}
        How dual variables are updated.
    primal_step : float
        Weight of z in the update of w: theta in Algorithm 1; 1 makes w = z, as in Prox-SDCA.
    recipe, primal_step_factor
        As given to :meth:`of`.
    """

    problem: Problem
    sampling: Sampling
    p: Array
    v: Array
    theta: float
    option: Option
    primal_step: float
    recipe: Recipe
    primal_step_factor: float

    @classmethod
    def of(
        cls,
        problem: Problem,
        sampling: Recipe,
        option: Option = 1,
        primal_step_factor: float = 1.0,
    ) -> "Plan":
        """Bind the sampling to the problem, and find v and theta.

        Parameters
        ----------
        problem : Problem
        sampling : Sampling or recipe
            For instance ``Nice(batch_size=8)``.
        option : {1, 2}
            1 maximizes the dual along each variable, 2 moves towards -grad phi_i(A_i' w).
        primal_step_factor : float
            Multiplies theta in the update of w (the paper also tries 10 and 100); infinite gives
            Prox-SDCA, and with importance sampling Iprox-SDCA.
        """
        _check_option(problem, option)
        if not hasattr(sampling, "bind") or isinstance(sampling, type):
            raise ValueError(
                f"sampling must be a sampling such as Uniform() or Nice(batch_size=8), got "
                f"{sampling!r}."
            )
        if not isinstance(primal_step_factor, int | float) or not primal_step_factor > 0:
            raise ValueError(f"primal_step_factor must be above 0, got {primal_step_factor!r}.")
        bound = sampling.bind(problem)
        p = checks.finite_array("probabilities of the sampling", bound.probabilities, (problem.n,))
        if p.min() <= 0 or p.max() > 1:
            i = int(p.argmin() if p.min() <= 0 else p.argmax())
            raise ValueError(
                f"The sampling gives example {i} the probability {p[i]:g}; a proper sampling "
                "[ass-proper] has 0 < p_i <= 1 for all."
            )
        v = np.asarray(bound.eso(problem.data))
        if np.isinf(v).any():
            i = int(np.argmax(np.isinf(v)))
            raise ValueError(f"v[{i}] is infinite: the squares of row {i} of X overflow. Scale X.")
        v = checks.finite_array("v, the ESO of the sampling", v, p.shape)
        if bound.is_users_own:
            _check_eso(bound, problem, v)
        rate = theta(p, v, problem.lam, problem.gammas, problem.n)
        step = 1.0 if primal_step_factor == np.inf else min(1.0, primal_step_factor * rate)
        return cls(problem, bound, p, v, rate, option, step, sampling, primal_step_factor)

    def rebound(self, problem: Problem) -> "Plan":
        """The same for another problem on the same data."""
        return Plan.of(problem, self.recipe, self.option, self.primal_step_factor)


def _check_eso(sampling: Sampling, problem: Problem, v: Array) -> None:
    """Check what [a-ESO] says of single examples."""
    norms = problem.data.norms
    low = np.flatnonzero(v < norms * (1 - 1e-9))
    if low.size:
        i = int(low[0])
        raise ValueError(
            f"{type(sampling).__name__}.eso gives example {i} v = {v[i]:g}, less than "
            f"lambda_max(A_i' A_i) = {norms[i]:g}, which [a-ESO] needs. Check it with verify_eso."
        )


def _check_option(problem: Problem, option: Option) -> None:
    name = type(problem.loss).__name__
    if option not in (1, 2):
        raise ValueError(f"option must be 1 or 2, got {option!r}.")
    if not hasattr(problem.loss, "step") and problem.intercept == "free":
        raise ValueError(f"A free intercept needs {name}.step, which it lacks.")
    if option == 1 and not hasattr(problem.loss, "step"):
        raise ValueError(f"Option I needs {name}.step, which it lacks. Write it, or use option=2.")
    if option == 2 and problem.loss.gamma == 0:
        raise ValueError(
            f"Option II needs a smooth loss, and {name} has gamma = 0. Use option=1, or a smoothed "
            "variant such as SmoothedHinge."
        )
