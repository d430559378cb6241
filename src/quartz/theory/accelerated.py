"""Accelerated Quartz: bounds beyond the paper, derived in docs/acceleration.md.

They hold for :class:`quartz.methods.accelerated.ProximalPoints` around Algorithm 1 with any
sampling. They assume a smooth loss, [ass:reg] (so that P is lam-strongly convex), and outer steps
solved to the accuracy that the class states and measures. With q = lam / (lam + kappa):

- The outer steps have P(u_k) - P* <= 2 (1 - sqrt(q) / 2)^k (P(u_0) - P*), with certainty.
- An outer step takes (1 + log(G / (theta_kappa eps))) / theta_kappa iterations in expectation, from
  its gap G at the start to eps, where theta_kappa is [a-theta] with lam + kappa in place of lam.
- In total the iterations are 1/theta_kappa times 1/sqrt(q), up to logarithms.
"""

import numpy as np

from quartz import checks
from quartz.arrays import Array, Floats
from quartz.theory.rate import leading_term
from quartz.theory.speedup import nice_largest_v


def proximal_strength(v: Array, lam: float, gamma: Array | float, n: int) -> float:
    """kappa with lam + kappa = max(lam, max_i v_i / (gamma_i n)), which the bounds below assume.

    With it 1/theta_kappa is at most twice max_i 1/p_i.
    """
    return max(float(np.max(np.asarray(v) / np.asarray(gamma))) / n - lam, 0.0)


def accelerated_gap(lam: float, kappa: float, initial: float, k: Floats) -> Floats:
    """2 (1 - sqrt(q) / 2)^k (P(u_0) - P*), the bound on P(u_k) - P* after k outer steps."""
    checks.positive("lam", lam, "The theory needs a strongly convex problem.")
    return 2 * initial * (1 - 0.5 * np.sqrt(lam / (lam + kappa))) ** np.asarray(k, np.float64)


def accelerated_leading_term(
    p: Array, v: Array, lam: float, gamma: Array | float, n: int, kappa: float | None = None
) -> float:
    """max_i (1/p_i)(1 + v_i / ((lam + kappa) gamma_i n)) sqrt((lam + kappa) / lam).

    By default kappa is that of :func:`proximal_strength`. With kappa = 0 this is the leading term
    of [eq:complexity-intro].
    """
    if kappa is None:
        kappa = proximal_strength(v, lam, gamma, n)
    inner = leading_term(p, v, lam + kappa, gamma, n)
    return float(inner * np.sqrt((lam + kappa) / lam))


def accelerated_nice(n: int, tau: Floats, lam: Floats, gamma: float, omega: Floats) -> Floats:
    """n/tau + sqrt(n v / (lam gamma)) / tau, for the tau-nice sampling and unit norms.

    v = 1 + (omega - 1)(tau - 1) / (n - 1) <= tau, so that this is never above SPDC's
    n/tau + sqrt(n / (lam gamma tau)). Where the root dominates it is smaller by the factor
    sqrt(tau / v), which is up to sqrt(tau) on sparse data.
    """
    return n / tau + np.sqrt(n * nice_largest_v(n, tau, omega) / (lam * gamma)) / tau
