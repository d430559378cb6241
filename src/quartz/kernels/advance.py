"""The kernels of Algorithm 1.

Compiled, they do what :func:`quartz.methods.reference.advance` does in NumPy.
"""

import numpy as np

from quartz.arrays import Array, IntArray
from quartz.kernels.arguments import Examples, Model
from quartz.kernels.rows import AHEAD, add, block_add, block_dot, dot, prefetch_row
from quartz.kernels.updates import update
from quartz.kernels.vectors import begin


def advance_rows(
    indptr: IntArray,
    indices: IntArray,
    p: Array,
    theta: float,
    decay: float,
    pending: Array,
    examples: Examples,
    model: Model,
) -> float:
    """Do one iteration for each index set, for examples with one column.

    All examples of a set are updated at the same z and w, so that `pending` keeps their new dual
    variables until all of them are computed.

    Returns
    -------
    float
        The scale of the lag (:mod:`quartz.kernels.vectors`).
    """
    rows, y, weights, alpha, v = examples
    loss, g, vectors, inverse = model
    last, scale = indices.size - 1, 1.0
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
    indptr: IntArray,
    indices: IntArray,
    p: Array,
    theta: float,
    decay: float,
    pending: Array,
    examples: Examples,
    model: Model,
) -> float:
    """Do what `advance_rows` does, for examples with m > 1 columns."""
    rows, y, weights, alpha, v = examples
    loss, g, vectors, inverse = model
    a, scale = np.empty(alpha.shape[1]), 1.0
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
