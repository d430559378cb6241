"""Generators of sparse problems with a known ground truth, for demos, tests and experiments."""

import numpy as np
import scipy.sparse as sp

from quartz import checks
from quartz.arrays import Array, SparseMatrix


def make_classification(
    n: int, features: int, density: float = 0.1, classes: int = 2, noise: float = 0.1, seed: int = 0
) -> tuple[SparseMatrix, Array]:
    """Sparse rows of unit length, with labels from a random linear model.

    Parameters
    ----------
    n, features : int
        Shape of X.
    density : float
        Share of entries of X that are not 0.
    classes : int
        With 2 the labels are -1 and +1; with more they are 0, ..., classes - 1.
    noise : float
        Standard deviation of Gaussian noise on the true scores.
    seed : int

    Returns
    -------
    X : csr_array of shape (n, features)
    y : ndarray of shape (n,)

    Examples
    --------
    >>> X, y = make_classification(100, 20, density=0.2)
    >>> X.shape, sorted(set(y.tolist()))
    ((100, 20), [-1.0, 1.0])
    """
    checks.count("classes", classes, 2, None, "Two or more classes are needed.")
    X, rng = _sparse_unit_rows(n, features, density, seed)
    scores = X @ rng.standard_normal((features, classes))
    scores += noise * rng.standard_normal(scores.shape)
    labels = scores.argmax(axis=1).astype(np.float64)
    return X, 2 * labels - 1 if classes == 2 else labels


def make_regression(
    n: int, features: int, density: float = 0.1, noise: float = 0.1, seed: int = 0
) -> tuple[SparseMatrix, Array]:
    """Sparse rows of unit length, with real targets from a random linear model.

    Parameters are those of :func:`make_classification`.
    """
    X, rng = _sparse_unit_rows(n, features, density, seed)
    y = X @ rng.standard_normal(features) + noise * rng.standard_normal(n)
    return X, np.asarray(y)


def _sparse_unit_rows(
    n: int, features: int, density: float, seed: int
) -> tuple[SparseMatrix, np.random.Generator]:
    checks.count("n", n, 1, None, "It is the number of examples.")
    checks.count("features", features, 1, None, "It is the number of columns.")
    if not 0 < density <= 1:
        raise ValueError(f"density must be above 0 and at most 1, got {density!r}.")
    rng = np.random.default_rng(seed)
    X = sp.random_array((n, features), density=density, format="csr", rng=rng)
    norms = np.sqrt(X.power(2).sum(axis=1))
    scale = np.divide(1.0, norms, out=np.ones(n), where=norms > 0)
    return sp.csr_array(sp.diags_array(scale) @ X), rng
