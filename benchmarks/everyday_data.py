"""Everyday data: small tables that come with scikit-learn, generated ones, and the real files.

`REGISTRY` has a name -> `Entry`, whose `load()` returns X and y. X is dense, float64 and C-ordered,
unless the name ends with "-csr". Labels are -1 and +1 (binary) or 0, 1, ... (multiclass).
"""

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn import datasets as bundled
from sklearn.preprocessing import StandardScaler

from experiments import datasets

EXAMPLES = (10_000, 100_000, 1_000_000)
FEATURES = (3, 8, 20, 50, 100, 200, 500)
MOST_NUMBERS = 5e7
NOISE = 0.5  # standard deviation, where that of the signal is 1


class Entry(NamedTuple):
    """A data set whose size is known before it is loaded."""

    kind: str  # "binary", "multiclass" or "regression"
    n: int
    d: int
    load: Callable[[], tuple[Any, Any]]

    @property
    def numbers(self) -> int:
        """How many numbers a dense X has."""
        return self.n * self.d


@lru_cache(maxsize=1)  # cells come data set by data set
def load(name):
    """X and y of a registered data set."""
    X, y = REGISTRY[name].load()
    if not sp.issparse(X):
        X = np.ascontiguousarray(X, dtype=np.float64)
    return X, y


# Those that come with scikit-learn


