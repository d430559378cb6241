"""What `solve` runs."""

from typing import Protocol

import numpy as np

from quartz.certificate import Certificate, PrimalPoint
from quartz.problem import Problem
from quartz.solvers.plan import Plan
from quartz.solvers.state import State


class Steps(Protocol):
    """A way to advance a state by about a pass."""

    @property
    def plan(self) -> Plan | None:
        """The plan of Algorithm 1, if it is run."""

    @property
    def primal(self) -> PrimalPoint:
        """Which primal point to certify."""

    def advance(self, state: State, wanted: float, target: float) -> float | None:
        """Advance; return an estimate of the gap if there is one, as soon as it is `wanted`.

        The run will end when it is `target`.
        """

    def refresh(self, state: State, certificate: Certificate) -> None:
        """Take over what a certificate computed from scratch."""


class Method(Protocol):
    """A method other than Quartz; see :mod:`quartz.methods`."""

    def steps(self, problem: Problem, rng: np.random.Generator) -> Steps:
        """Return its steps for a problem."""
        ...
