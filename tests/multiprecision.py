"""Losses and penalties in multiprecision arithmetic, from their definitions and without haste.

All functions take the object, and floats or arrays of them. The precision is such that sums and
products of a few floats of any size are exact; exponentials and logarithms have 90 digits.
"""

from typing import Any, NamedTuple

import mpmath

from quartz import losses, regularizers

context = mpmath.MPContext()
context.prec = 4300  # a sum of two products: floats are multiples of 2^-1074, and below 2^1024
mpf, inf = context.mpf, context.inf
DIGITS = 300  # binary ones, of exponentials and logarithms


def value(loss, a, y):
    """phi(a)."""
    return _formulas(loss).value(loss, _exact(a), _exact(y))


def gradient(loss, a, y):
    """Grad phi(a), at a kink that of either side; a list for a loss over classes."""
    return _formulas(loss).gradient(loss, _exact(a), _exact(y))


def conjugate(loss, u, y):
    """phi*(u); for a loss over classes the sum of u is not looked at."""
    return _formulas(loss).conjugate(loss, _exact(u), _exact(y))


def penalty(g, w):
    """g(w): a list of the terms of a separable g, otherwise a number."""
    return _applied(_formulas(g).value, g, w)


def penalty_conjugate(g, u):
    """g*(u), likewise."""
    return _applied(_formulas(g).conjugate, g, u)


def _applied(formula, g, w):
    if getattr(g, "separable", False):
        return [formula(g, each) for each in _exact(w)]
    return formula(g, _exact(w))


def _exact(x):
    if isinstance(x, int):  # the number of a class
        return x
    if hasattr(x, "__len__"):
        return [_exact(each) for each in x]
    return x if isinstance(x, mpf) else mpf(float(x))


class _Formulas(NamedTuple):
    value: Any
    conjugate: Any
    gradient: Any = None


def _formulas(thing):
    if type(thing) not in FORMULAS:
        raise LookupError(
            f"{type(thing).__name__} has no formulas in tests/multiprecision.py; add them to "
            "FORMULAS, so that its accuracy is tested."
        )
    return FORMULAS[type(thing)]


def _clip(x, low, high):
    return min(max(x, low), high)


def _within(inside, formula):
    return formula if inside else inf


# Losses of the margin


def _bent(x, gamma):
    """x^2 / (2 gamma) up to x = gamma, from there on linear; 0 for x < 0."""
    x = max(x, mpf(0))
    return x * x / (2 * gamma) if x <= gamma else x - gamma / 2


def _of_margin(value, slope, conjugate, most=1):
    """Formulas in 1 - y a and in b = -y u, where 0 <= b <= most."""
    return _Formulas(
        value=lambda loss, a, y: value(loss, 1 - y * a),
        gradient=lambda loss, a, y: -y * slope(loss, 1 - y * a),
        conjugate=lambda loss, u, y: _within(0 <= -y * u <= most, conjugate(loss, -y * u)),
    )


def _linear(loss, b):
    return -b + mpf(loss.gamma) * b * b / 2


# Logistic loss


def _exp(x):
    """exp(x) for x <= 0; 0 where that is far below all floats."""
    with context.workprec(DIGITS):
        return context.exp(x) if x > -10_000 else mpf(0)


def _log1p(x):
    with context.workprec(DIGITS):
        return context.log1p(x)


def _entropy(p):
    with context.workprec(DIGITS):
        return p * context.log(p) if p > 0 else mpf(0)


def _logistic_slope(loss, a, y):
    small = _exp(-abs(a))
    return -y * (small if y * a > 0 else 1) / (1 + small)


def _logistic_conjugate(loss, u, y):
    return _entropy(-y * u) + _entropy(1 + y * u) if 0 <= -y * u <= 1 else inf


# Losses of the residual


def _of_residual(value, slope):
    """Formulas in |a - y|; the conjugate is that of the module `insensitive`."""

    def conjugate(loss, u, y):
        epsilon, gamma = mpf(getattr(loss, "epsilon", 0)), mpf(loss.gamma)
        return _within(abs(u) <= 1, u * y + epsilon * abs(u) + gamma * u * u / 2)

    return _Formulas(
        value=lambda loss, a, y: value(loss, abs(a - y)),
        gradient=lambda loss, a, y: context.sign(a - y) * slope(loss, abs(a - y)),
        conjugate=conjugate,
    )


# Losses over classes


def _softmax(loss, a, y):
    """log sum_k exp(a_k - a_y), and p."""
    top = max(a)
    sizes = [_exp(each - top) for each in a]
    k = a.index(top)
    value = top - a[y] + _log1p(context.fsum(sizes[:k] + sizes[k + 1 :]))
    total = context.fsum(sizes)
    gradient = [size / total for size in sizes]
    gradient[y] = -context.fsum(gradient[:y] + gradient[y + 1 :])
    return value, gradient


