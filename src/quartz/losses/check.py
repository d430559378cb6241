"""Numeric tests of the laws that a loss must obey."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize, minimize_scalar

from quartz.arrays import Floats
from quartz.laws import broken, raise_if_broken
from quartz.losses.base import Abilities, Loss, Prediction, Target, abilities, validate


def check_loss(loss: Loss, outputs: int = 3, trials: int = 100, seed: int = 0) -> None:
    """Test a loss against its own formulas, at random points.

    The laws: the gradient is the numeric derivative (gamma > 0), the value lies above its tangents
    (convexity), and the gradient is (1/gamma)-Lipschitz; the conjugate is the numeric supremum;
    Fenchel-Young holds everywhere, with equality at the gradient; a scalar loss works elementwise
    on arrays; and the step of Option I, its own or the numeric one, is feasible, solves its
    optimality condition (gamma > 0) and is better than other feasible points. If the loss has a
    curvature, it is the derivative of the gradient. If it has `simplex`, the dual variables are
    those of the simplex. If it has probabilities, they lie between 0 and 1 and rise with the
    prediction.

    Parameters
    ----------
    loss : loss
        For instance ``Logistic()`` or your own; see :mod:`quartz.losses.base`.
    outputs : int
        Length of a prediction, for vector losses.
    trials : int
        Number of random points for each law.
    seed : int
        Seed of the random points.

    Raises
    ------
    LawError
        Names each broken law, the point, and by how much the law is broken.

    Examples
    --------
    >>> from quartz.losses import SmoothedHinge, check_loss
    >>> check_loss(SmoothedHinge(gamma=0.5))
    """
    validate(loss)
    raise_if_broken(loss, _violations(loss, outputs, trials, np.random.default_rng(seed)))


@dataclass(frozen=True)
class _Point:
    """Random predictions a and b, a target y and a direction of length 1, for one example."""

    a: Prediction
    b: Prediction
    y: Target
    direction: Prediction

    def __str__(self) -> str:
        return f"a={self.a}, y={self.y}"


def _violations(loss: Any, outputs: int, trials: int, rng: np.random.Generator) -> Iterator[str]:
    can = abilities(loss)
    for _ in range(trials):
        point = _random_point(can, outputs, rng)
        yield from _derivative(loss, point)
        yield from _convexity(loss, point)
        yield from _smoothness(loss, point)
        yield from _fenchel_young(loss, point)
        yield from _numeric_conjugate(loss, can, point)
        if can.step is not None:
            yield from _step(loss, can, point, rng)
        if can.curvature is not None:
            yield from _curvature(loss, point)
        if can.simplex:
            yield from _simplex(loss, point, rng)
    points = [_random_point(can, outputs, rng) for _ in range(10)]
    if can.probabilities is not None:
        yield from _probabilities(loss, can, points)
    if not can.vector:
        yield from _elementwise(loss, can, points)


def _random_point(can: Abilities, outputs: int, rng: np.random.Generator) -> _Point:
    kind, shape = can.targets, (outputs,) if can.vector else ()
    y: Target = rng.normal(scale=2, size=() if kind == "real" and not shape else shape)
    if kind == "sign":
        y = rng.choice([-1.0, 1.0])
    elif kind == "class":
        y = int(rng.integers(outputs))
    near = 10.0 ** rng.integers(-3, 1)  # close pairs test the curvature, distant ones the tails
    a = rng.normal(scale=3, size=shape)
    b = a + near * rng.normal(scale=3, size=shape)
    direction = rng.normal(size=shape)
    return _Point(a, b, y, direction / np.linalg.norm(direction))


def _derivative(loss: Any, point: _Point) -> list[str]:
    if loss.gamma == 0:
        return []
    h = 1e-6
    ahead = loss.value(point.a + h * point.direction, point.y)
    behind = loss.value(point.a - h * point.direction, point.y)
    slope = np.vdot(loss.gradient(point.a, point.y), point.direction)
    error = abs((ahead - behind) / (2 * h) - slope)
    return broken("gradient is the derivative of value", error, _scaled(1e-6, slope), str(point))


def _curvature(loss: Any, point: _Point) -> list[str]:
    """The curvature lies between the one-sided differences, which disagree at a kink."""
    h = 1e-5
    here, ahead, behind = (loss.gradient(point.a + k * h, point.y) for k in (0, 1, -1))
    slopes = [(ahead - here) / h, (here - behind) / h]
    found = loss.curvature(point.a, point.y)
    error = max(min(slopes) - found, found - max(slopes))
    law = "curvature is the derivative of the gradient"
    return broken(law, error, _scaled(1e-4, found), str(point))


def _simplex(loss: Any, point: _Point, rng: np.random.Generator) -> Iterator[str]:
    chosen = np.arange(point.a.size) == point.y
    p = loss.gradient(point.a, point.y) + chosen
    outside = max(abs(float(p.sum()) - 1), -float(p.min()))
    yield from broken("gradients are p - e_y, p in the simplex", outside, 1e-12, str(point))
    u = rng.dirichlet(np.full(p.size, 0.5)) - chosen
    error = 0.0 if np.isfinite(loss.conjugate(u, point.y)) else np.inf
    yield from broken("conjugate is finite on all of p - e_y", error, 0.0, f"u={u}, y={point.y}")


def _convexity(loss: Any, point: _Point) -> list[str]:
    tangent = loss.value(point.a, point.y) + np.vdot(
        loss.gradient(point.a, point.y), point.b - point.a
    )
    value = loss.value(point.b, point.y)
    where = f"{point}, b={point.b}"
    return broken("value lies above its tangents", tangent - value, _scaled(1e-10, value), where)


def _smoothness(loss: Any, point: _Point) -> list[str]:
    if loss.gamma == 0:
        return []
    change = loss.gradient(point.a, point.y) - loss.gradient(point.b, point.y)
    ratio = np.linalg.norm(change) / np.linalg.norm(point.a - point.b)
    excess = ratio - 1 / loss.gamma
    return broken("gradient is (1/gamma)-Lipschitz", excess, 1e-8 / loss.gamma, str(point))


def _fenchel_young(loss: Any, point: _Point) -> Iterator[str]:
    u = loss.gradient(point.a, point.y)
    terms = loss.value(point.a, point.y), loss.conjugate(u, point.y), np.vdot(u, point.a)
    error = abs(terms[0] + terms[1] - terms[2])
    law = "value + conjugate = product at the gradient"
    yield from broken(law, error, _scaled(1e-9, *terms), f"{point}, u={u}")
    for outward in (0.0, 0.5, 3.0):  # also beyond the domain, where the conjugate is infinite
        u = loss.gradient(point.b, point.y) + outward * point.direction
        bound = loss.conjugate(u, point.y)
        for far in (0.0, 1e2, -1e2, 1e6, -1e6):
            a = point.a + far * point.direction
            terms = loss.value(a, point.y), bound, np.vdot(u, a)
            shortfall = terms[2] - terms[0] - terms[1]
            law = "value + conjugate >= product (Fenchel-Young)"
            where = f"a={a}, y={point.y}, u={u}"
            yield from broken(law, shortfall, _scaled(1e-9, *terms), where)


def _numeric_conjugate(loss: Any, can: Abilities, point: _Point) -> list[str]:
    """Compare phi*(u) with a numeric supremum, for u between two gradients."""
    u = 0.5 * (loss.gradient(point.a, point.y) + loss.gradient(point.b, point.y))
    if can.vector:
        found = minimize(
            lambda a: loss.value(a, point.y) - u @ a,
            0.5 * (point.a + point.b),
            jac=lambda a: loss.gradient(a, point.y) - u,
            options={"gtol": 1e-10},
        )
    else:  # the gradient increases, so the supremum is attained between a and b
        bounds = sorted((float(point.a), float(point.b)))
        found = minimize_scalar(
            lambda a: loss.value(a, point.y) - u * a,
            bounds=bounds,
            method="bounded",
            options={"xatol": 1e-10},
        )
    supremum = -found.fun
    error = abs(loss.conjugate(u, point.y) - supremum)
    where = f"u={u}, y={point.y}, where the supremum is {supremum:.6g}"
    return broken("conjugate is the supremum", error, _scaled(1e-6, supremum), where)


def _elementwise(loss: Any, can: Abilities, points: list[_Point]) -> Iterator[str]:
    a, y = (np.array([getattr(point, name) for point in points]) for name in ("a", "y"))
    u = np.array([loss.gradient(point.a, point.y) for point in points])
    functions = [("value", a), ("gradient", a), ("conjugate", u)]
    for name, x in functions + [("curvature", a)] * (can.curvature is not None):
        function = getattr(loss, name)
        law = f"{name} works elementwise on arrays"
        one_by_one = [function(*pair) for pair in zip(x, y, strict=True)]
        try:
            same = np.allclose(function(x, y), one_by_one, rtol=1e-9)
        except (TypeError, ValueError) as error:
            yield f"{law}: {error} Use np.where, np.minimum, np.maximum in place of if, min, max."
        else:
            yield from broken(law, 0.0 if same else np.inf, 0.0, f"a={x}, y={y}")


def _probabilities(loss: Any, can: Abilities, points: list[_Point]) -> Iterator[str]:
    """Probabilities lie in [0, 1], and rise with the prediction of their class."""
    assert can.probabilities is not None
    a = np.array([point.a for point in points])
    p = can.probabilities(a)
    if can.vector:
        higher = can.probabilities(a + (np.arange(a.shape[-1]) == 0))
        sums = float(np.abs(p.sum(axis=-1) - 1).max())
        yield from broken("probabilities of all classes sum to 1", sums, 1e-9, f"a={a}")
        p, higher = p[:, 0], higher[:, 0]
    else:
        higher = can.probabilities(a + 1)
    outside = float(max(-p.min(), p.max() - 1))
    yield from broken("probabilities lie between 0 and 1", outside, 0.0, f"a={a}")
    falls = float((p - higher).max())
    yield from broken("probabilities rise with their prediction", falls, 0.0, f"a={a}")


def _step(loss: Any, can: Abilities, point: _Point, rng: np.random.Generator) -> Iterator[str]:
    assert can.step is not None
    # Dual variables of distant predictions reach the corners of the domain; an example without
    # any entries has q = 0.
    wide = 10.0 ** rng.uniform(-1, 2)
    alpha = -loss.gradient(wide * rng.normal(size=np.shape(point.a)), point.y)
    for q in (0.0, 10.0 ** rng.uniform(-3, 1), 10.0 ** rng.uniform(1, 6)):

        def objective(new: Floats, q: float = q) -> float:
            change = new - alpha
            penalty = 0.5 * q * np.vdot(change, change)
            return float(-loss.conjugate(-new, point.y) - np.vdot(point.a, change) - penalty)

        new = can.step(loss, alpha, point.a, point.y, q)
        reached = objective(new)
        where = f"alpha={alpha}, {point}, q={q}, step to {new}"
        law = "step stays in the domain of the conjugate"
        yield from broken(law, 0.0 if np.isfinite(reached) else np.inf, 0.0, where)
        if loss.gamma > 0:
            # new = -grad phi(b) at b = a + q (new - alpha), which is prox_{q phi}(a - q alpha)
            b = point.a + q * (new - alpha)
            error = float(np.linalg.norm(new + loss.gradient(b, point.y)))
            slope = (1 + q) / loss.gamma * _scaled(1e-14, *np.atleast_1d(new), *np.atleast_1d(b))
            law = "step solves its optimality condition"
            yield from broken(law, error, 1e-9 + slope, where)
        for reach in (0.1, 3.0, 100.0):
            feasible = -loss.gradient(reach * rng.normal(size=np.shape(point.a)), point.y)
            for share in (1.0, 0.5, 1e-3, 1e-6):
                rival = objective(new + share * (feasible - new))
                law = "step maximizes its objective"
                yield from broken(law, rival - reached, _scaled(1e-9, reached, q), where)


def _scaled(tolerance: float, *terms: Floats) -> float:
    """`tolerance` times the size of the largest finite term, or times 1 if that is larger."""
    sizes = [abs(float(term)) for term in terms if np.isfinite(term)]
    return tolerance * max(1.0, *sizes)
