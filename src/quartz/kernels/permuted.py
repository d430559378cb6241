"""The kernels of permuted epochs: random order, an estimate of the gap, and an active set.

Before an example is updated, its Fenchel-Young gap f_i = phi_i(a) + phi_i*(-alpha_i) + a alpha_i at
the current z is stored. The mean of the f_i estimates the duality gap of (z, alpha) at no extra
cost. An example with a small f_i is settled, and leaves the active set for some epochs.
"""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from quartz.arrays import AnyArray, Array, Floats
from quartz.kernels.arguments import Examples, Model
from quartz.kernels.loss import loss_conjugate, loss_value
from quartz.kernels.placeholder import NumberOrArray, Opaque, Parts, Position, placeholder
from quartz.kernels.prefetch import prefetch_element
from quartz.kernels.rows import AHEAD, add, block_add, block_dot, dot, end_epoch, prefetch_row
from quartz.kernels.updates import update
from quartz.kernels.vectors import begin

# The active set; docs/kernels.md compares other values of both
LONGEST = 127  # epochs that an example is skipped at most; `activate` relies on this limit
SETTLED = 0.3  # share of the mean gap up to which an example counts as settled

Order: TypeAlias = AnyArray
"""Examples in the order of their visits, uint32 or uint64."""

Counters: TypeAlias = NDArray[np.int8]
"""A number of epochs for each example."""


@placeholder
def example_gap(
    loss: Opaque, alpha: NumberOrArray, a: NumberOrArray, y: Floats, weight: float
) -> float:
    """Placeholder: phi_i(a) + phi_i*(-alpha) + <a, alpha>."""
    raise NotImplementedError


def run_epochs(
    order: Order,
    seed: np.uint64,
    gaps: Array,
    lengths: Counters,
    inactive: Counters,
    wanted: float,
    visits: float,
    examples: Examples,
    model: Model,
) -> tuple[int, int, float]:
    """Do at least one epoch, until `visits` are made or the mean gap is at most `wanted`.

    The mean gap is updated incrementally within a call only, and computed from all gaps at its
    beginning and end. Updated for longer it would lose the small gaps to cancellation, and then
    every example would be inactive.

    Parameters
    ----------
    order : ndarray of shape (n,)
        Overwritten by the active examples of each epoch.
    seed : uint64
        Seed of the permutations.
    gaps : ndarray of shape (n,)
        Fenchel-Young gaps f_i at the last visits.
    lengths : ndarray of shape (n,)
        Epochs for which each example was inactive the last time.
    inactive : ndarray of shape (n,), rounded up to a multiple of 8
        Epochs for which each example stays inactive.
    wanted, visits : float
    examples : Examples
    model : Model

    Returns
    -------
    epochs, visited : int
    mean : float
        The mean gap.
    """
    n, epochs, visited, mean = order.size, 0, 0, float(np.mean(gaps))
    while True:
        active = activate(inactive.view(np.uint64), order)
        seed += np.uint64(1)
        shuffle(order[:active], seed)
        threshold = SETTLED * mean if np.isfinite(mean) else -np.inf
        mean += epoch(order[:active], gaps, lengths, inactive, threshold, examples, model) / n
        end_epoch(examples.rows)
        epochs += 1
        visited += active
        if visited >= visits or not mean > wanted:
            return epochs, visited, float(np.mean(gaps))


def activate(words: NDArray[np.uint64], order: Order) -> int:
    """Write the active examples into `order`, and count the others' `inactive` down by one epoch.

    Returns the number of active examples. Each of the `words` holds eight counters of at most 127,
    so that adding 127 to a counter sets its top bit unless the counter is 0. Late in a run most
    examples are inactive, and eight of them are skipped at once.
    """
    ones, active = np.uint64(0x0101010101010101), 0
    for k in range(words.size):
        word = words[k]
        skipped = ((word + np.uint64(127) * ones) >> np.uint64(7)) & ones
        words[k] = word - skipped
        if skipped != ones:
            for i in range(8 * k, min(8 * k + 8, order.size)):
                order[active] = i
                active += (skipped & np.uint64(1)) == 0
                skipped >>= np.uint64(8)
    return active


@placeholder
def epoch(
    order: Order,
    gaps: Array,
    lengths: Counters,
    inactive: Counters,
    threshold: float,
    examples: Examples,
    model: Model,
) -> float:
    """Placeholder: update the examples of `order` one after another.

    An example whose gap is at most `threshold` becomes inactive for some epochs, and for more of
    them each time in a row (`lengths`). Returns the change of the sum of all gaps.
    """
    raise NotImplementedError


