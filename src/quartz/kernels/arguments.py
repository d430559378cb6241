"""The arguments that all kernels take, besides the index sets or the order of the examples."""

from typing import NamedTuple

from quartz.arrays import AnyArray, Array
from quartz.kernels.placeholder import Opaque


class Examples(NamedTuple):
    """The arrays with an entry for each example."""

    rows: Opaque  # the arrays of a storage, such as CsrRows
    y: AnyArray  # targets: float64, or int64 class numbers
    weights: Array  # s_i
    alpha: Array  # dual variables of shape (n,) or (n, m), updated in place
    v: Array  # ESO parameters v_i, which set the dual step sizes


class Model(NamedTuple):
    """Loss and regularizer, and the vectors of length d."""

    loss: Opaque
    g: Opaque
    vectors: Opaque  # such as LazyVectors or DenseVectors, updated in place
    inverse: float  # 1 / (lam n)
