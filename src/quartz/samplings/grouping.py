"""Ways to divide the examples into groups."""

import heapq

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from quartz.arrays import Array, IntArray
from quartz.data import Blocks


def separable_components(data: Blocks) -> IntArray:
    """Finest partition of the examples such that no feature is shared between groups.

    These are the connected components of the graph that joins examples and features.
    """
    support = sp.csr_array(data.support())
    graph = sp.block_array([[None, support], [support.T, None]], format="csr")
    _, component = connected_components(graph, directed=False)
    return np.unique(component[: data.n], return_inverse=True)[1].astype(np.int64)


def pack(weights: Array, count: int) -> IntArray:
    """Distribute weighted items over `count` bins of about equal weight.

    The heaviest item first, each to the lightest bin, which is the one with fewest items among
    equals.
    """
    bins = np.empty(weights.size, dtype=np.int64)
    loads = [(0.0, 0, b) for b in range(count)]
    for item in np.argsort(-weights, kind="stable"):
        load, items, b = loads[0]
        bins[item] = b
        heapq.heapreplace(loads, (load + float(weights[item]), items + 1, b))
    return bins
