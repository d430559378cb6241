"""One example from each group: what serial, product and bucket samplings have in common."""

from functools import cached_property

import numpy as np

from quartz.arrays import Array, IntArray
from quartz.samplings.base import IndexSets, Sampling
from quartz.samplings.draws import pick_from_groups


class GroupSampling(Sampling, proven=True):
    """One example from each group, drawn independently of the other groups.

    Parameters
    ----------
    labels : ndarray of shape (n,)
        Group of each example, 0, ..., g - 1, of any integer type.
    probabilities : ndarray of shape (n,)
        p_i, summing to 1 within each group.
    """

    def __init__(self, labels: IntArray, probabilities: Array) -> None:
        self.labels = labels
        self.probabilities = probabilities
        self.max_size = int(labels.max()) + 1

    @cached_property
    def _sorted(self) -> tuple[IntArray, Array]:
        """The examples group by group, and their cumulative probabilities; used by `draw` only."""
        order = np.argsort(self.labels, kind="stable")
        return order, _cumulative(self.labels[order], self.probabilities[order])

    def draw(self, rng: np.random.Generator, k: int) -> IndexSets:
        """Draw k independent sets."""
        order, cumulative = self._sorted
        positions = pick_from_groups(rng, cumulative, self.max_size, k)
        return IndexSets.of_equal_size(order[positions])

    def joint(self) -> Array:
        """p_i p_j for different groups, 0 within one."""
        joint = np.outer(self.probabilities, self.probabilities)
        joint[self.labels[:, None] == self.labels] = 0
        np.fill_diagonal(joint, self.probabilities)
        return joint


def group_totals(labels: IntArray, values: Array) -> Array:
    """For each example, the sum of the values over its group."""
    return np.bincount(labels, values).astype(np.float64)[labels]


def _cumulative(labels: IntArray, probabilities: Array) -> Array:
    """Group number plus cumulative probability within the group, for sorted labels."""
    last = np.flatnonzero(np.diff(labels, append=labels[-1] + 1))
    running = np.cumsum(probabilities)
    before = np.concatenate([[0.0], running[last[:-1]]])
    cumulative: Array = labels + (running - before[labels])
    cumulative[last] = labels[last] + 1.0  # exact in spite of rounding
    return cumulative
