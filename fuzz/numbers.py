"""Random matrices, targets and weights: ordinary ones, and those that break things."""

from typing import Any

import numpy as np

from fuzz.parameters import Rng, labels, pick, power

ORDINARY = 3.0  # ordinary scales are from 10**-3 to 10**3
EXTREME = 150.0
EXTREME_OF_FLOAT32 = 29.0


def matrix(rng: Rng, shape: tuple[int, int], values: str, extreme: bool) -> Any:
    """A dense matrix of that type: some pattern, then offsets and scales."""
    X = _pattern(rng, shape)
    if rng.random() < 0.2:
        X = X[rng.integers(len(X), size=len(X))]  # rows that are equal
    if rng.random() < 0.2:
        X += power(rng, 0, 8 if extreme else ORDINARY) * (rng.random(shape[1]) < 0.5)
    if rng.random() < 0.2:
        X[rng.random(shape[0]) < 0.3] = 0
        X[:, rng.random(shape[1]) < 0.3] = 0
    most = EXTREME if values == "float64" else EXTREME_OF_FLOAT32
    return (X * _scales(rng, shape, most if extreme else ORDINARY)).astype(values)


def _pattern(rng: Rng, shape: tuple[int, int]) -> Any:
    kind = pick(rng, ["normal", "sparse", "integers", "one-hot", "disjoint", "low rank"])
    X = rng.normal(size=shape)
    if kind == "sparse":
        X *= rng.random(shape) < 0.3
    if kind == "integers":
        X = rng.integers(-2, 3, size=shape).astype(np.float64)
    if kind == "one-hot":
        X = (labels(rng, shape[0], shape[1])[:, None] == np.arange(shape[1])).astype(np.float64)
    if kind == "disjoint":  # groups of examples that share no feature
        X *= labels(rng, shape[0], 3)[:, None] == np.arange(shape[1]) % 3
    if kind == "low rank":
        X = X[:, :1] @ rng.normal(size=(1, shape[1]))
    return X


def _scales(rng: Rng, shape: tuple[int, int], most: float) -> Any:
    """Mostly 1; else one scale for all entries, or one for each column or row."""
    kind = pick(rng, ["one", "all", "columns", "rows"], [0.5, 0.3, 0.1, 0.1])
    sizes = {"one": (0, 0), "all": (1, 1), "columns": (1, shape[1]), "rows": (shape[0], 1)}
    if kind == "one":
        return 1.0
    return 10.0 ** rng.uniform(-most, most, size=sizes[kind])


def real_targets(rng: Rng, X: Any, outputs: int, extreme: bool) -> Any:
    """Numbers of shape (n, outputs): noise, a linear function of X, or constant."""
    kind = pick(rng, ["noise", "linear", "noisy", "constant", "zero"], [3, 2, 2, 1, 1])
    y = rng.normal(size=(len(X), outputs))
    if kind in ("linear", "noisy"):  # the linear one can be interpolated
        y = _predictions(rng, X, outputs) + (kind == "noisy") * y
    if kind in ("constant", "zero"):
        y[:] = kind == "constant"
    if rng.random() < 0.2:
        y += power(rng, 0, 8 if extreme else ORDINARY)
    scale = power(rng, -EXTREME, EXTREME) if extreme else power(rng, -ORDINARY, ORDINARY)
    return y * pick(rng, [1.0, scale])


def signs(rng: Rng, X: Any, outputs: int, both: bool) -> Any:
    """Labels -1 and +1 of shape (n, outputs): random, separable, or all equal unless `both`."""
    y = np.sign(rng.normal(size=(len(X), outputs)) + pick(rng, [0.0, 1.0]))
    if rng.random() < 0.4:
        y = np.where(_predictions(rng, X, outputs) > 0, 1.0, -1.0)
    if both and len(X) > 1:
        y[:2] = [[1.0], [-1.0]]
    elif rng.random() < 0.2:
        y[:] = 1.0
    return y


def classes(rng: Rng, X: Any, count: int) -> Any:
    """Class numbers, all of which occur if there are enough examples: random or separable."""
    y = rng.integers(count, size=len(X))
    if rng.random() < 0.4:
        y = np.argmax(_predictions(rng, X, count), axis=1)
    y[:count] = np.arange(count)[: len(X)]
    return y


def _predictions(rng: Rng, X: Any, outputs: int) -> Any:
    """Those of a random w, after the columns were scaled to 1 so that nothing overflows."""
    X = X.astype(np.float64)
    largest = np.abs(X).max(axis=0)
    return X / np.where(largest > 0, largest, 1) @ rng.normal(size=(X.shape[1], outputs))


def weights(rng: Rng, n: int, extreme: bool) -> Any:
    """Weights with ordinary ratios or extreme ones, some of them 0."""
    s = rng.uniform(0.1, 2, size=n)
    if rng.random() < 0.3:
        s = np.ceil(s)
    if extreme:
        s = s * 10.0 ** rng.uniform(-12, 0, size=n) * pick(rng, [1.0, power(rng, -200, 200)])
    if rng.random() < 0.4:
        one, largest = rng.integers(n), s.max()
        s[rng.random(n) < 0.4] = 0
        s[one] = largest
    return s
