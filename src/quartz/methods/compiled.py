"""The compiled engine: advances a state by the kernel that fits the data, loss and regularizer."""

import numpy as np

from quartz.kernels.advance import advance_blocks, advance_rows
from quartz.kernels.arguments import Examples, Model
from quartz.kernels.compile import specialize
from quartz.kernels.updates import update_parts
from quartz.kernels.vectors import DenseVectors, LazyVectors, vector_parts
from quartz.methods.plan import Plan
from quartz.methods.state import State
from quartz.regularizers.base import abilities
from quartz.samplings import IndexSets


class CompiledEngine:
    """Does what `reference.advance` does, to rounding, in O(nnz of the examples visited).

    w is kept as z + scale * lag within a call (see :mod:`quartz.kernels.vectors`) and formed at its
    end, at O(d) a call. With `tracked` false w is left alone.
    """

    def __init__(self, plan: Plan, tracked: bool = True) -> None:
        self._plan = plan
        problem = plan.problem
        self._separable = abilities(problem.regularizer).separable
        # theta = 0 leaves w where it is, and a primal step of 1 makes w = z: nothing to track
        self._tracked = tracked and 0 < plan.primal_step < 1
        self._view = problem.data.kernel_view()
        self._pending = np.empty((max(1, plan.sampling.max_size), *problem.data.dual_shape[1:]))
        option = 1 if plan.option == 2 and plan.primal_step == 1 else plan.option
        self._kernel = specialize(
            advance_rows if problem.data.m == 1 else advance_blocks,
            {
                **problem.kernel_parts,
                **self._view.parts,
                **vector_parts(self._separable, option, self._tracked),
                **update_parts(plan.option, problem.weights is not None, problem.is_componentwise),
            },
        )

    def advance(self, state: State, sets: IndexSets) -> None:
        """Do one iteration for each index set."""
        if len(sets) == 0:
            return
        if self._separable and self._plan.primal_step == 1:
            # w^t = z^{t-1}: stop before the last set to see it
            last = len(sets) - 1
            self._run(state, IndexSets(sets.indptr[: last + 1], sets.indices))
            state.w = self._plan.problem.conjugate_point(state.abar).copy()
            self._run(state, IndexSets(sets.indptr[last:], sets.indices))
        else:
            self._run(state, sets)
        state.iteration += len(sets)
        state.visited += int(sets.indptr[-1] - sets.indptr[0])

    def _run(self, state: State, sets: IndexSets) -> None:
        plan, problem = self._plan, self._plan.problem
        z = problem.conjugate_point(state.abar)
        abar = self._view.open(state.abar, state.carried)
        vectors: LazyVectors | DenseVectors
        if self._separable:
            vectors = LazyVectors(abar, state.w - z if self._tracked else np.empty(0))
        else:
            vectors = DenseVectors(abar, z[: abar.size].copy(), state.w[: abar.size])
        scale = self._kernel(
            sets.indptr,
            sets.indices,
            plan.p,
            plan.theta,
            1.0 - plan.primal_step,
            self._pending,
            Examples(
                self._view.rows, problem.y, problem.losses.weights_or_ones, state.duals, plan.v
            ),
            Model(problem.loss, problem.regularizer, vectors, 1.0 / (problem.lam * problem.n)),
        )
        # Algorithm 1 moves a multiplier after each chunk, not here.
        self._view.close(state.abar, state.carried)
        if isinstance(vectors, LazyVectors) and self._tracked:
            state.w = problem.conjugate_point(state.abar) + scale * vectors.lag
