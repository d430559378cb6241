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
from quartz.methods.newton import NewtonSteps
from quartz.methods.permuted import PermutedEpochs

N, FEATURES = 50_000, 1000  # of the sparse data; a matrix of FEATURES^2 numbers fits in a cache
LENGTHS = (5, 20, 80)  # entries of a row, in the mean
DENSE = (4000, 500)  # rows and columns of the dense data
UNITS = {
    "step": "a coordinate step",
    "iterated_step": "more where it iterates",
    "step_nonzero": "an entry, in random order",
    "swept_nonzero": "an entry, in order",
    "swept_example": "an example, in a Newton step",
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


def swept_example():
    """Of the first Newton steps, line searches included, without their products and Hessians."""
    X, y = data.make_classification(N, 100, density=0.05)
    problem, count = Problem(X, y, losses.Logistic(), lam=1 / N), int(costs.EXPECTED.steps)

    def run():
        newton, state = NewtonSteps(problem, np.random.default_rng(0)), State.start(problem)
        for _ in range(count):
            newton.advance(state, 0.0, 0.0)
        return state.visited / N - 2 * count  # whole Hessians

    hessians, storage = run(), problem.data.storage
    rest = best_of(run) - hessians * gram(storage) - count * products(storage)
    return rest / (count * N)


def gram(storage):
    """Seconds of a weighted Gram matrix of all rows."""
    n, d = storage.shape
    everyone, weights, out = np.arange(n), np.ones(n), np.zeros((d, d))
    return best_of(lambda: storage.add_gram(everyone, weights, out))


def measured():
    """Seconds, by the names of the constants."""
    found = dict(zip(("step", "iterated_step", "step_nonzero"), steps(), strict=True))
    found |= {"swept_nonzero": swept_nonzero(), "swept_example": swept_example()}
    rows = sparse(40, losses.Logistic()).data.storage
    pairs = np.sum(np.square(rows.row_lengths(), dtype=float)) / 2
    dense = data.as_storage(np.random.default_rng(0).normal(size=DENSE))
    operations = 2 * DENSE[0] * DENSE[1] ** 2
    return found | {"outer_product": gram(rows) / pairs, "blas_operation": gram(dense) / operations}


def main():
    with threadpool_limits(1):
        found = measured()
    print(f"{'constant':16}{'nanoseconds for':32}{'in the library':>16}{'measured here':>16}")
    for name, constant in costs.COSTS._asdict().items():
        print(f"{name:16}{UNITS[name]:32}{constant:16g}{1e9 * found[name]:16.3g}")
    print(f"Not refitted: ROOTS = {costs.ROOTS:g} and {costs.EXPECTED}.")


if __name__ == "__main__":
    main()
