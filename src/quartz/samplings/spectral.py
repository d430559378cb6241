"""The spectral ESO: v = t u for any positive u (section 3 of the paper, below [ass-ESO]).

    t = lambda_max(D^{-1/2} (P o A'A) D^{-1/2}),   D = diag(p_i u_i I_m)

Here o is the elementwise product, and P the matrix of joint probabilities. t is found by the
Lanczos method, which needs only products with A and A'.
"""

from abc import abstractmethod
from collections.abc import Callable

import numpy as np
from scipy.sparse.linalg import LinearOperator, eigsh

from quartz.arrays import Array
from quartz.data import Blocks
from quartz.samplings.base import Sampling

_DENSE = 64  # rows up to which the eigenvalue is computed from the dense matrix
_MARGIN = 1 + 1e-6  # factor, since Lanczos stops below the eigenvalue, by about 1e-8 of it


class SpectralSampling(Sampling, proven=True):
    """A sampling whose bound from sparsity can be tightened by the spectral one."""

    spectral: bool

    @abstractmethod
    def sparsity_eso(self, data: Blocks) -> Array:
        """v from the sparsity of the data."""

    @abstractmethod
    def joint_product(self, data: Blocks) -> Callable[[Array], Array]:
        """Return the function x -> (P o A'A) x, which uses products with A."""

    def eso(self, data: Blocks) -> Array:
        """v from sparsity or, with `spectral`, the smaller bound t v, which has u = v."""
        v = self.sparsity_eso(data)
        if not (self.spectral and v.any() and np.isfinite(v).all()):
            return v
        # v is an ESO already, so that t <= 1 up to rounding: t v is never worse than v.
        return v * min(
            1.0, relative_eigenvalue(self.joint_product(data), self.probabilities, v, data)
        )


def relative_eigenvalue(
    joint_product: Callable[[Array], Array], p: Array, u: Array, data: Blocks
) -> float:
    """t, the largest eigenvalue of P o A'A relative to D, given p and u.

    It is infinite if numbers overflow, or if the eigenvalues do not converge.
    """
    scale = np.zeros(data.n)
    np.divide(1.0, np.sqrt(p * u), out=scale, where=u > 0)  # u_i = 0 for an empty example
    scale = data.per_example(scale)
    size = data.n * data.m

    def product(x: Array) -> Array:
        return (scale * joint_product(scale * x.reshape(data.dual_shape))).ravel()

    if size <= _DENSE:
        matrix = np.column_stack([product(unit) for unit in np.eye(size)])
        try:
            largest = float(np.linalg.eigvalsh(matrix)[-1])
        except np.linalg.LinAlgError:
            return np.inf
        return np.inf if np.isnan(largest) else largest
    operator = LinearOperator((size, size), matvec=product, dtype=np.float64)
    start = np.random.default_rng(0).normal(size=size)
    top = eigsh(operator, k=1, which="LA", tol=1e-8, v0=start, return_eigenvectors=False)
    return float(top[0]) * _MARGIN
