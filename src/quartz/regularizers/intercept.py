"""A regularizer of the features beside a free intercept, the last coordinate."""

from typing import Any, NamedTuple

import numpy as np

from quartz.arrays import Array
from quartz.regularizers import base


class BesideIntercept(NamedTuple):
    """g(w_1, ..., w_{d-1}), whatever the last coordinate is.

    Its conjugate is finite only where the last coordinate is 0. That constraint is the business of
    the problem and its certificate; `conjugate` leaves it out, and `conjugate_gradient` is that of
    the proximal term that solvers have in its place.
    """

    features: Any  # g

    def value(self, w: Array) -> float:
        """g of the features."""
        return base.value(self.features, w[:-1])

    def conjugate(self, u: Array) -> float:
        """g* of the features."""
        return base.conjugate(self.features, u[:-1])

    def conjugate_gradient(self, u: Array) -> Array:
        """That of g, and the last coordinate itself."""
        return np.append(self.features.conjugate_gradient(u[:-1]), u[-1])

    def weakened(self, t: float) -> "BesideIntercept":
        """Only g."""
        return BesideIntercept(base.weakened(self.features, t))
