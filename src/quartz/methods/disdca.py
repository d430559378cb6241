"""DisDCA, distributed SDCA (Yang, 2013), on K simulated nodes with m steps a round on each.

In the basic variant all K m examples of a round take the step of SDCA at the same z, shortened by
the factor K m. This is Option I with the (c, tau)-distributed sampling and v_i = K m ||A_i||^2,
which is an ESO for any data. The source draws the m examples of a node with replacement, and we
draw them without.

In the practical variant a node takes its m steps one after another, each at the point that the
steps before it would lead to if all other nodes did the same,

    u_k <- u_k + K / (lam n) A_i Delta_i,     Delta_i maximizes
    -phi_i*(-(alpha_i + Delta)) - Delta A_i' u_k - K / (2 lam n) ||A_i||^2 Delta^2,

and the Delta of all nodes are added. These are serial steps with lam / K in place of lam. The
variant is CoCoA+ with sigma' = K (Ma et al., 2015), whose theorem gives its bound,
:func:`quartz.theory.disdca_practical`. A round costs O(K d) more than its steps, which is what real
nodes would communicate.
"""

from copy import copy
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from quartz import checks
from quartz.certificate import PrimalPoint
from quartz.methods.compared import WithStepSizes, dual_steps
from quartz.methods.compiled import CompiledEngine
from quartz.methods.plan import Plan
from quartz.methods.state import State
from quartz.methods.steps import Method, Steps
from quartz.problem import Problem
from quartz.samplings import Distributed, IndexSets, Uniform


@dataclass(frozen=True)
class DisDCA(Method):
    """Distributed SDCA on simulated nodes, which own even parts of the examples in their order.

    Parameters
    ----------
    nodes : int
        K, the paper's c.
    batch_size : int
        m, the paper's tau: the number of steps of a node in a round.
    variant : {"practical", "basic"}
    """

    nodes: int = 1
    batch_size: int = 1
    variant: Literal["practical", "basic"] = "practical"

    def steps(self, problem: Problem, rng: np.random.Generator) -> Steps:
        """Return its steps for a problem."""
        if self.variant not in ("practical", "basic"):
            raise ValueError(f'variant must be "practical" or "basic", got {self.variant!r}.')
        if self.variant == "practical":
            return PracticalRounds(problem, self.nodes, self.batch_size, rng)
        sampling = Distributed(self.nodes, self.batch_size).bind(problem)
        v = sampling.max_size * problem.data.norms
        return dual_steps(problem, WithStepSizes(sampling, v), rng)


class PracticalRounds(Steps):
    """Rounds of the practical variant, each of which counts as one iteration."""

    primal: PrimalPoint = "conjugate"

    def __init__(
        self, problem: Problem, nodes: int, batch_size: int, rng: np.random.Generator
    ) -> None:
        checks.count("batch_size", batch_size, 1, None, "It is the number of steps in a round.")
        labels = Distributed(nodes, 1).bind(problem).labels
        self._first = np.searchsorted(labels, np.arange(nodes + 1))  # first of each node, and n
        self._problem, self._batch_size, self._rng = problem, batch_size, rng
        local = copy(problem)
        local.lam = problem.lam / nodes
        self._engine = CompiledEngine(Plan.of(local, Uniform()), tracked=False)

    def advance(self, state: State, wanted: float, target: float) -> None:
        """Do the rounds of about one pass."""
        nodes, m = self._first.size - 1, self._batch_size
        for _ in range(max(1, int(state.interval * self._problem.n // (nodes * m)))):
            before = state.abar.copy()
            for first, after in zip(self._first[:-1], self._first[1:], strict=True):
                chosen = self._rng.integers(first, after, size=m)
                # The nodes share the dual variables, of which each changes its own part only.
                node = replace(state, abar=before.copy())
                self._engine.advance(node, IndexSets.of_equal_size(chosen[:, None]))
                state.abar += (node.abar - before) / nodes
            state.iteration += 1
            state.visited += nodes * m
        state.w = self._problem.conjugate_point(state.abar).copy()
