"""What the methods that Quartz is compared with have in common."""

import numpy as np

from quartz.arrays import Array
from quartz.data import Blocks
from quartz.methods.plan import Plan
from quartz.methods.quartz import SampledSteps
from quartz.methods.requirements import finite_step_sizes, require_smooth, require_step
from quartz.methods.state import State
from quartz.methods.steps import Steps
from quartz.problem import Problem
from quartz.samplings import IndexSets, Nice, Recipe, Sampling


def dual_steps(problem: Problem, sampling: Recipe, rng: np.random.Generator) -> SampledSteps:
    """The steps of SDCA for any sampling, which are Option I with w = z."""
    require_step(problem, "SDCA", "use ASDCA or SAGA")
    plan = Plan.of(problem, sampling, option=1, primal_step_factor=np.inf)
    return SampledSteps(plan, rng, "compiled", "conjugate")


class WithStepSizes(Sampling, proven=True):
    """The sets of another sampling, with the v that the source of a method prescribes."""

    def __init__(self, sampling: Sampling, v: Array) -> None:
        self.probabilities, self.max_size = sampling.probabilities, sampling.max_size
        self._sampling, self._v = sampling, v

    def draw(self, rng: np.random.Generator, k: int) -> IndexSets:
        """Draw k independent sets."""
        return self._sampling.draw(rng, k)

    def eso(self, data: Blocks) -> Array:
        """The given v."""
        return self._v


class MiniBatchSteps(Steps):
    """Steps over uniformly random mini-batches; one call does about a pass of them.

    A method writes `_run`, which does one iteration for each set and leaves w, the dual variables
    and abar of the state up to date.

    Parameters
    ----------
    name : str
        Name of the method, for error messages.
    problem : Problem
        It has a smooth loss and m = 1.
    batch_size : int
    rng : numpy.random.Generator

    Attributes
    ----------
    gamma : float
        The smallest gamma_i.
    largest_norm : float
        R^2, the largest ||A_i||^2; 1 if all examples are empty, where any number will do.
    largest_ratio : float
        The largest ||A_i||^2 / gamma_i; likewise 1 if all examples are empty.
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
        self._view, self._weights = problem.data.kernel_view(), problem.losses.weights_or_ones
        self.batch_size = batch_size
        self.gamma = float(problem.gammas.min())
        norms = finite_step_sizes(problem.data.norms, problem.n)
        self.largest_norm = float(norms.max()) or 1.0
        with np.errstate(over="ignore"):  # refused below
            self.largest_ratio = float(np.max(norms / problem.gammas)) or 1.0
        if self.largest_ratio == np.inf:
            raise ValueError(
                f"{name} steps by max_i ||A_i||^2 / gamma_i, which overflows. Scale X, or take a "
                "smoother loss."
            )

    def advance(self, state: State, wanted: float, target: float) -> None:
        """Do the iterations of about one pass."""
        count = max(1, int(state.interval * self.problem.n // self.batch_size))
        sets = self._sampling.draw(self._rng, count)
        self._run(state, sets)
        state.iteration += len(sets)
        state.visited += len(sets.indices)

    def _run(self, state: State, sets: IndexSets) -> None:
        raise NotImplementedError

    @property
    def condition(self) -> float:
        """R^2 / (lam gamma), the condition number in the methods' bounds.

        It stays where neither it nor its inverse overflows; beyond, no method gets anywhere.
        """
        with np.errstate(all="ignore"):
            ratio = self.largest_norm / np.multiply(self.problem.lam, self.gamma)
        return float(np.clip(ratio, 1e-300, 1e300))
