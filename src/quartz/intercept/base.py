"""What an intercept must do for a problem, its certificate and the methods that solve it.

The columns of an intercept come after the features: w = (W, w_b). Those that are penalized are
coordinates like any other. *Free* columns C are not penalized, so that minimizing over their
coefficients b leaves a constraint on the duals:

    P(w, b)  = 1/n sum_i phi_i(A_i'w + C_i'b) + lam g(w)
    D(alpha) = -lam g*(abar) - 1/n sum_i phi_i*(-alpha_i)    if C' alpha = 0, else -infinity

The constant is the one free column there is today. A problem asks its intercept for whatever
depends on the kind; nothing else knows which kind it is.
"""

from typing import ClassVar

import numpy as np

from quartz.arrays import Array, Floats
from quartz.data import Blocks
from quartz.losses.examples import ExampleLosses
from quartz.regularizers import base as regularizers
from quartz.regularizers.base import Regularizer

NOTHING = np.empty(0)


class Intercept:
    """No free columns: what holds where all coordinates are penalized.

    Parameters
    ----------
    data : Blocks
        The examples, with the columns of the intercept.

    Attributes
    ----------
    name : str
        For messages.
    shared : bool
        Whether there is a column that all examples have.
    repairs_duals : bool
        Whether :meth:`repaired` may change the duals, as C' alpha = 0 wants it.
    """

    name: ClassVar[str] = "none"
    shared: ClassVar[bool] = False
    repairs_duals: ClassVar[bool] = False

    def __init__(self, data: Blocks) -> None:
        self.data = data

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    # Coordinates

    def coefficients(self, w: Array) -> tuple[Array, Floats]:
        """The coefficients of the features, flat, and the intercept; 0 if there is none."""
        return w, 0.0

    def penalized(self, w: Array) -> Array:
        """The coordinates that the regularizer sees, a view."""
        return w

    def without_free(self, w: Array) -> Array:
        """Set the free coordinates to 0, in place, and return w."""
        return w

    def conjugate_point(self, regularizer: Regularizer, abar: Array) -> Array:
        """z = grad g*(abar), the w that is optimal for these duals [eq:98y98hss].

        Free coordinates have a proximal term in place of a penalty, whose z_b is abar_b.
        """
        return np.asarray(regularizer.conjugate_gradient(abar))

    # The best free coordinates

    def completed(
        self, losses: ExampleLosses, w: Array, carried: Array | None = None
    ) -> tuple[Array, Array]:
        """The point with the best free coordinates, and its predictions.

        The search for them begins with what is `carried`, or with what w has.
        """
        return w, self.data.predictions(w) if w.any() else np.zeros(self.data.dual_shape)

    def with_best(self, losses: ExampleLosses, w: Array) -> Array:
        """The point with the best free coordinates, without its predictions."""
        return w

    # Duals

    def allows(self, alpha: Array) -> bool:
        """Whether the duals fulfil C' alpha = 0, up to rounding."""
        return True

    def repaired(self, losses: ExampleLosses, alpha: Array, predictions: Array) -> Array:
        """Duals near alpha that do so exactly, inside the domain of the conjugates; a copy."""
        return alpha.copy()

    # The method of multipliers: what a state carries from epoch to epoch for the free columns

    def carried_by(self, w: Array) -> Array:
        """What a run that starts at w carries: the multipliers of the free columns."""
        return NOTHING.copy()

    def shift(self, carried: Array) -> Floats:
        """What the multipliers add to all predictions, a number or one for each output."""
        return 0.0

    def move(self, carried: Array, abar: Array) -> None:
        """A proximal step of the multipliers, in place, after a pass by the duals of abar."""

    def proximal_term(self, lam: float, abar: Array) -> float:
        """What the multipliers have not yet made up for, as a part of the gap."""
        return 0.0

    def require_no_free_columns(self, who: str, remedy: str) -> None:
        """Refuse free columns for a method that cannot have them."""

    # The regularizer

    def regularizer_value(self, regularizer: Regularizer, w: Array) -> float:
        """g of what is penalized."""
        return regularizers.value(regularizer, self.penalized(w))

    def regularizer_conjugate(self, regularizer: Regularizer, abar: Array) -> float:
        """g* of what is penalized; C' alpha = 0 is left to :meth:`allows`."""
        return regularizers.conjugate(regularizer, self.penalized(abar))


class NoIntercept(Intercept):
    """There is none."""
