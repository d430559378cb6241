"""What the kernels take, besides the index sets or the order."""

from typing import Any, NamedTuple

from quartz.arrays import Array


class Examples(NamedTuple):
    """The arrays with an entry for each example."""

    rows: Any  # CsrRows or DenseRows
    y: Array
    weights: Array
    alpha: Array  # updated in place
    v: Array


class Model(NamedTuple):
    """Loss and regularizer, and the vectors of length d."""

    loss: Any
    g: Any
    vectors: Any  # LazyVectors or DenseVectors, updated in place
    inverse: float  # 1 / (lam n)
