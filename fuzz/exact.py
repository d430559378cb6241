"""P and D in exact arithmetic, from the formulas on paper; nothing here is shared with quartz.

Floats are rational numbers, and so are sums, products and quotients of them: `Fraction` computes
them without rounding. Only exp, log and square roots are rounded, to 60 digits and then *down*.
Thus all functions here return lower bounds: `primal` one of P(w), `minus_dual` one of -D(alpha).
They are enough to prove a claim false, since a certificate claims that P is at most its upper end
and that -D is at most minus its lower end.

A new loss or regularizer joins `LOSSES` or `REGULARIZERS`, by the name of its class.
"""

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias

import mpmath
import numpy as np
from numpy.typing import NDArray

Vector: TypeAlias = list[Fraction]
Integers: TypeAlias = NDArray[Any]
"""An array of Python's integers, which never overflow."""

MP = mpmath.MPContext()
MP.prec = 256
TRUSTED = Fraction(1, 2**200)  # relative error of a function of `MP` at most, with a wide margin
NEGLIGIBLE = -3000  # arguments below which exp is far below the least float
RESOLUTION = 1200  # sums are of multiples of 2**-RESOLUTION; the least float is 2**-1074


class OutsideError(Exception):
    """A point is outside the domain of a function, so that P or -D is infinite."""


# Rounding down


def lowered(x: Fraction) -> Fraction:
    """A number below x, equal to about 60 digits."""
    return x - abs(x) * TRUSTED