def _multiclass_hinge(loss, a, y):
    """The value and p - e_y, with p by projection on the simplex after sorting."""
    gamma = mpf(loss.gamma)
    x = [(each + 1) / gamma for each in a]
    x[y] = a[y] / gamma + 1
    falling = sorted(x, reverse=True)
    for k in range(1, len(x) + 1):
        nu = (context.fsum(falling[:k]) - 1) / k
        if k == len(x) or falling[k] <= nu:
            break
    u = [max(each - nu, mpf(0)) for each in x]
    u[y] -= 1
    terms = [u[k] * (a[k] + (k != y) - gamma * u[k] / 2) for k in range(len(a))]
    return context.fsum(terms), u


def _of_classes(both, conjugate):
    def inside(u, y):
        return all(each >= -(k == y) for k, each in enumerate(u))

    return _Formulas(
        value=lambda loss, a, y: both(loss, a, y)[0],
        gradient=lambda loss, a, y: both(loss, a, y)[1],
        conjugate=lambda loss, u, y: conjugate(loss, u, y) if inside(u, y) else inf,
    )


# Penalties


def _norms(g, w):
    squares = [mpf(0)] * (max(g.groups) + 1)
    for group, each in zip(g.groups, w, strict=True):
        squares[group] += each * each
    return [context.sqrt(square) for square in squares]


def _group(g, w):
    return context.fsum(each * each for each in w) / 2 + g.mu * context.fsum(_norms(g, w))


def _group_conjugate(g, u):
    return context.fsum(max(norm - g.mu, 0) ** 2 for norm in _norms(g, u)) / 2


def _box_conjugate(g, u):
    w = _clip(u, mpf(g.lower), mpf(g.upper))
    return u * w - w * w / 2


FORMULAS = {
    losses.Hinge: _of_margin(lambda loss, x: max(x, 0), lambda loss, x: mpf(x > 0), _linear),
    losses.SmoothedHinge: _of_margin(
        lambda loss, x: _bent(x, mpf(loss.gamma)),
        lambda loss, x: _clip(x / mpf(loss.gamma), 0, 1),
        _linear,
    ),
    losses.SquaredHinge: _of_margin(
        lambda loss, x: max(x, 0) ** 2 / (2 * mpf(loss.gamma)),
        lambda loss, x: max(x, 0) / mpf(loss.gamma),
        _linear,
        most=inf,
    ),
    losses.Logistic: _Formulas(
        value=lambda loss, a, y: max(-y * a, 0) + _log1p(_exp(-abs(a))),
        gradient=_logistic_slope,
        conjugate=_logistic_conjugate,
    ),
    losses.Squared: _Formulas(
        value=lambda loss, a, y: (a - y) ** 2 / 2,
        gradient=lambda loss, a, y: a - y,
        conjugate=lambda loss, u, y: u * u / 2 + u * y,
    ),
    losses.Absolute: _of_residual(lambda loss, size: size, lambda loss, size: mpf(1)),
    losses.Huber: _of_residual(
        lambda loss, size: _bent(size, mpf(loss.gamma)),
        lambda loss, size: _clip(size / mpf(loss.gamma), 0, 1),
    ),
    losses.EpsilonInsensitive: _of_residual(
        lambda loss, size: max(size - mpf(loss.epsilon), 0),
        lambda loss, size: mpf(size > loss.epsilon),
    ),
    losses.SmoothedEpsilonInsensitive: _of_residual(
        lambda loss, size: _bent(size - mpf(loss.epsilon), mpf(loss.gamma)),
        lambda loss, size: _clip((size - mpf(loss.epsilon)) / mpf(loss.gamma), 0, 1),
    ),
    losses.Softmax: _of_classes(
        _softmax,
        lambda loss, u, y: context.fsum(_entropy(each + (k == y)) for k, each in enumerate(u)),
    ),
    losses.SmoothedMulticlassHinge: _of_classes(
        _multiclass_hinge,
        lambda loss, u, y: u[y] + mpf(loss.gamma) * context.fsum(each * each for each in u) / 2,
    ),
    regularizers.L2: _Formulas(lambda g, w: w * w / 2, lambda g, u: u * u / 2),
    regularizers.NonnegativeL2: _Formulas(
        lambda g, w: w * w / 2 if w >= 0 else inf, lambda g, u: max(u, 0) ** 2 / 2
    ),
    regularizers.BoxL2: _Formulas(
        lambda g, w: w * w / 2 if g.lower <= w <= g.upper else inf, _box_conjugate
    ),
    regularizers.ElasticNet: _Formulas(
        lambda g, w: w * w / 2 + mpf(g.mu) * abs(w),
        lambda g, u: max(abs(u) - mpf(g.mu), 0) ** 2 / 2,
    ),
    regularizers.GroupL2: _Formulas(_group, _group_conjugate),
}
