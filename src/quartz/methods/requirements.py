"""Checks of what methods need of a problem, with errors that name a remedy."""

import numpy as np

from quartz import checks
from quartz.arrays import Array
from quartz.problem import Problem
from quartz.regularizers.base import abilities


def finite_step_sizes(v: Array, n: int) -> Array:
    """Return v if it has shape (n,) and is finite; otherwise raise ValueError."""
    if np.isinf(v).any():
        i = int(np.argmax(np.isinf(v)))
        raise ValueError(f"v[{i}] is infinite: the squares of row {i} of X overflow. Scale X.")
    return checks.finite_array("v, the ESO of the sampling", v, (n,))


def require_step(problem: Problem, who: str, remedy: str) -> None:
    """Refuse a loss without Option I, which is a vector loss that does not define `step`."""
    if problem.losses.abilities.step is None:
        loss = type(problem.loss).__name__
        raise ValueError(f"{who} needs {loss}.step, which it lacks. Write it, or {remedy}.")


def require_l2(name: str, problem: Problem) -> None:
    """Refuse a regularizer other than L2."""
    if not abilities(problem.regularizer).quadratic:
        raise ValueError(
            f"{name} is for L2 only, and the problem has {type(problem.regularizer).__name__}. Use "
            "Quartz, SPDC or SAGA."
        )


def require_smooth(name: str, problem: Problem) -> None:
    """Refuse a loss that is not smooth, that is, with gamma = 0."""
    if not problem.losses.abilities.smooth:
        raise ValueError(
            f"{name} needs a smooth loss, and {type(problem.loss).__name__} has gamma = 0. Use "
            "Quartz, or a smoothed variant such as SmoothedHinge."
        )
