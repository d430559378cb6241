"""Samples of the rows, on which Newton's method starts: a tenth of the rows is a tenth of the cost.

The minimizer over m of n rows is off by about sqrt(d / m), however large n is. From there one or
two steps on all rows are enough.
"""

import numpy as np

from quartz.arrays import IntArray, Mask
from quartz.data import Blocks
from quartz.losses.examples import ExampleLosses

SMALL = 60_000  # entries of X up to which samples do not pay
FEWEST_ROWS, ROWS_PER_FEATURE = 1000, 20  # of the smallest sample
# Of the only sample, if its matrix is all that is wanted
DEAR_ROWS_PER_FEATURE, MOST_DEAR_ROWS_PER_FEATURE = 8, 30
GROWTH, LEAST_GROWTH = 10, 2  # of one sample to the next, about and at least
LAST_SHARE = 0.1  # of the rows in the last sample, if that is larger than the first
LARGEST_SHARE = 1 / 3  # of the rows in a sample
RARE = 0.25  # least share of each label in a sample, if there are so many


def is_small(data: Blocks) -> bool:
    """Whether all rows together cost no more than a sample would."""
    return data.n * data.features <= SMALL


def sizes(n: int, d: int, dear: bool) -> list[int]:
    """Numbers of rows of the samples, from small to large; none if n is not much larger than d.

    One is enough if a matrix of many rows is too `dear`.
    """
    if n * d <= SMALL:
        return []
    if dear:
        size = max(FEWEST_ROWS, DEAR_ROWS_PER_FEATURE * d)
        return [size] if size <= LARGEST_SHARE * n else []
    first, last = max(FEWEST_ROWS, ROWS_PER_FEATURE * d), LAST_SHARE * n
    if first > LARGEST_SHARE * n:
        return []
    if last < LEAST_GROWTH * first:
        return [first]
    count = max(1, round(np.log(last / first) / np.log(GROWTH)))
    factor = (last / first) ** (1 / count)
    return [int(first * factor**k) for k in range(count + 1)]


def size_for_metric(n: int, d: int) -> int | None:
    """Number of rows of a sample whose matrix stands for that of all; None if n is too small."""
    if n * d <= SMALL or DEAR_ROWS_PER_FEATURE * d > LARGEST_SHARE * n:
        return None
    return max(DEAR_ROWS_PER_FEATURE * d, min(MOST_DEAR_ROWS_PER_FEATURE * d, n // 6))


def draw(
    losses: ExampleLosses, size: int, rng: np.random.Generator
) -> tuple[IntArray, ExampleLosses]:
    """Examples, some of them perhaps twice, and their losses.

    Where one of two labels is rare, it gets its share of the sample, and weights make up for that.
    """
    n, y = losses.n, losses.y
    if losses.abilities.targets == "sign" and y.ndim == 1:
        positive = y > 0
        count = int(np.count_nonzero(positive))
        if 0 < min(count, n - count) < RARE * n:
            return _stratified(losses, positive if count < n - count else ~positive, size, rng)
    examples = np.sort(rng.integers(n, size=size))
    return examples, losses.take(examples)


def _stratified(
    losses: ExampleLosses, rare: Mask, size: int, rng: np.random.Generator
) -> tuple[IntArray, ExampleLosses]:
    few, many = np.flatnonzero(rare), np.flatnonzero(~rare)
    count = len(few)
    of_few = min(int(RARE * size), count)
    if of_few < count:
        few = few[rng.integers(len(few), size=of_few)]
    of_many = size - of_few
    examples = np.concatenate([few, many[rng.integers(len(many), size=of_many)]])
    factors = np.repeat([count / of_few, len(many) / of_many], [of_few, of_many])
    order = np.argsort(examples)
    chosen = losses.take(examples[order])
    weights = factors[order] * (size / losses.n)
    chosen.weights = weights if chosen.weights is None else weights * chosen.weights
    return examples[order], chosen
