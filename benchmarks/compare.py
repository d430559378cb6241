"""Time to a certified relative gap, side by side with other solvers.

    python -m benchmarks.compare [--quick] [--data w8a a9a ...] [--losses ...] [--out FILE]

For every data set, loss and lam: each peer's w is judged by our P in float64 against the largest D
that we certified or that any peer's w gives, and a peer is credited with the loosest setting of its
sweep that reaches the target. Then ours and the credited settings are timed in turn, several times,
on one thread; medians count. Ours includes validation, step sizes and all certificates, after one
warm-up call for compilation. Results go to a JSON file, from which an interrupted run goes on, and
to one picture for each data set.
"""

import argparse
import json
import os
import platform
import statistics
import sys
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks import datasets, peers, pictures
from quartz import Problem, losses, solve

TARGETS = (1e-3, 1e-6, 1e-9)
LOSSES = {
    "squared hinge": losses.SquaredHinge(),
    "smoothed hinge": losses.SmoothedHinge(),
    "logistic": losses.Logistic(),
    "ridge": losses.Squared(),
}
LAMS = {"1/sqrt(n)": lambda n: n**-0.5, "1/n": lambda n: 1 / n, "1/(10n)": lambda n: 0.1 / n}
QUICK = {"data": ["a9a", "ijcnn1"], "losses": ["squared hinge", "logistic"], "lams": ["1/n"]}


def timed(function):
    began = time.perf_counter()
    result = function()
    return time.perf_counter() - began, result


def ours(X, y, loss, lam, tol, seconds=20.0):
    return solve(
        Problem(X, y, loss, lam), "permuted", tol=tol, max_passes=1000, max_seconds=seconds
    )


def dual_of(problem, w):
    """D at alpha_i = -phi_i'(A_i'w), the dual point that belongs to a peer's w."""
    alpha = -problem.loss.gradient(problem.data.predictions(w), problem.y)
    return problem.dual(alpha)


def sweep(peer, X, y, problem, dual, limit):
    """Try a peer's settings, loosest first: list of (setting, fit, seconds, P), and the best D."""
    tried = []
    for setting, fit in peer(X, y, problem.lam):
        seconds, w = timed(fit)
        if not np.isfinite(w).all():
            continue
        primal = problem.primal(w)
        dual = max(dual, dual_of(problem, w))
        tried.append((setting, fit, seconds, primal))
        if (primal - dual) / abs(primal) <= min(TARGETS) or seconds > limit:
            break
    return tried, dual


def cell(X, y, loss_name, lam, repeats, limit):
    """One data set, loss and lam: rows of solver, target, median seconds, setting."""
    loss = LOSSES[loss_name]
    problem = Problem(X, y, loss, lam)
    ours(X, y, loss, lam, 1e-3)  # compiles
    exact = ours(X, y, loss, lam, 1e-11)
    dual, best = exact.certificate.dual, exact.certificate.relative_gap
    curves, tried, failed = {}, {}, {}
    for name, peer in peers.PEERS[loss_name].items():
        try:
            tried[name], dual = sweep(peer, X, y, problem, dual, limit)
        except Exception as error:  # a peer that fails is a row of the table, not the end of it
            failed[name] = str(error)
    runs = {  # (solver, target) -> (setting, callable)
        ("Quartz", target): ("", lambda t=target: ours(X, y, loss, lam, t))
        for target in TARGETS
        if best <= target
    }
    for name, settings in tried.items():
        gaps = [(primal - dual) / abs(primal) for _, _, _, primal in settings]
        curves[name] = {"seconds": [s for _, _, s, _ in settings], "gap": gaps}
        for target in TARGETS:
            loosest = next((k for k, gap in enumerate(gaps) if gap <= target), None)
            if loosest is not None:
                runs[name, target] = settings[loosest][:2]
    trace = exact.trace
    relative = [gap / abs(primal) for gap, primal in zip(trace.gap, trace.primal, strict=True)]
    curves["Quartz"] = {"seconds": trace.seconds, "gap": relative}
    return {
        "rows": in_turn(runs, repeats),
        "curves": curves,
        "failed": failed,
        "dual": dual,
        "best_gap": best,
        "passes": trace.passes[-1],
    }


def in_turn(runs, repeats):
    """Time all runs one after another, several times; those above 2 s fewer times."""
    times = {key: [] for key in runs}
    for _ in range(repeats):
        for key, (_, run) in runs.items():
            if sum(times[key]) < 2.0:
                times[key].append(timed(run)[0])
    return [
        {
            "solver": solver,
            "target": target,
            "seconds": statistics.median(times[solver, target]),
            "setting": runs[solver, target][0],
        }
        for solver, target in runs
    ]


