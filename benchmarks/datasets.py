"""Data sets of the benchmark, from the folder QUARTZ_DATA_DIR, as CSR and labels -1 and +1."""

import os
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_svmlight_file

FILES = {  # name -> file, which label is the positive class
    "w8a": ("w8a.bz2", lambda y: y > 0),
    "ijcnn1": ("ijcnn1.bz2", lambda y: y > 0),
    "cov1": ("covtype.scale01.bz2", lambda y: y == 1),
    "a9a": ("a9a.bz2", lambda y: y > 0),
    "news20": ("news20.bz2", lambda y: y == 1),
    "debian_desc": ("debian_desc.bz2", lambda y: y == np.bincount(y.astype(int)).argmax()),
    "mnist": ("mnist.bz2", lambda y: y % 2 == 0),
}
NAMES = [*FILES, "ccat-like"]


def load(name):
    """Return X (CSR with 32-bit indices) and y, or raise FileNotFoundError with what to do."""
    if name == "ccat-like":
        return text_like(200_000, 47_000, 0.0016)
    folder = os.environ.get("QUARTZ_DATA_DIR")
    file, positive = FILES[name]
    if not folder or not (Path(folder) / file).exists():
        raise FileNotFoundError(
            f"{file} not found: set QUARTZ_DATA_DIR to a folder that holds it (LIBSVM format)."
        )
    X, y = load_svmlight_file(str(Path(folder) / file))
    X = sp.csr_array(X)
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    if name == "cov1":  # the paper's 522,911 rows; which ones is not known
        rows = np.sort(np.random.default_rng(0).permutation(X.shape[0])[:522_911])
        X, y = X[rows], y[rows]
    return X, np.where(positive(y), 1.0, -1.0)


def text_like(n, d, density, seed=0):
    """Documents with Zipfian words, unit rows, and labels from a sparse linear model with noise."""
    rng = np.random.default_rng(seed)
    frequency = 1 / np.arange(1, d + 1) ** 0.9
    cumulative = np.cumsum(frequency / frequency.sum())
    lengths = rng.poisson(density * d * 1.35, size=n) + 1  # some words come twice
    words = np.searchsorted(cumulative, rng.random(lengths.sum()))
    rows = np.repeat(np.arange(n), lengths)
    X = sp.csr_array((rng.lognormal(sigma=0.5, size=words.size), (rows, words)), shape=(n, d))
    X.data *= np.log(n / np.bincount(words, minlength=d).clip(1))[X.indices]
    norms = np.sqrt(X.power(2).sum(axis=1)).clip(1e-12)
    X = sp.csr_array(sp.diags_array(1 / norms) @ X)
    X.sum_duplicates()
    truth = rng.normal(size=d) * (rng.random(d) < 0.1)
    y = np.where(X @ truth + 0.1 * rng.normal(size=n) > 0, 1.0, -1.0)
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X, y
