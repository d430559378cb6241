"""Tests of the ESO inequality [a-ESO] for a sampling and data."""

from dataclasses import dataclass, replace

import numpy as np

from quartz import checks
from quartz.arrays import Array, IntArray
from quartz.data import Blocks
from quartz.samplings.base import Sampling


@dataclass(frozen=True)
class EsoReport:
    """The outcome of a check of an ESO.

    Attributes
    ----------
    holds : bool
        Whether E||sum_S A_i h_i||^2 <= sum_i p_i v_i ||h_i||^2 for all h (exact check), or for
        all h that were tried, up to 4 standard errors (Monte Carlo).
    tightness : float
        The largest ratio of the two sides that was found. At 1 the bound is tight, and above 1 it
        is violated.
    standard_error : float
        Standard error of the tightness; 0 for the exact check.
    """

    holds: bool
    tightness: float
    standard_error: float = 0.0


def verify_eso(sampling: Sampling, data: Blocks, v: Array | None = None) -> EsoReport:
    """Check exactly that D(p v) - P o A'A is positive semidefinite, for small n m.

    Parameters
    ----------
    sampling : Sampling
    data : Blocks
    v : ndarray of shape (n,), optional
        By default ``sampling.eso(data)``.
    """
    v = _checked_v(sampling, data, v)
    columns = data.dense().transpose(0, 2, 1).reshape(-1, data.d)
    joint = np.kron(sampling.joint(), np.ones((data.m, data.m)))
    expected = joint * (columns @ columns.T)
    allowed = np.repeat(sampling.probabilities * v, data.m)
    scale = np.zeros_like(allowed)
    np.divide(1.0, np.sqrt(allowed), out=scale, where=allowed > 0)
    relative = scale[:, None] * expected * scale
    tightness = float(np.linalg.eigvalsh(relative)[-1])
    unbounded = np.any(expected.diagonal()[allowed <= 0] > 0)  # v_i = 0 although A_i is not 0
    return EsoReport(
        holds=bool(tightness <= 1 + 1e-9 and not unbounded),
        tightness=np.inf if unbounded else tightness,
    )


def estimate_eso(
    sampling: Sampling,
    data: Blocks,
    rng: np.random.Generator,
    v: Array | None = None,
    draws: int = 400,
    directions: int = 6,
) -> EsoReport:
    """Check [a-ESO] by Monte Carlo for a few vectors h, if n is large or `joint` is missing.

    Half of the vectors are random; the others are moved towards the worst one by power iterations
    with A'A. A check that holds is evidence but no proof.

    Parameters
    ----------
    sampling : Sampling
    data : Blocks
    rng : numpy.random.Generator
    v : ndarray of shape (n,), optional
        By default ``sampling.eso(data)``.
    draws : int
        Number of sets drawn for each h.
    directions : int
        Number of vectors h.
    """
    v = _checked_v(sampling, data, v)
    allowed = data.per_example(sampling.probabilities * v)
    worst = EsoReport(holds=True, tightness=0.0)
    holds = True
    for number in range(directions):
        h = rng.normal(size=data.dual_shape)
        for _ in range(4 * (number % 2)):
            h = data.predictions(data.combination(h))
            h /= np.linalg.norm(h) or 1.0
        right = float(np.sum(allowed * h * h))
        squares = np.array(
            [
                np.sum(data.take(members).combination(h[members]) ** 2)
                for members in _nonempty(sampling, rng, draws)
            ]
        )
        # Empty sets have the square 0.
        squares = np.pad(squares, (0, draws - squares.size))
        left, error = float(squares.mean()), float(squares.std(ddof=1)) / np.sqrt(draws)
        if right > 0:
            ratio, error = left / right, error / right
        else:
            ratio, error = (np.inf if left > 0 else 0.0), 0.0
        holds = holds and ratio - 4 * error <= 1
        if ratio > worst.tightness:
            worst = EsoReport(holds, ratio, error)
    return replace(worst, holds=holds)


def _checked_v(sampling: Sampling, data: Blocks, v: Array | None) -> Array:
    if not isinstance(sampling, Sampling) or not isinstance(data, Blocks):
        raise ValueError(
            "An ESO is checked for a bound sampling and blocks, for instance "
            f"Nice(2).bind(problem) and problem.data; got {sampling!r} and {type(data).__name__}."
        )
    if sampling.n != data.n:
        raise ValueError(f"The sampling has n = {sampling.n} examples, the data {data.n}.")
    return checks.finite_array("v", sampling.eso(data) if v is None else v, (data.n,))


def _nonempty(sampling: Sampling, rng: np.random.Generator, draws: int) -> list[IntArray]:
    sets = sampling.draw(rng, draws)
    return [sets[t] for t in range(draws) if sets[t].size]
