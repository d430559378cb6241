"""Accelerated mini-batch SDCA (Shalev-Shwartz and Zhang, 2013), for L2.

With u^{t-1} = (1 - theta) w^{t-1} + theta abar^{t-1} and a random set S of m examples,

    alpha_i^t = (1 - theta) alpha_i^{t-1} - theta phi_i'(A_i' u^{t-1})  for i in S
    w^t       = (1 - theta) w^{t-1} + theta abar^t
    theta     = 1/4 min(1, sqrt(c / m), c, (c^2 / m)^{1/3}),   c = lam gamma n / R^2,

so that n / (m theta) is the bound of [tab-comtau]. The source assumes R = 1, and here the
smoothness R^2 / gamma of phi_i(A_i' .) takes the place of 1 / gamma. u is what Quartz calls w, and
Option II of Quartz is the same update with theta / p_i in place of theta. The only difference is
that w^t uses the newest abar.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from quartz.arrays import Array
from quartz.kernels.advance import advance_rows
from quartz.kernels.arguments import Examples, Model
from quartz.kernels.compile import specialize
from quartz.kernels.placeholder import Opaque, Position
from quartz.kernels.updates import update_parts
from quartz.kernels.vectors import lazy_begin
from quartz.methods.compared import MiniBatchSteps
from quartz.methods.requirements import require_l2
from quartz.methods.state import State
from quartz.methods.steps import Method
from quartz.problem import Problem
from quartz.samplings import IndexSets


@dataclass(frozen=True)
class ASDCA(Method):
    """Accelerated mini-batch SDCA.

    Parameters
    ----------
    batch_size : int
        m, the paper's tau.
    """

    batch_size: int = 1

    def steps(self, problem: Problem, rng: np.random.Generator) -> "ASDCASteps":
        """Return its steps for a problem."""
        return ASDCASteps(problem, self.batch_size, rng)


class ASDCASteps(MiniBatchSteps):
    """Steps of ASDCA.

    Attributes
    ----------
    theta : float
        Up to a constant, the gaps fall by the factor 1 - theta m / n in an iteration.
    """

    def __init__(self, problem: Problem, batch_size: int, rng: np.random.Generator) -> None:
        require_l2("ASDCA", problem)
        super().__init__("ASDCA", problem, batch_size, rng)
        c, m = problem.n / self.condition, batch_size
        self.theta = 0.25 * min(1.0, np.sqrt(c / m), c, c ** (2 / 3) / m ** (1 / 3))
        self._kernel = specialize(
            advance_rows,
            {
                **problem.kernel_parts,
                **self._view.parts,
                **update_parts(2, weighted=problem.weights is not None, componentwise=False),
                "coordinate": _u,
                "add_to": _add,
                "begin": lazy_begin,
            },
        )

    def _run(self, state: State, sets: IndexSets) -> None:
        problem = self.problem
        # p_i = 1 makes Option II use theta in place of theta / p_i; it does not read v.
        ones = np.broadcast_to(1.0, problem.n)
        vectors = _Vectors(state.abar, state.w - state.abar, 1.0 - self.theta)
        scale = self._kernel(
            sets.indptr,
            sets.indices,
            ones,
            self.theta,
            1.0 - self.theta,
            np.empty(self.batch_size),
            Examples(self._view.rows, problem.y, self._weights, state.duals, ones),
            Model(problem.loss, problem.regularizer, vectors, 1.0 / (problem.lam * problem.n)),
        )
        state.w = state.abar + scale * vectors.lag


class _Vectors(NamedTuple):
    """w is abar + scale * lag, and so is u inside an iteration."""

    abar: Array
    lag: Array
    rest: float  # 1 - theta


def _u(vectors: _Vectors, j: Position, scale: float, g: Opaque) -> float:
    return vectors.abar[j] + scale * vectors.lag[j]


def _add(vectors: _Vectors, j: Position, delta: float, scale: float, g: Opaque) -> None:
    """Add delta to abar_j and theta delta to w_j."""
    vectors.abar[j] += delta
    vectors.lag[j] -= vectors.rest * delta / scale
