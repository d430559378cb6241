"""Iteration bounds of the methods that the paper compares with (tables tab-comtau and below).

The functions give leading terms, without logarithms unless the name says `iterations`. `norms` are
lambda_max(A_i' A_i). `gamma` is a number or, as with weights, one for each example. The bounds of
ASDCA and SPDC assume unit norms.
"""

import numpy as np

from quartz.arrays import Floats
from quartz.theory.accelerated import accelerated_nice
from quartz.theory.speedup import largest_ratio, nice_leading_term


def sdca(n: int, lam: float, gamma: Floats, norms: Floats = 1.0) -> float:
    """n + max_i norms_i / (lam gamma_i): SDCA, Prox-SDCA, Quartz serial uniform [eq:s89s8hs]."""
    return n + largest_ratio(norms, gamma) / lam


def iprox_sdca(n: int, lam: float, gamma: Floats, norms: Floats) -> float:
    """n + mean_i norms_i / (lam gamma_i): Iprox-SDCA, Quartz with importance [eq:is789ddj]."""
    return n + float(np.mean(norms / np.asarray(gamma))) / lam


def sdca_iterations(leading: float, dual_gap: float, eps: float) -> float:
    """The bound K log(K (D* - D_0) / eps) of SDCA and Iprox-SDCA, with their leading term K.

    Quartz replaces the logarithm by log(gap_0 / eps) [eq:complexity-intro2].
    """
    return float(leading * np.log(leading * dual_gap / eps))


def asdca(n: int, tau: Floats, lam: Floats, gamma: float) -> Floats:
    """The bound of ASDCA [tab-comtau]."""
    kappa = 1 / (lam * gamma * np.asarray(tau, dtype=np.float64))
    terms = n / np.asarray(tau), np.sqrt(n * kappa), kappa, n ** (1 / 3) * kappa ** (2 / 3)
    return 4 * np.maximum.reduce(np.broadcast_arrays(*terms))[()]


def spdc(n: int, tau: Floats, lam: Floats, gamma: float) -> Floats:
    """The bound of SPDC [tab-comtau]."""
    return n / tau + np.sqrt(n / (lam * gamma * tau))


def disdca(
    n: int, nodes: Floats, tau: Floats, lam: Floats, gamma: Floats, norms: Floats = 1.0
) -> Floats:
    """The bound of basic DisDCA [a-TdisDCA]."""
    return n / (nodes * tau) + largest_ratio(norms, gamma) / lam


def disdca_practical(
    n: int, nodes: int, tau: int, lam: float, gamma: float, largest: float, norms: Floats = 1.0
) -> float:
    """Rounds of practical DisDCA, by the theorem of CoCoA+ with sigma' = nodes (Ma et al., 2015).

    A round of tau local steps solves the local problems up to a factor Theta, and the dual
    suboptimality falls by the factor 1 - (1 - Theta) lam gamma n / (lam gamma n + nodes largest) in
    expectation. `largest` is the largest lambda_max(A_k' A_k) of the nodes' data A_k.
    """
    scaled = lam * gamma * n
    owned = -(-n // nodes)  # examples of the largest node
    local = scaled / (scaled + nodes * float(np.max(norms))) / owned
    return float((1 + nodes * largest / scaled) / (1 - (1 - local) ** tau))


def apcg(n: int, lam: float, gamma: Floats, norms: Floats = 1.0) -> float:
    """n sqrt(1 + max_i norms_i / (lam min_i gamma_i n)): APCG (Lin, Lu and Xiao, 2014)."""
    return float(n * np.sqrt(1 + np.max(norms) / (lam * np.min(gamma) * n)))


def saga(n: int, lam: float, gamma: Floats, norms: Floats = 1.0) -> float:
    """1 / (1 - rate) of SAGA with eta = 1 / (3 L), L = max_i norms_i / gamma_i (`methods.saga`)."""
    shrink = 1 / (1 + lam / (3 * largest_ratio(norms, gamma)))
    return float(max(2 * n, 1 / (1 - shrink**2)))


def quartz_beats_accelerated(n: int, tau: float, lam: float, gamma: float, omega: float) -> bool:
    """Whether the data are sparse enough for [a-kgtng], and 1/(lam gamma) >= n [eq:siu98shs].

    Then Quartz with the tau-nice sampling has a better bound than ASDCA and SPDC, although it is
    not accelerated.
    """
    overlap = (omega - 1) * (tau - 1) / max(n - 1, 1)
    return bool(lam * gamma * n <= 1 and lam * gamma * tau * n >= (2 + overlap) ** 2)


def regime_table(n: int, tau: float, omega: float) -> dict[str, dict[str, float]]:
    """Leading factors in the five regimes of [tab-comtau987987], without constants.

    Accelerated Quartz is not in the paper; its row is :func:`accelerated_nice` at the same lam.

    Returns
    -------
    dict
        For each regime, given as the order of gamma lam n, the table's entry for each method.
    """
    root = np.sqrt(n)
    return {
        "1/sqrt(n)": {
            "SDCA": n * root,
            "ASDCA": n * root / tau + n**1.25 / np.sqrt(tau) + n ** (4 / 3) / tau ** (2 / 3),
            "SPDC": n**1.25 / np.sqrt(tau),
            "Quartz": n * root / tau + omega * root,
            "accelerated Quartz": n**1.25 / tau + n**0.75 * np.sqrt(omega / tau),
        },
        "1/tau": {
            "SDCA": n * tau,
            "ASDCA": n,
            "SPDC": n,
            "Quartz": n + omega * tau,
            "accelerated Quartz": n / np.sqrt(tau) + np.sqrt(n * omega),
        },
        "1": {
            "SDCA": n,
            "ASDCA": n / np.sqrt(tau),
            "SPDC": n / np.sqrt(tau),
            "Quartz": n / tau + omega,
            "accelerated Quartz": n / tau + np.sqrt(n * omega / tau),
        },
        "tau": {
            "SDCA": n,
            "ASDCA": n / tau,
            "SPDC": n / tau,
            "Quartz": n / tau,
            "accelerated Quartz": n / tau,
        },
        "sqrt(n)": {
            "SDCA": n,
            "ASDCA": n / tau + n**0.75 / np.sqrt(tau),
            "SPDC": n / tau + n**0.75 / np.sqrt(tau),
            "Quartz": n / tau + omega / root,
            "accelerated Quartz": n / tau + n**0.25 * np.sqrt(omega / tau),
        },
    }


def leading_terms(n: int, tau: float, lam: float, gamma: float, omega: float) -> dict[str, float]:
    """The bounds of [tab-comtau] and that of accelerated Quartz, by method, for unit norms."""
    return {
        "SDCA": sdca(n, lam, gamma),
        "ASDCA": float(asdca(n, tau, lam, gamma)),
        "SPDC": float(spdc(n, tau, lam, gamma)),
        "Quartz": float(nice_leading_term(n, tau, lam, gamma, omega)),
        "accelerated Quartz": float(accelerated_nice(n, tau, lam, gamma, omega)),
    }
