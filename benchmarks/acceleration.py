"""Plain, accelerated and automatic runs side by side: passes and seconds to a certified gap.

    python -m benchmarks.acceleration [--data ...] [--losses ...] [--out FILE]
        [--limit SECONDS] [--plain-limit SECONDS]

Plain runs have a limit of their own, since many of them would take hours. "default" is
solve(problem): the automatic choice with Newton steps. The others run with Permuted(). Runs are
timed in turn on one thread, minima of the repeats count, and results that the JSON file has are
kept.
"""

import argparse
import json
import sys
from pathlib import Path

from threadpoolctl import threadpool_limits

from benchmarks import compare
from experiments import datasets
from quartz import Problem, solve
from quartz.methods import Accelerated, Automatic, Permuted

LAMS = {
    "1/n": lambda n: 1 / n,
    "1/(10n)": lambda n: 0.1 / n,
    "1/(100n)": lambda n: 0.01 / n,
    "1e-8": lambda n: 1e-8,
}
MODES = {
    "plain": Permuted(),
    "accelerated": Accelerated(Permuted()),
    "auto": Automatic(Permuted()),
    "default": None,
}
TARGETS = (1e-6, 1e-9)


def cell(X, y, loss, lam, repeats, limits):
    """{mode: {target: [seconds, passes]}}, without those that missed the target."""
    best = {mode: {} for mode in MODES}
    for method in MODES.values():  # compiles
        solve(Problem(X, y, loss, lam), method, max_passes=3)
    for target in TARGETS:
        for repeat in range(repeats):
            for mode, method in MODES.items():
                before = best[mode].get(f"{target:g}")
                hopeless = target < max(TARGETS) and f"{max(TARGETS):g}" not in best[mode]
                if hopeless or (repeat and (before is None or before[0] > 1.0)):
                    continue
                seconds, result = compare.timed(
                    lambda mode=mode, method=method, target=target: solve(
                        Problem(X, y, loss, lam),
                        method,
                        tol=target,
                        max_passes=5000,
                        max_seconds=limits[mode],
                    )
                )
                if result.converged and (before is None or seconds < before[0]):
                    best[mode][f"{target:g}"] = [seconds, result.trace.passes[-1]]
    return best


def table(results):
    columns = ["data", "loss", "lam", "gap", *(f"{mode}, s (passes)" for mode in MODES), "ratio"]
    lines = ["| " + " | ".join(columns) + " |", "|---" * len(columns) + "|"]
    for r in results:
        for target in TARGETS:
            found = [r["modes"][mode].get(f"{target:g}") for mode in MODES]
            shown = ["-" if f is None else f"{f[0]:.3f} ({f[1]:.0f})" for f in found]
            ratio = against_better(r, target)
            shown.append("-" if ratio is None else f"{ratio:.2f}")
            lines.append(f"| {r['data']} | {r['loss']} | {r['lam']} | {target:g} | ")
            lines[-1] += " | ".join(shown) + " |"
    return "\n".join(lines)


def against_better(r, target, measure=0):
    """Seconds (1: passes) of "auto" over those of the better of plain and accelerated.

    None if neither got there.
    """
    plain, accelerated, auto = (
        r["modes"][mode].get(f"{target:g}") for mode in ("plain", "accelerated", "auto")
    )
    rivals = [found[measure] for found in (plain, accelerated) if found is not None]
    if not rivals:
        return None
    return auto[measure] / min(rivals) if auto is not None else float("inf")


def summary(results):
    """How "auto" compares with the better of plain and accelerated, in passes and in seconds."""
    lines = []
    for target in TARGETS:
        for measure, name in ((1, "passes"), (0, "seconds")):
            ratios = [against_better(r, target, measure) for r in results]
            known = [ratio for ratio in ratios if ratio is not None]
            lines.append(
                f"- gap {target:g}, {name}: within 1.15 on "
                f"{sum(ratio <= 1.15 for ratio in known)} of {len(known)} cells, within 1.5 on "
                f"{sum(ratio <= 1.5 for ratio in known)}."
            )
        key = f"{target:g}"
        alone = sum(
            ratio is None and key in r["modes"]["auto"]
            for r, ratio in zip(results, ratios, strict=True)
        )
        missed = [
            f"{r['data']} {r['loss']} {r['lam']}"
            for r in results
            if not any(key in found for found in r["modes"].values())
        ]
        lines.append(f"  On {alone} more only auto. By no variant: {'; '.join(missed) or 'none'}.")
    return "\n".join(lines)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", choices=datasets.BENCHMARKED)
    parser.add_argument("--losses", nargs="+", choices=list(compare.LOSSES))
    parser.add_argument("--lams", nargs="+", choices=list(LAMS), default=list(LAMS))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--limit", type=float, default=40.0, help="seconds of one run")
    parser.add_argument("--plain-limit", type=float, default=5.0, help="seconds of a plain run")
    default = Path("benchmarks/results/full/acceleration.json")
    parser.add_argument("--out", type=Path, default=default)
    options = parser.parse_args(arguments)
    threadpool_limits(1)
    limits = dict.fromkeys(MODES, options.limit) | {"plain": options.plain_limit}
    results = json.loads(options.out.read_text())["results"] if options.out.exists() else []
    done = {(r["data"], r["loss"], r["lam"]) for r in results}
    for name in options.data or datasets.BENCHMARKED:
        X, y = datasets.load(name)
        for loss in options.losses or compare.LOSSES:
            for lam in options.lams:
                if (name, loss, lam) in done:
                    continue
                strength = LAMS[lam](X.shape[0])
                modes = cell(X, y, compare.LOSSES[loss], strength, options.repeats, limits)
                where = {"data": name, "loss": loss, "lam": lam, "commit": compare.commit()}
                results.append(where | {"modes": modes})
                print(name, loss, lam, modes, file=sys.stderr)
                options.out.parent.mkdir(parents=True, exist_ok=True)
                content = {"machine": compare.machine(), "results": results}
                options.out.write_text(json.dumps(content, indent=1))
    print(summary(results))
    print(table(results))


if __name__ == "__main__":
    main()
