"""The rate of Quartz with any sampling, which is the main theorem [th-mainth]."""

import numpy as np

from quartz import checks
from quartz.arrays import Array, Floats
from quartz.problem import condition_numbers


def theta(p: Array, v: Array, lam: float, gamma: Array | float, n: int) -> float:
    """min_i p_i lam gamma_i n / (v_i + lam gamma_i n) [a-theta].

    Parameters
    ----------
    p, v : ndarray of shape (n,)
        Probabilities p_i and ESO parameters v_i.
    lam : float
    gamma : float or ndarray of shape (n,)
        gamma_i. With gamma_i = 0, a loss that is not smooth, theta is 0 and the rate promises
        nothing. An infinite gamma_i, that of weight 0, leaves p_i as the only limit.
    n : int

    Examples
    --------
    >>> theta(np.full(4, 0.25), np.ones(4), lam=0.25, gamma=1.0, n=4)
    0.125
    """
    return 1 / leading_term(p, v, lam, gamma, n)


def leading_term(p: Array, v: Array, lam: float, gamma: Array | float, n: int) -> float:
    """max_i (1/p_i + v_i / (p_i lam gamma_i n)), the factor of log in [eq:complexity-intro].

    With p and v of a plan this is T(tau) or T(c, tau) for the data of the problem [a-Tctau].
    """
    checks.positive("lam", lam, "The theory needs a strongly convex problem.")
    with np.errstate(over="ignore"):  # an infinite term says that there is no rate
        return float(np.max(condition_numbers(v, lam, gamma, n) / p))


def iterations(theta: float, initial_gap: float, eps: float) -> float:
    """Iterations after which the expected gap is at most eps [eq:complexity-intro2]."""
    checks.positive("eps", eps, "It is the gap to reach.")
    checks.nonnegative("theta", theta, "It is the rate of the method.")
    if initial_gap <= eps:
        return 0.0
    logarithm = float(np.log(initial_gap) - np.log(eps))  # of a ratio that may overflow
    return logarithm / theta if theta > 0 else np.inf


def expected_gap(theta: float, initial_gap: float, t: Floats) -> Floats:
    """(1 - theta)^t gap_0, the bound on the expected gap after t iterations [eq-con]."""
    return (
        initial_gap * np.exp(np.asarray(t) * np.log1p(-theta))
        if theta < 1
        else (initial_gap * (np.asarray(t) == 0))
    )
