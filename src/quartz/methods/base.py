"""What the compared methods share."""

import numpy as np

from quartz.arrays import Array
from quartz.data import Blocks
from quartz.methods.plan import Plan
from quartz.methods.quartz import SampledSteps
from quartz.methods.requirements import require_smooth, require_step
from quartz.methods.state import State
from quartz.methods.steps import Steps
from quartz.problem import Problem
from quartz.samplings import IndexSets, Nice, Recipe, Sampling


def dual_steps(problem: Problem, sampling: Recipe, rng: np.random.Generator) -> SampledSteps:
    """Option I with w = z: what SDCA does, for any sampling."""
    require_step(problem, "SDCA", "use ASDCA or SAGA")
    plan = Plan.of(problem, sampling, option=1, primal_step_factor=np.inf)
    return SampledSteps(plan, rng, "compiled", "conjugate")


class WithStepSizes(Sampling, proven=True):
    """The sets of another sampling, with v as a method's source has it."""

    def __init__(self, sampling: Sampling, v: Array) -> None:
        self.probabilities, self.max_size = sampling.probabilities, sampling.max_size
        self._sampling, self._v = sampling, v

    def draw(self, rng: np.random.Generator, k: int) -> IndexSets:
        """Draw k independent sets."""
        return self._sampling.draw(rng, k)

    def eso(self, data: Blocks) -> Array:
        """v as given."""
        return self._v


class MiniBatchSteps(Steps):
    """Steps over uniformly random mini-batches, about a pass at a time.

    A method of its own writes `_run`, which does one iteration for each set and leaves w, alpha and
    abar of the state up to date.

    Parameters
    ----------
    name : str
        Of the method, for messages.
    problem : Problem
        With a smooth loss and m = 1.
    batch_size : int
    rng : numpy.random.Generator
    """

    def __init__(
        self, name: str, problem: Problem, batch_size: int, rng: np.random.Generator
    ) -> None:
        if problem.data.m > 1:
            raise ValueError(
                f"{name} is here for one output only, and the problem has m = {problem.data.m}. "
                "Use Quartz."
            )
        require_smooth(name, problem)
        self.problem = problem
        self._sampling = Nice(batch_size).bind(problem)
        self._rng = rng
        self._sets = max(1, problem.n // batch_size)
        self._view, self._weights = problem.data.kernel_view(), problem.losses.weights_or_ones
        self.batch_size = batch_size
        self.gamma = float(problem.gammas.min())
        norms = problem.data.squared_norms()
        self.largest_norm = float(norms.max()) or 1.0  # R^2; any will do if all examples are empty
        self.largest_ratio = float(np.max(norms / problem.gammas)) or 1.0

    def advance(self, state: State, wanted: float, target: float) -> None:
        """Do iterations of about one pass together."""
        sets = self._sampling.draw(self._rng, self._sets)
        self._run(state, sets)
        state.iteration += len(sets)
        state.visited += len(sets.indices)

    def _run(self, state: State, sets: IndexSets) -> None:
        raise NotImplementedError

    @property
    def condition(self) -> float:
        """R^2 / (lam gamma), the condition number in the bounds."""
        return self.largest_norm / (self.problem.lam * self.gamma)
