"""One example from each group: the common part of serial, product and bucket samplings."""

import numpy as np

from quartz.arrays import Array, IntArray
from quartz.samplings.base import IndexSets, Sampling
from quartz.samplings.draws import pick_from_groups


class GroupSampling(Sampling):
    """Pick one example from each group, the groups independently.

    Parameters
    ----------
    labels : ndarray of shape (n,)
        Group of each example, 0, ..., g - 1.
    probabilities : ndarray of shape (n,)
        p_i, summing to 1 within each group.
    """

    def __init__(self, labels: IntArray, probabilities: Array) -> None:
        self.labels = labels
        self.probabilities = probabilities
        self.max_size = int(labels.max()) + 1
        self._order = np.argsort(labels, kind="stable")
        self._cumulative = _cumulative(labels[self._order], probabilities[self._order])

    def draw(self, rng: np.random.Generator, k: int) -> IndexSets:
        """Draw k independent sets."""
        positions = pick_from_groups(rng, self._cumulative, self.max_size, k)
        return IndexSets.of_equal_size(self._order[positions])

    def joint(self) -> Array:
        """p_i p_j for different groups, 0 within one."""
        joint = np.outer(self.probabilities, self.probabilities)
        joint[self.labels[:, None] == self.labels] = 0
        np.fill_diagonal(joint, self.probabilities)
        return joint


def group_totals(labels: IntArray, values: Array) -> Array:
    """Sum of the values of each group, given back to every member."""
    totals: Array = np.bincount(labels, values)[labels]
    return totals


def _cumulative(labels: IntArray, probabilities: Array) -> Array:
    """Group number + cumulative probability within the group; labels are sorted."""
    last = np.flatnonzero(np.diff(labels, append=labels[-1] + 1))
    running = np.cumsum(probabilities)
    before = np.concatenate([[0.0], running[last[:-1]]])
    cumulative: Array = labels + (running - before[labels])
    cumulative[last] = labels[last] + 1.0  # exactly, whatever the rounding
    return cumulative
