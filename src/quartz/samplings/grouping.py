"""Ways to divide the examples into groups."""

import heapq
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from quartz.arrays import Array, IntArray
from quartz.data import Blocks

Groups: TypeAlias = Sequence[Sequence[int]] | Sequence[IntArray] | Sequence[int] | IntArray
"""A partition as a user gives it: a list of index lists, or a vector of group numbers."""


def separable_components(data: Blocks) -> IntArray:
    """The finest partition of the examples in which no two groups share a feature.

    Its groups are the connected components of the graph that joins examples to their features.
    """
    support = sp.csr_array(data.support())
    graph = sp.block_array([[None, support], [support.T, None]], format="csr")
    graph.eliminate_zeros()  # SciPy would take stored zeros for edges
    _, component = connected_components(graph, directed=False)
    return np.unique(component[: data.n], return_inverse=True)[1].astype(np.int64)


def pack(weights: Array, count: int) -> IntArray:
    """Distribute weighted items over `count` bins of about equal weight; returns their bins.

    Beginning with the heaviest, each item goes to the lightest bin, and among equally light ones to
    the bin with the fewest items.
    """
    bins = np.empty(weights.size, dtype=np.int64)
    loads = [(0.0, 0, b) for b in range(count)]
    for item in np.argsort(-weights, kind="stable"):
        load, items, b = loads[0]
        bins[item] = b
        heapq.heapreplace(loads, (load + float(weights[item]), items + 1, b))
    return bins
