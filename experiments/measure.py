"""Iterations to a gap, and the gap against passes."""

from typing import Any, TypeAlias

import numpy as np

from experiments import datasets
from experiments.base import Row, where
from quartz import Plan, Problem, Result, Status, losses, solve, theory
from quartz.methods import Accelerated, Method, Quartz
from quartz.samplings import Independent, Recipe

GAP = 1e-11  # absolute, the paper's

AnyMethod: TypeAlias = Method | Recipe | None


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


def iterations_to(
    problem: Problem, gap: float, most_passes: float, method: AnyMethod, **options: Any
) -> float | None:
    """Return the iterations of a method to an absolute gap; None if too many.

    There is a certificate after each pass, and log(gap) is taken to be linear between the last two.
    Outer steps of acceleration take several passes; then the last one counts. `options` are those
    of `solve`.
    """
    scale = abs(solved(problem, tol=1e-6, max_passes=500).certificate.dual_value)
    options = {"passes_per_check": 1.0} | options
    result = solved(problem, method, tol=gap / scale, max_passes=most_passes, **options)
    trace = result.trace
    if not result.converged or len(trace) < 2:
        return None
    before, after = trace.iterations[-2:]
    if trace.passes[-1] - trace.passes[-2] > 1.5:
        return float(after)
    last = np.log(np.maximum(trace.gaps[-2:], 1e-16))
    share = (last[0] - np.log(gap)) / (last[0] - last[1]) if last[0] > last[1] else 1.0
    return float(before + np.clip(share, 0, 1) * (after - before))


def solved(problem: Problem, method: AnyMethod = None, **options: Any) -> Result:
    """Call `solve`, but let Ctrl-C stop the experiment: half a result must not be kept."""
    result = solve(problem, method, **options)
    if result.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    return result


def importance_batch(problem: Problem, tau: int) -> Independent:
    """Independent sampling of about tau examples, p_i in proportion to 1 + v_i / (lam gamma n)."""
    condition = problem.condition(problem.data.squared_norms())
    return Independent(np.minimum(1.0, tau * condition / condition.sum()))


def gap_curve(
    problem: Problem, passes: int, method: AnyMethod, **options: Any
) -> dict[str, list[float]]:
    """Return passes and the relative gap after each, or after each outer step."""
    result = solved(problem, method, tol=0.0, max_passes=passes, passes_per_check=1.0, **options)
    trace = result.trace
    relative = np.array(trace.gaps) / np.abs(trace.primal_values)
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
    method: Method = Quartz(plan.sampling, primal="own")
    if accelerated:
        method = Accelerated(sampling)
    return {"term": term, "iterations": iterations_to(problem, gap, 2 * passes, method, seed=seed)}


def speedups(rows: list[Row], **serial: Any) -> list[Row]:
    """Merge the rows of `measured` that differ by their seed, and compare with the serial ones.

    Returns their keys with the speedup in theory, in practice by the mean over seeds, and the least
    and most of the seeds.
    """
    first = [row for row in where(rows, **serial) if row["iterations"] is not None]
    if not first:
        return []
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
