"""What the law tests run over: an example of every loss, regularizer, sampling and kind of data.

A new one joins its list here and is then tested by all laws.
"""

from typing import NamedTuple

import numpy as np

from quartz import Problem, losses, regularizers, samplings
from quartz.data import KroneckerBlocks, RowBlocks, StackedBlocks
from quartz.intercept.blocks import InterceptBlocks
from quartz.losses.base import abilities

LOSSES = [
    losses.Squared(),
    losses.Logistic(),
    losses.SmoothedHinge(),
    losses.SmoothedHinge(gamma=0.3),
    losses.SquaredHinge(),
    losses.SquaredHinge(gamma=0.5),
    losses.Huber(),
    losses.Huber(gamma=2.5),
    losses.SmoothedEpsilonInsensitive(),
    losses.SmoothedEpsilonInsensitive(epsilon=0.7, gamma=0.4),
    losses.Softmax(),
    losses.SmoothedMulticlassHinge(),
    losses.SmoothedMulticlassHinge(gamma=0.4),
    losses.Hinge(),
    losses.Absolute(),
    losses.EpsilonInsensitive(),
    losses.EpsilonInsensitive(epsilon=0.0),
]

REGULARIZERS = [
    regularizers.L2(),
    regularizers.ElasticNet(mu=0.3),
    regularizers.NonnegativeL2(),
    regularizers.BoxL2(lower=-0.4, upper=0.2),
    regularizers.GroupL2(groups=np.array([0, 1, 0, 2, 1, 1]), mu=0.2),
]
D = 6  # length of w that GroupL2 above fits

N = 9  # examples of the small problems; the samplings below fit it
SAMPLINGS = {
    "serial": samplings.Serial(np.arange(1, N + 1) / 45),
    "uniform": samplings.Uniform(),
    "importance": samplings.Importance(),
    "nice": samplings.Nice(batch_size=3),
    "nice, more than half": samplings.Nice(batch_size=7),
    "nice, spectral": samplings.Nice(batch_size=4, spectral=True),
    "full batch": samplings.FullBatch(),
    "doubly uniform": samplings.DoublyUniform({0: 0.1, 1: 0.3, 2: 0.2, 8: 0.4}),
    "doubly uniform, spectral": samplings.DoublyUniform({1: 0.5, 6: 0.5}, spectral=True),
    "independent": samplings.Independent(np.linspace(0.05, 1, N)),
    "independent, spectral": samplings.Independent(np.linspace(0.05, 1, N), spectral=True),
    "product": samplings.Product(),
    "bucket": samplings.Bucket(groups=3),
    "bucket, given groups": samplings.Bucket(groups=[[0, 3, 5, 7], [1, 2], [4, 6, 8]]),
    "distributed": samplings.Distributed(nodes=3, batch_size=2),
    "distributed, unequal": samplings.Distributed(nodes=4, batch_size=2),
    "distributed, batches": samplings.DistributedSampling(
        [[0, 1, 2, 3, 4], [5, 6], [7, 8]], [3, 1, 2]
    ),
    "distributed, spectral": samplings.DistributedSampling(
        [[0, 4, 2, 3, 1], [5, 6], [7, 8]], [3, 1, 2], spectral=True
    ),
    "explicit": samplings.Explicit([[0, 1, 2], [3, 4, 5, 6], [7, 8, 0]], [0.2, 0.3, 0.5]),
}

KINDS = (
    "rows, sparse",
    "rows, dense",
    "stacked, sparse",
    "stacked, dense",
    "kronecker",
    "intercept, sparse rows",
    "intercept, kronecker",
)


def make_data(kind, rng, n=N, density=0.5, separable=False):
    """Random blocks with d = D; `separable` puts the examples on disjoint features by thirds."""
    import scipy.sparse as sp

    m = 1 if "rows" in kind else 2
    columns = (D // m if "kronecker" in kind else D) - ("intercept" in kind)
    rows = n * m if kind.startswith("stacked") else n
    X = rng.normal(size=(rows, columns)) * (rng.random((rows, columns)) < density)
    if separable:
        owner = np.arange(rows) * 3 // rows
        X[owner[:, None] != np.arange(columns) % 3] = 0
    if "sparse" in kind:
        X = sp.csr_array(X)
    if "stacked" in kind:
        return StackedBlocks(X, m)
    data = RowBlocks(X) if m == 1 else KroneckerBlocks(X, m)
    if "intercept" in kind:
        return InterceptBlocks(data, constant=0.7, centre=rng.normal(size=columns))
    return data


def make_targets(loss, data, rng):
    kind = abilities(loss).targets
    if kind == "class":
        return rng.integers(data.m, size=data.n)
    targets = rng.normal(size=data.dual_shape)
    return np.sign(targets) if kind == "sign" else targets


def make_problem(loss, rng, kind=None, regularizer=None, lam=0.1, weights=None, **options):
    """Random small problem; vector losses get Kronecker data unless `kind` says otherwise."""
    kind = kind or ("kronecker" if abilities(loss).vector else "rows, sparse")
    data = make_data(kind, rng, **options)
    return Problem(data, make_targets(loss, data, rng), loss, lam, regularizer, weights)


def feasible_alpha(problem, rng, scale=2.0):
    """Random dual point inside the domain: minus gradients at random predictions."""
    a = rng.normal(scale=scale, size=problem.data.dual_shape)
    return np.array([-problem.losses.gradient_one(i, a[i]) for i in range(problem.n)])


def label(value):
    """Short test ids."""
    return repr(value).replace(" ", "")[:60]


class SquaredToClass(NamedTuple):
    """||a - e_y||^2 / 2, a loss over classes whose duals are not those of the simplex."""

    targets, vector, gamma = "class", True, 1.0

    def value(self, a, y):
        return 0.5 * np.sum((a - (np.arange(a.size) == y)) ** 2)

    def gradient(self, a, y):
        return a - (np.arange(a.size) == y)

    def conjugate(self, u, y):
        return 0.5 * np.sum(u**2) + u[y]
