"""Quartz, Algorithm 1 of the paper, with any sampling [algo:primaldual].

`Quartz` names it with its options, `SampledSteps` runs it in chunks, as it stands or inside the
outer loop of acceleration, and `iterate` is the bare algorithm as a stream of states.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from quartz import checks
from quartz.certificate import PrimalPoint
from quartz.methods import reference
from quartz.methods.compiled import CompiledEngine
from quartz.methods.plan import Option, Plan
from quartz.methods.state import State
from quartz.methods.steps import Epochs, Method
from quartz.problem import Problem
from quartz.samplings import IndexSets, Recipe, Uniform

MOST_SETS = 1_000_000  # drawn at once, however rarely the sampling hits an example

EngineName = Literal["compiled", "reference"]


@dataclass(frozen=True)
class Quartz(Method):
    """Algorithm 1 with a sampling and the options that only it has.

    Parameters
    ----------
    sampling : Sampling or recipe, default Uniform()
        See :mod:`quartz.samplings`.
    option : {1, 2}
        Dual update: 1 maximizes the dual along each variable, 2 moves towards -grad phi_i(A_i' w).
    primal : {"best", "own", "conjugate"}
        Which primal point to certify and return: the averaged w of Algorithm 1, z = grad g*(abar),
        or the better; at the end w if that is good enough.
    primal_step_factor : float
        Multiplies theta in the update of w; infinite gives Prox-SDCA (see :meth:`Plan.of`).
    engine : {"compiled", "reference"}
        The compiled kernels, or the reference implementation in NumPy.

    Examples
    --------
    >>> from quartz import Problem, data, losses, methods, samplings, solve
    >>> X, y = data.make_classification(200, 20, density=0.3)
    >>> problem = Problem(X, y, losses.SmoothedHinge(), lam=0.01)
    >>> solve(problem, methods.Quartz(samplings.Nice(batch_size=4), option=2)).converged
    True
    """

    has_free_columns = True

    sampling: Recipe = field(default_factory=Uniform)
    option: Option = 1
    primal: PrimalPoint = "best"
    primal_step_factor: float = 1.0
    engine: EngineName = "compiled"

    def steps(self, problem: Problem, rng: np.random.Generator) -> "SampledSteps":
        """Return its steps for a problem."""
        if self.option == 2 or self.primal == "own" or self.primal_step_factor != 1:
            problem.intercept.require_no_free_columns(
                'Quartz with Option II, primal="own" or a primal_step_factor',
                "A free intercept is for Option I with w = z: leave them as they are, or use "
                'intercept="penalized".',
            )
        primal: PrimalPoint = "conjugate" if problem.intercept.repairs_duals else self.primal
        plan = Plan.of(problem, self.sampling, self.option, self.primal_step_factor)
        return SampledSteps(plan, rng, self.engine, primal, by_the_book=True)

    def epochs(self, problem: Problem, rng: np.random.Generator) -> "SampledSteps":
        """The same, for acceleration."""
        if self.primal != "best":
            raise ValueError(
                f"Acceleration has a primal point of its own: leave primal, got {self.primal!r}."
            )
        return self.steps(problem, rng)


def as_method(method: object) -> Method:
    """A method stands for itself, a sampling for Algorithm 1 with it."""
    if isinstance(method, Method):
        return method
    if isinstance(method, Recipe) and not isinstance(method, type):
        return Quartz(method)
    raise ValueError(
        "method must be a sampling such as Nice(batch_size=8) or a method such as "
        f"quartz.methods.SPDC(batch_size=8), got {method!r}."
    )


class SampledSteps(Epochs):
    """Independent index sets of a sampling.

    Parameters
    ----------
    plan : Plan
    rng : numpy.random.Generator
    engine : {"compiled", "reference"}
    primal : {"best", "own", "conjugate"}
        Which primal point to certify.
    by_the_book : bool
        Whether this is Algorithm 1 itself, to which the theorem applies.
    """

    plan: Plan

    def __init__(
        self,
        plan: Plan,
        rng: np.random.Generator,
        engine: EngineName,
        primal: PrimalPoint,
        by_the_book: bool = False,
    ) -> None:
        if primal == "own" and plan.primal_step == 0:
            raise ValueError(
                f'primal="own" needs a smooth loss: with {type(plan.problem.loss).__name__}, '
                'gamma = 0, w never moves. Use primal="best" or primal_step_factor=inf.'
            )
        self.primal = primal
        self._rng, self._engine = rng, engine
        self._use(plan)
        if by_the_book:
            self.first_primal = primal
            # [th-mainth] is about the averaged w with the primal step theta
            promised = plan.primal_step == plan.theta and primal != "conjugate"
            self.promise = plan if promised else None

    def advance(self, state: State, wanted: float, target: float) -> None:
        """Advance by a chunk, as long as the run's interval."""
        self._advance(state, state.interval)

    def run(self, state: State, wanted: float, passes: float) -> float:
        """Advance by a chunk of at most a pass; estimate the gap by one pass in order."""
        problem, shift = self.problem, self.problem.intercept.shift(state.carried)
        self._advance(state, min(1.0, state.interval))
        predictions = problem.data.predictions(problem.conjugate_point(state.abar)) + shift
        gaps = problem.losses.fenchel_young(predictions, state.duals).gaps
        return float(np.mean(gaps)) + problem.intercept.proximal_term(problem.lam, state.abar)

    def turn_to(self, problem: Problem) -> None:
        """Go on with another problem on the same data, by a sampling that suits its lam."""
        if problem.lam != self.problem.lam:
            self._use(self.plan.rebound(problem))

    def _use(self, plan: Plan) -> None:
        self.plan, self.problem, self.v = plan, plan.problem, plan.v
        self.is_ascent = plan.option == 1  # Option II may decrease the dual value

    def _advance(self, state: State, passes: float) -> None:
        tracked = self.primal != "conjugate" or self.plan.option == 2  # which reads w
        sets_per_pass = self.problem.n / self.plan.sampling.expected_size
        chunk = min(max(1, round(passes * sets_per_pass)), MOST_SETS)
        next(_chunks(self.plan, state, self._rng, chunk, self._engine, tracked))
        self.problem.intercept.move(state.carried, state.abar)


def iterate(
    plan: Plan,
    state: State,
    rng: np.random.Generator,
    chunk: int = 1,
    engine: EngineName = "compiled",
    tracked: bool = True,
) -> Iterator[State]:
    """Run Algorithm 1 without end; yield the state every `chunk` iterations.

    Parameters
    ----------
    plan : Plan
    state : State
        The start, overwritten: each yield is this object.
    rng : numpy.random.Generator
        Source of the index sets.
    chunk : int
        Iterations between yields.
    engine : {"compiled", "reference"}
        The kernels, or the reference implementation, which agree to rounding.
    tracked : bool
        Whether the averaged w is needed; it costs a little more time.

    Examples
    --------
    >>> import numpy as np
    >>> from quartz import Plan, Problem, State, iterate, losses, samplings
    >>> problem = Problem(np.eye(3), [1.0, -1.0, 1.0], losses.Squared(), lam=0.1)
    >>> plan = Plan.of(problem, samplings.Nice(batch_size=2))
    >>> for state in iterate(plan, State.start(problem), np.random.default_rng(0)):
    ...     if problem.primal(state.w) - problem.dual(state.duals) < 1e-9:
    ...         break
    >>> state.w.round(3)
    array([ 0.769, -0.769,  0.769])
    """
    checks.count("chunk", chunk, 1, None, "It is the number of iterations between yields.")
    plan.problem.intercept.require_no_free_columns(
        "iterate", 'Its multiplier moves after each pass: use solve, or intercept="penalized".'
    )
    return _chunks(plan, state, rng, chunk, engine, tracked)


def _chunks(
    plan: Plan,
    state: State,
    rng: np.random.Generator,
    chunk: int,
    engine: EngineName,
    tracked: bool,
) -> Iterator[State]:
    """`iterate`, also for one chunk of a problem with a free intercept."""
    advance = _engine(plan, engine, tracked)
    while True:
        sets = plan.sampling.draw(rng, chunk)
        if not plan.sampling.proven:
            sets.check(chunk, plan.problem.n, type(plan.sampling).__name__)
        advance(state, sets)
        yield state


def _engine(plan: Plan, engine: EngineName, tracked: bool) -> Callable[[State, IndexSets], None]:
    if engine == "reference":
        return lambda state, sets: reference.advance(state, plan, sets)
    if engine != "compiled":
        raise ValueError(f'engine must be "compiled" or "reference", got {engine!r}.')
    return CompiledEngine(plan, tracked).advance
