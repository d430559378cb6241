"""Losses over m classes, y in {0, ..., m - 1}.

Both conjugates are finite on u = p - e_y with p in the unit simplex, so the dual variable is
alpha = e_y - p. The functions are for one example: a, u and alpha are vectors of length m.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import softmax

from quartz import checks
from quartz.arrays import Array, Floats, IntArray

_TINY = 2.0**-1022  # least argument of log; it makes p log p = 0 at p = 0
_SLACK = 1e-12  # how far from 0 rounding may put the sum of a dual variable, for each class


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

    @property
    def covariance(self) -> bool:
        """The Hessian is diag(p) - p p'."""
        return True

    def value(self, a: Array, y: int) -> Floats:
        """phi(a), without overflow: relative to the largest score, which is not summed."""
        top = np.argmax(a)
        others = np.exp(a - a[top])
        others[top] = 0.0
        return (a[top] - a[y]) + np.log1p(_sum(others))

    def gradient(self, a: Array, y: int) -> Array:
        """p - e_y."""
        return _difference(np.exp(a - np.max(a)), y, 1.0)

    def conjugate(self, u: Array, y: int) -> Floats:
        """phi*(u)."""
        p = u.copy()
        p[y] += 1.0
        if not _in_simplex(p):
            return np.inf
        # What rounding loses of p_y comes back as in Logistic.conjugate.
        lost = u[y] - (p[y] - 1.0)
        return _sum(p * np.log(np.maximum(p, _TINY))) + lost

    def values(self, a: Array, y: IntArray) -> Array:
        """phi of several examples."""
        scores = np.array(a.T, order="C")  # a copy, which is overwritten
        highest = scores.max(axis=0)
        own = scores.ravel()[_positions(y)]
        top = _positions(scores.argmax(axis=0))
        scores -= highest
        others = np.exp(scores, out=scores)
        others.ravel()[top] = 0.0
        return (highest - own) + np.log1p(_sums(others))

    def gradients(self, a: Array, y: IntArray) -> Array:
        """p - e_y of several examples."""
        scores = np.ascontiguousarray(a.T)
        scores = scores - scores.max(axis=0)
        sizes = np.exp(scores, out=scores)
        flat, labels = sizes.ravel(), _positions(y)
        own = flat[labels]
        flat[labels] = 0.0
        others = _sums(sizes.copy())
        total = others + own
        sizes /= total
        flat[labels] = -others / total
        return sizes.T

    def conjugates(self, u: Array, y: IntArray) -> Array:
        """phi* of several examples."""
        p = np.array(u.T, order="C")
        flat, labels = p.ravel(), _positions(y)
        of_label = flat[labels]
        flat[labels] += 1.0
        outside = (p.min(axis=0) < 0.0) | (np.abs(p.sum(axis=0) - 1.0) > len(p) * _SLACK)
        lost = of_label - (flat[labels] - 1.0)
        p *= np.log(np.maximum(p, _TINY))
        return np.where(outside, np.inf, _sums(p) + lost)

    def mean_hessian(self, a: Array, s: Array) -> Array:
        """The mean of s_i (diag(p_i) - p_i p_i') over several examples."""
        p = self.probabilities(a)
        weighted = p * s[:, None]
        return np.asarray(np.diag(weighted.mean(axis=0)) - p.T @ weighted / len(p))

    def step(self, alpha: Array, a: Array, y: int, q: float) -> Array:
        """New alpha of Option I.

        The new p solves log p_k + q p_k + nu = c_k with c = a + q p_old, sum p = 1. Newton steps in
        log p and nu from p_old mostly take three or four exponentials for each class; if they fail,
        a safeguarded iteration in nu alone takes over.
        """
        c = a - q * alpha
        c[y] += q
        top = np.max(c)
        for k in range(c.size):
            # With max c = 0, nu is at least -q, and p_k = exp(-800) = 0 at the lower bound.
            c[k] = max(c[k] - top, -q - 800.0)
        p = -alpha
        p[y] += 1.0
        p = np.maximum(p, 1e-15)
        logs = np.log(p)
        nu = np.sum(p * (c - logs - q * p)) / np.sum(p)
        worst = np.inf
        for _ in range(20):
            before, worst, lacking = worst, 0.0, abs(np.sum(p) - 1.0)
            total = slope = 0.0
            for k in range(p.size):  # a loop, because temporary arrays would take most of the time
                residual = logs[k] + q * p[k] + nu - c[k]
                # A residual counts as far as it moves p; classes with p near 0 do not matter.
                worst = max(worst, abs(residual) * min(1.0, 1e6 * p[k]))
                weight = p[k] / (1.0 + q * p[k])
                total += p[k] - weight * residual
                slope += weight
            if worst <= 1e-14 * (1.0 + abs(nu)) and lacking <= 1e-13:
                return _difference(p, y, -1.0)
            worst = max(worst, lacking)
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
        """phi(a) as a sum of nonnegative terms, gamma/2 ||u||^2 + gamma max(nu - 1, 0).

        u = p - e_y is the maximizer and gamma nu = x - gamma p at the largest of its margins x.
        """
        u = _hinge_maximizer(a, y, self.gamma)
        margins = (a - a[y]) + 1.0
        margins[y] = 0.0
        beyond = np.max(margins) - self.gamma * (1.0 + np.max(u))
        return 0.5 * self.gamma * _sum(u * u) + max(beyond, 0.0)

    def gradient(self, a: Array, y: int) -> Array:
        """p - e_y at the maximizing p."""
        return _hinge_maximizer(a, y, self.gamma)

    def conjugate(self, u: Array, y: int) -> Floats:
        """phi*(u)."""
        p = u.copy()
        p[y] += 1.0
        if not _in_simplex(p):
            return np.inf
        return u[y] + 0.5 * self.gamma * _sum(u * u)

    def step(self, alpha: Array, a: Array, y: int, q: float) -> Array:
        """New alpha of Option I: minus the gradient at a - q alpha of the loss with gamma + q."""
        return -_hinge_maximizer(a - q * alpha, y, self.gamma + q)


