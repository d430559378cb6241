"""Everyday data: seconds of the estimators to a certified gap, beside all peers that reach it.

    python -m benchmarks.everyday [--quick] [--sample 200 --seed 1] [--data ...] [--models ...]
    python -m benchmarks.everyday --check

A cell is a data set, a model, a lam and a relative gap. Each peer is credited with its loosest
tolerance, to a third of a decade, whose coefficients reach the gap. They are judged in float64 by
our P, with the best intercept for them, against a D that we certified at 1e-9 or as near as we
came. Then ours and the credited settings are timed in turn, validation included, after one fit for
compilation; minima count, of CPU seconds on one thread and of wall seconds on several. A peer gives
up where a fit takes longer than `PATIENCE` times ours and is still short of the gap.

`--check` solves a small problem of each model as tightly as each peer can, and prints how far its P
is from ours: the mappings of the objectives are right where that is below 1e-6.
"""

import argparse
import json
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from benchmarks import everyday_data, everyday_page
from benchmarks.everyday_data import REGISTRY, SLOW_TO_READ
from benchmarks.everyday_peers import MODULES, PEERS
from benchmarks.machine import commit, machine
from benchmarks.peers import find_missing
from quartz import QuartzClassifier, QuartzRegressor

MODELS = {  # name -> kind of data, ours
    "logistic": ("binary", QuartzClassifier("log_loss")),
    "squared hinge": ("binary", QuartzClassifier("squared_hinge")),
    "hinge": ("binary", QuartzClassifier("hinge")),
    "multinomial": ("multiclass", QuartzClassifier("multinomial")),
    "ridge": ("regression", QuartzRegressor()),
    "elastic net": ("regression", QuartzRegressor(penalty="elasticnet", l1_ratio=0.5)),
    "huber": ("regression", QuartzRegressor("huber")),
}
LAMS = {
    "1/sqrt(n)": lambda n: n**-0.5,
    "1/n": lambda n: 1 / n,
    "0.01/n": lambda n: 0.01 / n,
}
GAPS = (1e-3, 1e-6)
TOLERANCES = tuple(10.0**-k for k in range(16))
PATIENCE = 10.0
ALWAYS = 0.05  # seconds that a fit may take however fast ours is
REPEATS = (3, 50)  # the fewest and the most
# Limits: numbers in X; seconds of timing a cell, of all sweeps of a task, of our run for D, of all.
QUICK = {"numbers": 1e6, "cell": 1.0, "peers": 13.0, "reference": 3.0, "total": 110.0}
FULL = {"numbers": np.inf, "cell": 5.0, "peers": 60.0, "reference": 60.0, "total": np.inf}


class Timed(NamedTuple):
    """Seconds of one call, and what it returned."""

    cpu: float
    wall: float
    value: Any


def timed(function):
    wall, cpu = time.perf_counter(), time.process_time()
    value = function()
    return Timed(time.process_time() - cpu, time.perf_counter() - wall, value)


class Trial(NamedTuple):
    """One fit of a peer: its setting, seconds, and the relative gap that it reached."""

    tol: float
    scale: float
    wall: float
    gap: float


@dataclass
class Task:
    """A data set, model and lam, with what judges coefficients."""

    data: str
    model: str
    lam_name: str
    lam: float
    threads: int
    X: Any = field(repr=False)
    y: Any = field(repr=False)

    def __post_init__(self):
        self.problem = self.ours(1.0).training(self.X, self.y).problems[0]
        self.dual = -np.inf

    def ours(self, tol, **parameters):
        """Our estimator, not fitted."""
        model = clone(MODELS[self.model][1])
        return model.set_params(
            alpha=self.lam, tol=tol, n_jobs=self.threads, random_state=0, **parameters
        )

    def fit_ours(self, tol, **parameters):
        """Fit ours; its D is remembered if it is the best so far."""
        model = quietly(lambda: self.ours(tol, **parameters).fit(self.X, self.y))
        self.dual = max(self.dual, model.certificate_.dual_value)
        return model

    def gap_of(self, model, best_intercept=True):
        """The relative gap of a model with `coef_` and `intercept_`, ours or a peer's."""
        outputs = self.problem.data.m
        coef = np.atleast_2d(np.asarray(model.coef_, dtype=np.float64))
        if coef.shape[0] != outputs:  # cyanure has one column for each class
            coef = coef.T
        b = np.ravel(model.intercept_).astype(np.float64)
        if not (np.isfinite(coef).all() and np.isfinite(b).all()):
            return np.inf
        w = self.problem.data.with_intercept(coef.T.ravel(), b if outputs > 1 else b[0])
        primal = self.problem.primal(w)
        if best_intercept:
            primal = min(primal, self.problem.primal_at(*self.problem.completed(w)))
        return (primal - self.dual) / abs(primal)