def epoch_rows(
    order: Order,
    gaps: Array,
    lengths: Counters,
    inactive: Counters,
    threshold: float,
    examples: Examples,
    model: Model,
) -> float:
    """Do what `epoch` says, for examples with one column."""
    rows, y, weights, alpha, v = examples
    loss, g, vectors, inverse = model
    last, change = order.size - 1, 0.0
    for k in range(order.size):
        later = order[min(k + AHEAD, last)]
        prefetch_row(rows, np.uint64(later))
        prefetch_element(alpha, np.int64(later))
        prefetch_element(y, np.int64(later))
        prefetch_element(v, np.int64(later))
        prefetch_element(gaps, np.int64(later))
        i = np.uint64(order[k])
        scale = begin(vectors, 1.0, 1.0, g)
        a = dot(rows, i, vectors, scale, g)
        old = alpha[i]
        gap = example_gap(loss, old, a, y[i], weights[i])
        change += gap - gaps[i]
        gaps[i] = gap
        skip(i, gap <= threshold, lengths, inactive)
        new = update(loss, old, a, y[i], weights[i], v[i] * inverse, 0.0, 1.0)
        if new != old:
            alpha[i] = new
            add(rows, i, (new - old) * inverse, vectors, scale, g)
    return change


def epoch_blocks(
    order: Order,
    gaps: Array,
    lengths: Counters,
    inactive: Counters,
    threshold: float,
    examples: Examples,
    model: Model,
) -> float:
    """Do what `epoch` says, for examples with m > 1 columns."""
    rows, y, weights, alpha, v = examples
    loss, g, vectors, inverse = model
    a, change = np.empty(alpha.shape[1]), 0.0
    for k in range(order.size):
        i = np.uint64(order[k])
        scale = begin(vectors, 1.0, 1.0, g)
        block_dot(rows, i, vectors, scale, g, a)
        gap = example_gap(loss, alpha[i], a, y[i], weights[i])
        change += gap - gaps[i]
        gaps[i] = gap
        skip(i, gap <= threshold, lengths, inactive)
        new = update(loss, alpha[i], a, y[i], weights[i], v[i] * inverse, 0.0, 1.0)
        delta = (new - alpha[i]) * inverse
        alpha[i] = new
        block_add(rows, i, delta, vectors, scale, g)
    return change


def skip(i: Position, settled: bool, lengths: Counters, inactive: Counters) -> None:
    """Make a settled example inactive, for longer than the last time; others stay active."""
    lengths[i] = min(2 * lengths[i] + 1, LONGEST) if settled else 0
    inactive[i] = lengths[i]


def shuffle(order: Order, seed: np.uint64) -> None:
    """Shuffle in place, by Fisher-Yates with the splitmix64 generator: faster than NumPy's."""
    state = np.uint64(seed)
    for k in range(order.size - 1, 0, -1):
        state += np.uint64(0x9E3779B97F4A7C15)
        z = state
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
        # The high half of a product is cheaper than a remainder, and uniform up to k / 2^32.
        other = ((z >> np.uint64(32)) * np.uint64(k + 1)) >> np.uint64(32)
        order[k], order[other] = order[other], order[k]


def gap_parts(weighted: bool, vector: bool, componentwise: bool) -> Parts:
    """Return the functions that replace `example_gap`, `gap_one` and `product`."""
    one: Callable[..., float] = _weighted_gap if weighted else _plain_gap
    gap = {"example_gap": _summed_gap, "gap_one": one} if componentwise else {"example_gap": one}
    return gap | {"product": _vector_product if vector else _scalar_product}


@placeholder
def product(a: NumberOrArray, alpha: NumberOrArray) -> float:
    """Placeholder: <a, alpha>."""
    raise NotImplementedError


gap_one = example_gap


def _scalar_product(a: float, alpha: float) -> float:
    return a * alpha


def _vector_product(a: Array, alpha: Array) -> float:
    return np.sum(a * alpha)


def _plain_gap(
    loss: Opaque, alpha: NumberOrArray, a: NumberOrArray, y: Floats, weight: float
) -> float:
    return loss_value(loss, a, y) + loss_conjugate(loss, -alpha, y) + product(a, alpha)


def _weighted_gap(
    loss: Opaque, alpha: NumberOrArray, a: NumberOrArray, y: Floats, weight: float
) -> float:
    if weight == 0.0:
        return 0.0
    conjugate = loss_conjugate(loss, -alpha / weight, y)
    return weight * (loss_value(loss, a, y) + conjugate) + product(a, alpha)


def _summed_gap(loss: Opaque, alpha: Array, a: Array, y: Array, weight: float) -> float:
    total = 0.0
    for k in range(alpha.size):
        total += gap_one(loss, alpha[k], a[k], y[k], weight)
    return total
