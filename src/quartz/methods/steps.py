"""What a run needs of a method, and what acceleration needs of epochs."""

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from quartz.arrays import Array
from quartz.certificate import Certificate, PrimalPoint
from quartz.methods.plan import Plan
from quartz.methods.state import State
from quartz.problem import Problem
from quartz.rounding import Predicted


class Method(ABC):
    """A method as the user names it, such as ``SPDC(batch_size=8)``; it becomes `Steps`.

    Attributes
    ----------
    has_free_columns : bool
        Whether its steps are for free intercepts, too.
    """

    has_free_columns: ClassVar[bool] = False

    @abstractmethod
    def steps(self, problem: Problem, rng: np.random.Generator) -> "Steps":
        """Return its steps for a problem."""

    def epochs(self, problem: Problem, rng: np.random.Generator) -> "Epochs":
        """The same for an outer loop, which may change the problem on the way."""
        raise ValueError(
            f"Acceleration goes around Permuted() or Quartz(sampling), not around {self!r}."
        )


class Steps(ABC):
    """A way to advance a state.

    Attributes
    ----------
    plan : Plan or None
        That of Algorithm 1, if it is run.
    promise : Plan or None
        The same, if the theorem [th-mainth] covers the run.
    primal : {"best", "own", "conjugate"}
        Which primal point to certify.
    first_primal : {"best", "own", "conjugate"}
        Likewise, for the start and after an interruption; a start may bring a w of its own.
    reached : Predicted or None
        The point that is certified as the method's own, with its predictions, if they are known.
    certifies_start : bool
        Whether the start w = 0 is certified. If not, the first advance must find `objective`.
    objective : float or None
        P near the present point, if it is known before there is a certificate.
    """

    plan: Plan | None = None
    promise: Plan | None = None
    primal: PrimalPoint = "best"
    first_primal: PrimalPoint = "best"
    reached: Predicted | None = None
    certifies_start: bool = True
    objective: float | None = None

    @abstractmethod
    def advance(self, state: State, wanted: float, target: float) -> float | None:
        """Advance by about a pass; return an estimate of the gap, or None if there is none.

        Return as soon as the estimate is at most `wanted`, which triggers a certificate; where it
        is at most `target`, that certificate should end the run. After None there is always one.
        """

    def refresh(self, state: State, certificate: Certificate) -> None:
        """Take over what a certificate computed from scratch."""
        state.abar[:] = certificate.abar


class Epochs(Steps):
    """Steps of dual coordinate ascent, whose problem an outer loop may change on the way.

    Attributes
    ----------
    problem : Problem
        The present one.
    v : ndarray of shape (n,)
        Dual step sizes.
    epochs : int
        How many the last `run` did.
    is_ascent : bool
        Whether no step decreases the dual value.
    """

    problem: Problem
    v: Array
    epochs: int = 1
    is_ascent: bool = True

    @abstractmethod
    def run(self, state: State, wanted: float, passes: float) -> float:
        """Do one epoch, and more of them up to so many passes, unless the estimate is `wanted`.

        Returns the estimate, the losses' part of the gap at z.
        """

    @abstractmethod
    def turn_to(self, problem: Problem) -> None:
        """Go on with another problem on the same data."""

    def reactivate(self, within: int = 0) -> None:
        """Let no example be skipped any more, from now or from so many epochs on."""
