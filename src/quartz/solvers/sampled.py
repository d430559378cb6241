"""Algorithm 1 in chunks: as it stands, or inside the outer loop of acceleration."""

import numpy as np

from quartz.certificate import Certificate, PrimalPoint
from quartz.problem import Problem
from quartz.solvers.iteration import EngineName, chunks
from quartz.solvers.plan import Plan
from quartz.solvers.state import State

_MOST_SETS = 1_000_000  # drawn at once, however rarely the sampling hits an example


class SampledSteps:
    """Independent index sets of a sampling.

    Parameters
    ----------
    plan : Plan
    rng : numpy.random.Generator
    passes : float
        Length of a chunk.
    engine : {"compiled", "reference"}
    primal : {"best", "quartz", "conjugate"}
        Which primal point to certify.
    """

    def __init__(
        self,
        plan: Plan,
        rng: np.random.Generator,
        passes: float,
        engine: EngineName,
        primal: PrimalPoint,
    ) -> None:
        if primal == "quartz" and plan.primal_step == 0:
            raise ValueError(
                f'primal="quartz" needs a smooth loss: with {type(plan.problem.loss).__name__}, '
                'gamma = 0, w never moves. Use primal="best" or primal_step_factor=inf.'
            )
        self.plan, self.primal = plan, primal
        self._rng, self._engine = rng, engine
        sets_per_pass = plan.problem.n / plan.sampling.expected_size
        self._chunk = min(max(1, round(passes * sets_per_pass)), _MOST_SETS)

    def advance(self, state: State, wanted: float, target: float) -> None:
        """Advance by a chunk."""
        tracked = self.primal != "conjugate" or self.plan.option == 2  # which reads w
        next(chunks(self.plan, state, self._rng, self._chunk, self._engine, tracked))
        state.multiplier = self.plan.problem.next_multiplier(state.multiplier, state.abar)

    epochs = 1  # that a `run` does

    def run(self, state: State, wanted: float, passes: float) -> float:
        """Advance by a chunk; return the losses' part of the gap at z, by one pass in order."""
        problem, multiplier = self.plan.problem, state.multiplier
        self.advance(state, wanted, wanted)
        predictions = problem.data.predictions(problem.conjugate_point(state.abar)) + multiplier
        gaps = problem.fenchel_young(predictions, state.alpha).gaps
        return float(np.mean(gaps)) + problem.proximal_term(state.abar)

    def turn_to(self, problem: Problem) -> None:
        """Go on with another problem on the same data, by a sampling that suits its lam."""
        if problem.lam != self.plan.problem.lam:
            self.plan = self.plan.rebound(problem)

    def refresh(self, state: State, certificate: Certificate) -> None:
        """Take over abar from scratch."""
        state.abar[:] = certificate.abar

    def wake(self, within: int = 0) -> None:
        """Nobody sleeps here."""
