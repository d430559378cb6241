"""The practical mode: random permutations, skipping of settled examples. A heuristic.

Every epoch visits the examples that are awake once, in a fresh random order, with Option I and the
step sizes of the serial sampling. An example whose Fenchel-Young gap is below 0.3 of the mean
sleeps for 1, 3, 7, ... and at most 127 epochs, as long as that stays so. This takes several times
fewer visits than independent draws, but the theorem does not cover it: the rate is an observation.
The certificate is the same as everywhere, over all examples, asleep or not.
"""

from dataclasses import replace

import numpy as np

from quartz.certificate import Certificate, PrimalPoint
from quartz.kernels.arguments import Examples, Model
from quartz.kernels.blocks import block_parts
from quartz.kernels.compile import specialize
from quartz.kernels.intercept import KernelData
from quartz.kernels.permuted import epoch_blocks, epoch_rows, gap_parts, run_epochs
from quartz.kernels.updates import update_parts
from quartz.kernels.vectors import DenseVectors, LazyVectors, vector_parts
from quartz.losses.base import is_vector
from quartz.problem import Problem
from quartz.regularizers.base import is_separable
from quartz.samplings import Uniform
from quartz.solvers.engine import loss_parts, weights_or_ones
from quartz.solvers.plan import Plan
from quartz.solvers.state import State


class PermutedEpochs:
    """Epochs over random permutations.

    Parameters
    ----------
    problem : Problem
    rng : numpy.random.Generator

    Attributes
    ----------
    plan : Plan
        That of the serial uniform sampling, with theta = 0: the theorem promises nothing here.
    epochs : int
        How many the last `run` did.
    """

    primal: PrimalPoint = "conjugate"

    def __init__(self, problem: Problem, rng: np.random.Generator) -> None:
        self.plan = replace(Plan.of(problem, Uniform()), theta=0.0, primal_step=1.0)
        self._rng = rng
        n, m, weighted = problem.n, problem.data.m, problem.weights is not None
        self._data = KernelData(problem.data)
        self._weights = weights_or_ones(problem)
        self._separable = is_separable(problem.penalty)
        index = np.uint32 if n <= np.iinfo(np.uint32).max else np.uint64
        self._order = np.empty(n, dtype=index)
        self._gaps = np.full(n, np.inf)
        self._naps = np.zeros(n, dtype=np.int8)
        self._asleep = np.zeros(n + -n % 8, dtype=np.int8)  # whole words of eight
        componentwise = m > 1 and not is_vector(problem.loss)
        parts = loss_parts(problem)
        parts["loss_step"] = getattr(type(problem.loss), "quick_step", parts["loss_step"])
        self._kernel = specialize(
            run_epochs,
            parts
            | {"epoch": epoch_rows if m == 1 else epoch_blocks}
            | self._data.parts
            | block_parts(problem.data)
            | vector_parts(self._separable, option=1, tracked=False)
            | update_parts(1, weighted, componentwise)
            | gap_parts(weighted, is_vector(problem.loss), componentwise),
        )

    def advance(self, state: State, wanted: float, target: float) -> float:
        """Do epochs of about one pass together, or until the estimate of the gap is `wanted`.

        Returns that estimate. `state.w` is left alone: w = z.
        """
        return self.run(state, wanted, passes=1.0)

    def run(self, state: State, wanted: float, passes: float) -> float:
        """Do one epoch, and more of them up to so many passes, unless the estimate is `wanted`."""
        problem = self.plan.problem
        empty = np.empty(0)
        abar = self._data.open(state.abar, state.multiplier)
        vectors: LazyVectors | DenseVectors = LazyVectors(abar, empty)
        if not self._separable:
            vectors = DenseVectors(abar, np.empty_like(abar), empty)
        self.epochs, visited, mean = self._kernel(
            self._order,
            self._rng.integers(2**63, dtype=np.uint64),
            self._gaps,
            self._naps,
            self._asleep,
            wanted,
            passes * problem.n,
            Examples(self._data.rows, problem.y, self._weights, state.alpha, self.plan.v),
            Model(problem.loss, problem.penalty, vectors, 1.0 / (problem.lam * problem.n)),
        )
        state.multiplier = self._data.close(state.abar)
        state.iteration += visited
        state.visited += visited
        return float(mean) + problem.proximal_term(state.abar)

    def turn_to(self, problem: Problem) -> None:
        """Go on with another problem on the same data."""
        self.plan = replace(self.plan, problem=problem)

    def refresh(self, state: State, certificate: Certificate) -> None:
        """Take over abar from scratch and w = z; wake all examples if the estimate was too low."""
        state.abar[:] = certificate.abar
        state.w = certificate.w
        if np.mean(self._gaps) < 0.9 * certificate.loss_gap:
            self.wake()

    def wake(self, within: int = 0) -> None:
        """Wake all examples, now or within so many epochs."""
        np.minimum(self._asleep, within, out=self._asleep)
