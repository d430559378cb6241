"""What the kernels take, besides the index sets or the order."""

from typing import NamedTuple

from quartz.arrays import Array
from quartz.kernels.placeholder import Opaque


class Examples(NamedTuple):
    """The arrays with an entry for each example."""

    rows: Opaque  # the arrays of a storage, such as CsrRows
    y: Array
    weights: Array
    alpha: Array  # updated in place
    v: Array


class Model(NamedTuple):
    """Loss and regularizer, and the vectors of length d."""

    loss: Opaque
    g: Opaque
    vectors: Opaque  # LazyVectors or DenseVectors, updated in place
    inverse: float  # 1 / (lam n)
