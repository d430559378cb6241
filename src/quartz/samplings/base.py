"""A sampling is a random subset S of the examples, drawn as a stream of index sets.

A :class:`Sampling` is for a fixed number n of examples. It gives the probabilities
p_i = P(i in S) [eq:p_i], draws sets, and gives an expected separable overapproximation (ESO)
[ass-ESO], which is a vector v with

    E || sum_{i in S} A_i h_i ||^2  <=  sum_i p_i v_i ||h_i||^2     for all h          [a-ESO]

A :class:`Recipe` becomes a sampling when it is bound to a problem: ``Nice(batch_size=8)`` fits any
n, and ``Importance()`` needs the data. Every sampling is a recipe too, which binds to itself.

To write a sampling of your own, derive from Sampling, set `probabilities` and `max_size`, and write
`draw`. The generic ESO of the base class holds for any sampling.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np

from quartz.arrays import Array, IntArray
from quartz.data import Blocks
from quartz.problem import Problem


@dataclass(frozen=True)
class IndexSets:
    """k index sets, stored one after another: set t is ``indices[indptr[t]:indptr[t + 1]]``."""

    indptr: IntArray  # of shape (k + 1,)
    indices: IntArray

    def __len__(self) -> int:
        return self.indptr.size - 1

    def __getitem__(self, t: int) -> IntArray:
        return self.indices[self.indptr[t] : self.indptr[t + 1]]

    @property
    def sizes(self) -> IntArray:
        """|S_t| for every t."""
        return np.diff(self.indptr)

    @classmethod
    def of_equal_size(cls, sets: IntArray) -> "IndexSets":
        """Return the sets of one size that are the rows of a matrix."""
        k, size = sets.shape
        return cls(np.arange(k + 1, dtype=np.int64) * size, np.ascontiguousarray(sets).ravel())

    def check(self, k: int, n: int, sampling: str) -> None:
        """Raise ValueError unless these are k sets of distinct examples among 0, ..., n - 1."""
        if len(self) != k:
            raise ValueError(f"{sampling}.draw was asked for {k} sets and gave {len(self)}.")
        outside = self.indices[(self.indices < 0) | (self.indices >= n)]
        if outside.size:
            raise ValueError(
                f"{sampling}.draw gave example {outside[0]}, but they are 0, ..., {n - 1}."
            )
        keys = np.sort(np.repeat(np.arange(k), self.sizes) * n + self.indices)
        twice = keys[1:][keys[1:] == keys[:-1]]
        if twice.size:
            raise ValueError(
                f"{sampling}.draw gave a set that holds example {twice[0] % n} twice; the members "
                "of a set must differ. Remove repeats, for instance by np.unique."
            )


@runtime_checkable
class Recipe(Protocol):
    """Anything that gives a sampling for a problem."""

    def bind(self, problem: Problem) -> "Sampling":
        """Return the sampling for this problem."""
        ...


class Sampling(ABC):
    """A proper sampling [ass-proper] of n examples.

    Attributes
    ----------
    probabilities : ndarray of shape (n,)
        p_i = P(i in S), all positive.
    max_size : int
        The largest possible |S|.
    proven : bool
        Whether its sets and its v need no check at run time, because they are proven and tested.
        A class declares it by ``class Nice(Sampling, proven=True)``; it is not inherited.
    """

    probabilities: Array
    max_size: int
    proven: ClassVar[bool] = False

    def __init_subclass__(cls, proven: bool = False, **others: object) -> None:
        super().__init_subclass__(**others)
        cls.proven = proven

    @property
    def n(self) -> int:
        """Number of examples."""
        return len(self.probabilities)

    @property
    def expected_size(self) -> float:
        """E|S| = sum_i p_i."""
        return float(np.sum(self.probabilities))

    @abstractmethod
    def draw(self, rng: np.random.Generator, k: int) -> IndexSets:
        """Draw k independent sets."""

    def eso(self, data: Blocks) -> Array:
        """v of [a-ESO], by the bound for any sampling, with row weights min(max_size, omega_j).

        At most that many examples of a set have a nonzero in row j, so that the bound follows from
        the Cauchy-Schwarz inequality.
        """
        return data.squared_norms(np.minimum(self.max_size, data.row_sums()))

    def joint(self) -> Array:
        """The n x n matrix of P(i in S and j in S); for small n."""
        raise NotImplementedError(
            f"{type(self).__name__} does not give its joint probabilities. "
            "Write `joint`, or verify it by Monte Carlo: estimate_eso."
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}(n={self.n}, expected size {self.expected_size:g})"

    def bind(self, problem: Problem) -> "Sampling":
        """Return the sampling itself, if it is for as many examples as the problem has."""
        if problem.n != self.n:
            raise ValueError(
                f"The sampling {type(self).__name__} is for n = {self.n} examples, the problem has "
                f"{problem.n}. Build it for this problem, or use a recipe that fits any n."
            )
        return self
