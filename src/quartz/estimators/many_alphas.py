"""One problem for many alphas, each started from what is known for others.

In levels: alphas far apart come first, from the largest to the smallest. Then come those halfway
between neighbours, again and again: they start on the cubics, in log alpha, through the nearest
solutions. For smooth losses that is so close that most need a certificate and nothing else. What
a level consists of, rows or single alphas, does not depend on each other, and is solved in threads.
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

COARSE = 1.0  # mean distance in log alpha of those that come first, at most
SHORTEST_ROW = 3  # alphas of them that are solved in a row, at least
LONGEST_ROW = 10  # alphas in a row, at most, for losses that are not smooth
NEAREST = 4  # solutions that a start is made of, at most
WILD = 4.0  # sum of their shares' absolute values, above which fewer solutions are taken

Solutions = dict[float, tuple[Array, Array]]  # w and the duals, by alpha


class _Task(NamedTuple):
    """What a thread does at once."""

    problem: int
    alphas: Array  # one after another
    known: Solutions  # to start from
    is_last: bool  # whether nothing starts from its own solutions


def solve_in_levels(training: Training, alphas: Array) -> list[list[Result]]:
    """Solve all problems for all alphas, which fall; a row of results for each alpha.

    They lack their vectors over the examples. The duals of all levels but the last are kept until
    the end, which are up to four fifths of all.
    """
    problems, conditions = training.problems, training.conditions
    for problem in problems:
        if not problem.losses.abilities.vector:
            _ = problem.losses.dual_bounds  # found once, for all alphas
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
                for numbers in level[::-1]  # small alphas take longest, hence first
                for k in range(len(problems))
            ]
            runs = conditions.in_threads([partial(run, task) for task in tasks])
            for task, (found, solutions) in zip(tasks, runs, strict=True):
                results[task.problem] |= found
                known[task.problem] = known[task.problem] | solutions
    return [[found[alpha] for found in results] for alpha in map(float, alphas)]


def _without_examples(result: Result) -> Result:
    none = np.empty(0)
    certificate = replace(result.certificate, example_gaps=none, duals=none, abar=none)
    return replace(result, certificate=certificate, plan=None)


def solve_path(
    training: Training, problem: Problem, alphas: Array, known: Solutions | None = None
) -> Iterator[Result]:
    """Solve a problem for one alpha after another.

    Each starts where the line through the last two solutions, in log alpha, leads: mostly half the
    passes of a start at the last one. Parabolas were worse. But the first starts from those that
    are known around it, if there are any.
    """
    smooth = problem.losses.abilities.smooth
    last: Result | None = None
    solutions = _nearest(known, float(alphas[0])) if known else {}
    for alpha in map(float, alphas):
        problem = training.at(problem, alpha)
        start = _along(problem, solutions, alpha)
        # Where the loss is not smooth, a good start may be lost, and takes long to regain.
        if start is not None and last is not None and smooth:
            similar = last.certificate.primal_value
            start = replace(start, objective=similar if np.isfinite(similar) else None)
        last = training.conditions.solve(problem, start)
        yield last
        solutions[alpha] = last.w, last.duals
        solutions = dict(list(solutions.items())[-2:])


def _nearest(solutions: Solutions, alpha: float) -> Solutions:
    """Those around alpha, as many above as below it where there are so many."""
    known = np.array(sorted(solutions))
    above = int(np.searchsorted(known, alpha))
    for count in (NEAREST, 2):
        first = min(max(above - count // 2, 0), max(len(known) - count, 0))
        chosen = known[first : first + count]
        if np.abs(_shares(chosen, alpha)).sum() <= WILD:
            break
    return {float(each): solutions[float(each)] for each in chosen}


def _shares(known: Array, alpha: float) -> Array:
    """What each counts at alpha in the polynomial in log alpha through all (Lagrange's)."""
    x, t = np.log(known), np.log(alpha)
    others = ~np.eye(len(x), dtype=bool)
    with np.errstate(all="ignore"):  # two may have one logarithm
        ratios = np.divide(t - x, x[:, None] - x, out=np.ones((len(x), len(x))), where=others)
        return np.asarray(ratios.prod(axis=1))


def _along(problem: Problem, solutions: Solutions, alpha: float) -> Start | None:
    """Where to start: the point of that polynomial, inside the domain of the conjugates.

    Or the nearest solution, if the polynomial is wild or the domain has no such point.
    """
    if not solutions:
        return None
    closest = min(solutions, key=lambda known: abs(np.log(known) - np.log(alpha)))
    w, duals = solutions[closest]
    nearest = Start(duals, w)
    shares = _shares(np.array(list(solutions)), alpha)
    if not np.abs(shares).sum() <= WILD:
        return nearest
    w, duals = (
        sum(share * vector for share, vector in zip(shares, vectors, strict=True))
        for vectors in zip(*solutions.values(), strict=True)
    )
    feasible = problem.losses.nearest_feasible(duals)
    moved = np.flatnonzero((feasible != duals).reshape(problem.n, -1).any(axis=1))
    # They moved to the ends of their domains, which need not belong to these.
    if np.isinf(problem.losses.conjugates(feasible, moved)).any():
        return nearest
    return Start(feasible, w)


def _levels(alphas: Array, smooth: bool) -> list[list[IntArray]]:
    """Numbers of alphas: rows of those far apart, and then one by one all that lie between.

    Only rows if the loss is not smooth: with starts in between hinge took half as many passes more.
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