def quietly(function):
    """Call it without its warnings, which are about tolerances that are swept anyway."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function()


# The loosest tolerances of peers


class Sweep:
    """All fits of one peer on one task, within a time limit."""

    def __init__(self, peer, task, seconds, ours):
        self.peer, self.task, self.ours = peer, task, ours
        self.patience = max(ALWAYS, PATIENCE * ours)
        self.ends = time.perf_counter() + seconds
        self.fit = peer.prepare(task.X, task.y, task.lam, task.threads)
        self.trials: dict[tuple[float, float], Trial] = {}
        self.ended = ""  # why it did not go on, if it did not

    def run(self, gaps):
        """Go through the tolerances of each scale of the intercept."""
        for scale in self.peer.scales:
            self._tighten(scale, min(gaps))
        return self

    def credited(self, gap) -> Trial | None:
        """The fastest of the loosest trials that reach the gap, one for each scale."""
        found = [self._loosest(scale, gap) for scale in self.peer.scales]
        return min((t for t in found if t is not None), key=lambda t: t.wall, default=None)

    def best_gap(self):
        return min((trial.gap for trial in self.trials.values()), default=np.inf)

    def _tighten(self, scale, gap):
        tolerances = TOLERANCES[-1:] if self.peer.direct else TOLERANCES
        for tol in tolerances:
            trial = self._try(tol, scale)
            if trial.gap <= gap:
                return
            if trial.wall > self.patience:
                self.ended = self.ended or "too slow"
                return
            if time.perf_counter() > self.ends:
                # Where it is short of the gap and already slower than ours, more time is no use.
                self.ended = "too slow" if trial.wall > self.ours else "out of time"
                return

    def _loosest(self, scale, gap):
        """The loosest trial of a scale: between it and the decade above, both thirds are tried."""
        reached = [t for t in self.trials.values() if t.scale == scale and t.gap <= gap]
        if not reached:
            return None
        best = max(reached, key=lambda trial: trial.tol)
        if self.peer.direct or best.tol == TOLERANCES[0]:
            return best
        for factor in (10 ** (2 / 3), 10 ** (1 / 3)):
            between = self._try(best.tol * factor, scale)
            if between.gap <= gap:
                return between
        return best

    def _timed(self, tol, scale):
        return timed(lambda: quietly(lambda: self.fit(tol, scale)))

    def _try(self, tol, scale):
        key = (tol, scale)
        if key not in self.trials:
            result = self._timed(tol, scale)
            if result.wall > self.patience:  # once more, for it may have been the machine
                result = min(result, self._timed(tol, scale), key=lambda run: run.wall)
            gap = self.task.gap_of(result.value)
            self.trials[key] = Trial(tol, scale, result.wall, gap)
        return self.trials[key]


@cache
def small(model):
    """X and y of a problem for which all peers are fast."""
    kind = MODELS[model][0]
    features, targets = next(iter(everyday_data.FAMILIES[kind].values()))
    return everyday_data.generated(features, targets, 500, 8)


WARMED = set()


def warm(task, name):
    """Fit a small problem once in a process, for peers that compile.

    At a tight tolerance, because a fit that ends at once leaves some of its code uncompiled.
    """
    key = (task.model, name, sp.issparse(task.X))
    if key not in WARMED:
        WARMED.add(key)
        X, y = small(task.model)
        X = sp.csr_matrix(X) if sp.issparse(task.X) else X
        peer = PEERS[task.model][name]
        quietly(lambda: peer.prepare(X, y, 1 / len(y), task.threads)(1e-6, peer.scales[0]))


def sweeps(task, gaps, ours, seconds, missing):
    """Name -> sweep of the peers that can take the task, name -> reason of those that failed."""
    peers = {name: peer for name, peer in PEERS[task.model].items() if peer.package not in missing}
    done, failed = {}, {}
    for name, peer in peers.items():
        if not peer.can_take(task.X):
            continue
        try:
            warm(task, name)
            done[name] = Sweep(peer, task, seconds / len(peers), ours).run(gaps)
        except Exception as error:  # a peer that cannot run is named, and the rest goes on
            failed[name] = f"{type(error).__name__}: {error}"
    return done, failed


# Timing


def in_turn(runs, expected, budget):
    """Name -> least CPU and wall seconds, the functions being called one after another.

    `expected` has the seconds that each takes: fast ones get more repeats, and one that takes as
    long as the whole budget only one.
    """
    fewest, most = REPEATS
    share = budget / max(1, len(runs))
    repeats = {
        name: 1 if expected[name] > budget else int(np.clip(share / expected[name], fewest, most))
        for name in runs
    }
    least = {name: [np.inf, np.inf] for name in runs}
    for k in range(max(repeats.values())):
        for name, run in runs.items():
            if k < repeats[name]:
                result = timed(lambda run=run: quietly(run))
                least[name] = [min(least[name][0], result.cpu), min(least[name][1], result.wall)]
    return least


def measure(task, gaps, limits, missing):
    """The rows of all gaps of one task."""
    task.fit_ours(1e-2)  # compiles
    reference = task.fit_ours(1e-9, max_passes=100_000, max_seconds=limits["reference"])
    mine = {gap: timed(lambda gap=gap: task.fit_ours(gap)) for gap in gaps}
    slowest = max(run.wall for run in mine.values())
    swept, failed = sweeps(task, gaps, slowest, limits["peers"], missing)
    return [
        row(task, gap, mine[gap], swept, limits["cell"])
        | {"failed": failed, "reference gap": reference.certificate_.relative_gap}
        for gap in gaps
    ]


def row(task, gap, mine, swept, budget):
    """One cell: check ours, time it beside the credited settings."""
    model = task.ours(gap)  # a user writes its constructor, as for the peers; cloning takes longer
    make, parameters = type(model), model.get_params(deep=False)
    runs: dict[str, Callable[[], Any]] = {"": lambda: make(**parameters).fit(task.X, task.y)}
    credited, missed, expected = {}, {}, {"": mine.wall}
    for name, sweep in swept.items():
        trial = sweep.credited(gap)
        if trial is None:
            missed[name] = {"best gap": sweep.best_gap(), "why": sweep.ended}
            continue
        credited[name], expected[name] = trial, trial.wall
        runs[name] = lambda fit=sweep.fit, t=trial: fit(t.tol, t.scale)
    least = in_turn(runs, expected, budget)
    model, n, d = mine.value, *task.X.shape
    return {
        "data": task.data,
        "model": task.model,
        "lam": task.lam_name,
        "gap": gap,
        "threads": task.threads,
        "n": n,
        "d": d,
        "ours": {
            "cpu": least[""][0],
            "wall": least[""][1],
            "passes": model.n_iter_,
            "certified": model.certificate_.relative_gap,
            "met": bool(model.converged_ and model.certificate_.relative_gap <= gap),
            "true": bool(task.gap_of(model, best_intercept=False) <= gap * (1 + 1e-9)),
        },
        "peers": {
            name: trial._asdict() | {"cpu": least[name][0], "wall": least[name][1]}
            for name, trial in credited.items()
        },
        "missed": missed,
    }


# Which cells


def all_tasks(options):
    """(data, model, lam) of all that the options ask for, data set by data set."""
    return [
        (data, model, lam)
        for data, entry in REGISTRY.items()
        for model, (kind, _) in MODELS.items()
        for lam in LAMS
        if kind == entry.kind
        and data in (options.data or REGISTRY)
        and model in (options.models or MODELS)
        and lam in (options.lams or LAMS)
    ]


def chosen_tasks(options):
    """All tasks, or a random part: models in turn, so that a short run has seen each of them.

    Cells of a task share its sweeps, hence both its gaps are drawn together.
    """
    tasks = all_tasks(options)
    if not (options.quick or options.sample):
        return tasks
    if options.quick:
        tasks = [t for t in tasks if REGISTRY[t[0]].numbers <= QUICK["numbers"]]
        tasks = [t for t in tasks if t[0] not in SLOW_TO_READ]
    rng = np.random.default_rng(options.seed)
    shuffled = [tasks[k] for k in rng.permutation(len(tasks))]
    rank = {}
    for task in shuffled:
        rank[task] = sum(other[1] == task[1] for other in rank)
    in_rounds = sorted(shuffled, key=rank.__getitem__)
    some = in_rounds
    if options.sample:
        some = in_rounds[: -(-options.sample // len(options.gaps))]
    return some if options.quick else sorted(some, key=tasks.index)


# The check of the mappings


def check(threads, missing):
    """Print how far each peer is from ours at its tightest; returns whether all are near.

    The nearest of three lams counts: small ones are too hard for solvers that limit their passes,
    and at large ones an intercept that is penalized is far from a free one. A wrong mapping is far
    off at all of them.
    """
    print("| model | peer | (P - ours) / P | lam | scale of the intercept | tol |")
    print("|---|---|---|---|---|---|")
    fine = True
    for model, peers in PEERS.items():
        X, y = small(model)
        found, failed = {}, {}
        for lam in (1 / len(y), len(y) ** -0.5, 0.3):
            task = Task("small", model, f"{lam:g}", lam, threads, X, y)
            ours = task.fit_ours(1e-11, max_passes=100_000)
            swept, errors = sweeps(task, (1e-10,), 0.1, 50.0, missing)
            failed |= errors
            for name, sweep in swept.items():
                best = min(sweep.trials.values(), key=lambda trial: trial.gap)
                off = abs(best.gap - ours.certificate_.relative_gap)
                if name not in found or off < found[name][0]:
                    found[name] = off, f"{lam:g} | {best.scale:g} | {best.tol:.0e}"
        for name, peer in peers.items():
            off, where = found.get(name, (np.inf, " | | "))
            shown = f"{off:.1e}" if name in found else failed.get(name) or missing[peer.package]
            verdict = "" if off <= 1e-6 else " (NOT NEAR)"
            print(f"| {model} | {name} | {shown}{verdict} | {where} |", flush=True)
            fine &= off <= 1e-6
    return fine


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a sample, under 3 minutes")
    parser.add_argument("--check", action="store_true", help="whether objectives are the same")
    parser.add_argument("--sample", type=int, help="so many cells, drawn at random")
    parser.add_argument("--seconds", type=float, help="begin no further task after so many")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument("--data", nargs="+", choices=list(REGISTRY), metavar="NAME")
    parser.add_argument("--models", nargs="+", choices=list(MODELS))
    parser.add_argument("--lams", nargs="+", choices=list(LAMS))
    parser.add_argument("--gaps", nargs="+", type=float, default=list(GAPS))
    parser.add_argument("--threads", type=int, choices=(1, 2), default=1)
    parser.add_argument("--list", action="store_true", help="name the data sets")
    parser.add_argument("--out", type=Path, help="JSON; results that it has are kept")
    options = parser.parse_args(arguments)
    if options.list:
        print("\n".join(f"{name}: {e.kind}, {e.n} x {e.d}" for name, e in REGISTRY.items()))
        return
    missing = quietly(lambda: find_missing(MODULES))
    threadpool_limits(options.threads)  # after the imports, which load their own thread pools
    for name, why in missing.items():
        print(f"Peer that cannot be imported: {name} ({why})", file=sys.stderr)
    if options.check:
        sys.exit(0 if check(options.threads, missing) else 1)
    kind = "quick" if options.quick else "full"
    out = options.out or Path(f"benchmarks/results/{kind}/everyday.json")
    results = json.loads(out.read_text())["results"] if out.exists() else []
    collect(options, results, missing, out)
    print(everyday_page.write(out, results, missing, machine(MODULES)))


def collect(options, results, missing, out):
    """Measure what `results` does not have yet, and save after each task."""
    limits = QUICK if options.quick else FULL
    ends = time.perf_counter() + (options.seconds or limits["total"])
    done = {everyday_page.key(row) for row in results}
    for data, model, lam in chosen_tasks(options):
        gaps = [g for g in options.gaps if (data, model, lam, g, options.threads) not in done]
        if not gaps:
            continue
        if time.perf_counter() > ends:
            print("The time is up; the same command goes on from here.", file=sys.stderr)
            return
        try:
            X, y = everyday_data.load(data)
        except FileNotFoundError as error:
            print(f"{data}: skipped. {error}", file=sys.stderr)
            continue
        task = Task(data, model, lam, LAMS[lam](len(y)), options.threads, X, y)
        seconds = timed(lambda t=task, g=gaps: results.extend(measure(t, g, limits, missing))).wall
        for row in results[-len(gaps) :]:
            row["commit"] = commit()
        print(f"{data}, {model}, {lam}: {seconds:.1f} s", file=sys.stderr, flush=True)
        out.parent.mkdir(parents=True, exist_ok=True)
        content = {"machine": machine(MODULES), "missing": missing, "results": results}
        out.write_text(json.dumps(content, indent=1))


if __name__ == "__main__":
    main()
