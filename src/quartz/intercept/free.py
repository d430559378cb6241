"""A free intercept: outside the regularizer, by the method of multipliers.

Methods work with centred rows and one more column, the constant s, whose coordinate has a proximal
term in place of a penalty (:mod:`quartz.intercept.kernel`). Their duals sum to nearly 0;
:mod:`quartz.intercept.repair` makes that exact. With m outputs b and the sum have m
components.
"""

from functools import cached_property

import numpy as np

from quartz.arrays import Array, Floats
from quartz.data import Blocks
from quartz.intercept.base import Intercept
from quartz.intercept.best import best_at_zero, best_intercept
from quartz.intercept.blocks import FreeBlocks
from quartz.intercept.repair import repaired, sums_to_zero
from quartz.losses.examples import ExampleLosses
from quartz.regularizers.base import Regularizer, abilities

# The constant s: a heuristic, measured on a9a, w8a, ijcnn1, mushrooms and phishing. Its square is
# this multiple of (strength of the problem) / (mean curvature of the losses at w = 0), within the
# two bounds that follow, which are multiples of the mean squared norm of the centred rows.
CURVATURE_MULTIPLE = 10.0
LEAST_SHARE, MOST_SHARE = 0.1, 1.0  # the lower one is divided by m for losses over classes
LEAST_CURVATURE = 0.01  # of 1 / gamma: the curvature that is assumed at least


class FreeIntercept(Intercept):
    """One free coordinate for each output, behind the features.

    Parameters
    ----------
    rows : Blocks
        The features.
    losses : ExampleLosses
    lam : float
    regularizer : Regularizer
        For the choice of s only.
    """

    name = "free"
    shared = True
    repairs_duals = True

    def __init__(
        self, rows: Blocks, losses: ExampleLosses, lam: float, regularizer: Regularizer
    ) -> None:
        _check_loss(losses)
        _check_classes(losses, rows.m)
        self._losses = losses
        self.data: FreeBlocks = self._scaled(rows, lam, regularizer)

    def coefficients(self, w: Array) -> tuple[Array, Floats]:
        return w[: -self.data.m], self.data.intercept(w)

    def penalized(self, w: Array) -> Array:
        return w[: -self.data.m]

    def without_free(self, w: Array) -> Array:
        w[-self.data.m :] = 0.0
        return w

    def conjugate_point(self, regularizer: Regularizer, abar: Array) -> Array:
        m = self.data.m
        return np.append(regularizer.conjugate_gradient(abar[:-m]), abar[-m:])

    def completed(
        self, losses: ExampleLosses, w: Array, carried: Array | None = None
    ) -> tuple[Array, Array]:
        data = self.data
        if carried is not None:
            w = np.append(w[: -data.m], carried / data.constant)
        features, b = self.coefficients(w)
        if features.any():
            predictions = data.rows.predictions(features)
            point = data.with_intercept(features, best_intercept(losses, predictions, b))
        else:
            predictions = np.zeros(data.dual_shape)
            same = losses is self._losses
            b = self._best_at_zero if same else best_at_zero(losses)
            point = data.with_intercept(features, b)
        return point, predictions + data.intercept(point)  # b as it is read from w, rounded

    def with_best(self, losses: ExampleLosses, w: Array) -> Array:
        return self.completed(losses, w)[0]

    def allows(self, alpha: Array) -> bool:
        return sums_to_zero(alpha)

    def repaired(self, losses: ExampleLosses, alpha: Array, predictions: Array) -> Array:
        return repaired(losses, alpha, predictions)

    def carried_by(self, w: Array) -> Array:
        return self.data.constant * w[-self.data.m :]

    def shift(self, carried: Array) -> Floats:
        return carried.copy() if self.data.m > 1 else float(carried[0])

    def move(self, carried: Array, abar: Array) -> None:
        carried += self.data.constant * abar[-self.data.m :]

    def proximal_term(self, lam: float, abar: Array) -> float:
        return 0.5 * lam * float(np.sum(abar[-self.data.m :] ** 2))

    def require_no_free_columns(self, who: str, remedy: str) -> None:
        raise ValueError(f"{who} has no free intercept. {remedy}")

    @cached_property
    def _best_at_zero(self) -> Floats:
        """The best b where all coefficients are 0."""
        return best_at_zero(self._losses)

    def _scaled(self, rows: Blocks, lam: float, regularizer: Regularizer) -> FreeBlocks:
        """Centre the rows of an L2 problem, and choose the constant s."""
        losses, weights = self._losses, self._losses.weights
        spread = rows.storage.mean_square
        if weights is not None:
            spread = float(np.average(rows.storage.squares, weights=weights))
        centre = None
        if abilities(regularizer).quadratic:  # else z is no linear function of abar
            centre = rows.storage.rough_centre(weights)
            if not 2 * float(centre @ centre) <= spread:  # then it decides what is left of the rows
                centre = rows.storage.centre(weights)
            spread = max(spread - float(centre @ centre), 4 * np.finfo(np.float64).eps * spread)
        least = LEAST_SHARE / rows.m if losses.abilities.vector else LEAST_SHARE
        square = least * spread
        curvature = self._curvature_at_zero()
        if curvature is not None:
            gamma = losses.loss.gamma
            strength = max(lam, spread / (gamma * losses.n))  # that of acceleration
            wanted = CURVATURE_MULTIPLE * strength / max(curvature, LEAST_CURVATURE / gamma)
            square = min(max(wanted, square), MOST_SHARE * spread)
        return FreeBlocks(rows, float(np.sqrt(square)) or 1.0, centre)

    def _curvature_at_zero(self) -> float | None:
        """The mean curvature at w = 0 and the best b; None if the loss does not know."""
        losses, can = self._losses, self._losses.abilities
        if not can.smooth or (can.curvature is None and not can.vector):
            return None
        if can.quadratic:  # with weights of mean 1
            return 1 / float(losses.loss.gamma)
        few = losses.by_label or losses  # examples that stand for all
        predictions = np.zeros(few.shape) + self._best_at_zero
        if can.vector:
            p = few.simplex_points(-few.gradients(predictions)).sum(axis=0) / losses.n
            return float(np.mean(p * (1 - p)))
        return float(np.sum(few.curvatures(predictions))) / predictions.size * few.n / losses.n


def _check_loss(losses: ExampleLosses) -> None:
    if losses.abilities.vector and not losses.abilities.simplex:
        raise ValueError(
            f"A free intercept needs a loss over classes with duals e_y - p, p in the unit simplex,"
            f" and {type(losses.loss).__name__} does not say that it is one (`simplex`, see "
            'quartz.losses.base). Use intercept="penalized".'
        )


def _check_classes(losses: ExampleLosses, outputs: int) -> None:
    kept = losses.y if losses.weights is None else losses.y[losses.weights > 0]
    kind = losses.abilities.targets
    if kind == "sign":
        columns = kept.reshape(len(kept), -1).T
        for k in np.flatnonzero(np.ptp(columns, axis=1) == 0):
            where = f" of output {k}" if len(columns) > 1 else ""
            raise ValueError(
                f"All labels{where} are {columns[k, 0]:+g}: a free intercept would run away. Give "
                'both classes, or use intercept="penalized".'
            )
    if kind == "class" and np.unique(kept).size < outputs:
        absent = np.setdiff1d(np.arange(outputs), kept)[0]
        raise ValueError(
            f"Class {absent} has no example: its free intercept would run away. Leave the class "
            'out, or use intercept="penalized".'
        )
