"""What steps cost: the one model of running times, read by every choice between methods.

A rough model of one core: nanoseconds for each operation that matters. Choices need ratios only,
so that a faster machine changes little. `python -m benchmarks.costs` measures all constants again
and prints them beside these.
"""

from typing import NamedTuple

import numpy as np

from quartz.data import Blocks


class Nanoseconds(NamedTuple):
    """Times of single operations on one core."""

    step: float = 40.0  # a coordinate step, without its row
    iterated_step: float = 60.0  # more for a loss whose step iterates, such as logistic
    step_class: float = 100.0  # more for each output
    step_nonzero: float = 3.5  # each entry of a row in random order: read twice, written once
    swept_nonzero: float = 0.8  # each entry of a row in order, in a product with X or X'
    outer_product: float = 1.0  # one product of two entries in a sparse Gram matrix
    dense_entry: float = 0.28  # the same where all entries are stored
    slope: float = 6.0  # slope and curvature of a loss, and the vector operations of a line search
    slope_of_class: float = 20.0  # the same for each class of a loss over classes
    blas_entry: float = 0.6  # each entry of rows that BLAS multiplies for a Gram matrix, besides
    blas_operation: float = 0.012  # one multiplication or addition in a dense product
    sweep: float = 1.5e5  # besides, in Python
    bent: float = 10.0  # what more a loss costs that changes from step to step


COSTS = Nanoseconds()

MOST_FEATURES = 5000  # beyond it a d x d matrix is out of proportion
ROOTS = 4.0  # an accelerated run takes about this many times the square root of the plain passes


class NewtonWork(NamedTuple):
    """Work that Newton's method is expected to do."""

    hessians: float  # whole ones; later steps update what has changed
    sweeps: float


NEAR_SOLUTION = NewtonWork(hessians=1.5, sweeps=4.0)
FROM_ZERO = NewtonWork(hessians=1.5, sweeps=6.0)  # samples of the rows come first
QUASI_NEWTON = NewtonWork(hessians=1.0, sweeps=20.0)  # for several classes
MULTIPLIERS = NewtonWork(hessians=1.0, sweeps=12.0)  # for a loss that is not smooth
MANY_MULTIPLIERS = NewtonWork(hessians=8.0, sweeps=100.0)  # the same where epochs are slow
QUADRATIC = NewtonWork(hessians=1.0, sweeps=3.0)  # with a constant phi'' one step is enough


def epoch(data: Blocks, iterated: bool) -> float:
    """One pass of coordinate steps in random order, in nanoseconds."""
    step = COSTS.step + COSTS.iterated_step * iterated
    if data.m > 1:
        step += COSTS.step_class * data.m
    return step * data.n + COSTS.step_nonzero * data.storage.nonzeros * data.m


def hessian(data: Blocks) -> float:
    """One matrix of a Newton step, of all rows, in nanoseconds."""
    return data.n * _gram_row(data, data.features * data.m)


def gram(data: Blocks) -> float:
    """One Gram matrix of all rows, in nanoseconds."""
    return data.n * _gram_row(data, data.features)


def _gram_row(data: Blocks, d: int) -> float:
    """The part of one row in a matrix of size d, in nanoseconds."""
    if data.storage.gram_by_blas:
        return COSTS.blas_entry * d + 2 * COSTS.blas_operation * d**2
    products = np.sum(np.square(data.storage.row_lengths(), dtype=np.float64))
    return float(COSTS.outer_product / 2 * products) / data.n


def sweep(data: Blocks) -> float:
    """A product with X, one with X', and the losses' slopes between them, in nanoseconds."""
    dense = data.storage.nonzeros == data.n * data.features
    entry = COSTS.dense_entry if dense else COSTS.swept_nonzero
    slope = COSTS.slope if data.m == 1 else COSTS.slope_of_class * data.m
    return data.n * slope + 2 * entry * data.storage.nonzeros * data.m


def newton(data: Blocks, quadratic: bool, work: NewtonWork = FROM_ZERO) -> float:
    """Newton's method to the end, in nanoseconds."""
    if data.m > 1:
        return QUASI_NEWTON.hessians * gram(data) + QUASI_NEWTON.sweeps * sweep(data)
    work = QUADRATIC if quadratic else work
    system = COSTS.blas_operation * data.d**3 / 3
    return work.hessians * (hessian(data) + system) + work.sweeps * sweep(data)


def multipliers(data: Blocks, work: NewtonWork = MULTIPLIERS) -> float:
    """The method of multipliers to the end, in nanoseconds."""
    return work.hessians * hessian(data) + work.sweeps * (
        sweep(data) + COSTS.sweep + COSTS.bent * data.n
    )


def newton_passes(data: Blocks, quadratic: bool, iterated: bool) -> float:
    """Newton steps from a point near the solution, as a number of passes of coordinate steps."""
    return newton(data, quadratic, NEAR_SOLUTION) / epoch(data, iterated)


def accelerated_passes(plain: float) -> float:
    """Passes of an accelerated run, where plain steps would take so many."""
    return ROOTS * float(np.sqrt(plain))