def total(terms: Iterable[Fraction]) -> Fraction:
    """The sum of terms that are rounded down to a fixed number of binary digits.

    Terms of different denominators would have a common one that grows with their number.
    """
    return Fraction(
        sum((t.numerator << RESOLUTION) // t.denominator for t in terms), 1 << RESOLUTION
    )


def log(x: Fraction) -> Fraction:
    """log x to 60 digits, also near 1."""
    return _rational(MP.log1p(_real(x - 1)) if 2 * x > 1 else MP.log(_real(x)))


def exp(x: Fraction) -> Fraction:
    """exp x to 60 digits, or 0, for x <= 0."""
    return _rational(MP.exp(_real(x))) if x > NEGLIGIBLE else Fraction(0)


def sqrt(x: Fraction) -> Fraction:
    """The square root of x, rounded down."""
    return lowered(_rational(MP.sqrt(_real(x))))


def _real(x: Fraction) -> Any:
    return MP.mpf(x.numerator) / MP.mpf(x.denominator)


def _rational(x: Any) -> Fraction:
    return Fraction(*mpmath.libmp.to_rational(x._mpf_))


# Arrays of floats as integers over one power of two


class Scaled(NamedTuple):
    """An array of floats as integers times 2**exponent."""

    integers: Integers
    exponent: int

    def __matmul__(self, other: "Scaled") -> "Scaled":
        return Scaled(self.integers @ other.integers, self.exponent + other.exponent)

    def fractions(self) -> NDArray[Any]:
        """The same numbers as an array of fractions."""
        unit = Fraction(2) ** self.exponent
        top, bottom = unit.numerator, unit.denominator
        flat = [Fraction(int(k) * top, bottom) for k in self.integers.flat]
        return _objects(flat, self.integers.shape)


def scaled(floats: Any) -> Scaled:
    """An array of finite floats, exactly."""
    array = np.asarray(floats, dtype=np.float64)
    mantissas, exponents = np.frexp(array)
    whole = np.ldexp(mantissas, 53).astype(np.int64)
    shifts = exponents.astype(np.int64) - 53
    least = int(shifts[whole != 0].min(initial=2000))
    integers = [
        int(k) << max(int(s) - least, 0) for k, s in zip(whole.flat, shifts.flat, strict=True)
    ]
    return Scaled(_objects(integers, array.shape), least)


def fractions(floats: Any) -> NDArray[Any]:
    """An array of floats as one of fractions."""
    return scaled(floats).fractions()


def _objects(entries: Sequence[object], shape: tuple[int, ...]) -> NDArray[Any]:
    array = np.empty(len(entries), dtype=object)
    array[:] = entries
    return array.reshape(shape)


# Losses: value(loss, a, y) and conjugate(loss, u, y) for one example. The a and u of a loss over
# classes are lists; `loss` gives the parameters, already as fractions.


def _inside(x: Fraction, low: int, high: int | None) -> None:
    if x < low or (high is not None and x > high):
        bound = low if high is None or x < low else high
        raise OutsideError(f"is beyond {bound} by {float(abs(x - bound)):.3g}")


def _squared(loss: Any, a: Fraction, y: Fraction) -> Fraction:
    return (a - y) ** 2 / 2


def _squared_conjugate(loss: Any, u: Fraction, y: Fraction) -> Fraction:
    return u * u / 2 + u * y


def _softplus(x: Fraction) -> Fraction:
    """log(1 + exp(x))."""
    return max(x, Fraction(0)) + lowered(log(1 + exp(-abs(x))))


def _logistic(loss: Any, a: Fraction, y: Fraction) -> Fraction:
    return _softplus(-y * a)


def _logistic_conjugate(loss: Any, u: Fraction, y: Fraction) -> Fraction:
    b = -y * u
    _inside(b, 0, 1)
    return _entropy([b, 1 - b])


def _entropy(p: Vector) -> Fraction:
    """sum_k p_k log p_k."""
    return sum((lowered(x * log(x)) for x in p if x), Fraction(0))


def _hinge(loss: Any, a: Fraction, y: Fraction) -> Fraction:
    return max(1 - y * a, Fraction(0))


def _hinge_conjugate(loss: Any, u: Fraction, y: Fraction) -> Fraction:
    _inside(-y * u, 0, 1)
    return y * u


def _bent(excess: Fraction, gamma: Fraction) -> Fraction:
    """x^2 / (2 gamma) up to gamma, then x - gamma / 2, of the positive part x."""
    if excess <= 0:
        return Fraction(0)
    return excess**2 / (2 * gamma) if excess <= gamma else excess - gamma / 2


def _smoothed_hinge(loss: Any, a: Fraction, y: Fraction) -> Fraction:
    return _bent(1 - y * a, loss.gamma)


def _smoothed_hinge_conjugate(loss: Any, u: Fraction, y: Fraction) -> Fraction:
    _inside(-y * u, 0, 1)
    return y * u + loss.gamma * u * u / 2


def _squared_hinge(loss: Any, a: Fraction, y: Fraction) -> Fraction:
    return _hinge(loss, a, y) ** 2 / (2 * loss.gamma)


def _squared_hinge_conjugate(loss: Any, u: Fraction, y: Fraction) -> Fraction:
    _inside(-y * u, 0, None)
    return y * u + loss.gamma * u * u / 2


def _absolute(loss: Any, a: Fraction, y: Fraction) -> Fraction:
    return abs(a - y)


def _absolute_conjugate(loss: Any, u: Fraction, y: Fraction) -> Fraction:
    _inside(u, -1, 1)
    return u * y


def _huber(loss: Any, a: Fraction, y: Fraction) -> Fraction:
    return _bent(abs(a - y), loss.gamma)


def _huber_conjugate(loss: Any, u: Fraction, y: Fraction) -> Fraction:
    return _absolute_conjugate(loss, u, y) + loss.gamma * u * u / 2


def _insensitive(loss: Any, a: Fraction, y: Fraction) -> Fraction:
    return max(abs(a - y) - loss.epsilon, Fraction(0))


def _insensitive_conjugate(loss: Any, u: Fraction, y: Fraction) -> Fraction:
    return _absolute_conjugate(loss, u, y) + loss.epsilon * abs(u)


def _smoothed_insensitive(loss: Any, a: Fraction, y: Fraction) -> Fraction:
    return _bent(abs(a - y) - loss.epsilon, loss.gamma)


def _smoothed_insensitive_conjugate(loss: Any, u: Fraction, y: Fraction) -> Fraction:
    return _insensitive_conjugate(loss, u, y) + loss.gamma * u * u / 2


def _point_of_simplex(u: Vector, y: int) -> Vector:
    """p = u + e_y, which must be in the unit simplex."""
    if sum(u):
        raise OutsideError(f"sums to {float(sum(u)):.3g}, not to 0")
    p = [x + (k == y) for k, x in enumerate(u)]
    _inside(min(p), 0, None)
    return p


def _softmax(loss: Any, a: Vector, y: int) -> Fraction:
    top = max(range(len(a)), key=a.__getitem__)
    rest = sum((exp(x - a[top]) for k, x in enumerate(a) if k != top), Fraction(0))
    return a[top] - a[y] + lowered(log(1 + rest))


def _softmax_conjugate(loss: Any, u: Vector, y: int) -> Fraction:
    return _entropy(_point_of_simplex(u, y))


def _multiclass_hinge(loss: Any, a: Vector, y: int) -> Fraction:
    """max over the simplex of <p, v> - gamma/2 ||p - e_y||^2, less v_y, for v = a + 1 - e_y.

    The maximizing p is max(v / gamma + e_y - nu, 0). As nu falls from the largest coordinate, more
    of them become positive, until p sums to 1.
    """
    v = [x + (k != y) for k, x in enumerate(a)]
    target = [x / loss.gamma + (k == y) for k, x in enumerate(v)]
    falling = sorted(target, reverse=True)
    nu, running = falling[0] - 1, Fraction(0)
    for k, x in enumerate(falling, start=1):
        running += x
        if x > (running - 1) / k:
            nu = (running - 1) / k
    u = [max(x - nu, Fraction(0)) - (k == y) for k, x in enumerate(target)]
    return sum((x * (w - loss.gamma * x / 2) for x, w in zip(u, v, strict=True)), Fraction(0))


def _multiclass_hinge_conjugate(loss: Any, u: Vector, y: int) -> Fraction:
    _point_of_simplex(u, y)
    return u[y] + loss.gamma * sum(x * x for x in u) / 2


class LossFormulas(NamedTuple):
    """phi and phi* of one example."""

    value: Callable[..., Fraction]
    conjugate: Callable[..., Fraction]


LOSSES = {
    "Absolute": LossFormulas(_absolute, _absolute_conjugate),
    "EpsilonInsensitive": LossFormulas(_insensitive, _insensitive_conjugate),
    "Hinge": LossFormulas(_hinge, _hinge_conjugate),
    "Huber": LossFormulas(_huber, _huber_conjugate),
    "Logistic": LossFormulas(_logistic, _logistic_conjugate),
    "SmoothedEpsilonInsensitive": LossFormulas(
        _smoothed_insensitive, _smoothed_insensitive_conjugate
    ),
    "SmoothedHinge": LossFormulas(_smoothed_hinge, _smoothed_hinge_conjugate),
    "SmoothedMulticlassHinge": LossFormulas(_multiclass_hinge, _multiclass_hinge_conjugate),
    "Softmax": LossFormulas(_softmax, _softmax_conjugate),
    "Squared": LossFormulas(_squared, _squared_conjugate),
    "SquaredHinge": LossFormulas(_squared_hinge, _squared_hinge_conjugate),
}
OVER_CLASSES = {"SmoothedMulticlassHinge", "Softmax"}
"""The losses of `LOSSES` whose a, u are lists and whose y is a class number."""


# Regularizers: value(g, w) and conjugate(g, u) of a list of all coordinates.


def _half_square(w: Vector) -> Fraction:
    return total(x * x for x in w) / 2


def _in_box(w: Vector, low: float, high: float) -> None:
    for j, x in enumerate(w):
        if not low <= x <= high:
            raise OutsideError(f"w[{j}] = {float(x):.17g} is not in [{float(low)}, {float(high)}]")


def _l2(g: Any, w: Vector) -> Fraction:
    return _half_square(w)


def _elastic_net(g: Any, w: Vector) -> Fraction:
    return _half_square(w) + g.mu * sum(map(abs, w))


def _elastic_net_conjugate(g: Any, u: Vector) -> Fraction:
    return _half_square([max(abs(x) - g.mu, Fraction(0)) for x in u])


def _nonnegative(g: Any, w: Vector) -> Fraction:
    _in_box(w, 0.0, np.inf)
    return _half_square(w)


def _nonnegative_conjugate(g: Any, u: Vector) -> Fraction:
    return _half_square([max(x, Fraction(0)) for x in u])


def _box(g: Any, w: Vector) -> Fraction:
    _in_box(w, g.lower, g.upper)
    return _half_square(w)


def _box_conjugate(g: Any, u: Vector) -> Fraction:
    best = [x if g.lower <= x <= g.upper else g.lower if x < g.lower else g.upper for x in u]
    return total(w * (x - w / 2) for x, w in zip(u, best, strict=True))


def _norms(groups: Any, w: Vector) -> Vector:
    squares: dict[int, Fraction] = {}
    for group, x in zip(groups, w, strict=True):
        squares[group] = squares.get(group, Fraction(0)) + x * x
    return [sqrt(x) for x in squares.values()]


def _group(g: Any, w: Vector) -> Fraction:
    return _half_square(w) + g.mu * sum(_norms(g.groups, w))


def _group_conjugate(g: Any, u: Vector) -> Fraction:
    return _half_square([max(x - g.mu, Fraction(0)) for x in _norms(g.groups, u)])


class RegularizerFormulas(NamedTuple):
    """g and g* of all coordinates."""

    value: Callable[[Any, Vector], Fraction]
    conjugate: Callable[[Any, Vector], Fraction]


REGULARIZERS = {
    "BoxL2": RegularizerFormulas(_box, _box_conjugate),
    "ElasticNet": RegularizerFormulas(_elastic_net, _elastic_net_conjugate),
    "GroupL2": RegularizerFormulas(_group, _group_conjugate),
    "L2": RegularizerFormulas(_l2, _l2),
    "NonnegativeL2": RegularizerFormulas(_nonnegative, _nonnegative_conjugate),
}


# The objectives


class Parameters:
    """The fields of a loss or a regularizer, with fractions in place of finite floats."""

    def __init__(self, fields: dict[str, Any]) -> None:
        for name, value in fields.items():
            exact = isinstance(value, float | int) and np.isfinite(value)
            setattr(self, name, Fraction(value) if exact else value)


class Objective(NamedTuple):
    """A problem as its user gave it; only the weights are those that the library normalized.

    Attributes
    ----------
    X : ndarray of shape (n, features), or (n m, d) if `stacked`
        In float32 or float64; row i m + k of stacked blocks is that of output k of example i.
    y : ndarray of shape (n,) or (n, m)
    outputs : int
        m.
    weights : ndarray of shape (n,) or None
    loss, regularizer : str
        Names of their classes.
    loss_fields, regularizer_fields : dict
    intercept : {None, "free", "penalized"}
    """

    X: Any
    y: Any
    outputs: int
    stacked: bool
    weights: Any
    lam: float
    loss: str
    loss_fields: dict[str, Any]
    regularizer: str
    regularizer_fields: dict[str, Any]
    intercept: str | None

    @property
    def n(self) -> int:
        """Number of examples."""
        return len(self.y)


def primal(objective: Objective, coef: Any, intercept: Any) -> Fraction:
    """A lower bound of P(w), equal to about 60 digits; OutsideError where it is infinite."""
    n, m = objective.n, objective.outputs
    w = scaled(np.reshape(coef, -1 if objective.stacked else (-1, m)))
    predictions = (scaled(objective.X) @ w).fractions().reshape(n, m)
    predictions = predictions + fractions(np.broadcast_to(intercept, m))
    penalized = list(fractions(coef).flat)
    if objective.intercept == "penalized":
        penalized += list(fractions(np.broadcast_to(intercept, m)).flat)
    formulas, g = REGULARIZERS[objective.regularizer], Parameters(objective.regularizer_fields)
    values = _terms(objective, LOSSES[objective.loss].value, predictions)
    return total(values) / n + Fraction(objective.lam) * formulas.value(g, penalized)


def minus_dual(objective: Objective, duals: Any) -> Fraction:
    """A lower bound of -D(alpha), equal to about 60 digits; OutsideError where it is infinite."""
    n, m = objective.n, objective.outputs
    alpha = np.reshape(np.asarray(duals, dtype=np.float64), (n, m))
    as_integers = scaled(alpha)
    sums = as_integers.integers.sum(axis=0)
    if objective.intercept == "free" and any(sums):
        worst = max(map(abs, sums)) * Fraction(2) ** as_integers.exponent
        raise OutsideError(f"the duals of an output sum to {float(worst):.3g}, not to 0")
    exact = as_integers.fractions()
    conjugates = total(_terms(objective, LOSSES[objective.loss].conjugate, -exact, dual=True))
    X = scaled(objective.X)
    given = scaled(alpha.ravel() if objective.stacked else alpha)
    combination = list((Scaled(X.integers.T, X.exponent) @ given).fractions().flat)
    if objective.intercept == "penalized":
        unit = Fraction(2) ** as_integers.exponent
        combination += [int(x) * unit for x in sums]
    lam = Fraction(objective.lam)
    formulas, g = REGULARIZERS[objective.regularizer], Parameters(objective.regularizer_fields)
    abar = [x / (lam * n) for x in combination]
    return lam * formulas.conjugate(g, abar) + conjugates / n


def loss_at_zero(objective: Objective) -> Fraction:
    """The mean loss of w = 0, which tells of what size P and D are."""
    zeros = np.zeros((objective.n, objective.outputs))
    return total(_terms(objective, LOSSES[objective.loss].value, fractions(zeros))) / objective.n


def _terms(
    objective: Objective, formula: Callable[..., Fraction], points: Any, dual: bool = False
) -> Iterable[Fraction]:
    """s_i phi(a_i) of all examples, or s_i phi*(u_i / s_i) if `dual`."""
    n, m = objective.n, objective.outputs
    loss = Parameters(objective.loss_fields)
    weights = [Fraction(1)] * n
    if objective.weights is not None:
        weights = list(fractions(objective.weights))
    over_classes = objective.loss in OVER_CLASSES
    targets = objective.y if over_classes else fractions(objective.y).reshape(n, m)
    for i, (s, point, y) in enumerate(zip(weights, points, targets, strict=True)):
        if s == 0:
            if dual and any(point):
                raise OutsideError(f"the dual of example {i} is not 0, though its weight is")
            continue
        scale = s if dual else 1
        try:
            if over_classes:
                yield s * formula(loss, [x / scale for x in point], int(y))
            else:
                for x, target in zip(point, y, strict=True):
                    yield s * formula(loss, x / scale, target)
        except OutsideError as error:
            raise OutsideError(f"the dual of example {i} {error}") from error
