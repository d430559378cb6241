"""Time to a certified relative gap, side by side with other solvers.

    python -m benchmarks.compare [--quick] [--mode plain] [--data w8a a9a ...] [--losses ...]

For every data set, loss and lam: each peer's w is judged by our P in float64 against the largest D
that we certified or that any peer's w gives, and a peer is credited with the loosest tolerance, to
a quarter of a decade, that reaches the target. Then ours and the credited settings are timed in
turn, several times, on one thread; medians count. Ours includes validation, step sizes and all
certificates, after one warm-up call for compilation. Results go to a JSON file, from which an
interrupted run goes on, and to one picture for each data set.
"""

import argparse
import json
import statistics
import sys
import time
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks import peers, pictures
from benchmarks.machine import commit, machine
from experiments import datasets
from quartz import Problem, losses, solve
from quartz.methods import Permuted

TARGETS = (1e-3, 1e-6, 1e-9)
LOSSES = {
    "squared hinge": losses.SquaredHinge(),
    "smoothed hinge": losses.SmoothedHinge(),
    "logistic": losses.Logistic(),
    "ridge": losses.Squared(),
}
LAMS = {
    "1/sqrt(n)": lambda n: n**-0.5,
    "1/n": lambda n: 1 / n,
    "1/(10n)": lambda n: 0.1 / n,
    "1/(100n)": lambda n: 0.01 / n,
}
MODES = {"default": None, "plain": Permuted()}
QUICK = {"data": ["a9a", "ijcnn1"], "losses": ["squared hinge", "logistic"], "lams": ["1/n"]}


def timed(function):
    began = time.perf_counter()
    result = function()
    return time.perf_counter() - began, result


def ours(X, y, loss, lam, tol, mode, seconds=20.0):
    problem = Problem(X, y, loss, lam)
    return solve(problem, MODES[mode], tol=tol, max_passes=1000, max_seconds=seconds)


def dual_of(problem, w):
    """D at alpha_i = -phi_i'(A_i'w), the dual point that belongs to a peer's w."""
    alpha = -problem.loss.gradient(problem.data.predictions(w), problem.y)
    return problem.dual(alpha)


def sweep(peer, X, y, problem, dual, limit):
    """Try a peer's tolerances, loosest first: list of (tol, fit, seconds, P), and the best D.

    One for each decade, until the tightest target is met, a fit takes longer than `limit`, or a
    tolerance fails; `refine` then looks between them.
    """
    fit, tried = peer(X, y, problem.lam), []
    for tol in peers.TOLERANCES:
        try:
            seconds, w = timed(lambda tol=tol: fit(tol))
        except Exception:
            if not tried:
                raise
            break
        if not np.isfinite(w).all():
            continue
        tried.append((tol, fit, seconds, problem.primal(w)))
        dual = max(dual, dual_of(problem, w))
        if relative_gap(tried[-1], dual) <= min(TARGETS) or seconds > limit:
            break
    return tried, dual


def relative_gap(setting, dual):
    primal = setting[3]
    return (primal - dual) / abs(primal)


def loosest(tried, target, problem, dual):
    """The loosest setting that reaches the target, to a quarter of a decade; None if none does."""
    reached = [setting for setting in tried if relative_gap(setting, dual) <= target]
    if not reached:
        return None
    best = max(reached, key=lambda setting: setting[0])
    above = [setting[0] for setting in tried if setting[0] > best[0]]
    if above and min(above) > 1.8 * best[0]:  # halve the step on the log scale, twice for a decade
        tol = float(np.sqrt(best[0] * min(above)))
        seconds, w = timed(lambda: best[1](tol))
        tried.append((tol, best[1], seconds, problem.primal(w)))
        return loosest(tried, target, problem, dual)
    return best


def cell(X, y, loss_name, lam, mode, repeats, limit):
    """One data set, loss and lam: rows of solver, target, median seconds, setting."""
    loss = LOSSES[loss_name]
    problem = Problem(X, y, loss, lam)
    ours(X, y, loss, lam, 1e-3, mode)  # compiles
    exact = ours(X, y, loss, lam, 1e-11, mode)
    dual, best = exact.certificate.dual_value, exact.certificate.relative_gap
    curves, tried, failed = {}, {}, {}
    for name, peer in peers.PEERS[loss_name].items():
        try:
            tried[name], dual = sweep(peer, X, y, problem, dual, limit)
        except Exception as error:  # a peer that cannot run is named, and the rest goes on
            failed[name] = str(error)
    runs = {  # (solver, target) -> (setting, callable)
        ("Quartz", target): ("", lambda t=target: ours(X, y, loss, lam, t, mode))
        for target in TARGETS
        if best <= target
    }
    for name, settings in tried.items():
        curves[name] = {
            "seconds": [setting[2] for setting in settings],
            "gap": [relative_gap(setting, dual) for setting in settings],
        }
        for target in TARGETS:
            best_setting = loosest(settings, target, problem, dual)
            if best_setting is not None:
                tol, fit = best_setting[:2]
                runs[name, target] = (f"tol={tol:.2g}", lambda fit=fit, tol=tol: fit(tol))
    trace = exact.trace
    values = zip(trace.gaps, trace.primal_values, strict=True)
    relative = [gap / abs(primal) for gap, primal in values]
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


