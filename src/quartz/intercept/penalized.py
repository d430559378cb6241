"""A penalized intercept: a column of ones, and a coordinate like the others."""

from quartz.arrays import Array, Floats
from quartz.data import Blocks
from quartz.intercept.base import Intercept
from quartz.intercept.blocks import InterceptBlocks


class PenalizedIntercept(Intercept):
    """One coordinate for each output, behind the features and inside the regularizer.

    Parameters
    ----------
    rows : Blocks
        The features.
    """

    name = "penalized"
    shared = True

    def __init__(self, rows: Blocks) -> None:
        self.data: InterceptBlocks = InterceptBlocks(rows)

    def coefficients(self, w: Array) -> tuple[Array, Floats]:
        return w[: -self.data.m], self.data.intercept(w)
