"""Explicit sampling: a list of sets with their probabilities."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from quartz import checks
from quartz.arrays import Array
from quartz.data import Blocks
from quartz.samplings.base import IndexSets, Sampling
from quartz.samplings.spectral import SpectralSampling


class Explicit(SpectralSampling, proven=True):
    """S is one of the given sets; this covers any distribution over few sets.

    The ESO is the generic bound, scaled down until it is tight for this distribution.

    Parameters
    ----------
    sets : sequence of index lists
        Together they must hold every example 0, ..., n - 1.
    probabilities : array
        P(S = sets[k]).
    """

    spectral = True

    def __init__(self, sets: Sequence[ArrayLike], probabilities: ArrayLike) -> None:
        self._shares = checks.distribution("probabilities", probabilities)
        if len(sets) != self._shares.size:
            raise ValueError(
                f"{len(sets)} sets need as many probabilities, got {self._shares.size}."
            )
        self._sets = [
            np.unique(checks.index_set(f"sets[{k}]", members)) for k, members in enumerate(sets)
        ]
        self._sizes = np.array([members.size for members in self._sets])
        self._members = np.concatenate(self._sets)
        self._starts = np.cumsum(self._sizes) - self._sizes
        weights = np.repeat(self._shares, self._sizes)
        self.probabilities = np.bincount(self._members, weights).astype(np.float64)
        missing = np.flatnonzero(self.probabilities == 0)
        if missing.size or not self._members.size:
            example = missing[0] if missing.size else 0
            raise ValueError(
                f"Example {example} is in no set of positive probability; a proper sampling "
                "[ass-proper] holds each one. Add a set with it."
            )
        self.max_size = int(self._sizes[self._shares > 0].max())

    def draw(self, rng: np.random.Generator, k: int) -> IndexSets:
        """Draw k independent sets."""
        chosen = rng.choice(self._shares.size, size=k, p=self._shares)
        sizes = self._sizes[chosen]
        indptr = np.concatenate([[0], np.cumsum(sizes)])
        within = np.arange(indptr[-1]) - np.repeat(indptr[:-1], sizes)
        return IndexSets(indptr, self._members[np.repeat(self._starts[chosen], sizes) + within])

    def sparsity_eso(self, data: Blocks) -> Array:
        """Return the generic bound."""
        return Sampling.eso(self, data)

    def joint(self) -> Array:
        """The sum over the sets of their probabilities."""
        joint = np.zeros((self.n, self.n))
        for members, share in zip(self._sets, self._shares, strict=True):
            joint[np.ix_(members, members)] += share
        return joint

    def joint_product(self, data: Blocks) -> Callable[[Array], Array]:
        """x -> the sum over the sets of P(S) A_S' A_S x_S."""
        parts = [
            (members, share, data.take(members))
            for members, share in zip(self._sets, self._shares, strict=True)
            if members.size
        ]

        def product(x: Array) -> Array:
            result = np.zeros_like(x)
            for members, share, part in parts:
                result[members] += share * part.predictions(part.combination(x[members]))
            return result

        return product
