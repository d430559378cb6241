"""The compiled engine: advances a state by the kernel that fits the data, loss and regularizer."""

from typing import Any

import numpy as np

from quartz.arrays import Array
from quartz.kernels.advance import advance_blocks, advance_rows
from quartz.kernels.arguments import Examples, Model
from quartz.kernels.blocks import block_parts
from quartz.kernels.compile import specialize
from quartz.kernels.intercept import KernelData
from quartz.kernels.updates import update_parts
from quartz.kernels.vectors import DenseVectors, LazyVectors, vector_parts
from quartz.losses.base import is_vector
from quartz.problem import Problem
from quartz.regularizers.base import is_separable
from quartz.samplings import IndexSets
from quartz.solvers.plan import Plan
from quartz.solvers.state import State


class CompiledEngine:
    """Does what `reference.advance` does, to rounding, in O(nnz of the examples visited).

    w is kept as z + scale * lag within a call (see :mod:`quartz.kernels.vectors`) and formed at its
    end, at O(d) a call. With `tracked` false w is left alone.
    """

    def __init__(self, plan: Plan, tracked: bool = True) -> None:
        self._plan = plan
        problem = plan.problem
        self._separable = is_separable(problem.penalty)
        # theta = 0 leaves w where it is, and a primal step of 1 makes w = z: nothing to track
        self._tracked = tracked and 0 < plan.primal_step < 1
        self._data = KernelData(problem.data)
        self._weights = weights_or_ones(problem)
        self._pending = np.empty((max(1, plan.sampling.max_size), *problem.data.dual_shape[1:]))
        option = 1 if plan.option == 2 and plan.primal_step == 1 else plan.option
        self._kernel = specialize(
            advance_rows if problem.data.m == 1 else advance_blocks,
            loss_parts(problem)
            | self._data.parts
            | block_parts(problem.data)
            | vector_parts(self._separable, option, self._tracked)
            | update_parts(
                plan.option,
                problem.weights is not None,
                problem.data.m > 1 and not is_vector(problem.loss),
            ),
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
        abar = self._data.open(state.abar, state.multiplier)
        vectors: Any
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
            Examples(self._data.rows, problem.y, self._weights, state.alpha, plan.v),
            Model(problem.loss, problem.penalty, vectors, 1.0 / (problem.lam * problem.n)),
        )
        self._data.close(state.abar)
        if self._separable and self._tracked:
            state.w = problem.conjugate_point(state.abar) + scale * vectors.lag


def loss_parts(problem: Problem) -> dict[str, Any]:
    """The loss's and the regularizer's functions, under the names of the placeholders."""
    loss, g = type(problem.loss), type(problem.penalty)
    parts = {
        "loss_value": loss.value,
        "loss_gradient": loss.gradient,
        "loss_conjugate": loss.conjugate,
        "conjugate_gradient": g.conjugate_gradient,
    }
    if hasattr(loss, "step"):
        parts["loss_step"] = loss.step
    return parts


def weights_or_ones(problem: Problem) -> Array:
    """The weights, or ones that take no memory."""
    if problem.weights is None:
        return np.broadcast_to(1.0, problem.n)
    return problem.weights
