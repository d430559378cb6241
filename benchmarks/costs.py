"""Measure the constants of `quartz.costs` on this machine, beside those in the library.

    python -m benchmarks.costs

Each is the time of the library's own operations on generated data, on one thread, the minimum over
repeats: epochs of coordinate steps, products with X and X', Newton steps, Gram matrices. Choices
between methods need ratios only: the constants of the library are good as long as the last two
columns differ by about the same factor everywhere.
"""

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.timing import best_of
from quartz import Problem, State, costs, data, losses
from quartz.losses.examples import ExampleLosses
from quartz.methods.newton.search import search
from quartz.methods.permuted import PermutedEpochs

N, FEATURES = 50_000, 1000  # of the sparse data; a matrix of FEATURES^2 numbers fits in a cache
LENGTHS = (5, 20, 80)  # entries of a row, in the mean
DENSE = (100_000, 20), (10_000, 300)  # rows and columns of the dense data
UNITS = {
    "step": "a coordinate step",
    "iterated_step": "more where it iterates",
    "step_nonzero": "an entry, in random order",
    "swept_nonzero": "an entry, in order",
    "dense_entry": "the same, all entries stored",
    "slope": "an example, in a line search",
    "slope_of_class": "the same, for each class",
    "step_class": "a class, in a coordinate step",
    "blas_entry": "an entry, in a Gram matrix",
    "outer_product": "a product of two entries",
    "blas_operation": "an operation of BLAS",
}


def sparse(length, loss):
    """A problem with about so many entries in a row; random labels let few duals settle."""
    X, _ = data.make_classification(N, FEATURES, density=length / FEATURES)
    y = np.random.default_rng(0).choice([-1.0, 1.0], size=N)
    return Problem(X, y, loss, lam=1 / N)


def steps():
    """Seconds of step, iterated_step and step_nonzero, by least squares of relative errors."""
    rows, times = [], []
    for loss, iterated in ((losses.SquaredHinge(), 0), (losses.Logistic(), 1)):
        for length in LENGTHS:
            problem = sparse(length, loss)
            rows.append((1, iterated, problem.data.storage.nonzeros / N))
            times.append(best_of(full_epoch(problem), 15) / N)
    scaled = np.array(rows) / np.array(times)[:, None]
    return np.linalg.lstsq(scaled, np.ones(len(times)), rcond=None)[0]


def full_epoch(problem):
    """Return a function that does one epoch, all examples active."""
    epochs, state = PermutedEpochs(problem, np.random.default_rng(0)), State.start(problem)

    def epoch():
        epochs.reactivate()
        epochs.run(state, wanted=-np.inf, passes=0.0)

    return epoch


def products(storage):
    """Seconds of one product with X and one with X'."""
    w, alpha = np.ones(storage.shape[1]), np.ones(storage.shape[0])
    return best_of(lambda: (storage.multiply(w), storage.multiply_transposed(alpha)), 15)


def swept_nonzero():
    storages = [sparse(length, losses.Logistic()).data.storage for length in LENGTHS]
    return sum(map(products, storages)) / sum(2 * storage.nonzeros for storage in storages)


def slope():
    """Of a line search: predictions, slopes and curvatures of the logistic loss, two products."""
    rng = np.random.default_rng(0)
    a, along, y = rng.normal(size=N), 0.1 * rng.normal(size=N), rng.choice([-1.0, 1.0], size=N)
    every = ExampleLosses(losses.Logistic(), y)
    return best_of(lambda: search(every, a, along, 0.0, 0.0, np.inf), 15) / N


def slope_of_class():
    rng, classes = np.random.default_rng(0), 5
    a, y = rng.normal(size=(N, classes)), rng.integers(classes, size=N)
    every = ExampleLosses(losses.Softmax(), y, None, a.shape)
    along = 0.1 * rng.normal(size=a.shape)
    return best_of(lambda: search(every, a, along, 0.0, 0.0, np.inf), 15) / (N * classes)


def step_class():
    """Of an epoch with five classes, what comes with each class."""
    classes = 5
    X, _ = data.make_classification(N // 5, FEATURES, density=5 / FEATURES)
    y = np.random.default_rng(0).integers(classes, size=N // 5)
    problem = Problem(X, y, losses.Softmax(), lam=5 / N)
    nonzeros = costs.COSTS.step_nonzero * 1e-9 * problem.data.storage.nonzeros * classes
    rest = best_of(full_epoch(problem), 5) - nonzeros
    return (rest / problem.n - costs.COSTS.step * 1e-9) / classes


def gram(storage):
    """Seconds of a weighted Gram matrix of all rows."""
    n, d = storage.shape
    weights, out = np.random.default_rng(0).random(n), np.zeros((d, d))
    return best_of(lambda: storage.add_gram(None, weights, out))


def measured():
    """Seconds, by the names of the constants."""
    found = dict(zip(("step", "iterated_step", "step_nonzero"), steps(), strict=True))
    found |= {"swept_nonzero": swept_nonzero(), "slope": slope()}
    found |= {"slope_of_class": slope_of_class(), "step_class": step_class()}
    rows = sparse(40, losses.Logistic()).data.storage
    pairs = np.sum(np.square(rows.row_lengths(), dtype=float)) / 2
    found |= {"outer_product": gram(rows) / pairs}
    # Two matrices tell what an entry and what an operation costs in a Gram matrix of BLAS.
    narrow, wide = (data.as_storage(np.random.default_rng(0).normal(size=size)) for size in DENSE)
    found |= {"dense_entry": products(narrow) / (2 * narrow.nonzeros)}
    equations = [[s.nonzeros, 2 * s.nonzeros * s.shape[1]] for s in (narrow, wide)]
    entry, operation = np.linalg.solve(equations, [gram(narrow), gram(wide)])
    return found | {"blas_entry": entry, "blas_operation": operation}


def main():
    with threadpool_limits(1):
        found = measured()
    print(f"{'constant':16}{'nanoseconds for':32}{'in the library':>16}{'measured here':>16}")
    for name, constant in costs.COSTS._asdict().items():
        print(f"{name:16}{UNITS[name]:32}{constant:16g}{1e9 * found[name]:16.3g}")
    works = costs.NEAR_SOLUTION, costs.FROM_ZERO, costs.QUASI_NEWTON, costs.QUADRATIC
    print(f"Not refitted: ROOTS = {costs.ROOTS:g} and {works}.")


if __name__ == "__main__":
    main()
