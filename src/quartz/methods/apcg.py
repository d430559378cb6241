"""APCG, accelerated proximal coordinate gradient (Lin, Lu and Xiao, 2014), on the dual, for L2.

The strong convexity of the conjugates is moved to the smooth part of the dual, whose coordinates
then have the Lipschitz constant (R^2 / (lam n) + gamma) / n. Relative to it the dual is mu-strongly
concave with mu = lam gamma n / (R^2 + lam gamma n). With s = sqrt(mu) and a = s / n, the iteration
for a random i is

    y = (x + a z) / (1 + a)
    z_i^+ = argmin over b of phi_i*(-b) + b (A_i' abar(y) + gamma (y_i - z~_i)) + Q/2 (b - z~_i)^2,
            z~ = (z + a x) / (1 + a),   Q = gamma (1/s - 1),   z_j^+ = z~_j for the other j
    x^+ = y + s (z^+ - z~).

Up to a constant the dual suboptimality falls by the factor 1 - s / n in an iteration, so that
n + R sqrt(n / (lam gamma)) iterations divide it by e. As the source does, we keep u and v with
x = r^k u + v and z = -r^k u + v, where r = (1 - a) / (1 + a). An iteration then changes one
coordinate of each, and costs O(nnz). One Lipschitz constant for all coordinates ensures Q >= 0.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from quartz.arrays import Array, IntArray
from quartz.kernels.arguments import Examples
from quartz.kernels.compile import specialize
from quartz.kernels.placeholder import Opaque, Position
from quartz.kernels.rows import add, dot
from quartz.kernels.updates import update, update_parts
from quartz.losses.base import Loss
from quartz.methods.compared import MiniBatchSteps
from quartz.methods.requirements import require_l2, require_step
from quartz.methods.state import State
from quartz.methods.steps import Method
from quartz.problem import Problem
from quartz.samplings import IndexSets

MOST_ROOT = 0.99  # upper limit of s; any smaller s is valid, and with s = n = 1, r would be 0


@dataclass(frozen=True)
class APCG(Method):
    """Accelerated proximal coordinate gradient on the dual."""

    def steps(self, problem: Problem, rng: np.random.Generator) -> "APCGSteps":
        """Return its steps for a problem."""
        return APCGSteps(problem, rng)


class APCGSteps(MiniBatchSteps):
    """Steps of APCG, where x is alpha.

    Attributes
    ----------
    root : float
        s, the square root of mu.
    """

    def __init__(self, problem: Problem, rng: np.random.Generator) -> None:
        require_l2("APCG", problem)
        require_step(problem, "APCG", "use ASDCA or SAGA")
        super().__init__("APCG", problem, 1, rng)
        self.root = min(float(np.sqrt(problem.n / (self.condition + problem.n))), MOST_ROOT)
        self._z = self._abar_z = np.empty(0)
        self._kernel = specialize(
            apcg_rows,
            {
                **problem.kernel_parts,
                **self._view.parts,
                **update_parts(1, weighted=problem.weights is not None, componentwise=False),
                "coordinate": _y,
                "add_to": _add,
            },
        )

    def _run(self, state: State, sets: IndexSets) -> None:
        problem, x = self.problem, state.duals
        if not self._z.size:
            self._z, self._abar_z = x.copy(), state.abar.copy()
        u, v = 0.5 * (x - self._z), 0.5 * (x + self._z)
        vectors = _Vectors(0.5 * (state.abar - self._abar_z), 0.5 * (state.abar + self._abar_z))
        power = self._kernel(
            sets.indices,
            self.root,
            self.gamma,
            1.0 / (problem.lam * problem.n),
            u,
            Examples(self._view.rows, problem.y, self._weights, v, np.broadcast_to(1.0, problem.n)),
            problem.loss,
            vectors,
        )
        state.duals[:], self._z = v + power * u, v - power * u
        state.abar[:] = vectors.q + power * vectors.p
        self._abar_z = vectors.q - power * vectors.p
        state.w = state.abar.copy()


def reference(steps: APCGSteps, state: State, z: Array, sets: IndexSets) -> None:
    """Do one iteration for each set as written above; updates z and x = `state.duals` in place."""
    problem, x, s = steps.problem, state.duals, steps.root
    step = s / problem.n
    for t in range(len(sets)):
        (i,) = sets[t]
        y = (x + step * z) / (1 + step)
        middle = (z + step * x) / (1 + step)
        a = problem.data.predict_one(i, problem.abar(y)) + steps.gamma * (y[i] - middle[i])
        z[:] = middle
        z[i] = problem.losses.step_one(i, middle[i], a, steps.gamma * (1 / s - 1))
        x[:] = y + s * (z - middle)
    state.abar[:] = problem.abar(x)
    state.w = state.abar.copy()


class _Vectors(NamedTuple):
    """Vectors of length d in place of abar, from which abar(x) and abar(z) follow."""

    p: Array  # A u / (lam n)
    q: Array  # A v / (lam n)


def apcg_rows(
    indices: IntArray,
    root: float,
    gamma: float,
    inverse: float,
    u: Array,
    examples: Examples,
    loss: Loss,
    vectors: _Vectors,
) -> float:
    """Do one iteration for each example, with v in place of alpha; returns the last power of r."""
    rows, labels, weights, v, _ = examples
    step = root / v.size
    ratio, power = (1.0 - step) / (1.0 + step), 1.0
    for k in range(indices.size):
        power *= ratio
        i = np.uint64(indices[k])
        y, middle = v[i] + power * u[i], v[i] - power * u[i]
        a = dot(rows, i, vectors, power, None) + gamma * (y - middle)
        q = gamma * (1.0 / root - 1.0)
        change = update(loss, middle, a, labels[i], weights[i], q, 0.0, 1.0) - middle
        if change != 0.0:
            u[i] -= 0.5 * (1.0 - root) * change / power
            v[i] += 0.5 * (1.0 + root) * change
            add(rows, i, inverse * change, vectors, power, root)
    return power


def _y(vectors: _Vectors, j: Position, power: float, g: Opaque) -> float:
    return vectors.q[j] + power * vectors.p[j]


def _add(vectors: _Vectors, j: Position, delta: float, power: float, root: float) -> None:
    vectors.p[j] -= 0.5 * (1.0 - root) * delta / power
    vectors.q[j] += 0.5 * (1.0 + root) * delta
