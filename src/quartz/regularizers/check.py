"""Numeric tests of the laws that a regularizer must obey."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from quartz.arrays import Array
from quartz.laws import broken, raise_if_broken
from quartz.regularizers.base import Regularizer, abilities, conjugate, validate, value


def check_regularizer(
    regularizer: Regularizer, d: int = 6, trials: int = 100, seed: int = 0
) -> None:
    """Test a regularizer against its own formulas, at random points.

    The laws: `conjugate_gradient` is the numeric gradient of `conjugate`; Fenchel-Young holds, with
    equality at w = grad g*(u), which makes `conjugate` the supremum; a separable g works
    elementwise; g is 1-strongly convex [ass:reg], that is, g rises by ||w' - w||^2 / 2 above its
    tangent and grad g* is 1-Lipschitz. If there is `weakened`, it is t g + (1 - t) ||.||^2 / 2. If
    there is `vanishes_at`, it is the least lam for which w = 0 is optimal.

    Parameters
    ----------
    regularizer : regularizer
        For instance ``ElasticNet(mu=0.5)`` or your own; see :mod:`quartz.regularizers.base`.
    d : int
        Length of the vectors to try.
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
    >>> from quartz.regularizers import ElasticNet, check_regularizer
    >>> check_regularizer(ElasticNet(mu=0.5))
    """
    validate(regularizer)
    rng = np.random.default_rng(seed)
    raise_if_broken(regularizer, _violations(regularizer, d, trials, rng))


def _violations(g: Any, d: int, trials: int, rng: np.random.Generator) -> Iterator[str]:
    can = abilities(g)
    for _ in range(trials):
        scale = 10.0 ** rng.integers(-1, 2)
        u, other = scale * rng.normal(size=(2, d))
        w = g.conjugate_gradient(u)
        yield from _derivative(g, u, w, rng.normal(size=d))
        yield from _fenchel_young(g, u, w)
        yield from _strong_convexity(g, u, w, other)
        yield from _fenchel_young_anywhere(g, u, scale * rng.normal(size=d))
        if can.separable:
            yield from _elementwise(g, u)
        if can.weakened is not None:
            yield from _weakened(g, w, rng.uniform(0.01, 1.0))
        if can.vanishes_at is not None:
            yield from _vanishes(g, u)


def _derivative(g: Regularizer, u: Array, w: Array, direction: Array) -> list[str]:
    h = 1e-6
    ahead, behind = conjugate(g, u + h * direction), conjugate(g, u - h * direction)
    slope = float(w @ direction)
    error = abs((ahead - behind) / (2 * h) - slope)
    law = "conjugate_gradient is the gradient of conjugate"
    return broken(law, error, 1e-5 * max(1.0, abs(slope), ahead), f"u={u}")


def _fenchel_young(g: Regularizer, u: Array, w: Array) -> list[str]:
    terms = value(g, w), conjugate(g, u), float(w @ u)
    error = abs(terms[0] + terms[1] - terms[2])
    law = "value + conjugate = product at the conjugate gradient"
    return broken(law, error, 1e-9 * max(1.0, abs(terms[2])), f"u={u}, w={w}")


def _fenchel_young_anywhere(g: Regularizer, u: Array, w: Array) -> list[str]:
    shortfall = float(u @ w) - value(g, w) - conjugate(g, u)
    law = "value + conjugate >= product (Fenchel-Young)"
    return broken(law, shortfall, 1e-9 * max(1.0, abs(float(u @ w))), f"u={u}, w={w}")


def _elementwise(g: Any, u: Array) -> Iterator[str]:
    """The functions of a separable g give for a vector what they give for each coordinate."""
    for name in ("value", "conjugate", "conjugate_gradient"):
        function = getattr(g, name)
        x = g.conjugate_gradient(u) if name == "value" else u
        law = f"{name} of a separable regularizer works elementwise"
        whole, parts = np.asarray(function(x)), np.array([function(part) for part in x])
        same = whole.shape == parts.shape and np.allclose(whole, parts, rtol=1e-12)
        yield from broken(law, 0.0 if same else np.inf, 0.0, f"u={x}")


def _weakened(g: Any, w: Array, t: float) -> list[str]:
    expected = t * value(g, w) + (1 - t) * 0.5 * float(w @ w)
    error = abs(value(g.weakened(t), w) - expected)
    law = "weakened(t) is t g + (1 - t) ||.||^2 / 2"
    return broken(law, error, 1e-9 * max(1.0, abs(expected)), f"w={w}, t={t}")


def _vanishes(g: Any, slope: Array) -> Iterator[str]:
    """w = 0 minimizes <slope, w> + lam g(w) from lam = vanishes_at(slope) on, but not below."""
    lam = g.vanishes_at(slope)
    if not 0 < lam < np.inf:
        return
    law = "w = 0 is optimal from vanishes_at(slope) on"
    above = float(np.abs(g.conjugate_gradient(-slope / (lam * (1 + 1e-9)))).max())
    yield from broken(law, above, 1e-8 * float(np.abs(slope).max()) / lam, f"slope={slope}")
    below = float(np.abs(g.conjugate_gradient(-slope / (lam * 0.99))).max())
    yield from broken(law, 0.0 if below > 0 else np.inf, 0.0, f"slope={slope}")


def _strong_convexity(g: Any, u: Array, w: Array, other: Array) -> Iterator[str]:
    w_other = g.conjugate_gradient(other)
    distance = w_other - w
    # u is a subgradient of g at w; strong convexity adds ||w' - w||^2 / 2 to the tangent.
    floor = value(g, w) + float(u @ distance + 0.5 * distance @ distance)
    rise = value(g, w_other)
    where = f"u={u}, w={w}, w'={w_other}"
    law = "value is 1-strongly convex"
    yield from broken(law, floor - rise, 1e-9 * max(1.0, abs(floor)), where)
    law = "conjugate_gradient is 1-Lipschitz"
    excess = float(np.linalg.norm(distance) - np.linalg.norm(other - u))
    yield from broken(law, excess, 1e-9 * max(1.0, float(np.linalg.norm(u))), where)
