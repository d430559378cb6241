"""Data sets of the experiments and benchmarks, as CSR and labels -1 and +1.

Real ones come from the folder QUARTZ_DATA_DIR. astro-ph, CCAT and webspam are not free to download
any more: generated data of their n, d and density stand for them.
"""

import os
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import brentq

from quartz.arrays import Array, Mask

FILES: dict[str, tuple[str, Callable[[Array], Mask]]] = {
    # name -> file, which label is the positive class
    "w8a": ("w8a.bz2", lambda y: y > 0),
    "ijcnn1": ("ijcnn1.bz2", lambda y: y > 0),
    "cov1": ("covtype.scale01.bz2", lambda y: y == 1),
    "a9a": ("a9a.bz2", lambda y: y > 0),
    "news20": ("news20.bz2", lambda y: y == 1),
    "debian_desc": ("debian_desc.bz2", lambda y: y == np.bincount(y.astype(int)).argmax()),
    "mnist": ("mnist.bz2", lambda y: y % 2 == 0),
    "mushrooms": ("mushrooms.bz2", lambda y: y == 1),
    "phishing": ("phishing.bz2", lambda y: y > 0),
}
GENERATED: dict[str, tuple[int, Callable[[int], tuple[Any, Array]]]] = {
    # name -> n, and what makes so many rows
    "ccat-like": (200_000, lambda n: text_like(n, 47_000, 0.0016)),  # a quarter of it
    "ccat-like-full": (781_265, lambda n: text_like(n, 47_236, 0.0013)),  # 0.16 %
    "astro-ph-like": (29_882, lambda n: text_like(n, 99_757, 0.00065)),  # 0.08 %
    "webspam-like": (350_000, lambda n: unigrams_like(n, 254, 0.3352)),
    "fully sparse": (10_000, lambda n: shared_by(1, n)),
    "fully dense": (10_000, lambda n: shared_by(n, n)),
}
BENCHMARKED = ["w8a", "ijcnn1", "cov1", "a9a", "news20", "debian_desc", "mnist", "ccat-like"]


class MissingDataError(FileNotFoundError):
    """A file that has to be downloaded first."""


@lru_cache(maxsize=1)  # tasks come data set by data set
def load(name: str, most_rows: int | None = None) -> tuple[Any, Array]:
    """Return X (CSR with 32-bit indices) and y, of all rows or so many of them.

    Raises MissingDataError with what to do.
    """
    if name in GENERATED:
        n, make = GENERATED[name]
        X, y = make(min(n, most_rows or n))
    else:
        X, y = _read(name)
        if most_rows is not None and X.shape[0] > most_rows:
            X, y = _choose(X, y, most_rows)
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X, y


def text_like(n: int, d: int, density: float, seed: int = 0) -> tuple[Any, Array]:
    """Documents with Zipfian words, unit rows, and labels from a sparse linear model with noise."""
    rng = np.random.default_rng(seed)
    frequency = 1 / np.arange(1, d + 1) ** 0.9
    cumulative = np.cumsum(frequency / frequency.sum())
    lengths = rng.poisson(density * d * 1.35, size=n) + 1  # some words come twice
    words = np.searchsorted(cumulative, rng.random(lengths.sum()))
    rows = np.repeat(np.arange(n), lengths)
    X = sp.csr_array((rng.lognormal(sigma=0.5, size=words.size), (rows, words)), shape=(n, d))
    X.data *= np.log(n / np.bincount(words, minlength=d).clip(1))[X.indices]
    X = _unit_rows(X)
    return X, _labels(X, rng, sparsity=0.1)


def unigrams_like(n: int, d: int, density: float, seed: int = 0) -> tuple[Any, Array]:
    """Counts of d characters with Zipfian frequencies in pages of various lengths, unit rows."""
    rng = np.random.default_rng(seed)
    frequency = 1 / np.arange(1, d + 1)
    lengths = rng.lognormal(sigma=1.0, size=n)
    few = lengths[: min(n, 2000), None] * frequency
    scale = brentq(lambda s: 1 - np.exp(-s * few).mean() - density, 1e-3, 1e6)
    blocks = np.array_split(np.arange(n), max(1, n // 20_000))  # a dense matrix would be too large
    counts = [rng.poisson(scale * lengths[b, None] * frequency) for b in blocks]
    X = _unit_rows(sp.csr_array(sp.vstack([sp.csr_array(c.astype(np.float64)) for c in counts])))
    return X, _labels(X, rng, sparsity=1.0, balanced=True)


def shared_by(omega: int, n: int, width: int = 20, seed: int = 0) -> tuple[Any, Array]:
    """Unit rows such that every column is shared by `omega` examples, which must divide n.

    n / omega blocks of omega rows and `width` columns, or for omega = 1 one column a row.
    """
    rng = np.random.default_rng(seed)
    width = width if omega > 1 else 1
    values = rng.normal(size=(n, width)) + 1.0  # rows have a direction in common
    columns = np.arange(n)[:, None] // omega * width + np.arange(width)
    indptr = np.arange(n + 1) * width
    shape = (n, n // omega * width)
    X = _unit_rows(sp.csr_array((values.ravel(), columns.ravel(), indptr), shape=shape))
    return X, _labels(X, rng, sparsity=1.0)


def read(file: str) -> tuple[Any, Array]:
    """Return X and y of a file as they are, classes or real numbers.

    Raises MissingDataError with what to do.
    """
    from sklearn.datasets import load_svmlight_file

    folder = os.environ.get("QUARTZ_DATA_DIR")
    if not folder or not (Path(folder) / file).exists():
        raise MissingDataError(
            f"{file} not found: set QUARTZ_DATA_DIR to a folder that holds it (LIBSVM format)."
        )
    X, y = load_svmlight_file(str(Path(folder) / file))
    return sp.csr_array(X), y


def _read(name: str) -> tuple[Any, Array]:
    file, positive = FILES[name]
    X, y = read(file)
    if name == "cov1":  # the paper's number of rows; which ones is not known
        X, y = _choose(X, y, 522_911)
    return X, np.where(positive(y), 1.0, -1.0)


def _choose(X: Any, y: Array, rows: int) -> tuple[Any, Array]:
    chosen = np.sort(np.random.default_rng(0).permutation(X.shape[0])[:rows])
    return X[chosen], y[chosen]


def _unit_rows(X: Any) -> Any:
    norms = np.sqrt(X.power(2).sum(axis=1)).clip(1e-12)
    return sp.csr_array(sp.diags_array(1 / norms) @ X)


def _labels(X: Any, rng: np.random.Generator, sparsity: float, balanced: bool = False) -> Array:
    truth = rng.normal(size=X.shape[1]) * (rng.random(X.shape[1]) < sparsity)
    scores = X @ truth + 0.1 * rng.normal(size=X.shape[0])
    return np.where(scores > (np.median(scores) if balanced else 0), 1.0, -1.0)
