"""Product sampling: one example from each of several groups that share no feature."""

from dataclasses import dataclass

import numpy as np

from quartz import checks
from quartz.arrays import Array, IntArray
from quartz.data import Blocks
from quartz.problem import Problem
from quartz.samplings.grouping import Groups, pack, separable_components
from quartz.samplings.groups import GroupSampling, group_totals


@dataclass(frozen=True)
class Product:
    """One example from each group, drawn uniformly [subsec-products].

    Parameters
    ----------
    groups : int, list of index lists, vector of group numbers, or None
        The groups, or the number of groups to form of the connected components of the data, of
        about equal size. None forms n over the size of the largest component, rounded up.
    """

    groups: int | Groups | None = None

    def bind(self, problem: Problem) -> "ProductSampling":
        """Return the sampling; its `eso` checks that the groups are separable."""
        if problem.intercept.shared:
            raise ValueError(
                "Product sampling needs groups that share no feature, and all examples share the "
                "intercept. Use Nice(batch_size=...) or Bucket(groups=...)."
            )
        if self.groups is None or isinstance(self.groups, int | np.integer):
            labels = self._packed(problem.data)
        else:
            labels = checks.partition("groups", self.groups, problem.n)
        return ProductSampling(labels)

    def _packed(self, data: Blocks) -> IntArray:
        components = separable_components(data)
        sizes = np.bincount(components)
        count = self.groups
        if count is None:
            count = int(-(-data.n // sizes.max()))
        remedy = (
            f"The data have {sizes.size} separable component(s). "
            "Use Nice(batch_size=...) or Bucket(groups=...), which need none."
        )
        number = checks.count("groups", count, 1, sizes.size, remedy)
        return pack(sizes.astype(np.float64), number)[components]


class ProductSampling(GroupSampling, proven=True):
    """Product sampling with given groups; p_i = 1 / size of i's group [a-pips]."""

    def __init__(self, groups: Groups) -> None:
        labels = checks.partition("groups", groups)
        super().__init__(labels, 1 / group_totals(labels, np.ones(labels.size)))

    def eso(self, data: Blocks) -> Array:
        """lambda_max(A_i' A_i) [l-pips]; refused if two groups share a feature."""
        check_separable(data, self.labels)
        return data.norms


def check_separable(data: Blocks, labels: IntArray) -> None:
    """Raise ValueError if two groups share a feature."""
    shared = np.flatnonzero(data.active_groups(labels) > 1)
    if shared.size:
        j = int(shared[0])
        pattern = data.support()
        column = np.zeros(pattern.shape[1])
        column[j // data.rows_alike] = 1
        members = pattern @ column > 0
        first, second = np.unique(labels[members])[:2]
        raise ValueError(
            f"Product sampling needs groups that share no feature; feature {j} is in groups "
            f"{first} and {second}. Use Nice(batch_size={int(labels.max()) + 1}) or Bucket."
        )