def table(results):
    """Markdown: Quartz's seconds, and for each peer its time as a multiple of ours.

    Where only the peer reached the gap, its seconds.
    """
    lines = []
    for loss_name in dict.fromkeys(r["loss"] for r in results):
        names = list(peers.PEERS[loss_name])
        columns = ["data", "lam", "gap", "Quartz, s", *names]
        lines += [f"\n### {loss_name}\n", _line(columns), "|---" * len(columns) + "|"]
        for r in (r for r in results if r["loss"] == loss_name):
            seconds = {(row["solver"], row["target"]): row["seconds"] for row in r["rows"]}
            for target in TARGETS:
                mine = seconds.get(("Quartz", target))
                entries = [entry(seconds.get((name, target)), mine) for name in names]
                shown = "-" if mine is None else f"{mine:.3f}"
                lines.append(_line([r["data"], r["lam"], f"{target:g}", shown, *entries]))
    return "\n".join(lines)


def _line(columns):
    return "| " + " | ".join(columns) + " |"


def entry(theirs, mine):
    if theirs is None:
        return "-"
    return f"{theirs:.2f} s" if mine is None else f"{theirs / mine:.2g}"


def summary(results):
    """Markdown: each peer against ours, over the cells where it could run."""
    lines = [
        "| peer | gap | both reached | Quartz faster | median ratio | only Quartz | only peer |",
        "|---|---|---|---|---|---|---|",
    ]
    for name in dict.fromkeys(n for group in peers.PEERS.values() for n in group):
        ran = [r for r in results if name in r["curves"]]
        for target in TARGETS if ran else ():
            times = [
                {row["solver"]: row["seconds"] for row in r["rows"] if row["target"] == target}
                for r in ran
            ]
            ratios = [t[name] / t["Quartz"] for t in times if name in t and "Quartz" in t]
            only_ours = sum("Quartz" in t and name not in t for t in times)
            only_theirs = sum(name in t and "Quartz" not in t for t in times)
            faster = sum(ratio > 1 for ratio in ratios)
            median = f"{statistics.median(ratios):.2g}" if ratios else "-"
            lines.append(
                f"| {name} | {target:g} | {len(ratios)} | {faster} | {median} | {only_ours} | "
                f"{only_theirs} |"
            )
    return "\n".join(lines)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a small part, under 3 minutes")
    parser.add_argument("--data", nargs="+", choices=datasets.BENCHMARKED)
    parser.add_argument("--losses", nargs="+", choices=list(LOSSES))
    parser.add_argument("--lams", nargs="+", choices=list(LAMS))
    parser.add_argument("--mode", choices=list(MODES), default="default", help="of Quartz")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--limit", type=float, default=20.0, help="seconds of one fit of a peer")
    parser.add_argument("--out", type=Path, help="JSON; results that it has are kept")
    options = parser.parse_args(arguments)
    kind = "quick" if options.quick else "full"
    options.out = options.out or Path(f"benchmarks/results/{kind}/{options.mode}/compare.json")
    quick = (
        QUICK
        if options.quick
        else {"data": datasets.BENCHMARKED, "losses": list(LOSSES), "lams": list(LAMS)}
    )
    missing = peers.find_missing(peers.MODULES)
    threadpool_limits(1)  # after the imports, which load their own thread pools
    results = json.loads(options.out.read_text())["results"] if options.out.exists() else []
    done = {(r["data"], r["loss"], r["lam"]) for r in results}
    old = {r["commit"] for r in results} - {commit()}
    if old:
        print(f"{options.out} has results of other commits: {sorted(old)}", file=sys.stderr)
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
                        X, y, name, lam, options.mode, options.repeats, options.limit
                    )
                )
                where = {"data": name, "loss": loss_name, "lam": lam_name, "commit": commit()}
                results.append(where | result)
                print(f"{name}, {loss_name}, {lam_name}: {seconds:.1f} s", file=sys.stderr)
                options.out.parent.mkdir(parents=True, exist_ok=True)
                content = {
                    "machine": machine(peers.MODULES),
                    "missing": missing,
                    "results": results,
                }
                options.out.write_text(json.dumps(content, indent=1))
    print(f"Peers that could not be imported: {missing or 'none'}")
    print("Entries: the peer's time as a multiple of ours; - where a gap was not reached.")
    print(summary(results))
    print(table(results))
    pictures.draw(results, options.out.parent)


if __name__ == "__main__":
    main()
