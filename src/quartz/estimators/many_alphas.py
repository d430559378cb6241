"""One problem for many alphas, each started from the solutions for other alphas.

The alphas are solved in levels. The first level has alphas far apart, from the largest to the
smallest. Each further level has the alphas halfway between neighbours that are already solved; they
start on the cubics, as functions of log alpha, through the nearest solutions. For smooth losses
these starts are so good that most need a certificate but no further pass. The rows or single alphas
of one level do not depend on each other, and are solved in threads.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from quartz.arrays import Array, IntArray
from quartz.estimators.training import Training
from quartz.problem import Problem
from quartz.progress import counting_bar
from quartz.run import Result, Start

# The first level
COARSE = 1.0  # mean distance of its alphas in log alpha, at most
SHORTEST_ROW = 3  # alphas that are solved one after another, at least
LONGEST_ROW = 10  # alphas that are solved one after another, at most, if the loss is not smooth

# Starts by polynomials in log alpha
NEAREST = 4  # solutions that a polynomial goes through, at most
WILD = 4.0  # sum of the absolute weights of the solutions, above which fewer are taken

Solutions = dict[float, tuple[Array, Array]]  # by alpha: w of shape (d,), and the dual variables


class _Task(NamedTuple):
    """What a thread does in one piece."""

    problem: int  # index of the problem
    alphas: Array  # solved one after another
    known: Solutions  # of earlier levels, to start from
    is_last: bool  # whether no later level starts from the solutions of this task


def solve_in_levels(training: Training, alphas: Array) -> list[list[Result]]:
    """Solve all problems for all alphas, which must fall; return a row of results for each alpha.

    The results lack their vectors over the examples. In the meantime the dual variables of all
    levels but the last, up to four fifths of all alphas, are kept in memory.
    """
    problems, conditions = training.problems, training.conditions
    for problem in problems:
        if not problem.losses.abilities.vector:
            _ = problem.losses.dual_bounds  # a cached property, computed once for all alphas
    results: list[dict[float, Result]] = [{} for _ in problems]
    known: list[Solutions] = [{} for _ in problems]
    levels = _levels(alphas, smooth=problems[0].losses.abilities.smooth)

    def run(task: _Task) -> tuple[dict[float, Result], Solutions]:
        found, solutions = {}, {}
        in_a_row = solve_path(training, problems[task.problem], task.alphas, task.known)
        for alpha, result in zip(task.alphas, in_a_row, strict=True):
            found[float(alpha)] = _without_examples(result)
            if not task.is_last:
                solutions[float(alpha)] = result.w, result.duals
            done()
        return found, solutions

    with counting_bar(conditions.verbose, len(alphas) * len(problems)) as done:
        for level in levels:
            tasks = [
                _Task(k, alphas[numbers], known[k], level is levels[-1])
                for numbers in level[::-1]  # small alphas take longest, so they come first
                for k in range(len(problems))
            ]
            runs = conditions.in_threads([partial(run, task) for task in tasks], problems[0])
            for task, (found, solutions) in zip(tasks, runs, strict=True):
                results[task.problem] |= found
                known[task.problem] = known[task.problem] | solutions
    return [[found[alpha] for found in results] for alpha in map(float, alphas)]


def _without_examples(result: Result) -> Result:
    """The result without its vectors over the examples, to save memory."""
    none = np.empty(0)
    certificate = replace(result.certificate, example_gaps=none, duals=none, abar=none)
    return replace(result, certificate=certificate, plan=None)


def solve_path(
    training: Training, problem: Problem, alphas: Array, known: Solutions | None = None
) -> Iterator[Result]:
    """Solve a problem for one alpha after another.

    Each alpha starts on the line, as a function of log alpha, through the last two solutions. That
    mostly takes half the passes of a start at the last solution; parabolas were worse. The first
    alpha starts from the known solutions around it, if there are any.
    """
    smooth = problem.losses.abilities.smooth
    last: Result | None = None
    solutions = _nearest(known, float(alphas[0])) if known else {}
    for alpha in map(float, alphas):
        problem = training.at(problem, alpha)
        start = _along(problem, solutions, alpha)
        # A start with an expected objective is not certified. But if the loss is not smooth, the
        # first steps may make a good start worse, and it takes long to regain it.
        if start is not None and last is not None and smooth:
            similar = last.certificate.primal_value
            start = replace(start, objective=similar if np.isfinite(similar) else None)
        last = training.conditions.solve(problem, start)
        yield last
        solutions[alpha] = last.w, last.duals
        solutions = dict(list(solutions.items())[-2:])


def _nearest(solutions: Solutions, alpha: float) -> Solutions:
    """The solutions around alpha, as many above as below it where possible.

    They are only two if the polynomial through more of them is wild.
    """
    known = np.array(sorted(solutions))
    above = int(np.searchsorted(known, alpha))
    for count in (NEAREST, 2):
        first = min(max(above - count // 2, 0), max(len(known) - count, 0))
        chosen = known[first : first + count]
        if np.abs(_shares(chosen, alpha)).sum() <= WILD:
            break
    return {float(each): solutions[float(each)] for each in chosen}


def _shares(known: Array, alpha: float) -> Array:
    """The weight of each solution, at alpha, in Lagrange's polynomial in log alpha through all."""
    x, t = np.log(known), np.log(alpha)
    others = ~np.eye(len(x), dtype=bool)
    with np.errstate(all="ignore"):  # two alphas may have the same logarithm
        ratios = np.divide(t - x, x[:, None] - x, out=np.ones((len(x), len(x))), where=others)
        return np.asarray(ratios.prod(axis=1))


