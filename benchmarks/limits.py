"""How near the kernel is to the limits: streaming speed, growth, memory, start-up.

    python -m benchmarks.limits

Streaming limit: one in-order pass X @ w over the same arrays. An epoch visits every example once in
random order, reads its row twice and updates abar.
"""

import subprocess
import sys
import tracemalloc

import numpy as np
import scipy.sparse as sp

from benchmarks.plain_c import plain_epoch
from benchmarks.timing import best_of, in_turn
from experiments import datasets
from quartz import Plan, Problem, State, losses, samplings, solve
from quartz.methods.compiled import CompiledEngine
from quartz.methods.permuted import Permuted, PermutedEpochs
from quartz.samplings import IndexSets

START_UP = {
    "import quartz": "import quartz",
    "import NumPy, SciPy, Numba": "import numpy, scipy.sparse, numba",
    "import all and solve, cached": (
        "import numpy as np; from quartz import Problem, losses, methods, solve; "
        "problem = Problem(np.eye(3), [1., -1., 1.], losses.Logistic(), lam=.1); "
        "solve(problem, methods.Permuted())"
    ),
}


def epoch_of(X, y, loss):
    """Return a function that does one full epoch, all examples active."""
    problem = Problem(X, y, loss, lam=1 / X.shape[0])
    epochs = PermutedEpochs(problem, np.random.default_rng(0))
    state = State.start(problem)

    def epoch():
        epochs.reactivate()
        epochs.run(state, wanted=-1.0, passes=1.0)

    epoch()
    return epoch


def streaming():
    print("full epochs in units of one in-order X @ w by SciPy (in turn, best of 20)")
    for name in datasets.BENCHMARKED:
        try:
            X, y = datasets.load(name)
        except FileNotFoundError as error:
            print(f"  {name}: skipped. {error}")
            continue
        w = np.random.default_rng(0).normal(size=X.shape[1])
        runs = {"X @ w": lambda X=X, w=w: X @ w}
        plain = plain_epoch(X, y, row_norms(X))
        if plain is not None:
            runs["plain C, squared hinge"] = plain
        runs["ours, squared hinge"] = epoch_of(X, y, losses.SquaredHinge())
        runs["ours, logistic"] = epoch_of(X, y, losses.Logistic())
        times = in_turn(runs, 20)
        stream = times.pop("X @ w")
        ratios = "   ".join(f"{run} {seconds / stream:.1f}" for run, seconds in times.items())
        print(f"  {name:12} {stream / X.shape[0] * 1e9:5.1f} ns a row   {ratios}")


def row_norms(X):
    return np.asarray(X.multiply(X).sum(axis=1)).ravel()


def growth():
    print("epoch as n grows, about 90 nonzeros a row (linear growth: equal ns per nonzero)")
    for n in (50_000, 100_000, 200_000, 400_000):
        X, y = datasets.text_like(n, 47_000, 0.0016)
        seconds = best_of(epoch_of(X, y, losses.SquaredHinge()))
        print(f"  n = {n:>7,}  {seconds:.3f} s  {seconds / X.nnz * 1e9:.2f} ns per nonzero")


def width():
    print(
        "epochs of one pass in Algorithm 1 as d grows with the same nonzeros (equal: O(nnz) a step)"
    )
    X, y = datasets.text_like(50_000, 47_000, 0.0016)
    for d in (47_000, 470_000, 4_700_000):
        wide = sp.csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], d))
        problem = Problem(wide, y, losses.SquaredHinge(), lam=1 / X.shape[0])
        plan = Plan.of(problem, samplings.Uniform())
        state, engine = State.start(problem), CompiledEngine(plan)
        sets = plan.sampling.draw(np.random.default_rng(0), X.shape[0])
        once = best_of(lambda e=engine, s=state, sets=sets: e.advance(s, sets), 4)
        tail = best_of(lambda e=engine, s=state, sets=sets: e.advance(s, few(sets)), 4)
        print(
            f"  d = {d:>9,}  {once:.3f} s a pass, of which {tail:.3f} s to form w once at its end"
        )


def few(sets):
    """The first index set only."""
    return IndexSets(sets.indptr[:2], sets.indices)


def memory():
    """Peak beyond X of a solve, against the vectors alpha, v, p, w, z, s and order."""
    X, y = datasets.text_like(400_000, 47_000, 0.0016)
    tracemalloc.start()
    solve(Problem(X, y, losses.SquaredHinge(), lam=1 / X.shape[0]), Permuted(), tol=1e-6)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    vectors = 8 * (4 * X.shape[0] + 3 * X.shape[1])
    size = X.data.nbytes + X.indices.nbytes
    print(
        f"peak memory beyond X ({size / 1e6:.0f} MB): {peak / 1e6:.0f} MB, {peak / vectors:.1f} x"
    )
    print(f"  the vectors alpha, v, p, w, z, s and order ({vectors / 1e6:.0f} MB)")


def start_up():
    print("start-up of a new process, best of 3")
    for name, code in START_UP.items():
        command = [sys.executable, "-c", code]
        subprocess.run(command, check=True)
        seconds = best_of(lambda command=command: subprocess.run(command, check=True), 3)
        print(f"  {name:28} {seconds:.2f} s")


if __name__ == "__main__":
    streaming()
    growth()
    width()
    memory()
    start_up()
