"""(c, tau)-distributed sampling: every node draws a random mini-batch of the examples it owns."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from quartz import checks
from quartz.arrays import Array
from quartz.data import Blocks
from quartz.problem import Problem
from quartz.samplings.base import IndexSets
from quartz.samplings.draws import random_subsets
from quartz.samplings.grouping import Groups
from quartz.samplings.spectral import SpectralSampling


@dataclass(frozen=True)
class Distributed:
    """c nodes, each of which draws `batch_size` of its own examples [sec:ESO-distributed].

    Parameters
    ----------
    nodes : int
        c; the examples are divided into even parts, in their order.
    batch_size : int
        tau, the number of examples drawn on each node.
    spectral : bool
        Tighten the ESO bound by an eigenvalue computation (some tens of passes over the data).
    """

    nodes: int
    batch_size: int
    spectral: bool = False

    def bind(self, problem: Problem) -> "DistributedSampling":
        """Return the sampling for n examples."""
        remedy = f"Each node needs at least one of the n = {problem.n} examples."
        checks.count("nodes", self.nodes, 1, problem.n, remedy)
        parts = np.arange(problem.n) * self.nodes // problem.n
        return DistributedSampling(parts, self.batch_size, self.spectral)


class DistributedSampling(SpectralSampling, proven=True):
    """Distributed sampling with given parts, which may differ in size.

    Parameters
    ----------
    parts : list of index lists, or vector of part numbers
        Which node owns each example.
    batch_sizes : int or sequence of int
        tau, or tau_l for every part.
    spectral : bool
        Tighten the ESO bound by an eigenvalue computation.
    """

    def __init__(
        self,
        parts: Groups,
        batch_sizes: int | Sequence[int],
        spectral: bool = False,
    ) -> None:
        self.labels = checks.partition("parts", parts)
        self._members = [
            np.flatnonzero(self.labels == part) for part in range(self.labels.max() + 1)
        ]
        self._owned = np.array([members.size for members in self._members])
        if np.shape(batch_sizes) not in ((), self._owned.shape):
            raise ValueError(
                f"batch_sizes must be a number or one for each of the {self._owned.size} parts, "
                f"got {batch_sizes!r}."
            )
        batches = np.broadcast_to(batch_sizes, self._owned.shape)
        for part, (tau, owned) in enumerate(zip(batches, self._owned, strict=True)):
            remedy = f"Part {part} owns {owned} examples and cannot draw another number of them."
            checks.count("batch_size", tau, 1, int(owned), remedy)
        self._taus = batches.astype(np.int64)
        self.probabilities = (self._taus / self._owned)[self.labels]
        self.max_size = int(self._taus.sum())
        self.spectral = spectral

    def draw(self, rng: np.random.Generator, k: int) -> IndexSets:
        """Draw k independent sets."""
        parts = [
            members[random_subsets(rng, owned, np.full(k, tau)).indices.reshape(k, tau)]
            for members, owned, tau in zip(self._members, self._owned, self._taus, strict=True)
        ]
        return IndexSets.of_equal_size(np.hstack(parts))

    def sparsity_eso(self, data: Blocks) -> Array:
        """v of [a-bDiibetaj] for equal parts and mini-batches, otherwise of a generalization."""
        equal = np.ptp(self._owned) == 0 and np.ptp(self._taus) == 0
        return self._eso_equal(data) if equal else self._eso_unequal(data)

    def joint(self) -> Array:
        """p_i p_j across parts, and within a part the pair probability of the nice sampling."""
        joint = np.outer(self.probabilities, self.probabilities)
        for members, pair in zip(self._members, self._pair_probabilities, strict=True):
            joint[np.ix_(members, members)] = pair
        np.fill_diagonal(joint, self.probabilities)
        return joint

    def _eso_equal(self, data: Blocks) -> Array:
        """v of [a-bDiibetaj]."""
        active = np.maximum(data.active_groups(self.labels), 1)
        weights = distributed_row_weights(data.row_sums(), active, self._owned[0], self._taus[0])
        return data.squared_norms(weights)

    def _eso_unequal(self, data: Blocks) -> Array:
        """v by row weights 1 - b_l + omega_jl (b_l + (omega'_j - 1) tau_l / n_l) for part l.

        b_l = (tau_l - 1) / max(n_l - 1, 1), and omega_jl is the number of examples of part l with a
        nonzero in row j. Within a part this is the bound of the nice sampling. Across parts,
        (sum_l y_l)^2 - sum_l y_l^2 is at most (omega'_j - 1) sum_l y_l^2 for the parts' means y_l.
        """
        active = np.maximum(data.active_groups(self.labels), 1)
        v = np.empty(self.n)
        for members, owned, tau in zip(self._members, self._owned, self._taus, strict=True):
            part = data.take(members)
            b = (tau - 1) / max(owned - 1, 1)
            weights = 1 - b + part.row_sums() * (b + (active - 1) * tau / owned)
            v[members] = part.squared_norms(weights)
        return v

    @property
    def _pair_probabilities(self) -> Array:
        pairs = np.maximum(self._owned * (self._owned - 1), 1)
        return np.asarray(self._taus * (self._taus - 1) / pairs)

    def joint_product(self, data: Blocks) -> Callable[[Array], Array]:
        """x -> p A'A (p x), corrected within each part and on the diagonal."""
        p = data.per_example(self.probabilities)
        parts = [data.take(members) for members in self._members]
        pairs = self._pair_probabilities
        diagonal = p - data.per_example(pairs[self.labels])

        def product(x: Array) -> Array:
            result = p * data.predictions(data.combination(p * x))
            result += diagonal * data.gram_products(x)
            for members, part, pair in zip(self._members, parts, pairs, strict=True):
                correction = pair - self.probabilities[members[0]] ** 2
                result[members] += correction * part.predictions(part.combination(x[members]))
            return result

        return product


def distributed_row_weights(
    omega: Array | float, active: Array | float, owned: float, tau: float
) -> Array:
    """The bracket of [a-bDiibetaj], with n/c = owned and omega'_j = active."""
    b = (tau - 1) / max(owned - 1, 1)
    spread = (tau / owned - b) * (active - 1) / active * omega
    return np.asarray(1 + b * (np.asarray(omega) - 1) + spread)
