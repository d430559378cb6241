"""Doubly uniform sampling: a random size, then a uniformly random set of that size."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from quartz import checks
from quartz.arrays import Array
from quartz.data import Blocks
from quartz.problem import Problem
from quartz.samplings.base import IndexSets
from quartz.samplings.draws import random_subsets
from quartz.samplings.spectral import SpectralSampling


@dataclass(frozen=True)
class DoublyUniform:
    """Draw a random size, then a uniformly random set of that size.

    Parameters
    ----------
    size_probabilities : mapping from int to float
        P(|S| = size), for instance ``{1: 0.5, 8: 0.5}``.
    spectral : bool
        Tighten the ESO bound by an eigenvalue computation.
    """

    size_probabilities: Mapping[int, float]
    spectral: bool = False

    def bind(self, problem: Problem) -> "DoublyUniformSampling":
        """Return the sampling for n examples."""
        return DoublyUniformSampling(problem.n, self.size_probabilities, self.spectral)


class DoublyUniformSampling(SpectralSampling, proven=True):
    """Doubly uniform sampling of n examples; see :class:`DoublyUniform`."""

    def __init__(self, n: int, size_probabilities: Mapping[int, float], spectral: bool) -> None:
        sizes = list(size_probabilities)
        for size in sizes:
            checks.count("size", size, 0, n, f"Sets of n = {n} examples have no other sizes.")
        self._sizes = np.array(sizes, dtype=np.int64)
        self._shares = checks.distribution("size_probabilities", list(size_probabilities.values()))
        mean = float(self._shares @ self._sizes)
        checks.positive("the expected size", mean, "Give some size above 0 a probability.")
        self.probabilities = np.full(n, mean / n)
        self.max_size = int(self._sizes[self._shares > 0].max())
        self._mean_square = float(self._shares @ self._sizes**2)
        self.spectral = spectral

    def draw(self, rng: np.random.Generator, k: int) -> IndexSets:
        """Draw k independent sets."""
        return random_subsets(rng, self.n, rng.choice(self._sizes, size=k, p=self._shares))

    def sparsity_eso(self, data: Blocks) -> Array:
        """v by row weights 1 + (omega_j - 1)(E|S|^2 / E|S| - 1) / max(n - 1, 1)."""
        excess = self._mean_square / self.expected_size - 1
        weights = 1 + (data.row_sums() - 1) * excess / max(self.n - 1, 1)
        return data.squared_norms(weights)

    def joint(self) -> Array:
        """The same probability for all pairs."""
        joint = np.full((self.n, self.n), self._pair_probability)
        np.fill_diagonal(joint, self.probabilities)
        return joint

    def joint_product(self, data: Blocks) -> Callable[[Array], Array]:
        """x -> (p - p2) blockdiag(A_i'A_i) x + p2 A'A x, where p2 is the probability of a pair."""
        pair = self._pair_probability
        single = self.probabilities[0] - pair

        def product(x: Array) -> Array:
            return single * data.gram_products(x) + pair * data.predictions(data.combination(x))

        return product

    @property
    def _pair_probability(self) -> float:
        return (self._mean_square - self.expected_size) / max(self.n * (self.n - 1), 1)
