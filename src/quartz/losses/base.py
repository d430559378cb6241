"""What a loss must give.

A loss is a NamedTuple of parameters with plain functions of *one* example: its prediction
a = A_i' w (a scalar, or a vector of length m for a loss with `vector`), its target y, and its dual
variable. It never sees the data.

Required
    value(a, y)           phi(a)
    gradient(a, y)        grad phi(a), or a subgradient where gamma = 0
    conjugate(u, y)       phi*(u) = sup_a <u, a> - phi(a), infinite outside its domain
    gamma                 phi is (1/gamma)-smooth [ass:loss]; 0 for a loss that is not smooth
Optional
    step(alpha, a, y, q)  the dual variable after Option I of Algorithm 1 (see `LossWithStep`)
    quick_step(...)       the same less accurately, where that is faster; for the practical mode
    curvature(a, y)       phi''(a) of a scalar loss, at a kink from either side; for Newton steps
    targets               "real" (default), "sign" (-1 or +1) or "class" (0, ..., m - 1)
    vector                True if phi couples the m outputs (default False)
    simplex               True if the dual variables of a loss over classes are e_y - p with p in
                          the unit simplex, all of it; for free intercepts
    validate()            raises ValueError on bad parameters

`value`, `gradient`, `conjugate` and `curvature` of a scalar loss must also work elementwise on
arrays, as NumPy formulas do. With m > 1 outputs a scalar loss is applied to each output and summed:
that is the multitask loss, with the same gamma.

The functions may use NumPy, `self`'s fields and functions of their own module, but not call one
another through `self`: so written, they can be compiled as they stand.
"""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from quartz.arrays import Floats

_MANY = 100  # examples of a vector loss, above which compiling its functions pays
_PART = 8192  # examples of a scalar loss, evaluated together
_LARGE = 10_000  # examples of a scalar loss, above which compiling its functions pays
_not_compiled: set[Any] = set()  # functions for which it failed


class Loss(Protocol):
    """The required part of a loss; the module docstring lists the optional one."""

    @property
    def gamma(self) -> float:
        """phi is (1/gamma)-smooth."""
        ...

    def value(self, a: Floats, y: Floats) -> Floats:
        """phi(a)."""
        ...

    def gradient(self, a: Floats, y: Floats) -> Floats:
        """grad phi(a)."""
        ...

    def conjugate(self, u: Floats, y: Floats) -> Floats:
        """phi*(u)."""
        ...


class LossWithStep(Loss, Protocol):
    """A loss that can do Option I."""

    def step(self, alpha: Floats, a: Floats, y: Floats, q: float) -> Floats:
        """Return the new dual variable alpha + Delta of Option I.

        Delta = argmax -phi*(-(alpha + Delta)) - <a, Delta> - (q / 2) ||Delta||^2 with
        a = A_i' grad g*(abar) and q = v_i / (lam n). Equivalently alpha + Delta = -grad phi(b) at
        b = prox_{q phi}(a - q alpha). The new value is returned, not Delta, so that it can lie on
        the boundary of the domain exactly.
        """
        ...


def target_kind(loss: Loss) -> str:
    """Return "real", "sign" or "class"."""
    return str(getattr(loss, "targets", "real"))


def is_vector(loss: Loss) -> bool:
    """Tell whether phi couples the m outputs of an example."""
    return bool(getattr(loss, "vector", False))


def validate(loss: Any) -> None:
    """Raise ValueError if `loss` lacks a part or has bad parameters."""
    for part in ("value", "gradient", "conjugate", "gamma"):
        if not hasattr(loss, part) or isinstance(loss, type):
            raise ValueError(
                f"The loss {loss!r} has no {part} of its own. A loss is an instance such as "
                "Logistic(), with value, gradient, conjugate and gamma; see quartz.losses.base."
            )
    if hasattr(loss, "validate"):
        loss.validate()
    if not 0 <= loss.gamma < np.inf:
        raise ValueError(f"gamma of {loss!r} must be finite and not negative, got {loss.gamma!r}.")


def values(loss: Loss, a: Floats, y: Floats) -> Floats:
    """phi_i(a_i) for all examples."""
    return _over_examples(loss, loss.value, a, y)


def conjugates(loss: Loss, u: Floats, y: Floats) -> Floats:
    """phi_i*(u_i) for all examples."""
    return _over_examples(loss, loss.conjugate, u, y)


def gradients(loss: Loss, a: Floats, y: Floats) -> Floats:
    """Gradients of phi_i at a_i, for all examples."""
    if is_vector(loss):
        return _of_vectors(loss, loss.gradient, a, y, np.empty(a.shape))
    return loss.gradient(a, y) if a.ndim > 1 else _over_examples(loss, loss.gradient, a, y)


def slope(loss: Loss, a: Floats, y: Floats, weights: Floats) -> Callable[[float], float]:
    """sum_i weights_i phi_i'(a_i + b) of a scalar loss, as a function of b."""
    gradient: Any = loss.gradient
    if _compiled(loss, gradient, a, y, np.empty(len(a)), _LARGE):
        from quartz.kernels.passes import shifted_sum

        return shifted_sum(gradient.__func__, loss, a, y, weights)
    return lambda b: float(weights @ gradient(a + b, y))


def _over_examples(loss: Loss, function: Any, x: Floats, y: Floats) -> Floats:
    each = np.empty(len(x))
    if is_vector(loss):
        return _of_vectors(loss, function, x, y, each)
    if x.ndim == 1 and _compiled(loss, function, x, y, each, _LARGE):
        return each
    for start in range(0, len(x), _PART):  # temporaries that fit the cache
        part = slice(start, start + _PART)
        terms: Floats = function(x[part], y[part])
        each[part] = terms if terms.ndim < 2 else terms.sum(axis=1)
    return each


def _of_vectors(loss: Loss, function: Any, x: Floats, y: Floats, out: Floats) -> Floats:
    if not _compiled(loss, function, x, y, out, _MANY):
        for i, pair in enumerate(zip(x, y, strict=True)):
            out[i] = function(*pair)
    return out


def _compiled(loss: Loss, function: Any, x: Floats, y: Floats, out: Floats, many: int) -> bool:
    """Fill `out` in one compiled loop, if there are many examples and it is possible.

    It has no temporaries, and NumPy's many short operations would hold up other threads.
    """
    plain = getattr(function, "__func__", None)
    if len(x) <= many or plain is None or plain in _not_compiled:
        return False
    from quartz.kernels.passes import map_examples

    try:
        map_examples(plain, loss, np.ascontiguousarray(x), y, out)
    except TypeError:  # a loss for the reference implementation only
        _not_compiled.add(plain)
        return False
    return True
