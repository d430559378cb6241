"""Where a run begins."""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from quartz import checks
from quartz.arrays import Array
from quartz.methods.state import State
from quartz.problem import Problem
from quartz.run.result import Result


@dataclass(frozen=True)
class Start:
    """A point to begin with.

    Attributes
    ----------
    duals : ndarray, optional
        Dual variables; 0 by default.
    w : ndarray of shape (d,), optional
        A primal point; by default that of the duals.
    objective : float, optional
        Roughly what P will be, as known from a similar problem. Then the start is not certified:
        the first certificate waits until the gap seems small enough, which a good start needs
        anyway.
    carried : ndarray, optional
        What a state carries for a free intercept, if that is more than w says.
    """

    duals: Array | None = None
    w: Array | None = None
    objective: float | None = None
    carried: Array | None = None

    @property
    def is_cold(self) -> bool:
        """Whether it is w = 0, of which nothing is known."""
        return self.duals is None and self.w is None and self.objective is None

    def state(self, problem: Problem, certified: bool) -> State:
        """The state for a problem; `certified` if a certificate of w is the first to come."""
        state = State.start(problem, self.duals, self.w, certified)
        if self.carried is not None and np.shape(self.carried) == state.carried.shape:
            state.carried[:] = self.carried
        return state


AnyStart: TypeAlias = Start | Result | State | tuple[Array, Array] | Array | None


def as_start(start: AnyStart, problem: Problem) -> Start:
    """A previous result, a state, a pair (w, duals), or dual variables alone as a `Start`."""
    if isinstance(start, Start):
        if start.objective is not None:
            checks.finite_array("objective", start.objective, ())
        return start
    if isinstance(start, State | Result):
        fits = start.w.shape == (problem.data.d,)  # not if it had another intercept
        carried = start.carried if isinstance(start, State) else None  # its w may lack it
        return Start(start.duals, start.w if fits else None, carried=carried)
    if isinstance(start, tuple):
        return Start(start[1], start[0])
    return Start() if start is None else Start(np.asarray(start))
