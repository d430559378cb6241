"""Losses over m classes, y in {0, ..., m - 1}.

Both conjugates are finite on u = p - e_y with p in the unit simplex, so the dual variable is
alpha = e_y - p. The functions are for one example: a, u and alpha are vectors of length m.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import softmax

from quartz import checks
from quartz.arrays import Array, Floats
from quartz.domain import SLACK

_TINY = 1e-300  # least argument of log; it makes p log p = 0 at p = 0


class Softmax(NamedTuple):
    """phi(a) = log sum_k exp(a_k) - a_y, multinomial logistic; phi*(p - e_y) = sum_k p_k log p_k.

    Its Hessian diag(p) - p p' has eigenvalues of at most 1/2, so gamma = 2.
    """

    @property
    def gamma(self) -> float:
        """The Hessian is at most 1/2."""
        return 2.0

    @property
    def targets(self) -> str:
        """Labels are class numbers."""
        return "class"

    @property
    def vector(self) -> bool:
        """Couples the outputs."""
        return True

    @property
    def simplex(self) -> bool:
        """Duals are e_y - p."""
        return True

    def value(self, a: Array, y: int) -> Floats:
        """phi(a), without overflow."""
        top = np.max(a)
        return top - a[y] + np.log(np.sum(np.exp(a - top)))

    def gradient(self, a: Array, y: int) -> Array:
        """p - e_y."""
        p = np.exp(a - np.max(a))
        p /= np.sum(p)
        p[y] -= 1.0
        return p

    def conjugate(self, u: Array, y: int) -> Floats:
        """phi*(u)."""
        p = u.copy()
        p[y] += 1.0
        if not _in_simplex(p):
            return np.inf
        return np.sum(p * np.log(np.maximum(p, _TINY)))

    def step(self, alpha: Array, a: Array, y: int, q: float) -> Array:
        """New alpha of Option I.

        The new p solves log p_k + q p_k + nu = c_k with c = a + q p_old, sum p = 1. Newton steps in
        log p and nu from p_old mostly take three or four exponentials for each class; if they fail,
        a safeguarded iteration in nu alone takes over.
        """
        c = a - q * alpha
        c[y] += q
        p = -alpha
        p[y] += 1.0
        p = np.maximum(p, 1e-15)
        logs = np.log(p)
        nu = np.sum(p * (c - logs - q * p)) / np.sum(p)
        worst = np.inf
        for _ in range(20):
            before, worst = worst, abs(np.sum(p) - 1.0)
            total = slope = 0.0
            for k in range(p.size):  # a loop, because temporary arrays would take most of the time
                residual = logs[k] + q * p[k] + nu - c[k]
                # A residual counts as far as it moves p; classes with p near 0 do not matter.
                worst = max(worst, abs(residual) * min(1.0, 1e6 * p[k]))
                weight = p[k] / (1.0 + q * p[k])
                total += p[k] - weight * residual
                slope += weight
            if worst <= 1e-14 * (1.0 + abs(nu)):
                p /= -np.sum(p)
                p[y] += 1.0
                return p
            if not worst < 1e3 * before:
                break
            change = (total - 1.0) / slope
            for k in range(p.size):
                residual = logs[k] + q * p[k] + nu - c[k]
                logs[k] = min(logs[k] - (residual + change) / (1.0 + q * p[k]), 1.0)
                p[k] = np.exp(logs[k])
            nu += change
        return _safe_softmax_step(c, y, q)

    def probabilities(self, a: Array) -> Array:
        """exp(a_k) / sum_l exp(a_l), those of all classes."""
        return np.asarray(softmax(a, axis=-1))


class SmoothedMulticlassHinge(NamedTuple):
    """Smoothed Crammer-Singer hinge, max_p <p - e_y, a + 1 - e_y> - gamma/2 ||p - e_y||^2.

    The maximum is over the unit simplex; phi*(p - e_y) = p_y - 1 + gamma/2 ||p - e_y||^2.
    """

    gamma: float = 1.0

    @property
    def targets(self) -> str:
        """Labels are class numbers."""
        return "class"

    @property
    def vector(self) -> bool:
        """Couples the outputs."""
        return True

    @property
    def simplex(self) -> bool:
        """Duals are e_y - p."""
        return True

    def validate(self) -> None:
        """Check gamma."""
        checks.positive("gamma", self.gamma, "It makes the loss smooth; try 1.")

    def value(self, a: Array, y: int) -> Floats:
        """phi(a), at the maximizing p."""
        u = _hinge_maximizer(a, y, self.gamma)
        return np.sum(u * (a + 1.0 - 0.5 * self.gamma * u)) - u[y]

    def gradient(self, a: Array, y: int) -> Array:
        """p - e_y at the maximizing p."""
        return _hinge_maximizer(a, y, self.gamma)

    def conjugate(self, u: Array, y: int) -> Floats:
        """phi*(u)."""
        p = u.copy()
        p[y] += 1.0
        if not _in_simplex(p):
            return np.inf
        return u[y] + 0.5 * self.gamma * np.sum(u * u)

    def step(self, alpha: Array, a: Array, y: int, q: float) -> Array:
        """New alpha of Option I: the projection of a weighted mean on the simplex."""
        target = a + 1.0 - q * alpha
        target[y] += self.gamma + q - 1.0
        p = -_project_on_simplex(target / (self.gamma + q))
        p[y] += 1.0
        return p


def _hinge_maximizer(a: Array, y: int, gamma: float) -> Array:
    """p - e_y for the p that attains SmoothedMulticlassHinge."""
    target = (a + 1.0) / gamma
    target[y] += 1.0 - 1.0 / gamma
    p = _project_on_simplex(target)
    p[y] -= 1.0
    return p


def _in_simplex(p: Array) -> bool:
    return bool(np.min(p) >= -SLACK and abs(np.sum(p) - 1.0) <= p.size * SLACK)


def _project_on_simplex(x: Array) -> Array:
    """Return the nearest point of {p >= 0, sum p = 1}: max(x - nu, 0), nu found by sorting."""
    falling = -np.sort(-x)
    excess = np.cumsum(falling) - 1.0
    nu = excess[0]
    for k in range(1, x.size):
        if falling[k] * (k + 1) > excess[k]:
            nu = excess[k] / (k + 1)
    return np.maximum(x - nu, 0.0)


def _safe_softmax_step(c: Array, y: int, q: float) -> Array:
    """Softmax.step by a safeguarded iteration in nu alone.

    For a given nu each p_k is a Wright omega function; nu is the root of log sum_k p_k(nu), which
    decreases, in [logsumexp(c) - q, logsumexp(c)]. A Newton step that leaves this bracket is
    replaced by bisection.
    """
    top = np.max(c)
    high = top + np.log(np.sum(np.exp(c - top)))
    low = high - q
    nu = high
    p = np.exp(c - nu)
    for _ in range(100):
        if q > 0.0:
            for k in range(p.size):
                p[k] = _wright_omega(c[k] - nu + np.log(q)) / q
        total = np.sum(p)
        residual = np.log(total)
        if residual > 0.0:
            low = nu
        else:
            high = nu
        new = nu + residual * total / np.sum(p / (1.0 + q * p))
        if not low <= new <= high:
            new = 0.5 * (low + high)
        if abs(new - nu) <= 1e-15 * (1.0 + abs(nu)):
            break
        nu = new
    p /= -np.sum(p)
    p[y] += 1.0
    return p


def _wright_omega(x: float) -> float:
    """Return the root omega of omega + log omega = x.

    Three steps of Fritsch, Shafer and Crowley, of fourth order, from a start that is accurate to a
    few percent.
    """
    if x < -2.0:
        omega = np.exp(x)
        if x < -36.0:  # exp(x) solves the equation up to rounding
            return omega
    elif x > 3.0:
        omega = x - np.log(x)
    else:
        omega = np.exp(2.0 / 3.0 * (x - 1.0))
    for _ in range(3):
        r = x - omega - np.log(omega)
        base = 2.0 * (1.0 + omega) * (1.0 + omega + 2.0 / 3.0 * r)
        omega *= 1.0 + r / (1.0 + omega) * (base - r) / (base - 2.0 * r)
    return omega