def machine():
    packages = (
        "numpy",
        "scipy",
        "numba",
        "scikit-learn",
        "cyanure",
        "snapml",
        "liblinear-official",
    )
    found = {}
    for package in packages:
        try:
            found[package] = version(package)
        except Exception:
            found[package] = None
    cpu = platform.processor() or platform.machine()
    if Path("/proc/cpuinfo").exists():
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        cpu = next((line.split(":")[1].strip() for line in lines if "model name" in line), cpu)
    return {
        "cpu": cpu,
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "packages": found,
    }


def table(results):
    """Markdown: Quartz's seconds, and for each peer its time as a multiple of ours.

    Where only the peer reached the gap, its seconds.
    """
    lines = []
    for loss_name in dict.fromkeys(r["loss"] for r in results):
        names = list(peers.PEERS[loss_name])
        lines += [
            f"\n### {loss_name}\n",
            "| data | lam | gap | Quartz, s | " + " | ".join(names) + " |",
        ]
        lines.append("|---" * (4 + len(names)) + "|")
        for r in (r for r in results if r["loss"] == loss_name):
            seconds = {(row["solver"], row["target"]): row["seconds"] for row in r["rows"]}
            for target in TARGETS:
                mine = seconds.get(("Quartz", target))
                entries = [entry(seconds.get((name, target)), mine) for name in names]
                shown = "-" if mine is None else f"{mine:.3f}"
                where = f"| {r['data']} | {r['lam']} | {target:g} | {shown} | "
                lines.append(where + " | ".join(entries) + " |")
    return "\n".join(lines)


def entry(theirs, mine):
    if theirs is None:
        return "-"
    return f"{theirs:.2f} s" if mine is None else f"{theirs / mine:.2g}"


def summary(results):
    """Markdown: for each peer and target, on how many cells it was slower, and by how much."""
    lines = ["| peer | gap | cells | Quartz faster | median ratio |", "|---|---|---|---|---|"]
    for name in dict.fromkeys(n for group in peers.PEERS.values() for n in group):
        for target in TARGETS:
            ratios = []
            for r in (r for r in results if name in peers.PEERS[r["loss"]]):
                seconds = {(row["solver"], row["target"]): row["seconds"] for row in r["rows"]}
                mine = seconds.get(("Quartz", target), np.inf)
                theirs = seconds.get((name, target), np.inf)
                if min(mine, theirs) < np.inf:
                    ratios.append(theirs / mine)
            if ratios:
                won = sum(ratio > 1 for ratio in ratios)
                median = statistics.median(ratios)
                lines.append(f"| {name} | {target:g} | {len(ratios)} | {won} | {median:.2g} |")
    return "\n".join(lines)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a small part, under 3 minutes")
    parser.add_argument("--data", nargs="+", choices=datasets.NAMES)
    parser.add_argument("--losses", nargs="+", choices=list(LOSSES))
    parser.add_argument("--lams", nargs="+", choices=list(LAMS))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--limit", type=float, default=20.0, help="seconds of one fit of a peer")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/compare.json"))
    options = parser.parse_args(arguments)
    quick = (
        QUICK
        if options.quick
        else {"data": datasets.NAMES, "losses": list(LOSSES), "lams": list(LAMS)}
    )
    threadpool_limits(1)
    missing = peers.find_missing()
    results = json.loads(options.out.read_text())["results"] if options.out.exists() else []
    done = {(r["data"], r["loss"], r["lam"]) for r in results}
    for name in options.data or quick["data"]:
        try:
            X, y = datasets.load(name)
        except FileNotFoundError as error:
            print(f"{name}: skipped. {error}", file=sys.stderr)
            continue
        for loss_name in options.losses or quick["losses"]:
            for lam_name in options.lams or quick["lams"]:
                if (name, loss_name, lam_name) in done:
                    continue
                lam = LAMS[lam_name](X.shape[0])
                seconds, result = timed(
                    lambda X=X, y=y, name=loss_name, lam=lam: cell(
                        X, y, name, lam, options.repeats, options.limit
                    )
                )
                results.append({"data": name, "loss": loss_name, "lam": lam_name, **result})
                print(f"{name}, {loss_name}, {lam_name}: {seconds:.1f} s", file=sys.stderr)
                options.out.parent.mkdir(parents=True, exist_ok=True)
                content = {"machine": machine(), "missing": missing, "results": results}
                options.out.write_text(json.dumps(content, indent=1))
    print(f"Peers that could not be imported: {missing or 'none'}")
    print("Entries: the peer's time as a multiple of ours; - where a gap was not reached.")
    print(summary(results))
    print(table(results))
    pictures.draw(results, options.out.parent)


if __name__ == "__main__":
    main()
