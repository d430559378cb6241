"""Epochs in random order that skip settled examples: the practical mode. A heuristic.

Every epoch visits the active examples once, in a fresh random order, with Option I and the step
sizes of the serial sampling. An example whose Fenchel-Young gap is below 0.3 of the mean becomes
inactive for 1, 3, 7, ... and at most 127 epochs, as long as that stays so (this is the idea of
shrinking, without bounds). It takes several times fewer visits than independent draws, but the
theorem does not cover it: the rate is an observation. The certificate is the same as everywhere,
over all examples, active or not.
"""

from dataclasses import dataclass

import numpy as np

from quartz.certificate import Certificate, PrimalPoint
from quartz.kernels.arguments import Examples, Model
from quartz.kernels.compile import specialize
from quartz.kernels.permuted import epoch_blocks, epoch_rows, gap_parts, run_epochs
from quartz.kernels.placeholder import Parts
from quartz.kernels.updates import update_parts
from quartz.kernels.vectors import DenseVectors, LazyVectors, vector_parts
from quartz.methods.requirements import finite_step_sizes, require_step
from quartz.methods.state import State
from quartz.methods.steps import Epochs, Method
from quartz.problem import Problem
from quartz.regularizers.base import abilities

REACTIVATE_BELOW = 0.9  # share of the certified losses' gap that the estimate must have reached


@dataclass(frozen=True)
class Permuted(Method):
    """Random permutations that skip settled examples, Option I, w = z; a heuristic."""

    has_free_columns = True

    def steps(self, problem: Problem, rng: np.random.Generator) -> "PermutedEpochs":
        """Return its steps for a problem."""
        return PermutedEpochs(problem, rng)

    epochs = steps


class PermutedEpochs(Epochs):
    """Epochs over random permutations.

    Parameters
    ----------
    problem : Problem
    rng : numpy.random.Generator

    Attributes
    ----------
    v : ndarray of shape (n,)
        The step sizes of the serial sampling, lambda_max(A_i' A_i) [l-serialv].
    """

    primal: PrimalPoint = "conjugate"

    def __init__(self, problem: Problem, rng: np.random.Generator) -> None:
        require_step(problem, "Option I", "use Quartz(sampling, option=2)")
        self.problem = problem
        self.v = finite_step_sizes(problem.data.norms, problem.n)
        self._rng = rng
        n, weighted = problem.n, problem.weights is not None
        can, componentwise = problem.losses.abilities, problem.is_componentwise
        self._view = problem.data.kernel_view()
        self._separable = abilities(problem.regularizer).separable
        index = np.uint32 if n <= np.iinfo(np.uint32).max else np.uint64
        self._order = np.empty(n, dtype=index)
        self._gaps = np.full(n, np.inf)
        self._lengths = np.zeros(n, dtype=np.int8)  # of the last time that an example was skipped
        self._inactive = np.zeros(n + -n % 8, dtype=np.int8)  # epochs yet; whole words of eight
        parts: Parts = {
            **problem.kernel_parts,
            **self._view.parts,
            **vector_parts(self._separable, option=1, tracked=False),
            **update_parts(1, weighted, componentwise),
            **gap_parts(weighted, can.vector, componentwise),
            **({} if can.quick_step is None else {"loss_step": can.quick_step}),
            "epoch": epoch_rows if problem.data.m == 1 else epoch_blocks,
        }
        self._kernel = specialize(run_epochs, parts)

    def advance(self, state: State, wanted: float, target: float) -> float:
        """Do epochs of about one pass together, or until the estimate of the gap is `wanted`.

        Returns that estimate. `state.w` is left alone: w = z.
        """
        return self.run(state, wanted, passes=1.0)

    def run(self, state: State, wanted: float, passes: float) -> float:
        """Do one epoch, and more of them up to so many passes, unless the estimate is `wanted`."""
        problem = self.problem
        empty = np.empty(0)
        abar = self._view.open(state.abar, state.carried)
        vectors: LazyVectors | DenseVectors = LazyVectors(abar, empty)
        if not self._separable:
            vectors = DenseVectors(abar, np.empty_like(abar), empty)
        weights = problem.losses.weights_or_ones
        self.epochs, visited, mean = self._kernel(
            self._order,
            self._rng.integers(2**63, dtype=np.uint64),
            self._gaps,
            self._lengths,
            self._inactive,
            wanted,
            passes * problem.n,
            Examples(self._view.rows, problem.y, weights, state.duals, self.v),
            Model(problem.loss, problem.regularizer, vectors, 1.0 / (problem.lam * problem.n)),
        )
        self._view.close(state.abar, state.carried)
        state.iteration += visited
        state.visited += visited
        return float(mean) + problem.intercept.proximal_term(problem.lam, state.abar)

    def turn_to(self, problem: Problem) -> None:
        """Go on with another problem on the same data."""
        self.problem = problem

    def refresh(self, state: State, certificate: Certificate) -> None:
        """Take over abar from scratch and w = z; no skipping if the estimate was too low."""
        state.abar[:] = certificate.abar
        state.w = certificate.w
        if np.mean(self._gaps) < REACTIVATE_BELOW * certificate.loss_gap:
            self.reactivate()

    def reactivate(self, within: int = 0) -> None:
        """Let all examples be active, now or within so many epochs."""
        np.minimum(self._inactive, within, out=self._inactive)
