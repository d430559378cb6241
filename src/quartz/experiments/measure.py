"""Iterations to a gap, and the gap against passes."""

from typing import Any

import numpy as np

from quartz import Plan, Problem, losses, solve, theory
from quartz.experiments import datasets
from quartz.experiments.base import Row, where
from quartz.samplings import Recipe

GAP = 1e-11  # absolute, the paper's


def problem_of(
    data: str, ratio: float | str, most_rows: int | None = None, loss: Any = None
) -> Problem:
    """Return the problem with lam gamma n / max_i ||A_i||^2 = ratio; "sqrt(n)" is one, too."""
    X, y = datasets.load(data, most_rows)
    loss = losses.SmoothedHinge() if loss is None else loss
    problem = Problem(X, y, loss, lam=1.0)
    value = np.sqrt(problem.n) if ratio == "sqrt(n)" else float(ratio)
    lam = value * problem.data.squared_norms().max() / (loss.gamma * problem.n)
    return Problem(X, y, loss, lam=float(lam))


def iterations_to(problem: Problem, gap: float, most_passes: float, **options: Any) -> float | None:
    """Return the iterations of `solve` with these options to an absolute gap; None if too many.

    Between two certificates log(gap) is taken to be linear.
    """
    scale = abs(solve(problem, tol=1e-6, max_passes=500).certificate.dual)
    result = solve(problem, tol=gap / scale, max_passes=most_passes, **options)
    trace = result.trace
    if not result.converged or len(trace) < 2:
        return None
    last = np.log(np.maximum(trace.gap[-2:], 1e-16))
    share = (last[0] - np.log(gap)) / (last[0] - last[1]) if last[0] > last[1] else 1.0
    before, after = trace.iterations[-2:]
    return float(before + np.clip(share, 0, 1) * (after - before))


def gap_curve(problem: Problem, passes: int, **options: Any) -> dict[str, list[float]]:
    """Return passes and the relative gap after each."""
    trace = solve(problem, tol=0.0, max_passes=passes, **options).trace
    relative = np.array(trace.gap) / np.abs(trace.primal)
    return {"passes": list(trace.passes), "gap": relative.clip(1e-16).tolist()}


def measured(
    problem: Problem,
    sampling: Recipe,
    seed: int,
    most_passes: float,
    gap: float = GAP,
    accelerated: bool = False,
) -> Row:
    """Iterations to the gap and the term of the bound; None where the bound says too many."""
    plan = Plan.of(problem, sampling)
    leading = theory.accelerated_leading_term if accelerated else theory.leading_term
    term = leading(plan.p, plan.v, problem.lam, problem.gammas, problem.n)
    passes = -np.log(gap) * term * plan.sampling.expected_size / problem.n
    if passes > most_passes:
        return {"term": term, "iterations": None}
    options: dict[str, Any] = {"sampling": plan.sampling, "primal": "quartz", "seed": seed}
    if accelerated:
        options = {"sampling": sampling, "acceleration": "on", "seed": seed}
    return {"term": term, "iterations": iterations_to(problem, gap, 2 * passes, **options)}


def speedups(rows: list[Row], **serial: Any) -> list[Row]:
    """Merge the rows of `measured` that differ by their seed, and compare with the serial ones.

    Returns their keys with the speedup in theory, in practice by the mean over seeds, and the least
    and most of the seeds.
    """
    first = where(rows, **serial)
    base = float(np.mean([row["iterations"] for row in first]))
    seeds: dict[str, list[Row]] = {}
    for row in rows:
        if row["iterations"] is not None:
            place = {name: row[name] for name in row if name not in ("seed", "iterations")}
            seeds.setdefault(str(place), []).append(row)
    points = []
    for runs in seeds.values():
        counts = np.array([row["iterations"] for row in runs])
        points.append(
            runs[0]
            | {
                "theory": first[0]["term"] / runs[0]["term"],
                "practice": base / float(counts.mean()),
                "least": base / float(counts.max()),
                "most": base / float(counts.min()),
            }
        )
    return points
