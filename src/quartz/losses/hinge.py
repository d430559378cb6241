"""The hinge family: support vector machines.

All are functions of the margin t = y a, y = -1 or +1; formulas use b = y alpha = -y u.
"""

from typing import NamedTuple

import numpy as np

from quartz import checks
from quartz.arrays import Floats
from quartz.domain import barrier


class Hinge(NamedTuple):
    """phi(a) = max(0, 1 - y a), the loss of the plain SVM; phi*(u) = -b for b in [0, 1].

    Not smooth (gamma = 0): Option I only, and the theorem promises no linear rate.
    """

    @property
    def gamma(self) -> float:
        """Not smooth."""
        return 0.0

    @property
    def targets(self) -> str:
        """Labels are -1 and +1."""
        return "sign"

    def value(self, a: Floats, y: Floats) -> Floats:
        """phi(a)."""
        return np.maximum(1.0 - y * a, 0.0)

    def gradient(self, a: Floats, y: Floats) -> Floats:
        """-y below the kink at margin 1, else 0."""
        return -y * (y * a < 1.0)

    def conjugate(self, u: Floats, y: Floats) -> Floats:
        """phi*(u)."""
        return y * u + barrier(-y * u, 0.0, 1.0)

    def step(self, alpha: float, a: float, y: float, q: float) -> float:
        """New alpha of Option I; an empty example (q = 0) goes straight to a bound."""
        slack = 1.0 - y * a
        if q <= 0.0:
            return y * (slack > 0.0) if slack != 0.0 else alpha
        # No move is longer than 1; without the bounds of q the quotient may overflow.
        return y * min(max(y * alpha + min(max(slack, -q), q) / q, 0.0), 1.0)

    def smoothed(self, gamma: float) -> "SmoothedHinge":
        """Its Moreau envelope."""
        return SmoothedHinge(gamma)


class SmoothedHinge(NamedTuple):
    """The smoothed hinge loss [d-1]; phi*(u) = -b + gamma b^2 / 2 for b in [0, 1]."""

    gamma: float = 1.0

    @property
    def targets(self) -> str:
        """Labels are -1 and +1."""
        return "sign"

    def validate(self) -> None:
        """Check gamma."""
        checks.positive("gamma", self.gamma, "For the loss that is not smooth use Hinge().")

    def value(self, a: Floats, y: Floats) -> Floats:
        """0, (1 - t)^2 / (2 gamma), or 1 - t - gamma / 2, as t falls."""
        slack = np.maximum(1.0 - y * a, 0.0)
        bent = np.minimum(slack, self.gamma)
        return bent / self.gamma * (slack - 0.5 * bent)

    def gradient(self, a: Floats, y: Floats) -> Floats:
        """-y b with b = (1 - t) / gamma clipped to [0, 1]."""
        return -y * np.minimum(np.maximum(1.0 - y * a, 0.0), self.gamma) / self.gamma

    def curvature(self, a: Floats, y: Floats) -> Floats:
        """1 / gamma where the loss is bent, else 0."""
        slack = 1.0 - y * a
        return ((slack > 0.0) & (slack < self.gamma)) / self.gamma

    def slopes(self, a: Floats, y: Floats) -> tuple[Floats, Floats]:
        """`gradient` and `curvature`."""
        bent = np.minimum(np.maximum(1.0 - y * a, 0.0), self.gamma)
        steepness = min(1.0 / self.gamma, 1e308)  # times 0 it is 0
        bends = ((bent > 0.0) & (bent < self.gamma)) * steepness
        return bent * y * -steepness, bends

    def conjugate(self, u: Floats, y: Floats) -> Floats:
        """phi*(u)."""
        b = np.minimum(np.maximum(-y * u, 0.0), 1.0)  # the square of another b might overflow
        return b * (0.5 * self.gamma * b - 1.0) + barrier(-y * u, 0.0, 1.0)

    def step(self, alpha: float, a: float, y: float, q: float) -> float:
        """New alpha of Option I, the closed form below [g-app-1]."""
        most = self.gamma + q
        return y * (min(max(1.0 - y * a + q * y * alpha, 0.0), most) / most)


class SquaredHinge(NamedTuple):
    """The squared hinge loss [d-2]; phi*(u) = -b + gamma b^2 / 2 for b >= 0."""

    gamma: float = 1.0

    @property
    def targets(self) -> str:
        """Labels are -1 and +1."""
        return "sign"

    def validate(self) -> None:
        """Check gamma."""
        checks.positive("gamma", self.gamma, "LIBLINEAR's squared hinge is gamma=0.5.")

    def value(self, a: Floats, y: Floats) -> Floats:
        """max(0, 1 - t)^2 / (2 gamma)."""
        slack = np.maximum(1.0 - y * a, 0.0)
        return 0.5 * slack / self.gamma * slack

    def gradient(self, a: Floats, y: Floats) -> Floats:
        """-y max(0, 1 - t) / gamma."""
        return -y * np.maximum(1.0 - y * a, 0.0) / self.gamma

    def curvature(self, a: Floats, y: Floats) -> Floats:
        """1 / gamma below margin 1, else 0."""
        return (y * a < 1.0) / self.gamma

    def slopes(self, a: Floats, y: Floats) -> tuple[Floats, Floats]:
        """`gradient` and `curvature`."""
        slack = np.maximum(1.0 - y * a, 0.0)
        steepness = min(1.0 / self.gamma, 1e308)  # times 0 it is 0
        return slack * y * -steepness, (slack > 0.0) * steepness

    def conjugate(self, u: Floats, y: Floats) -> Floats:
        """phi*(u)."""
        b = np.maximum(-y * u, 0.0)
        return b * (0.5 * self.gamma * b - 1.0) + barrier(-y * u, 0.0, np.inf)

    def step(self, alpha: float, a: float, y: float, q: float) -> float:
        """New alpha of Option I, the closed form below [g-app-2]."""
        return y * max((1.0 - y * a + q * y * alpha) / (self.gamma + q), 0.0)
