"""Train a certified classifier on generated data, compare with scikit-learn, draw convergence."""

import time

import matplotlib as mpl
import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression

from quartz import Problem, data, losses, samplings, solve, theory

mpl.use("Agg")
import matplotlib.pyplot as plt

STYLES = ("-", "--", "-.", ":", "o-")
PICTURE = "convergence.png"
SAMPLINGS = {
    "serial uniform": samplings.Uniform(),
    "serial importance": samplings.Importance(),
    "16-nice": samplings.Nice(batch_size=16),
    "16 buckets (mini-batch importance)": samplings.Bucket(groups=16),
    "default (heuristic)": None,
}


def make_problem() -> Problem:
    """Logistic regression on sparse rows whose lengths vary, as those of documents do."""
    X, y = data.make_classification(n=20_000, features=500, density=0.02, seed=0)
    lengths = np.random.default_rng(0).lognormal(sigma=0.8, size=20_000)
    X = sp.csr_array(sp.diags_array(lengths) @ X)
    return Problem(X, y, losses.Logistic(), lam=2e-5)


def train(problem: Problem) -> dict[str, object]:
    results = {}
    for name, sampling in SAMPLINGS.items():
        print(f"\n{name}")
        results[name] = result = solve(problem, sampling, tol=1e-9, progress=True)
        print(result.message, f"{result.trace.seconds[-1]:.2f} s")
        print(result.certificate)
    return results


def compare(problem: Problem, dual: float) -> None:
    """Evaluate scikit-learn's coefficients by our P, against the certified D."""
    X, y = problem.data.storage.matrix, problem.y
    print("\nscikit-learn's LogisticRegression on the same problem, P against the certified D:")
    for solver in ("lbfgs", "liblinear", "newton-cholesky"):
        for tol in (1e-4, 1e-10):
            model = LogisticRegression(
                C=1 / (problem.lam * problem.n), fit_intercept=False, solver=solver, tol=tol
            )
            began = time.perf_counter()
            w = model.fit(X, y).coef_[0]
            seconds = time.perf_counter() - began
            excess = (problem.primal(w) - dual) / dual
            print(f"  {solver:16} tol={tol:<6g} {seconds:7.3f} s, at most {excess:8.1e} off")


def draw(results: dict) -> None:
    figure, axes = plt.subplots(figsize=(8, 5), layout="constrained")
    for (name, result), style in zip(results.items(), STYLES, strict=True):
        trace, plan = result.trace, result.plan
        (line,) = axes.semilogy(trace.passes, trace.gaps, style, label=name, linewidth=2)
        if plan is not None:  # the theorem does not cover the default
            bound = theory.expected_gap(plan.theta, trace.gaps[0], np.array(trace.iterations))
            axes.semilogy(trace.passes, bound, style, color=line.get_color(), alpha=0.35)
    axes.set(
        xlabel="passes over the data",
        ylabel="duality gap",
        title="Certified gap (bold) and the theorem's bound on its mean (pale)",
    )
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(PICTURE, dpi=130)
    print(f"\nConvergence picture written to {PICTURE}")


def main() -> None:
    problem = make_problem()
    print(problem)
    results = train(problem)
    best = max(results.values(), key=lambda result: result.certificate.dual_value)
    compare(problem, best.certificate.dual_value)
    draw(results)


if __name__ == "__main__":
    main()
