"""Algorithm 1 for one problem: everything that is fixed before its first step."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from quartz import checks
from quartz.arrays import Array
from quartz.methods.requirements import finite_step_sizes, require_step
from quartz.problem import Problem
from quartz.samplings import Recipe, Sampling
from quartz.theory import theta

Option = Literal[1, 2]


@dataclass(frozen=True, repr=False)
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
        if not isinstance(sampling, Recipe) or isinstance(sampling, type):
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
        v = finite_step_sizes(np.asarray(bound.eso(problem.data)), problem.n)
        if not bound.proven:
            _check_eso(bound, problem, v)
        rate = theta(p, v, problem.lam, problem.gammas, problem.n)
        step = 1.0 if primal_step_factor == np.inf else min(1.0, primal_step_factor * rate)
        return cls(problem, bound, p, v, rate, option, step, sampling, primal_step_factor)

    def rebound(self, problem: Problem) -> "Plan":
        """The same for another problem on the same data."""
        return Plan.of(problem, self.recipe, self.option, self.primal_step_factor)

    def __repr__(self) -> str:
        return (
            f"Plan(option {self.option} of Algorithm 1 on {self.problem.n} examples)\n"
            f"  sampling {self.sampling!r}\n"
            f"  theta = {self.theta:.3g}, primal step {self.primal_step:.3g}, "
            f"v from {self.v.min():.3g} to {self.v.max():.3g}"
        )


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
    if option not in (1, 2):
        raise ValueError(f"option must be 1 or 2, got {option!r}.")
    if option == 1:
        require_step(problem, "Option I", "use option=2")
    if option == 2 and not problem.losses.abilities.smooth:
        raise ValueError(
            f"Option II needs a smooth loss, and {type(problem.loss).__name__} has gamma = 0. Use "
            "option=1, or a smoothed variant such as SmoothedHinge."
        )
