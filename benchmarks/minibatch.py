"""Iterations of accelerated Quartz with the tau-nice sampling against tau, and what theory says.

    python -m benchmarks.minibatch [--out FOLDER]

Four minutes; a table on the screen, and a picture in the folder.
"""

import argparse
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp

from quartz import Plan, Problem, State, certify, losses, samplings, theory
from quartz.methods.accelerated import AcceleratedEpochs, ProximalPoints
from quartz.methods.quartz import SampledSteps

N, TAUS, SEEDS, GAP = 512, (1, 2, 4, 8, 16, 32, 64), 2, 1e-4
METHODS = {"with the bound's constants": ProximalPoints, "Accelerated": AcceleratedEpochs}
CHUNK = 0.1  # passes


def make(kind):
    """Smoothed hinge, unit rows, lam = 1/(1000 n): five entries a row, or all of 50."""
    rng = np.random.default_rng(0)
    if kind == "dense":
        X = rng.normal(size=(N, 50))
    else:
        X = sp.random_array((N, N), density=4 / N, rng=rng, data_sampler=rng.normal).toarray()
        X[np.arange(N), np.arange(N)] += 1
    X /= np.linalg.norm(X, axis=1)[:, None]
    y = np.sign(X @ rng.normal(size=X.shape[1]) + 0.3 * rng.normal(size=N))
    return Problem(X if kind == "dense" else sp.csr_array(X), y, losses.SmoothedHinge(), 1e-3 / N)


def iterations(problem, method, tau, seed):
    """Index sets until the relative gap is certified."""
    plan = Plan.of(problem, samplings.Nice(tau))
    epochs = SampledSteps(plan, np.random.default_rng(seed), "compiled", "conjugate")
    state, steps = State.start(problem), method(epochs)
    state.interval = CHUNK
    while certify(problem, state.duals, state.w).relative_gap > GAP:
        steps.advance(state, 0.0, 0.0)
    return state.iteration


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/full"))
    folder = parser.parse_args(arguments).out
    figure, axes = plt.subplots(1, 2, figsize=(11, 4.4), sharey=True, layout="constrained")
    print(
        "| data | tau | bound's term | iterations / term | speedup | predicted | SPDC's |", end=""
    )
    print(" Accelerated, iterations | speedup |")
    print("|---" * 9 + "|")
    for axis, kind in zip(axes, ("sparse", "dense"), strict=True):
        problem = make(kind)
        counts = {method: [] for method in METHODS}
        terms, rivals = [], []
        for tau in TAUS:
            plan = Plan.of(problem, samplings.Nice(tau))
            terms.append(
                theory.accelerated_leading_term(plan.p, plan.v, problem.lam, 1.0, problem.n)
            )
            rivals.append(theory.spdc(problem.n, tau, problem.lam, 1.0))
            for name, method in METHODS.items():
                runs = [iterations(problem, method, tau, seed) for seed in range(SEEDS)]
                counts[name].append(np.mean(runs))
            strict, free = (found[-1] for found in counts.values())
            first, first_free = (found[0] for found in counts.values())
            print(
                f"| {kind} | {tau} | {terms[-1]:.0f} | {strict / terms[-1]:.1f} | "
                f"{first / strict:.1f} | {terms[0] / terms[-1]:.1f} | {rivals[0] / rivals[-1]:.1f} "
                f"| {free:.0f} | {first_free / free:.1f} |"
            )
        for name, found in counts.items():
            axis.loglog(TAUS, found, "o-", label=name)
        axis.loglog(TAUS, terms, "k--", label="term of the bound")
        axis.loglog(TAUS, rivals, ":", color="gray", label="term of SPDC's bound")
        axis.set(title=f"{kind} data", xlabel="tau")
        axis.grid(True, which="major", alpha=0.3)
    axes[0].set_ylabel(f"iterations to a relative gap of {GAP:g}")
    axes[0].legend(fontsize=9)
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / "minibatch.png", dpi=110)
    print(f"wrote {folder / 'minibatch.png'}")


if __name__ == "__main__":
    main()
