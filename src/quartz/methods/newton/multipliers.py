"""Losses that are not smooth, for few features: the method of multipliers, by Newton steps.

A step of the proximal point method on the dual keeps alpha near the present dual point c,

    maximize  D(alpha) - q / (2n) ||alpha - c||^2.

Its primal problem is smooth: with the Moreau envelope phi^q of phi, whose conjugate is
phi* + q/2 |.|^2, it is

    minimize  1/n sum_i phi_i^q(A_i' w - q c_i) + lam g(w),      and  alpha_i = -(phi_i^q)'(...).

Newton steps (:mod:`quartz.methods.newton.level`) solve it, mostly in a few steps, because the
pieces of phi^q settle; only the examples in the bend have a part in the matrix. Then c becomes
alpha, and q smaller. The gap of (w, alpha) is that of the losses, where alpha is off phi by the
move alpha - c times q, and that of the smooth problem; both are estimated after each step.

With weights s_i, s_i phi_i has the envelope s_i phi_i^q at A_i' w - q c_i / s_i.
"""

import numpy as np

from quartz.arrays import Array, quietly
from quartz.data import Blocks
from quartz.losses.examples import ExampleLosses
from quartz.methods.newton import sample
from quartz.methods.newton.level import Level
from quartz.methods.newton.steps import LevelSteps
from quartz.methods.state import State
from quartz.problem import Problem

# q, in units of the predictions
FIRST = 1.0  # over the scale of the losses
FIRST_WARM = 0.05  # the same, from a start that is not w = 0
FALL = 0.7  # of q, over the root of that of the gap: the gap falls like q^2, or faster
LEAST_FALL, MOST_FALL = 0.4, 0.1  # factors
SOLVED = 0.3  # gap of a smooth problem, over that of the losses, with which it is left
MOST_STEPS_OF_SAMPLE = 30
SHARE_OF_ERROR = 0.1  # gap with which a sample is left, over the error that it has anyway


class MultiplierSteps(LevelSteps):
    """Newton steps on smooth problems, first those of samples and then of all rows.

    Parameters
    ----------
    problem : Problem
        With one output, and a loss with `smoothed`.
    rng : numpy.random.Generator
        Draws the samples.
    """

    def __init__(self, problem: Problem, rng: np.random.Generator) -> None:
        super().__init__(problem, rng)
        self._smooth: _Smoothed | None = None  # the present smooth problem, on all rows

    @quietly
    def advance(self, state: State, wanted: float, target: float) -> float:
        """Find a start or do one step; returns the gap at `state.w` and `state.duals`, nearly.

        Infinity means that there was no step, because numbers overflowed.
        """
        if self._smooth is None:
            self._smooth = self._begun(state)
            self._all, self.objective = self._smooth.level, self._smooth.objective()
        elif not self._smooth.step(wanted):
            state.visited += 2 * self._problem.n  # so that a limit of passes holds
            return np.inf
        estimate = self._smooth.estimate(wanted)
        self._offer(state, -self._smooth.level.slopes)
        return estimate

    def _smoothed(self, data: Blocks, losses: ExampleLosses) -> "_Smoothed":
        problem = self._problem
        level = Level(data, losses, problem.lam, problem.regularizer, self._penalized)
        return _Smoothed(level, losses)

    def _begun(self, state: State) -> "_Smoothed":
        """All rows at the start, or where samples lead to if it is w = 0."""
        problem = self._problem
        everyone, w = self._smoothed(problem.data, problem.losses), state.w
        scale = FIRST * self._scale()
        if problem.intercept.penalized(w).any():
            w, predictions = problem.completed(w)
            everyone.begin(w, predictions, FIRST_WARM * scale, state.duals.copy())
            return everyone
        w = problem.at_zero[0]
        for size in sample.sizes(problem.n, problem.data.features, False):
            examples, losses = sample.draw(problem.losses, size, self._rng)
            some = self._smoothed(problem.data.take(examples), losses)
            some.begin(w, None, scale)
            enough = SHARE_OF_ERROR * problem.data.d / size * some.objective()
            for _ in range(MOST_STEPS_OF_SAMPLE):
                if some.estimate(enough) <= enough or not some.step(enough):
                    break
            state.visited += some.level.visited
            w, scale = some.level.w, some.q
        everyone.begin(w, None, scale)
        return everyone

    def _scale(self) -> float:
        """Of the predictions: the distance of labels, or that of targets from their centre."""
        problem = self._problem
        if problem.losses.abilities.targets == "sign":
            return 1.0
        mean = float(np.mean(problem.losses.values(problem.at_zero[1])))
        return mean if 0 < mean < np.inf else 1.0


class _Smoothed:
    """The smooth problem around present duals, on the examples of a level.

    Parameters
    ----------
    level : Level
        Not yet at a point.
    losses : ExampleLosses
        Those of its examples, which are not smooth.

    Attributes
    ----------
    q : float
    """

    def __init__(self, level: Level, losses: ExampleLosses) -> None:
        self.level, self._losses = level, losses

    def begin(self, w: Array, predictions: Array | None, q: float, c: Array | None = None) -> None:
        """Go to a point, with duals around c, by default the middles of their domains."""
        low, high = self._losses.dual_bounds
        self.q, self._of_losses = q, np.inf
        self.level.losses = _Envelopes(self._losses, 0.5 * (low + high) if c is None else c, q)
        self.level.put(w, predictions)
        self._gradient = self.level.gradient()
        self._of_problem = self.level.gap(self._gradient)

    def objective(self) -> float:
        """P(w), of the losses as they are."""
        values = self._losses.values(self.level.predictions)
        return float(np.mean(values)) + self.level.penalty(self.level.w)

    def estimate(self, wanted: float) -> float:
        """The gap of w and the duals -slopes, nearly."""
        if self._of_problem <= max(wanted, SOLVED * self._of_losses):
            terms = self._losses.fenchel_young(self.level.predictions, -self.level.slopes)
            self._of_losses = float(np.mean(terms.gaps))
        return self._of_problem + self._of_losses

    def step(self, wanted: float) -> bool:
        """Renew the smooth problem if it is solved, and do a Newton step; False if it overflows."""
        level = self.level
        if self._of_problem <= SOLVED * self._of_losses:
            ratio = np.sqrt(wanted / self._of_losses) if self._of_losses > 0 else 0.0
            self.q *= min(max(FALL * ratio, MOST_FALL), LEAST_FALL)
            level.exchange(_Envelopes(self._losses, -level.slopes, self.q))
            self._gradient = level.gradient()
        direction = level.direction(self._gradient)
        if not np.isfinite(direction).all():
            return False
        level.step(self._gradient, direction)
        self._gradient = level.gradient()
        self._of_problem = level.gap(self._gradient)
        return True


class _Envelopes(ExampleLosses):
    """s_i phi_i^q at predictions that are shifted by -q c_i / s_i."""

    def __init__(self, losses: ExampleLosses, c: Array, q: float) -> None:
        smoothed = losses.abilities.smoothed
        assert smoothed is not None
        super().__init__(smoothed(q), losses.y, losses.weights)
        shares = c
        if losses.weights is not None:
            shares = np.divide(c, losses.weights, out=np.zeros_like(c), where=losses.weights > 0)
        self._shifts = q * shares

    def slopes(self, a: Array) -> tuple[Array, Array | None]:
        """Those at shifted predictions."""
        return super().slopes(a - self._shifts)

    def values(self, a: Array) -> Array:
        """Those at shifted predictions."""
        return super().values(a - self._shifts)
