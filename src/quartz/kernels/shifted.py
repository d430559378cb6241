"""Option I for all examples at once, at predictions that are shifted together."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from quartz.arrays import Array
from quartz.kernels.compile import specialize
from quartz.kernels.updates import update, update_parts

if TYPE_CHECKING:
    from quartz.problem import Problem


def shifted_steps(
    problem: "Problem", alpha: Array, predictions: Array, q: float, out: Array
) -> Callable[[float], float]:
    """Return a function of the shift that writes the new duals to `out` and returns their sum."""
    parts = {"loss_step": type(problem.loss).step}  # type: ignore[attr-defined]
    weighted = problem.weights is not None
    kernel = specialize(_steps, parts | update_parts(1, weighted, componentwise=False))
    weights = np.broadcast_to(1.0, problem.n) if problem.weights is None else problem.weights

    def steps(shift: float) -> float:
        total = kernel(problem.loss, alpha, predictions, shift, problem.y, weights, q, out)
        return float(total)

    return steps


def _steps(
    loss: Any,
    alpha: Array,
    predictions: Array,
    shift: float,
    y: Array,
    weights: Array,
    q: float,
    out: Array,
) -> float:
    total = 0.0
    for i in range(alpha.size):
        a = predictions[i] + shift
        out[i] = update(loss, alpha[i], a, y[i], weights[i], q, 0.0, 1.0)
        total += out[i]
    return total
