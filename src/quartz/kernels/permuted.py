"""The kernels of the practical mode: epochs in random order, with the gap estimated on the way.

Before its update each example's Fenchel-Young gap f_i = phi_i(a) + phi_i*(-alpha_i) + a alpha_i at
the current z is stored. Their mean estimates the duality gap of (z, alpha) for free, and an example
with a small f_i, which is settled, is inactive for some epochs.
"""

import numpy as np

from quartz.arrays import Array
from quartz.kernels.arguments import Examples, Model
from quartz.kernels.loss import loss_conjugate, loss_value
from quartz.kernels.placeholder import Opaque, Parts, Position, placeholder
from quartz.kernels.prefetch import prefetch_element
from quartz.kernels.rows import AHEAD, add, block_add, block_dot, dot, end_epoch, prefetch_row
from quartz.kernels.updates import update
from quartz.kernels.vectors import begin

LONGEST = 127  # epochs that an example is skipped; the most that a counter of 8 bits can hold
SETTLED = 0.3  # share of the mean gap below which an example is settled


@placeholder
def example_gap(loss: Opaque, alpha: Opaque, a: Opaque, y: Opaque, weight: float) -> float:
    """Placeholder: phi_i(a) + phi_i*(-alpha) + <a, alpha>."""
    raise NotImplementedError


def run_epochs(
    order: Array,
    seed: np.uint64,
    gaps: Array,
    lengths: Array,
    inactive: Array,
    wanted: float,
    visits: float,
    examples: Examples,
    model: Model,
) -> tuple[int, int, float]:
    """One epoch or more, until `visits` are made or the mean gap is at most `wanted`.

    Returns the numbers of epochs and visits, and the mean gap. The sum of gaps is updated within a
    call only and taken anew at its ends: kept for longer it would lose small gaps to cancellation,
    and then every example would be inactive.
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


def activate(words: Array, order: Array) -> int:
    """Write the active examples into `order`; for the others an epoch goes by.

    `words` holds eight of the counters `inactive` each, at most 127: adding 127 to a counter sets
    its top bit unless it is 0. Late in a run most are inactive, and eight at a time cost next to
    nothing.
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
    order: Array,
    gaps: Array,
    lengths: Array,
    inactive: Array,
    threshold: float,
    examples: Examples,
    model: Model,
) -> float:
    """Placeholder: update the examples of `order` one after another.

    An example whose gap is at most `threshold` is inactive for some epochs after this one, more
    each time in a row (`lengths`). Returns by how much the sum of all gaps changed.
    """
    raise NotImplementedError


def epoch_rows(
    order: Array,
    gaps: Array,
    lengths: Array,
    inactive: Array,
    threshold: float,
    examples: Examples,
    model: Model,
) -> float:
    """`epoch` for examples with one column."""
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
    order: Array,
    gaps: Array,
    lengths: Array,
    inactive: Array,
    threshold: float,
    examples: Examples,
    model: Model,
) -> float:
    """`epoch` for examples with m > 1 columns."""
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


def skip(i: Position, settled: bool, lengths: Array, inactive: Array) -> None:
    """Make a settled example inactive, longer than the last time; another stays active."""
    lengths[i] = min(2 * lengths[i] + 1, LONGEST) if settled else 0
    inactive[i] = lengths[i]


def shuffle(order: Array, seed: np.uint64) -> None:
    """Shuffle in place: Fisher-Yates by the splitmix64 generator, faster than NumPy's."""
    state = np.uint64(seed)
    for k in range(order.size - 1, 0, -1):
        state += np.uint64(0x9E3779B97F4A7C15)
        z = state
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
        # the high part of a 32-bit product: uniform up to k / 2^32
        other = ((z >> np.uint64(32)) * np.uint64(k + 1)) >> np.uint64(32)
        order[k], order[other] = order[other], order[k]


def gap_parts(weighted: bool, vector: bool, componentwise: bool) -> Parts:
    """Return what `example_gap` stands for."""
    one = _weighted_gap if weighted else _plain_gap
    gap = {"example_gap": _summed_gap, "gap_one": one} if componentwise else {"example_gap": one}
    return gap | {"product": _vector_product if vector else _scalar_product}


@placeholder
def product(a: Opaque, alpha: Opaque) -> float:
    """Placeholder: <a, alpha>."""
    raise NotImplementedError


gap_one = example_gap


def _scalar_product(a: float, alpha: float) -> float:
    return a * alpha


def _vector_product(a: Array, alpha: Array) -> float:
    return np.sum(a * alpha)


def _plain_gap(loss: Opaque, alpha: Opaque, a: Opaque, y: Opaque, weight: float) -> float:
    return loss_value(loss, a, y) + loss_conjugate(loss, -alpha, y) + product(a, alpha)


def _weighted_gap(loss: Opaque, alpha: Opaque, a: Opaque, y: Opaque, weight: float) -> float:
    if weight == 0.0:
        return 0.0
    conjugate = loss_conjugate(loss, -alpha / weight, y)
    return weight * (loss_value(loss, a, y) + conjugate) + product(a, alpha)


def _summed_gap(loss: Opaque, alpha: Array, a: Array, y: Array, weight: float) -> float:
    total = 0.0
    for k in range(alpha.size):
        total += gap_one(loss, alpha[k], a[k], y[k], weight)
    return total
