"""What steps on a level have in common: the present point, and how it is handed over."""

import numpy as np

from quartz.arrays import Array
from quartz.certificate import Certificate, PrimalPoint
from quartz.methods.newton.level import Level
from quartz.methods.state import State
from quartz.methods.steps import Steps
from quartz.problem import Problem
from quartz.rounding import Predicted


class LevelSteps(Steps):
    """Steps that end on a level of all rows, whose point and duals belong together.

    Parameters
    ----------
    problem : Problem
    rng : numpy.random.Generator
        Draws the samples.
    """

    primal: PrimalPoint = "own"
    certifies_start = False

    def __init__(self, problem: Problem, rng: np.random.Generator) -> None:
        self._problem, self._rng = problem, rng
        self._penalized = problem.intercept.without_free(np.ones(problem.data.d))  # 1, else 0
        self._all: Level | None = None

    @property
    def reached(self) -> Predicted | None:  # type: ignore[override]
        """The present point with its predictions."""
        return None if self._all is None else self._all.reached

    def refresh(self, state: State, certificate: Certificate) -> None:
        """Nothing to take over: what a step leaves was computed from scratch."""

    def _offer(self, state: State, duals: Array) -> None:
        """Let the state be the present point with these duals."""
        level = self._all
        assert level is not None
        state.w, state.duals[:] = level.w, duals
        state.carried = self._problem.intercept.carried_by(level.w)
        state.visited += level.visited
        level.visited = 0
        state.iteration += 1
