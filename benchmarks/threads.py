"""Wall seconds on one thread and on two, beside what the bare linear algebra gains from two.

    python -m benchmarks.threads [--repeats 7]

Fits of one model use threads for parts of the rows, searches for whole fits. What two threads can
gain at all depends on the minute on a shared machine, hence the bare Gram matrix and a sweep are
timed in turn with the fits.
"""

import argparse
import time
import warnings
from functools import partial

import numpy as np

from benchmarks import everyday_data
from quartz import QuartzClassifier, QuartzClassifierCV, QuartzRegressor
from quartz.data import DenseStorage
from quartz.parallel import several_threads

FITS = [
    ("binary-plain-100000x50", QuartzClassifier("log_loss", tol=1e-6)),
    ("binary-plain-100000x200", QuartzClassifier("log_loss", tol=1e-6)),
    ("binary-ill-1000000x20", QuartzClassifier("log_loss", tol=1e-6)),
    ("binary-plain-100000x100", QuartzClassifier("squared_hinge", tol=1e-6)),
    ("regression-plain-100000x100", QuartzRegressor(tol=1e-6)),
]
SEARCHES = [
    ("binary-plain-10000x50", QuartzClassifierCV("log_loss", alphas=20, cv=5)),
    ("binary-plain-100000x20", QuartzClassifierCV("log_loss", alphas=10, cv=5)),
]


def bare(X):
    """A weighted Gram matrix, a product with X and one with X'."""
    storage, n, d = DenseStorage(X), *X.shape
    weights, w, x = np.linspace(0.1, 1, n), np.ones(d), np.ones(n)

    def run(threads):
        with several_threads(threads):
            storage.add_gram(None, weights, np.zeros((d, d)), single=True)
            storage.multiply(w)
            storage.multiply_transposed(x)

    return run


def fit(model, threads, X, y):
    model.set_params(n_jobs=threads).fit(X, y)


def least(runs, repeats):
    """The least wall seconds of each function, called in turn."""
    found = dict.fromkeys(runs, np.inf)
    for run in runs.values():
        run()
    for _ in range(repeats):
        for name, run in runs.items():
            began = time.perf_counter()
            run()
            found[name] = min(found[name], time.perf_counter() - began)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=7)
    repeats = parser.parse_args().repeats
    warnings.simplefilter("ignore")
    print("| data | model | one thread, ms | two, ms | gain | bare gain | share |")
    print("|---|---|---|---|---|---|---|")
    for name, model in FITS + SEARCHES:
        X, y = everyday_data.load(name)
        if hasattr(model, "alpha"):
            model.set_params(alpha=1 / len(y))
        runs = {t: partial(fit, model, t, X, y) for t in (1, 2)}
        product = bare(X)
        runs |= {f"bare {t}": partial(product, t) for t in (1, 2)}
        found = least(runs, repeats)
        gain, possible = found[1] / found[2], found["bare 1"] / found["bare 2"]
        kind = type(model).__name__
        print(
            f"| {name} | {kind}({model.loss}) | {1e3 * found[1]:.1f} | {1e3 * found[2]:.1f} | "
            f"{gain:.2f} | {possible:.2f} | {gain / possible:.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