def standardized(loader):
    X, y = loader(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def breast_cancer():
    X, y = standardized(bundled.load_breast_cancer)
    return X, signs(y == 1)


def diabetes():
    X, y = standardized(bundled.load_diabetes)
    return X, (y - y.mean()) / y.std()


# Generated features, one function for each way in which tables differ


def plain(rng, n, d):
    return rng.standard_normal((n, d))


def ill_conditioned(rng, n, d):
    """Singular values fall from 1 to 1e-3, in directions that are not those of the columns."""
    rotation = np.linalg.qr(rng.standard_normal((d, d)))[0]
    return rng.standard_normal((n, d)) @ (np.geomspace(1, 1e-3, d)[:, None] * rotation)


def correlated(rng, n, d):
    """A few factors explain most of all columns."""
    factors = max(1, d // 10)
    loadings = rng.standard_normal((factors, d)) / np.sqrt(factors)
    return rng.standard_normal((n, factors)) @ loadings + 0.3 * rng.standard_normal((n, d))


def unscaled(rng, n, d):
    """Scales over four decades, and offsets of a few standard deviations."""
    scales = rng.permutation(np.geomspace(1e-2, 1e2, d))
    return (rng.standard_normal((n, d)) + 3 * rng.standard_normal(d)) * scales


def heavy_tailed(rng, n, d):
    return rng.standard_t(3, size=(n, d))


def signal(rng, X, outputs=1):
    """Scores of random linear models, each with mean 0 and variance 1 over the examples."""
    truth = rng.standard_normal((X.shape[1], outputs)) / X.std(axis=0)[:, None]
    scores = X @ truth
    return (scores - scores.mean(axis=0)) / scores.std(axis=0)


# Generated targets


def labelled(rng, X):
    """Labels of a logistic model, of which 2 % are flipped."""
    positive = 3 * signal(rng, X)[:, 0] + rng.logistic(size=len(X)) > 0
    return signs(positive ^ (rng.random(len(X)) < 0.02))


def rare(rng, X):
    """1.5 % of the labels are positive."""
    scores = 2 * signal(rng, X)[:, 0] + rng.logistic(size=len(X))
    return signs(scores > np.quantile(scores, 0.985))


def nearly_separable(rng, X):
    return signs(signal(rng, X)[:, 0] + 0.02 * rng.standard_normal(len(X)) > 0)


def noisy(rng, X):
    return signal(rng, X)[:, 0] + NOISE * rng.standard_normal(len(X)) + 1.0


def with_outliers(rng, X):
    """The noise of 5 % of the examples is thirty times as large."""
    factor = np.where(rng.random(len(X)) < 0.05, 30.0, 1.0)
    return signal(rng, X)[:, 0] + NOISE * factor * rng.standard_normal(len(X)) + 1.0


def classes(count, rng, X):
    return np.argmax(2 * signal(rng, X, count) + rng.gumbel(size=(len(X), count)), axis=1)


FAMILIES = {  # kind -> family -> features, targets
    "binary": {
        "plain": (plain, labelled),
        "ill": (ill_conditioned, labelled),
        "correlated": (correlated, labelled),
        "rare": (plain, rare),
        "unscaled": (unscaled, labelled),
        "separable": (plain, nearly_separable),
        "heavy": (heavy_tailed, labelled),
    },
    "regression": {
        "plain": (plain, noisy),
        "ill": (ill_conditioned, noisy),
        "correlated": (correlated, noisy),
        "unscaled": (unscaled, noisy),
        "heavy": (heavy_tailed, noisy),
        "outliers": (plain, with_outliers),
    },
    "multiclass": {
        "plain3": (plain, partial(classes, 3)),
        "ill5": (ill_conditioned, partial(classes, 5)),
        "correlated7": (correlated, partial(classes, 7)),
        "unscaled10": (unscaled, partial(classes, 10)),
    },
}


def generated(features, targets, n, d):
    rng = np.random.default_rng([n, d])
    X = features(rng, n, d)
    return X, targets(rng, X)


# Real files, of QUARTZ_DATA_DIR


def real(name, most_rows=None, dense=True):
    X, y = datasets.load(name, most_rows)
    return (X.toarray() if dense else sp.csr_matrix(X)), y


def multiclass_file(file, rows):
    """So many rows of a file with classes, numbered from 0."""
    X, y = datasets.read(file)
    chosen = np.sort(np.random.default_rng(0).permutation(X.shape[0])[:rows])
    return X[chosen].toarray(), np.unique(y[chosen], return_inverse=True)[1]


def housing(standard):
    """Prices in units of 100,000, as in scikit-learn's copy of these data."""
    X, y = datasets.read("cadata.bz2")
    X = X.toarray()
    return (StandardScaler().fit_transform(X) if standard else X), y / 1e5


def signs(positive):
    return np.where(positive, 1.0, -1.0)


REGISTRY = {
    "breast_cancer": Entry("binary", 569, 30, breast_cancer),
    "digits": Entry("multiclass", 1797, 64, partial(standardized, bundled.load_digits)),
    "wine": Entry("multiclass", 178, 13, partial(standardized, bundled.load_wine)),
    "iris": Entry("multiclass", 150, 4, partial(standardized, bundled.load_iris)),
    "diabetes": Entry("regression", 442, 10, diabetes),
    "a9a": Entry("binary", 32_561, 123, partial(real, "a9a")),
    "a9a-csr": Entry("binary", 32_561, 123, partial(real, "a9a", dense=False)),
    "w8a": Entry("binary", 49_749, 300, partial(real, "w8a")),
    "w8a-csr": Entry("binary", 49_749, 300, partial(real, "w8a", dense=False)),
    "ijcnn1": Entry("binary", 49_990, 22, partial(real, "ijcnn1")),
    "phishing": Entry("binary", 11_055, 68, partial(real, "phishing")),
    "mushrooms": Entry("binary", 8124, 112, partial(real, "mushrooms")),
    "covtype100k": Entry("binary", 100_000, 54, partial(real, "cov1", 100_000)),
    "mnist10k-even": Entry("binary", 10_000, 784, partial(real, "mnist", 10_000)),
    "mnist10k": Entry("multiclass", 10_000, 784, partial(multiclass_file, "mnist.bz2", 10_000)),
    "covtype100k-classes": Entry(
        "multiclass", 100_000, 54, partial(multiclass_file, "covtype.scale01.bz2", 100_000)
    ),
    "cadata": Entry("regression", 20_640, 8, partial(housing, standard=True)),
    "cadata-raw": Entry("regression", 20_640, 8, partial(housing, standard=False)),
} | {
    f"{kind}-{family}-{n}x{d}": Entry(kind, n, d, partial(generated, *parts, n, d))
    for kind, families in FAMILIES.items()
    for family, parts in families.items()
    for n in EXAMPLES
    for d in FEATURES
    if n * d <= MOST_NUMBERS
}
SLOW_TO_READ = {"covtype100k", "covtype100k-classes", "mnist10k", "mnist10k-even"}