def _along(problem: Problem, solutions: Solutions, alpha: float) -> Start | None:
    """Where to start: the polynomial through the solutions at alpha, made feasible.

    If the polynomial is wild or cannot be made feasible, the start is the nearest solution.
    """
    if not solutions:
        return None
    closest = min(solutions, key=lambda known: abs(np.log(known) - np.log(alpha)))
    w, duals = solutions[closest]
    nearest = Start(duals, w)
    can, shares = problem.losses.abilities, _shares(np.array(list(solutions)), alpha)
    domain_is_known = can.simplex or not can.vector
    if not np.abs(shares).sum() <= WILD or not domain_is_known:
        return nearest
    w, duals = (
        sum(share * vector for share, vector in zip(shares, vectors, strict=True))
        for vectors in zip(*solutions.values(), strict=True)
    )
    feasible = problem.losses.nearest_feasible(duals)
    moved = np.flatnonzero((feasible != duals).reshape(problem.n, -1).any(axis=1))
    # They were moved to the ends of their domains, where a conjugate may be infinite.
    if np.isinf(problem.losses.conjugates(feasible, moved)).any():
        return nearest
    return Start(feasible, w)


def _levels(alphas: Array, smooth: bool) -> list[list[IntArray]]:
    """The indices of the alphas in each level, in rows that are solved one after another.

    The first level has rows of alphas far apart, the others have single alphas halfway between. If
    the loss is not smooth, there is only one level of rows of neighbours: with starts from both
    sides the hinge loss took half as many passes more.
    """
    if not smooth:
        return [np.array_split(np.arange(len(alphas)), -(-len(alphas) // LONGEST_ROW))]
    pieces = max(int(np.ceil((np.log(alphas[0]) - np.log(alphas[-1])) / COARSE)), 1)
    known = np.unique(np.linspace(0, len(alphas) - 1, pieces + 1).round().astype(int))
    levels = [np.array_split(known, max(len(known) // SHORTEST_ROW, 1))]
    while (apart := np.diff(known)).max(initial=1) > 1:
        middles = (known[:-1] + apart // 2)[apart > 1]
        levels.append(list(middles[:, None]))
        known = np.union1d(known, middles)
    return levels
