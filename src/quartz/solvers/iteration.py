"""`iterate`: Algorithm 1 as an endless stream of states."""

from collections.abc import Callable, Iterator
from typing import Literal

import numpy as np

from quartz import checks
from quartz.samplings import IndexSets
from quartz.solvers import reference
from quartz.solvers.plan import Plan
from quartz.solvers.state import State

EngineName = Literal["compiled", "reference"]


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
    >>> from quartz import Plan, Problem, iterate, losses, samplings
    >>> from quartz.solvers import State
    >>> problem = Problem(np.eye(3), [1.0, -1.0, 1.0], losses.Squared(), lam=0.1)
    >>> plan = Plan.of(problem, samplings.Nice(batch_size=2))
    >>> for state in iterate(plan, State.start(problem), np.random.default_rng(0)):
    ...     if problem.primal(state.w) - problem.dual(state.alpha) < 1e-9:
    ...         break
    >>> state.w.round(3)
    array([ 0.769, -0.769,  0.769])
    """
    checks.count("chunk", chunk, 1, None, "It is the number of iterations between yields.")
    if plan.problem.intercept == "free":
        raise ValueError(
            "A free intercept has a multiplier that moves after each pass: use solve, or "
            'intercept="penalized".'
        )
    return chunks(plan, state, rng, chunk, engine, tracked)


def chunks(
    plan: Plan,
    state: State,
    rng: np.random.Generator,
    chunk: int,
    engine: EngineName,
    tracked: bool,
) -> Iterator[State]:
    """`iterate`, also for one chunk of a problem with a free intercept."""
    advance = _advance(plan, engine, tracked)
    while True:
        sets = plan.sampling.draw(rng, chunk)
        if plan.sampling.is_users_own:
            sets.check(chunk, plan.problem.n, type(plan.sampling).__name__)
        advance(state, sets)
        yield state


def _advance(plan: Plan, engine: EngineName, tracked: bool) -> Callable[[State, IndexSets], None]:
    if engine == "reference":
        return lambda state, sets: reference.advance(state, plan, sets)
    if engine != "compiled":
        raise ValueError(f'engine must be "compiled" or "reference", got {engine!r}.')
    from quartz.solvers.engine import CompiledEngine

    return CompiledEngine(plan, tracked).advance
