"""Mini-batch and distributed Quartz: leading terms, speedup factors and the lemmas behind them.

The functions take numbers or arrays, so that they can be plotted. omega is the average sparsity
(omega-tilde or omega-hat) in [1, n]; `norm` is max_i lambda_max(A_i' A_i).
"""

import numpy as np

from quartz.arrays import Floats
from quartz.samplings.distributed import distributed_row_weights


def nice_leading_term(
    n: int, tau: Floats, lam: Floats, gamma: float, omega: Floats, norm: float = 1.0
) -> Floats:
    """T(tau) without its logarithm [a-Tgeqtaunice2xxx]."""
    return n / tau + (1 + _overlap(omega, tau, n)) * norm / (lam * gamma * tau)


def nice_speedup(n: int, tau: Floats, lam: Floats, gamma: float, omega: Floats) -> Floats:
    """T(1) / T(tau) for unit norms [a-spth]."""
    return tau / (1 + _overlap(omega, tau, n) / (1 + lam * gamma * n))


def nice_speedup_bounds(n: int, tau: Floats, omega: Floats) -> tuple[Floats, Floats]:
    """The two lower bounds on the speedup for tau <= 2 + lam gamma n, larger first [a-Twn]."""
    return tau / (1 + (omega - 1) / max(n - 1, 1)), tau / 2


def distributed_leading_term(
    n: int,
    nodes: float,
    tau: float,
    lam: float,
    gamma: float,
    omega: float,
    active: float | None = None,
    norm: float = 1.0,
) -> float:
    """T(c, tau) for rows of equal sparsity [a-Tctau].

    `active` is omega', the number of parts that share a row; by default as many as can be,
    min(c, omega).
    """
    active = min(nodes, omega) if active is None else active
    weight = float(distributed_row_weights(omega, active, n / nodes, tau))
    return n / (nodes * tau) + weight * norm / (lam * gamma * nodes * tau)


def distributed_leading_bound(
    n: int, nodes: float, tau: float, lam: float, gamma: float, omega: float, norm: float = 1.0
) -> float:
    """The bound on T(c, tau) in which the partition no longer appears [eq:s98s98hsdjj].

    For tau >= 2 and n / c >= 2.
    """
    weight = (1 + 1 / (tau - 1)) * (1 + (tau - 1) * (omega - 1) / (n / nodes - 1))
    return n / (nodes * tau) + weight * norm / (lam * gamma * nodes * tau)


def distributed_speedup(
    n: int,
    nodes: float,
    tau: float,
    lam: float,
    gamma: float,
    omega: float,
    active: float | None = None,
) -> float:
    """T(1, 1) / T(c, tau) for unit norms, section [sec:distr-speedup]."""
    serial = distributed_leading_term(n, 1, 1, lam, gamma, omega)
    return serial / distributed_leading_term(n, nodes, tau, lam, gamma, omega, active)


def overlap_inequalities(omega: Floats, tau: Floats, n: int) -> tuple[Floats, ...]:
    """The four expressions of [lem:inequalities], which increase for omega, tau in [1, n]."""
    overlap, product = _overlap(omega, tau, n), omega * tau / n
    return overlap, product, 1 + overlap, 1 + product


def partition_effect(
    omega: Floats, active: Floats, n: int, nodes: float, tau: float
) -> tuple[Floats, Floats]:
    """The two sides of [l-Hy2beta1beta2], left at most right for n / c >= 2 and tau >= 2.

    The left one is what the partition adds to the row weight, the right one 1 / (tau - 1) of the
    rest.
    """
    owned = n / nodes
    left = (tau / owned - (tau - 1) / (owned - 1)) * (active - 1) / active * omega
    return left, (1 + (tau - 1) * (omega - 1) / (owned - 1)) / (tau - 1)


def _overlap(omega: Floats, tau: Floats, n: int) -> Floats:
    """(omega - 1)(tau - 1) / (n - 1)."""
    return np.asarray((omega - 1) * (tau - 1) / max(n - 1, 1))[()]
