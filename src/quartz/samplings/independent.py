"""Independent sampling: every example is drawn independently of the others."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from quartz import checks
from quartz.arrays import Array
from quartz.data import Blocks
from quartz.samplings.base import IndexSets
from quartz.samplings.draws import random_subsets
from quartz.samplings.spectral import SpectralSampling


class Independent(SpectralSampling, proven=True):
    """Example i is in S with its own probability p_i, independently of the others.

    Parameters
    ----------
    probabilities : array of shape (n,)
        p_i in (0, 1].
    spectral : bool
        Tighten the ESO bound by an eigenvalue computation (some tens of passes over the data).
    """

    def __init__(self, probabilities: ArrayLike, spectral: bool = False) -> None:
        p = checks.finite_array("probabilities", probabilities, (np.size(probabilities),))
        bad = np.flatnonzero((p <= 0) | (p > 1))
        if bad.size or p.size == 0:
            found = f"probabilities[{bad[0]}] is {p[bad[0]]:g}" if bad.size else "there are none"
            raise ValueError(f"Each probability must be above 0 and at most 1, but {found}.")
        self.probabilities = p
        self.max_size = p.size
        self.spectral = spectral

    def draw(self, rng: np.random.Generator, k: int) -> IndexSets:
        """Draw k independent sets.

        Example i is in a binomial number of the k sets, and these are a uniformly random subset of
        the k sets. This takes O(n + members) in place of k n coin flips.
        """
        times = rng.binomial(k, self.probabilities)
        found = random_subsets(rng, k, times)
        sizes = np.bincount(found.indices, minlength=k)
        keys = np.sort(found.indices * self.n + np.repeat(np.arange(self.n), times))
        return IndexSets(np.concatenate([[0], np.cumsum(sizes)]), keys % self.n)

    def sparsity_eso(self, data: Blocks) -> Array:
        """v by row weights 1 - p_i + delta_j, with delta_j the sum of p over row j's examples."""
        p = self.probabilities
        return data.squared_norms(data.row_sums(p), offsets=1 - p)

    def joint(self) -> Array:
        """p_i p_j."""
        joint = np.outer(self.probabilities, self.probabilities)
        np.fill_diagonal(joint, self.probabilities)
        return joint

    def joint_product(self, data: Blocks) -> Callable[[Array], Array]:
        """x -> p A'A (p x) + p (1 - p) blockdiag(A_i'A_i) x."""
        p = data.per_example(self.probabilities)

        def product(x: Array) -> Array:
            mixed = p * data.predictions(data.combination(p * x))
            return mixed + p * (1 - p) * data.gram_products(x)

        return product
