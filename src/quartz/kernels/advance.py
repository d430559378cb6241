"""The kernels of Algorithm 1: the compiled twins of `quartz.solvers.reference.advance`."""

from typing import Any

import numpy as np

from quartz.arrays import Array
from quartz.kernels.blocks import block_add, block_dot
from quartz.kernels.rows import AHEAD, add, dot, prefetch_row
from quartz.kernels.updates import update
from quartz.kernels.vectors import begin


def advance_rows(
    rows: Any,
    indptr: Array,
    indices: Array,
    y: Array,
    weights: Array,
    alpha: Array,
    v: Array,
    p: Array,
    theta: float,
    pending: Array,
    loss: Any,
    g: Any,
    vectors: Any,
    scale: float,
    decay: float,
    inverse: float,
) -> float:
    """Iterate over index sets, examples with one column; returns the scale of the lag.

    `inverse` is 1 / (lam n); `pending` holds the new duals of one set, all of which see the same
    z and w.
    """
    last = indices.size - 1
    for t in range(indptr.size - 1):
        scale = begin(vectors, scale, decay, g)
        first, after = indptr[t], indptr[t + 1]
        for k in range(first, after):
            prefetch_row(rows, np.uint64(indices[min(k + AHEAD, last)]))
            i = np.uint64(indices[k])
            a = dot(rows, i, vectors, scale, g)
            q = v[i] * inverse
            pending[k - first] = update(loss, alpha[i], a, y[i], weights[i], q, theta, p[i])
        for k in range(first, after):
            i = np.uint64(indices[k])
            change = pending[k - first] - alpha[i]
            if change != 0.0:
                alpha[i] = pending[k - first]
                add(rows, i, change * inverse, vectors, scale, g)
    return scale


def advance_blocks(
    rows: Any,
    indptr: Array,
    indices: Array,
    y: Array,
    weights: Array,
    alpha: Array,
    v: Array,
    p: Array,
    theta: float,
    pending: Array,
    loss: Any,
    g: Any,
    vectors: Any,
    scale: float,
    decay: float,
    inverse: float,
) -> float:
    """The same for examples with m > 1 columns."""
    a = np.empty(alpha.shape[1])
    for t in range(indptr.size - 1):
        scale = begin(vectors, scale, decay, g)
        first, after = indptr[t], indptr[t + 1]
        for k in range(first, after):
            i = np.uint64(indices[k])
            block_dot(rows, i, vectors, scale, g, a)
            q = v[i] * inverse
            pending[k - first] = update(loss, alpha[i], a, y[i], weights[i], q, theta, p[i])
        for k in range(first, after):
            i = np.uint64(indices[k])
            change = (pending[k - first] - alpha[i]) * inverse
            alpha[i] = pending[k - first]
            block_add(rows, i, change, vectors, scale, g)
    return scale
