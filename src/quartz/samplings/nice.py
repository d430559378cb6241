"""tau-nice sampling, which is standard mini-batching, and the full batch."""

from dataclasses import dataclass

import numpy as np

from quartz import checks
from quartz.problem import Problem
from quartz.samplings.base import IndexSets
from quartz.samplings.doubly_uniform import DoublyUniformSampling
from quartz.samplings.draws import random_subsets


@dataclass(frozen=True)
class Nice:
    """A uniformly random set of `batch_size` examples [subsec-taunince].

    Parameters
    ----------
    batch_size : int
        tau.
    spectral : bool
        Tighten the ESO bound by an eigenvalue computation (some tens of passes over the data).
    """

    batch_size: int
    spectral: bool = False

    def bind(self, problem: Problem) -> "NiceSampling":
        """Return the sampling for n examples."""
        return NiceSampling(problem.n, self.batch_size, self.spectral)


@dataclass(frozen=True)
class FullBatch:
    """All examples in every set: the n-nice sampling."""

    spectral: bool = False

    def bind(self, problem: Problem) -> "NiceSampling":
        """Return the sampling for n examples."""
        return NiceSampling(problem.n, problem.n, self.spectral)


class NiceSampling(DoublyUniformSampling, proven=True):
    """tau-nice sampling of n examples: doubly uniform with one size, whose ESO is [prop-ESO]."""

    def __init__(self, n: int, batch_size: int, spectral: bool = False) -> None:
        remedy = f"A set of n = {n} examples cannot be of another size."
        tau = checks.count("batch_size", batch_size, 1, n, remedy)
        super().__init__(n, {tau: 1.0}, spectral)

    def draw(self, rng: np.random.Generator, k: int) -> IndexSets:
        """Draw k independent sets."""
        return random_subsets(rng, self.n, np.full(k, self.max_size))
