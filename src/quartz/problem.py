"""The primal-dual pair of problems that Quartz solves.

    [eq:primal]  P(w)     = 1/n sum_i phi_i(A_i' w) + lam g(w)
    [eq:dual]    D(alpha) = -lam g*(abar) - 1/n sum_i phi_i*(-alpha_i)
                 abar     = 1/(lam n) sum_i A_i alpha_i

The conjugate is the supremum over all points; the paper's footnote, which restricts it to the unit
sphere, is a slip.
"""

from copy import copy
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from quartz import checks
from quartz.arrays import Array, Floats, IntArray
from quartz.data import Blocks, KroneckerBlocks, RowBlocks, as_blocks
from quartz.data.intercept import InterceptBlocks
from quartz.feasible import domain
from quartz.intercept import best_intercept, free_intercept_data
from quartz.losses import base as losses
from quartz.losses import examples
from quartz.losses.base import Loss
from quartz.regularizers import L2
from quartz.regularizers import base as regularizers
from quartz.regularizers.base import Regularizer
from quartz.regularizers.intercept import BesideIntercept

Intercept = Literal["free", "penalized"]


class Problem:
    """Data, loss and regularizer; immutable by convention.

    Parameters
    ----------
    X : array, sparse matrix or Blocks
        One row per example. With a vector loss, or targets of several columns, a plain matrix
        becomes :class:`~quartz.data.KroneckerBlocks`.
    y : array of shape (n,) or (n, m)
        Targets: -1 and +1 for margin losses, 0, ..., m - 1 for class losses, else real.
    loss : loss
        For instance ``Logistic()``; see :mod:`quartz.losses.base`.
    lam : float
        Regularization strength on the mean loss.
    regularizer : regularizer, default L2()
        See :mod:`quartz.regularizers.base`.
    weights : array of shape (n,), optional
        Weight s_i makes the loss of example i s_i phi_i, hence gamma_i = gamma / s_i. The weights
        are scaled to mean 1, so that P has the weighted mean loss: weight 2 is the example twice,
        weight 0 leaves it out.
    intercept : {None, "free", "penalized"}
        With an intercept b the predictions are A_i'w + b, b being a vector if there are several
        outputs. It is kept as more coordinates of w, the last; :meth:`coefficients` takes them
        apart. "penalized" is a column of ones, whose coefficient g sees like the others, as in
        LIBLINEAR; "free" is outside g (:mod:`quartz.intercept`).

    Attributes
    ----------
    data : Blocks
    y, lam, loss, regularizer
        As given, validated.
    weights : ndarray or None
        Scaled to mean 1.

    Examples
    --------
    >>> import numpy as np
    >>> from quartz import Problem, losses
    >>> problem = Problem(np.eye(2), [1.0, -1.0], losses.Logistic(), lam=0.5)
    >>> round(problem.primal(np.zeros(2)), 4)
    0.6931
    """

    def __init__(
        self,
        X: Any,
        y: ArrayLike,
        loss: Loss,
        lam: float,
        regularizer: Regularizer | None = None,
        weights: ArrayLike | None = None,
        intercept: Intercept | None = None,
    ) -> None:
        losses.validate(loss)
        self.loss = loss
        self.regularizer: Regularizer = L2() if regularizer is None else regularizer
        regularizers.validate(self.regularizer)
        self.lam = checks.positive("lam", lam, "The theory needs a strongly convex problem.")
        self.data = as_blocks(X, _outputs(X, y, loss))
        self.y = _targets(y, loss, self.data)
        self.weights = None if weights is None else _weights(weights, self.data.n)
        self.intercept = intercept
        if intercept is not None:
            self._add_intercept(intercept)
        self._check_regularizer_fits()

    def _add_intercept(self, kind: Intercept) -> None:
        if kind not in ("free", "penalized"):
            raise ValueError(f'intercept must be None, "free" or "penalized", got {kind!r}.')
        if not isinstance(self.data, RowBlocks | KroneckerBlocks):
            raise ValueError(
                "An intercept needs plain rows of features. Leave it out, and give the blocks rows "
                "for it."
            )
        if kind == "penalized":
            self.data = InterceptBlocks(self.data)
        else:
            self.data = free_intercept_data(self)
            self.regularizer = BesideIntercept(self.regularizer, self.data.m)

    @cached_property
    def dual_bounds(self) -> tuple[Array, Array]:
        """Ends of the conjugates' domains in alpha, of a scalar loss."""
        return domain(self)

    @property
    def penalty(self) -> Regularizer:
        """The regularizer of what is penalized."""
        g = self.regularizer
        return g.features if isinstance(g, BesideIntercept) else g

    @property
    def free_data(self) -> InterceptBlocks | None:
        """The data, if the intercept is free."""
        data = self.data
        return data if isinstance(data, InterceptBlocks) and data.free else None

    def coefficients(self, w: Array) -> tuple[Array, Floats]:
        """The coefficients of the features and the intercept, 0 if there is none.

        With m outputs there are m intercepts, and the coefficients are flat as in
        :class:`~quartz.data.KroneckerBlocks`: reshape(-1, m) makes a column of each output.
        """
        if isinstance(self.data, InterceptBlocks):
            return w[: -self.data.m], self.data.intercept(w)
        return w, 0.0

    def completed(self, w: Array, multiplier: Floats | None = None) -> tuple[Array, Array]:
        """The point with the best intercept, if that is free, and its predictions.

        The search for it begins with the multiplier, or with what w has.
        """
        data = self.free_data
        if data is not None:
            if multiplier is not None:
                w = np.append(w[: -data.m], np.asarray(multiplier) / data.constant)
            features, b = self.coefficients(w)
            predictions = np.zeros(data.dual_shape)
            if features.any():
                predictions = data.rows.predictions(features)
            b = best_intercept(self, predictions, b)
            return data.with_intercept(features, b), predictions + b
        return w, self.data.predictions(w) if w.any() else np.zeros(self.data.dual_shape)

    @cached_property
    def at_zero(self) -> tuple[Array, Array]:
        """w = 0 with the best intercept, and its predictions; not to be changed."""
        return self.completed(np.zeros(self.data.d))

    def multiplier_of(self, w: Array) -> Floats:
        """The free intercept of w, of centred rows: where the search for the best one begins."""
        data = self.free_data
        return 0.0 if data is None else data.constant * data.per_output(w)

    def next_multiplier(self, multiplier: Floats, abar: Array) -> Floats:
        """A proximal step of a free intercept: where it is becomes the centre of the next."""
        data = self.free_data
        return 0.0 if data is None else multiplier + data.constant * data.per_output(abar)

    def proximal_term(self, abar: Array) -> float:
        """That of a free intercept, where the multiplier has not yet made up for it."""
        data = self.free_data
        return 0.0 if data is None else 0.5 * self.lam * float(np.sum(abar[-data.m :] ** 2))

    @property
    def n(self) -> int:
        """Number of examples."""
        return self.data.n

    @cached_property
    def gammas(self) -> Array:
        """gamma_i = gamma / s_i; infinite for weight 0. Not to be changed."""
        if self.weights is None:
            return np.full(self.n, float(self.loss.gamma))
        gammas = np.full(self.n, np.inf)
        return np.divide(self.loss.gamma, self.weights, out=gammas, where=self.weights > 0)

    def condition(self, v: Array) -> Array:
        """1 + v_i / (lam gamma_i n), whose largest ratio to p_i is 1/theta [a-theta]."""
        return condition_numbers(v, self.lam, self.gammas, self.n)

    def strengthened(self, kappa: float) -> "Problem":
        """The problem of P(w) + kappa / 2 ||w||^2, on the same data.

        lam g + kappa / 2 ||.||^2 = (lam + kappa) g', with g' the regularizer `weakened`.
        """
        other = copy(self)
        other.lam = self.lam + kappa
        other.regularizer = regularizers.weakened(self.regularizer, self.lam / other.lam)
        return other

    def with_penalty(self, lam: float, regularizer: Regularizer) -> "Problem":
        """The problem with another lam g, on the same data; the constant of an intercept stays."""
        other = copy(self)
        regularizers.validate(regularizer)
        other.lam = checks.positive("lam", lam, "The theory needs a strongly convex problem.")
        other.regularizer = regularizer
        if self.intercept == "free":
            other.regularizer = BesideIntercept(regularizer, self.data.m)
        other._check_regularizer_fits()
        return other

    def slope_at_zero(self) -> Array:
        """Gradient of the mean loss in what is penalized, at w = 0 and the best intercept."""
        slope = self.data.combination(self.gradients(self.at_zero[1])) / self.n
        return slope[: -self.data.m] if self.intercept == "free" else slope

    # Vectors over all examples

    def abar(self, alpha: Array) -> Array:
        """1/(lam n) sum_i A_i alpha_i [jibs79gss], from scratch in float64."""
        if not alpha.any():  # the usual start costs no pass
            return np.zeros(self.data.d)
        return self.data.combination(alpha) / (self.lam * self.n)

    def conjugate_point(self, abar: Array) -> Array:
        """z = grad g*(abar), the w that is optimal for these duals [eq:98y98hss]."""
        return self.regularizer.conjugate_gradient(abar)

    def losses(self, predictions: Array) -> Array:
        """s_i phi_i(a_i) for every example."""
        return examples.values(self.loss, predictions, self.y, self.weights)

    def gradients(self, predictions: Array) -> Array:
        """s_i grad phi_i(a_i) for every example."""
        return examples.gradients(self.loss, predictions, self.y, self.weights)

    def curvatures(self, predictions: Array) -> Array:
        """s_i phi_i''(a_i) for every example, of a scalar loss that knows it."""
        each: Any = self.loss.curvature(predictions, self.y)  # type: ignore[attr-defined]
        weights = np.ones(1) if self.weights is None else self.weights
        return self.data.per_example(np.broadcast_to(weights, self.n)) * each

    def conjugates(self, alpha: Array, some: IntArray | None = None) -> Array:
        """(s_i phi_i)*(-alpha_i) = s_i phi_i*(-alpha_i / s_i) for every example, or for some."""
        y, weights = self.y, self.weights
        if some is not None:
            alpha, y = alpha[some], y[some]
            weights = None if weights is None else weights[some]
        return examples.conjugates(self.loss, -alpha, y, weights)

    def fenchel_young(self, predictions: Array, alpha: Array) -> examples.FenchelYoung:
        """Losses against conjugates, for every example and in the mean."""
        return examples.fenchel_young(self.loss, predictions, alpha, self.y, self.weights)

    # One example

    def gradient_one(self, i: int, a: Array) -> Array:
        """Gradient of s_i phi_i at the prediction a."""
        gradient = self.loss.gradient(a, self.y[i])
        return gradient if self.weights is None else self.weights[i] * gradient

    def step_one(self, i: int, alpha: Array, a: Array, q: float) -> Array:
        """Return the new alpha_i of Option I for the weighted loss, q = v_i / (lam n).

        In alpha_i / s_i the weighted step is the plain one with q s_i.
        """
        step: Any = self.loss.step  # type: ignore[attr-defined]
        s = 1.0 if self.weights is None else self.weights[i]
        if s == 0:
            return np.zeros_like(alpha)
        if np.ndim(a) and not losses.is_vector(self.loss):  # multitask: output by output
            outputs = zip(alpha / s, a, self.y[i], strict=True)
            return s * np.array([step(*output, q * s) for output in outputs])
        return s * step(alpha / s, a, self.y[i], q * s)

    # Objectives

    def primal(self, w: Array) -> float:
        """P(w)."""
        w = checks.finite_array("w", w, (self.data.d,))
        return self.primal_at(w, self.data.predictions(w))

    def primal_at(self, w: Array, predictions: Array) -> float:
        """P(w) without a pass over the data, the predictions being known."""
        mean_loss = float(np.mean(self.losses(predictions)))
        return mean_loss + self.lam * regularizers.value(self.regularizer, w)

    def dual(self, alpha: Array) -> float:
        """D(alpha); minus infinity outside the domain of the conjugates.

        With a free intercept also unless the duals sum to 0.
        """
        alpha = checks.finite_array("alpha", alpha, self.data.dual_shape)
        if self.intercept == "free" and not _sums_to_zero(alpha):
            return -np.inf
        return self.dual_at(alpha, self.abar(alpha))

    def dual_at(self, alpha: Array, abar: Array) -> float:
        """D(alpha) without a pass over the data, its abar being known."""
        mean_conjugate = float(np.mean(self.conjugates(alpha)))
        return -self.lam * regularizers.conjugate(self.regularizer, abar) - mean_conjugate

    def __repr__(self) -> str:
        return (
            f"Problem(n={self.n}, d={self.data.d}, m={self.data.m}, loss={self.loss!r}, "
            f"lam={self.lam:g}, regularizer={type(self.penalty).__name__}, "
            f"weights={'none' if self.weights is None else 'given'}, "
            f"intercept={self.intercept or 'none'})"
        )

    def _check_regularizer_fits(self) -> None:
        """A regularizer with parameters per coordinate may not fit d."""
        try:
            point = self.regularizer.conjugate_gradient(np.zeros(self.data.d))
            fits = np.shape(point) == (self.data.d,)
        except (ValueError, IndexError):
            fits = False
        if not fits:
            raise ValueError(
                f"The regularizer {type(self.regularizer).__name__} does not fit vectors of length "
                f"d={self.data.d}. Check the lengths of its parameters, such as groups."
            )