def _hinge_maximizer(a: Array, y: int, gamma: float) -> Array:
    """p - e_y for the p that attains SmoothedMulticlassHinge.

    With x_k = (a_k - a_y + 1) / gamma for k != y it is p_k = max(x_k - nu, 0), where nu is the root
    of sum_{k != y} p_k = min(nu, 1). Newton steps from nu = 0 do not pass the root and are exact
    when the set of all k with x_k > nu no longer changes; it can only shrink.
    """
    x = (a - a[y]) + 1.0
    x[y] = 0.0
    top = y
    for k in range(a.size):
        if k != y and (top == y or a[k] > a[top]):
            top = k
    beyond = x[top] > 2.0 * gamma
    if beyond:
        # p_y = 0, and only differences of the others count, which large numbers would swallow.
        x = (a - a[top]) + gamma
        x[y] = 0.0
    for k in range(x.size):
        x[k] = max(x[k], 0.0) / gamma
    nu, before, count = 0.0, x.size + 1, x.size
    while count < before:  # rounding might let the set grow again
        before, count, total = count, 0, 0.0
        for k in range(x.size):
            if x[k] > nu:
                total += x[k] - nu
                count += 1
        if count == 0:
            break
        new = nu + (total - nu) / (count + 1)
        if beyond or new > 1.0:
            new = nu + (total - 1.0) / count
        nu = new
    for k in range(x.size):
        x[k] = max(x[k] - nu, 0.0)
    x[y] = -1.0 if beyond else -min(nu, 1.0)
    return x


def _difference(sizes: Array, y: int, sign: float) -> Array:
    """sign (p - e_y) for the p that is proportional to `sizes`, which are overwritten.

    1 - p_y is the sum of the others, so that it keeps its digits where p_y is nearly 1.
    """
    own = sizes[y]
    sizes[y] = 0.0
    others = np.sum(sizes)
    total = sign * (others + own)
    sizes /= total
    sizes[y] = -others / total
    return sizes


def _in_simplex(p: Array) -> bool:
    """Whether p is in the simplex: exactly, but for the rounding of its sum."""
    return bool(np.min(p) >= 0.0 and abs(np.sum(p) - 1.0) <= p.size * _SLACK)


def _sum(x: Array) -> float:
    """The sum of x, which is overwritten, by pairs: log2(m) roundings, where a loop has m."""
    size = x.size
    while size > 1:
        half = size // 2
        size -= half
        for k in range(half):
            x[k] += x[size + k]
    return x[0]


def _positions(classes: IntArray) -> IntArray:
    """Where the class of each example is, in an array with a row for each class, flattened."""
    return np.asarray(classes * len(classes) + np.arange(len(classes)))


def _sums(x: Array) -> Array:
    """The sums of the columns of x, which is overwritten, by pairs as in `_sum`."""
    size = len(x)
    while size > 1:
        half = size // 2
        size -= half
        x[:half] += x[size : size + half]
    return x[0]


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
    return _difference(p, y, -1.0)


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
