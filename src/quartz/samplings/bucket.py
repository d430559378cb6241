"""Bucket sampling: importance sampling of mini-batches that does not need separable groups."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from quartz import checks
from quartz.arrays import Array
from quartz.data import Blocks
from quartz.problem import Problem
from quartz.samplings.grouping import Groups, pack
from quartz.samplings.groups import GroupSampling, group_totals
from quartz.samplings.serial import smooth_condition

_ROUNDS = 100  # iterations of the probabilities at most


@dataclass(frozen=True)
class Bucket:
    """One example from each bucket, with probabilities optimized for the problem; a heuristic.

    Within each bucket p_i is proportional to 1 + v_i / (lam gamma_i n), as for the optimal serial
    sampling [a-optimalp]. Since v depends on p, this is iterated, and the p with the largest theta
    [a-theta] is kept. It is a valid sampling, but not necessarily the best one.

    Parameters
    ----------
    groups : int, list of index lists, or vector of group numbers
        The buckets, or the number of buckets to form. Those are given about equal sums of
        1 + v_i / (lam gamma_i n), with v of the serial sampling.
    """

    groups: int | Groups

    def bind(self, problem: Problem) -> "BucketSampling":
        """Return the sampling with optimized probabilities."""
        condition = smooth_condition(problem, problem.data.norms, "Bucket")
        if isinstance(self.groups, int | np.integer):
            remedy = f"Each of the buckets needs one of the n = {problem.n} examples."
            labels = pack(condition, checks.count("groups", self.groups, 1, problem.n, remedy))
        else:
            labels = checks.partition("groups", self.groups, problem.n)
        best, best_theta = None, 0.0
        for _ in range(_ROUNDS):
            p = condition / group_totals(labels, condition)
            sampling = BucketSampling(labels, p)
            condition = problem.condition(sampling.eso(problem.data))
            theta = float(np.min(p / condition))
            if best is not None and theta <= best_theta * (1 + 1e-9):
                break
            best, best_theta = sampling, theta
        assert best is not None
        return best


class BucketSampling(GroupSampling, proven=True):
    """Bucket sampling with given groups and probabilities.

    Parameters
    ----------
    groups : list of index lists, or vector of group numbers
    probabilities : array of shape (n,)
        Positive, summing to 1 within each group.
    """

    def __init__(self, groups: Groups, probabilities: ArrayLike) -> None:
        labels = checks.partition("groups", groups)
        p = checks.finite_array("probabilities", probabilities, labels.shape)
        if p.min() <= 0:
            i = int(p.argmin())
            raise ValueError(f"probabilities[{i}] is {p[i]:g}; every example needs one above 0.")
        totals = np.bincount(labels, p)
        bad = np.flatnonzero(np.abs(totals - 1) > 1e-9)
        if bad.size:
            raise ValueError(
                f"The probabilities of group {bad[0]} sum to {totals[bad[0]]:.12g}; they must sum "
                "to 1 within each group."
            )
        super().__init__(labels, p)

    def eso(self, data: Blocks) -> Array:
        """v by row weights 1 + (1 - 1/omega'_j) delta_j.

        delta_j is the sum of p over the examples with a nonzero in row j. For row j let y_l be the
        sum of p_i h_i A_ji over group l. The groups are independent, and the members of a group
        exclude one another, so that the expected square is sum_i p_i (h_i A_ji)^2 plus
        (sum_l y_l)^2 - sum_l y_l^2. The latter is at most (1 - 1/omega'_j)(sum_l y_l)^2, and
        (sum_i p_i h_i A_ji)^2 <= delta_j sum_i p_i (h_i A_ji)^2.
        """
        active = np.maximum(data.active_groups(self.labels), 1)
        return data.squared_norms(1 + (1 - 1 / active) * data.row_sums(self.probabilities))
