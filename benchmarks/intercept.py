"""Solves with and without a free intercept, side by side: passes and seconds to a certified gap.

    python -m benchmarks.intercept [--data ...] [--losses ...] [--out FILE]

"with / without" at the optimum says how alike the two problems are. Runs are timed in turn on one
thread, minima of the repeats count, and results that the JSON file has are kept.
"""

import argparse
import json
from pathlib import Path

from threadpoolctl import threadpool_limits

from benchmarks import compare
from benchmarks.acceleration import LAMS, MODES
from experiments import datasets
from quartz import Problem, losses, solve

LOSSES = compare.LOSSES | {"hinge": losses.Hinge()}
INTERCEPTS = {"without": None, "with": "free"}


def cell(X, y, loss, lam, target, repeats, seconds):
    """{mode: {"without"/"with": [seconds, passes, P]}}, without those that missed the target."""
    best = {mode: {} for mode in MODES}
    for repeat in range(repeats + 1):  # the first compiles
        for mode, method in MODES.items():
            for name, intercept in INTERCEPTS.items():
                before = best[mode].get(name)
                if repeat > 1 and (before is None or before[0] > 1.0):
                    continue
                elapsed, result = compare.timed(
                    lambda method=method, intercept=intercept, repeat=repeat: solve(
                        Problem(X, y, loss, lam, intercept=intercept),
                        method,
                        tol=target,
                        max_passes=2000 if repeat else 3,
                        max_seconds=seconds,
                    )
                )
                if repeat and result.converged and (before is None or elapsed < before[0]):
                    found = [elapsed, result.trace.passes[-1], result.certificate.primal_value]
                    best[mode][name] = found
    return best


def table(results):
    header = ["data", "loss", "lam", "with / without", *(f"{mode}, passes (s)" for mode in MODES)]
    lines = ["| " + " | ".join(header) + " |", "|---" * len(header) + "|"]
    for r in results:
        default = r["modes"]["default"]
        alike = "-"
        if len(default) == 2:
            alike = f"{default['with'][2] / default['without'][2]:.3f}"
        shown = [
            " → ".join(_shown(r["modes"][mode].get(name)) for name in INTERCEPTS) for mode in MODES
        ]
        lines.append("| " + " | ".join([r["data"], r["loss"], r["lam"], alike, *shown]) + " |")
    return "\n".join(lines)


def _shown(found):
    return "-" if found is None else f"{found[1]:.1f} ({found[0]:.2f})"


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", default=["a9a", "w8a", "ijcnn1"])
    parser.add_argument("--losses", nargs="+", choices=list(LOSSES), default=list(LOSSES))
    parser.add_argument("--lams", nargs="+", choices=list(LAMS), default=list(LAMS)[:3])
    parser.add_argument("--target", type=float, default=1e-6)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--limit", type=float, default=20.0, help="seconds of one run")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/full/intercept.json"))
    options = parser.parse_args(arguments)
    threadpool_limits(1)
    results = json.loads(options.out.read_text())["results"] if options.out.exists() else []
    done = {(r["data"], r["loss"], r["lam"]) for r in results}
    for name in options.data:
        X, y = datasets.load(name)
        for loss in options.losses:
            for lam in options.lams:
                if (name, loss, lam) in done:
                    continue
                strength = LAMS[lam](X.shape[0])
                modes = cell(
                    X, y, LOSSES[loss], strength, options.target, options.repeats, options.limit
                )
                results.append({"data": name, "loss": loss, "lam": lam, "modes": modes})
                options.out.parent.mkdir(parents=True, exist_ok=True)
                options.out.write_text(json.dumps({"results": results}, indent=1))
                print(table(results[-1:]).splitlines()[-1], flush=True)
    print(table(results))


if __name__ == "__main__":
    main()
