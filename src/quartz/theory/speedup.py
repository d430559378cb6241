"""Mini-batch and distributed Quartz: leading terms, speedup factors and the lemmas behind them.

omega is the average sparsity (omega-tilde or omega-hat) in [1, n]. `norms` are
lambda_max(A_i' A_i). Both `norms` and `gamma` may be given for each example, and only
max_i norms_i / gamma_i matters. The functions of the nice sampling also take arrays of tau, lam and
omega, so that they can be plotted.
"""

import numpy as np

from quartz.arrays import Floats
from quartz.samplings.distributed import distributed_row_weights


def nice_leading_term(
    n: int, tau: Floats, lam: Floats, gamma: Floats, omega: Floats, norms: Floats = 1.0
) -> Floats:
    """T(tau) without its logarithm [a-Tgeqtaunice2xxx]."""
    return n / tau + nice_largest_v(n, tau, omega) * largest_ratio(norms, gamma) / (lam * tau)


def nice_largest_v(n: int, tau: Floats, omega: Floats) -> Floats:
    """1 + (omega - 1)(tau - 1) / (n - 1), the largest v_i of the nice sampling for unit norms."""
    return 1 + _overlap(omega, tau, n)


def nice_speedup(
    n: int, tau: Floats, lam: Floats, gamma: Floats, omega: Floats, norms: Floats = 1.0
) -> Floats:
    """T(1) / T(tau) [a-spth]."""
    return tau / (1 + _overlap(omega, tau, n) / (1 + lam * n / largest_ratio(norms, gamma)))


def nice_speedup_bounds(n: int, tau: Floats, omega: Floats) -> tuple[Floats, Floats]:
    """The two lower bounds on the speedup for tau <= 2 + lam gamma n, the larger first [a-Twn]."""
    return tau / (1 + (omega - 1) / max(n - 1, 1)), tau / 2


def distributed_leading_term(
    n: int,
    nodes: float,
    tau: float,
    lam: float,
    gamma: Floats,
    omega: float,
    active: float | None = None,
    norms: Floats = 1.0,
) -> float:
    """T(c, tau) for rows of equal sparsity [a-Tctau].

    `active` is omega', the number of parts that share a row. By default it is the largest possible
    number, min(c, omega).
    """
    _check_range("nodes", nodes, 1, n)
    _check_range("tau", tau, 1, n / nodes)
    active = min(nodes, omega) if active is None else active
    weight = float(distributed_row_weights(omega, active, n / nodes, tau))
    return (n + weight * largest_ratio(norms, gamma) / lam) / (nodes * tau)


def distributed_leading_bound(
    n: int, nodes: float, tau: float, lam: float, gamma: Floats, omega: float, norms: Floats = 1.0
) -> float:
    """The bound on T(c, tau) that does not depend on the partition [eq:s98s98hsdjj].

    It holds for tau >= 2 and n / c >= 2.
    """
    _check_range("nodes", nodes, 1, n / 2)
    _check_range("tau", tau, 2, n / nodes)
    weight = (1 + 1 / (tau - 1)) * (1 + (tau - 1) * (omega - 1) / (n / nodes - 1))
    return (n + weight * largest_ratio(norms, gamma) / lam) / (nodes * tau)


def distributed_speedup(
    n: int,
    nodes: float,
    tau: float,
    lam: float,
    gamma: Floats,
    omega: float,
    active: float | None = None,
    norms: Floats = 1.0,
) -> float:
    """T(1, 1) / T(c, tau) of section [sec:distr-speedup]."""
    serial = distributed_leading_term(n, 1, 1, lam, gamma, omega, norms=norms)
    return serial / distributed_leading_term(n, nodes, tau, lam, gamma, omega, active, norms)


def overlap_inequalities(omega: Floats, tau: Floats, n: int) -> tuple[Floats, ...]:
    """The expressions of [lem:inequalities], each at most the next for omega, tau in [1, n]."""
    overlap, product = _overlap(omega, tau, n), omega * tau / n
    return overlap, product, 1 + overlap, 1 + product


def partition_effect(
    omega: Floats, active: Floats, n: int, nodes: float, tau: float
) -> tuple[Floats, Floats]:
    """The two sides of [l-Hy2beta1beta2]: left <= right for n / c >= 2 and tau >= 2.

    The left side is what the partition adds to the row weight, and the right side is 1 / (tau - 1)
    times the rest of the row weight.
    """
    _check_range("nodes", nodes, 1, n / 2)
    owned = n / nodes
    _check_range("tau", tau, 2, owned)
    left = (tau / owned - (tau - 1) / (owned - 1)) * (active - 1) / active * omega
    return left, (1 + (tau - 1) * (omega - 1) / (owned - 1)) / (tau - 1)


def largest_ratio(norms: Floats, gamma: Floats) -> float:
    """max_i norms_i / gamma_i, the condition number times lam."""
    return float(np.max(np.asarray(norms) / np.asarray(gamma)))


def _check_range(name: str, value: Floats, low: float, high: float) -> None:
    if not low - 1e-9 <= np.min(value) <= np.max(value) <= high * (1 + 1e-9):
        raise ValueError(f"{name} must lie between {low:g} and {high:g}, got {value!r}.")


def _overlap(omega: Floats, tau: Floats, n: int) -> Floats:
    """(omega - 1)(tau - 1) / (n - 1)."""
    _check_range("omega", omega, 1, n)
    _check_range("tau", tau, 1, n)
    return np.asarray((omega - 1) * (tau - 1) / max(n - 1, 1))[()]
