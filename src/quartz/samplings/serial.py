"""Serial samplings: one example in every set."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from quartz import checks
from quartz.arrays import Array
from quartz.data import Blocks
from quartz.problem import Problem
from quartz.samplings.groups import GroupSampling


class Serial(GroupSampling, proven=True):
    """Sets of one example, with any probabilities [l-serialv].

    Parameters
    ----------
    probabilities : array of shape (n,)
        P(S = {i}), positive, summing to 1.
    """

    def __init__(self, probabilities: ArrayLike) -> None:
        p = checks.probabilities("probabilities", probabilities)
        super().__init__(np.zeros(p.size, dtype=np.int8), p)  # one group

    def eso(self, data: Blocks) -> Array:
        """lambda_max(A_i' A_i) [a-vi]."""
        return data.norms


@dataclass(frozen=True)
class Uniform:
    """The serial sampling with p_i = 1/n [sec-uss]."""

    def bind(self, problem: Problem) -> Serial:
        """Return the serial uniform sampling."""
        return Serial(np.full(problem.n, 1 / problem.n))


@dataclass(frozen=True)
class Importance:
    """The optimal serial sampling, p_i proportional to 1 + v_i / (lam gamma_i n) [a-optimalp]."""

    def bind(self, problem: Problem) -> Serial:
        """Return the serial sampling with the optimal p."""
        condition = smooth_condition(problem, problem.data.norms, "Importance")
        shares = condition / condition.max()  # so that the sum does not overflow
        return Serial(shares / shares.sum())


def smooth_condition(problem: Problem, v: Array, sampling: str) -> Array:
    """Return 1 + v_i / (lam gamma_i n); refused if the loss is not smooth, or if it overflows."""
    if problem.loss.gamma == 0:
        raise ValueError(
            f"{sampling} sampling follows a rate that needs a smooth loss, and "
            f"{type(problem.loss).__name__} has gamma = 0. Use Uniform(), or Serial(probabilities)."
        )
    condition = problem.condition(v)
    if not np.isfinite(condition).all():
        i = int(np.argmax(~np.isfinite(condition)))
        raise ValueError(
            f"{sampling} sampling follows v_i / (lam gamma_i n), which overflows for row {i} of X "
            f"with v = {v[i]:g} and lam = {problem.lam:g}. Scale X, or raise lam."
        )
    return condition