def condition_numbers(v: Array, lam: float, gamma: Array | float, n: int) -> Array:
    """1 + v_i / (lam gamma_i n): infinite for gamma = 0, 1 for gamma infinite (weight 0)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = v / (lam * np.asarray(gamma, dtype=np.float64) * n)
    return np.where(np.isnan(ratio), np.inf, 1 + ratio)


def _outputs(X: Any, y: ArrayLike, loss: Loss) -> int:
    """m, from the blocks or else from the targets."""
    if isinstance(X, Blocks):
        return X.m
    if losses.target_kind(loss) == "class":
        return _count_classes(checks.finite_array("y", y, np.shape(y)))
    rows = np.shape(X)[0] if np.ndim(X) == 2 else 0
    return int(np.shape(y)[1]) if np.ndim(y) == 2 and len(y) == rows else 1  # type: ignore[arg-type]


def _count_classes(y: Array) -> int:
    """m = 1 + the largest label, all smaller ones being there."""
    labels = np.unique(y)
    top = labels[-1] if labels.size else 0
    if top >= labels.size and np.array_equal(labels, np.floor(labels)) and labels[0] >= 0:
        absent = int(np.setdiff1d(np.arange(labels.size), labels)[0])
        raise ValueError(
            f"y has labels up to {top:g} but none is {absent}; classes are numbered 0, 1, 2, ... "
            "Renumber them, for instance by np.unique(y, return_inverse=True)[1], or pass "
            "KroneckerBlocks(X, outputs) to keep a class without examples."
        )
    return max(2, int(top) + 1) if np.isfinite(top) else 2


def _targets(y: ArrayLike, loss: Loss, data: Blocks) -> Array:
    name, kind = type(loss).__name__, losses.target_kind(loss)
    if losses.is_vector(loss) and data.m == 1:
        raise ValueError(f"{name} couples several outputs, but the data have m = 1.")
    shape = (data.n,) if kind == "class" else data.dual_shape
    if len(shape) == 1 and np.shape(y) == (data.n, 1):
        raise ValueError(f"y must have shape {shape}, got {np.shape(y)}. Pass y.ravel().")
    targets = checks.finite_array("y", y, shape)
    if kind == "class":
        valid = (targets >= 0) & (targets < data.m) & (targets == np.floor(targets))
        wanted = f"class numbers 0, ..., {data.m - 1}"
    else:
        valid = np.ones(shape, dtype=bool) if kind == "real" else np.abs(targets) == 1
        wanted = "labels -1 and +1; for 0/1 labels pass 2 * y - 1"
    if not valid.all():
        where = tuple(int(k) for k in np.argwhere(~valid)[0])
        index = ", ".join(map(str, where))
        raise ValueError(f"y[{index}] is {targets[where]:g}, but {name} needs {wanted}.")
    return targets.astype(np.int64) if kind == "class" else targets


def _weights(weights: ArrayLike, n: int) -> Array:
    s = checks.finite_array("weights", weights, (n,))
    if s.min() < 0:
        i = int(s.argmin())
        raise ValueError(
            f"weights[{i}] is {s[i]:g}; weights cannot be negative. Use 0 to leave out."
        )
    if s.max() == 0:
        raise ValueError(
            "All weights are 0: no example is left. Give at least one a weight above 0."
        )
    s = s / s.max()  # so that the mean does not overflow
    return s / s.mean()


def _sums_to_zero(alpha: Array) -> bool:
    """Up to rounding."""
    rounding = 1e-12 * (alpha.size + float(np.abs(alpha).sum()))
    return bool(np.all(np.abs(alpha.sum(axis=0)) <= rounding))
