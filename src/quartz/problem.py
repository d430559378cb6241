"""The primal-dual pair of problems that Quartz solves.

    [eq:primal]  P(w)     = 1/n sum_i phi_i(A_i' w) + lam g(w)
    [eq:dual]    D(alpha) = -lam g*(abar) - 1/n sum_i phi_i*(-alpha_i)
                 abar     = 1/(lam n) sum_i A_i alpha_i

The conjugate is the supremum over all points; the paper's footnote, which restricts it to the unit
sphere, is a slip.
"""

from copy import copy
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from quartz import checks, losses, regularizers
from quartz.arrays import AnyArray, Array, Floats, quietly
from quartz.data import Blocks, Storage, as_blocks, as_storage
from quartz.data.storage import MatrixLike
from quartz.intercept import Intercept, InterceptName, intercept_of
from quartz.kernels.placeholder import Parts
from quartz.losses.base import Loss
from quartz.losses.examples import ExampleLosses
from quartz.regularizers import L2
from quartz.regularizers.base import Regularizer
from quartz.rounding import Rounding

POSITIVE_LAM = "The theory needs a strongly convex problem."


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
        The examples, with the columns of an intercept.
    losses : ExampleLosses
        The losses of all examples: values, gradients, conjugates.
    intercept : Intercept
        Knows all that depends on its kind.
    rounding : Rounding
        Bounds for the rounding of certificates, which hold for every lam.
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

    @quietly  # infinite norms are refused by the plan of a run
    def __init__(
        self,
        X: MatrixLike | Blocks,
        y: ArrayLike,
        loss: Loss,
        lam: float,
        regularizer: Regularizer | None = None,
        weights: ArrayLike | None = None,
        intercept: InterceptName | None = None,
    ) -> None:
        losses.base.validate(loss)
        self.loss = loss
        self.regularizer: Regularizer = L2() if regularizer is None else regularizer
        regularizers.base.validate(self.regularizer)
        self.lam = checks.positive("lam", lam, POSITIVE_LAM)
        can = losses.base.abilities(loss)
        given = X if isinstance(X, Blocks) else as_storage(X)
        rows = as_blocks(given, _outputs(given, y, can))
        self.y = _targets(y, type(loss).__name__, can, rows)
        self.weights = None if weights is None else _weights(weights, rows.n)
        self.losses = ExampleLosses(loss, self.y, self.weights, rows.dual_shape)
        self.intercept: Intercept = intercept_of(
            intercept, rows, self.losses, self.lam, self.regularizer
        )
        self.data: Blocks = self.intercept.data
        self.rounding = Rounding(self.data, self.losses)
        self._check_regularizer_fits()

    @property
    def n(self) -> int:
        """Number of examples."""
        return self.data.n

    @property
    def gammas(self) -> Array:
        """gamma_i = gamma / s_i; infinite for weight 0. Not to be changed."""
        return self.losses.gammas

    @property
    def is_componentwise(self) -> bool:
        """Whether a scalar loss is applied to each of several outputs."""
        return self.data.m > 1 and not self.losses.abilities.vector

    @property
    def kernel_parts(self) -> Parts:
        """The loss's and the regularizer's functions, by the names of the kernels' placeholders."""
        loss, g = type(self.loss), type(self.regularizer)
        step = self.losses.abilities.step
        return {
            "loss_value": loss.value,
            "loss_gradient": loss.gradient,
            "loss_conjugate": loss.conjugate,
            "conjugate_gradient": g.conjugate_gradient,
            **({} if step is None else {"loss_step": step}),
        }

    def coefficients(self, w: Array) -> tuple[Array, Floats]:
        """The coefficients of the features and the intercept, 0 if there is none.

        With m outputs there are m intercepts, and the coefficients are flat as in
        :class:`~quartz.data.KroneckerBlocks`: reshape(-1, m) makes a column of each output.
        """
        return self.intercept.coefficients(w)

    @quietly
    def completed(self, w: Array, carried: Array | None = None) -> tuple[Array, Array]:
        """The point with the best intercept, if that is free, and its predictions."""
        return self.intercept.completed(self.losses, w, carried)

    @cached_property
    def at_zero(self) -> tuple[Array, Array]:
        """w = 0 with the best intercept, and its predictions; not to be changed."""
        return self.completed(np.zeros(self.data.d))

    def condition(self, v: Array) -> Array:
        """1 + v_i / (lam gamma_i n), whose largest ratio to p_i is 1/theta [a-theta]."""
        return condition_numbers(v, self.lam, self.gammas, self.n)

    def strengthened(self, kappa: float) -> "Problem":
        """The problem of P(w) + kappa / 2 ||w||^2, on the same data.

        lam g + kappa / 2 ||.||^2 = (lam + kappa) g', with g' the regularizer `weakened`.
        """
        other = copy(self)
        other.lam = self.lam + kappa
        other.regularizer = regularizers.base.weakened(self.regularizer, self.lam / other.lam)
        return other

    def with_lam(self, lam: float) -> "Problem":
        """The problem with another lam, on the same data; the constant of an intercept stays."""
        other = copy(self)
        other.lam = checks.positive("lam", lam, POSITIVE_LAM)
        return other

    def slope_at_zero(self) -> Array:
        """Gradient of the mean loss in what is penalized, at w = 0 and the best intercept."""
        gradients = self.losses.gradients(self.at_zero[1])
        return self.intercept.penalized(self.data.combination(gradients) / self.n)

    # Objectives and the points that belong to duals

    @quietly
    def abar(self, alpha: Array) -> Array:
        """1/(lam n) sum_i A_i alpha_i [jibs79gss], from scratch in float64."""
        if not alpha.any():  # the usual start costs no pass
            return np.zeros(self.data.d)
        return self.data.combination(alpha) / (self.lam * self.n)

    @quietly
    def conjugate_point(self, abar: Array) -> Array:
        """z = grad g*(abar), the w that is optimal for these duals [eq:98y98hss]."""
        return self.intercept.conjugate_point(self.regularizer, abar)

    def primal(self, w: Array) -> float:
        """P(w)."""
        w = checks.finite_array("w", w, (self.data.d,))
        return self.primal_at(w, self.data.predictions(w))

    def primal_at(self, w: Array, predictions: Array) -> float:
        """P(w) without a pass over the data, the predictions being known."""
        mean_loss = float(np.mean(self.losses.values(predictions)))
        return mean_loss + self.lam * self.regularizer_value(w)

    def dual(self, alpha: Array) -> float:
        """D(alpha); minus infinity outside the domain of the conjugates.

        With a free intercept also unless the duals sum to 0.
        """
        alpha = checks.finite_array("alpha", alpha, self.data.dual_shape)
        if not self.intercept.allows(alpha):
            return -np.inf
        return self.dual_at(alpha, self.abar(alpha))

    def dual_at(self, alpha: Array, abar: Array) -> float:
        """D(alpha) without a pass over the data, its abar being known."""
        mean_conjugate = float(np.mean(self.losses.conjugates(alpha)))
        return -self.lam * self.regularizer_conjugate(abar) - mean_conjugate

    def regularizer_value(self, w: Array) -> float:
        """g of the coordinates that are penalized."""
        return self.intercept.regularizer_value(self.regularizer, w)

    def regularizer_conjugate(self, abar: Array) -> float:
        """g* of the coordinates that are penalized."""
        return self.intercept.regularizer_conjugate(self.regularizer, abar)

    def __repr__(self) -> str:
        return (
            f"Problem(n={self.n}, d={self.data.d}, m={self.data.m}, loss={self.loss!r}, "
            f"lam={self.lam:g}, regularizer={type(self.regularizer).__name__}, "
            f"weights={'none' if self.weights is None else 'given'}, "
            f"intercept={self.intercept.name})"
        )

    def _check_regularizer_fits(self) -> None:
        """A regularizer with parameters per coordinate may not fit d."""
        zeros = self.intercept.penalized(np.zeros(self.data.d))
        try:
            fits = np.shape(self.regularizer.conjugate_gradient(zeros)) == zeros.shape
        except (ValueError, IndexError):
            fits = False
        if not fits:
            raise ValueError(
                f"The regularizer {type(self.regularizer).__name__} does not fit vectors of length "
                f"d={zeros.size}. Check the lengths of its parameters, such as groups."
            )


def condition_numbers(v: Array, lam: float, gamma: Array | float, n: int) -> Array:
    """1 + v_i / (lam gamma_i n): infinite for gamma = 0, 1 for gamma infinite (weight 0)."""
    with np.errstate(all="ignore"):  # a number that overflows is as good as infinite
        ratio = v / (lam * np.asarray(gamma, dtype=np.float64) * n)
    return np.where(np.isnan(ratio), np.inf, 1 + ratio)


def _outputs(X: Storage | Blocks, y: ArrayLike, can: losses.base.Abilities) -> int:
    """m, from the blocks or else from the targets."""
    if isinstance(X, Blocks):
        return X.m
    if can.targets == "class":
        return _count_classes(checks.finite_array("y", y, np.shape(y)))
    shape = np.shape(y)
    return shape[1] if len(shape) == 2 and shape[0] == X.shape[0] else 1


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


def _targets(y: ArrayLike, name: str, can: losses.base.Abilities, data: Blocks) -> AnyArray:
    """The targets as numbers of the right kind; `name` is that of the loss."""
    kind = can.targets
    if can.vector and data.m == 1:
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
