"""Newton's method, for L2 or another separable penalty, and few features.

A pass in order is many times faster than an epoch in random order, and with d features a linear
system costs O(d^3): where d is small, Newton steps (:mod:`quartz.methods.newton.level`) are the
fastest way to a small gap. They begin on samples of the rows (:mod:`quartz.methods.newton.sample`),
each of which starts where the one before ended, and end on all rows.

An intercept is one more row and column of the matrix.
"""

from dataclasses import dataclass

import numpy as np

from quartz import costs
from quartz.arrays import Array, quietly
from quartz.data import Blocks
from quartz.losses.examples import ExampleLosses
from quartz.methods.newton import sample
from quartz.methods.newton.classes import ClassLevel
from quartz.methods.newton.level import Level
from quartz.methods.newton.metric import Metric, by_factor, of_product
from quartz.methods.newton.multipliers import MultiplierSteps
from quartz.methods.newton.steps import LevelSteps
from quartz.methods.state import State
from quartz.methods.steps import Method, Steps
from quartz.problem import Problem
from quartz.regularizers.base import abilities

# On a sample: steps at most, and the decrease of P below which the next sample begins, as a share
# of what is expected to separate its minimum from that of all rows.
MOST_STEPS_OF_SAMPLE, MOST_STEPS_ON_CLASSES = 12, 40
SHARE_OF_ERROR = 0.1
MOST_FEATURES_OF_CLASSES = 2000  # whose Gram matrix is formed for a metric
SHARE_OF_WANTED = 0.3  # of the gap that is wanted, at which conjugate gradients end
NEAR = 100.0  # gap, over that wanted, from which a step with the last matrix is enough
# Sweeps that a Hessian may cost; a dearer one is formed only where all else is slow.
DEAR, DEAR_OF_CLASSES = 4.0, 1.5
SHORT = 0.1  # length of a quasi-Newton step that says that its matrix is a poor one
WINDOW = 4  # quasi-Newton steps over which their rate is measured


def applies(problem: Problem) -> bool:
    """Whether Newton steps are possible.

    They need one output, a smooth loss with `curvature`, and L2 or another separable penalty with
    `conjugate_curvature`. For a loss over classes with `mean_hessian` and L2 there are quasi-Newton
    steps. For a loss that is not smooth but has `smoothed` there is the method of multipliers
    (:mod:`quartz.methods.newton.multipliers`).
    """
    can, penalty = problem.losses.abilities, abilities(problem.regularizer)
    if problem.data.m > 1:
        has_matrix = problem.data.rows_alike == problem.data.m  # w is a matrix, A_i'w its product
        return has_matrix and penalty.quadratic and can.plural and can.mean_hessian is not None
    piecewise = penalty.conjugate_curvature is not None and penalty.weakened is not None
    bends = can.curvature if can.smooth else can.smoothed
    return bends is not None and (penalty.quadratic or piecewise)


@dataclass(frozen=True)
class Newton(Method):
    """Newton steps with a line search, on samples of the rows first; see :func:`applies`."""

    has_free_columns = True

    def steps(self, problem: Problem, rng: np.random.Generator) -> Steps:
        """Return its steps for a problem."""
        if not applies(problem):
            raise ValueError(
                "Newton steps need one output, a smooth loss with `curvature` or another one with "
                "`smoothed`, and L2 or another separable regularizer with `conjugate_curvature`, "
                f"and this is {problem!r}. Use another method."
            )
        smooth = problem.losses.abilities.smooth
        return NewtonSteps(problem, rng) if smooth else MultiplierSteps(problem, rng)


class NewtonSteps(LevelSteps):
    """Newton steps with a line search, on samples and then on all rows.

    Parameters
    ----------
    problem : Problem
        To which Newton's method :func:`applies`.
    rng : numpy.random.Generator
        Draws the samples.
    """

    def __init__(self, problem: Problem, rng: np.random.Generator) -> None:
        super().__init__(problem, rng)
        self._gradient: Array | None = None  # at the present point, if it is known
        self._metric: Metric | None = None  # for quasi-Newton steps; None for Newton steps
        self._gaps: list[float] = []  # after quasi-Newton steps
        self._is_one_system = False  # whether the first step is the last one
        self._by_products = False  # whether conjugate gradients solve it

    @quietly
    def advance(self, state: State, wanted: float, target: float) -> float:
        """Find a start or do one step; returns the gap at `state.w` and `state.duals`, nearly.

        Infinity means that there was no step, because numbers overflowed.
        """
        begins = self._all is None
        if begins:
            self._all = self._begun(state)
        level = self._all
        assert level is not None
        if self._by_products and not begins:
            return self._conjugate_gradients(state, level, wanted)
        if not begins or self._is_one_system:
            gradient = level.gradient() if self._gradient is None else self._gradient
            source = level if self._metric is None else self._metric
            direction = source.direction(gradient)
            if not np.isfinite(direction).all():
                state.visited += 2 * self._problem.n  # so that a limit of passes holds
                return np.inf
            if self._metric is not None:
                level.step(gradient, direction)
            else:
                exact = level.newton_step(gradient, direction)
                duals = self._problem.losses.nearest_feasible(exact)
                # The first step of a linear system is the last one: nothing is left to estimate.
                estimate = 0.0 if begins else self._estimated(level, direction, exact, duals)
                if estimate <= wanted:
                    self._gradient = None
                    self._offer(state, duals)
                    return estimate
                near = estimate <= NEAR * wanted and not sample.is_small(level.data)
                level.keeps_matrix = near and not level.keeps_matrix
        before, self._gradient = self._gradient, level.gradient()
        estimate = level.gap(self._gradient)
        if estimate <= wanted:  # which is a share of P, and P falls with the steps
            self.objective = level.objective()
        self._offer(state, -level.slopes)
        if self._metric is not None and before is not None:
            self._metric.learn(level.moved, self._gradient - before)
            self._gaps.append(estimate)
            if estimate > wanted and self._is_slow(wanted):
                self._metric = None
        return estimate

    def _conjugate_gradients(self, state: State, level: Level, wanted: float) -> float:
        """Solve the system by products alone, or begin to; returns the estimate of the gap."""
        assert self._gradient is not None
        lam, matrix = self._problem.lam, self._newton_cost() / costs.sweep(self._problem.data)
        # What is wanted is a share of P, which falls with the steps.
        found = level.by_products(self._gradient, 2 * lam * SHARE_OF_WANTED * wanted, matrix)
        if not np.isfinite(found.residual).all():
            state.visited += level.visited
            return np.inf
        self._gradient = found.residual
        estimate = level.gap(self._gradient)
        self.objective = level.objective()
        self._by_products = estimate <= wanted
        self._offer(state, -level.slopes)
        return estimate

    def _is_slow(self, wanted: float) -> bool:
        """Whether Newton steps promise to be cheaper than more quasi-Newton steps."""
        if not wanted > 0 or self._problem.data.m > 1:
            return False
        assert self._all is not None
        if self._all.length < SHORT:  # the metric does not fit
            return True
        if len(self._gaps) <= WINDOW:
            return False
        fall = np.log(self._gaps[-1 - WINDOW]) - np.log(self._gaps[-1])
        remaining = WINDOW * (np.log(self._gaps[-1]) - np.log(wanted)) / max(fall, 0.1)
        return bool(remaining * costs.sweep(self._problem.data) > self._newton_cost())

    def _newton_cost(self) -> float:
        """Of Newton steps to the end, from a point near the solution."""
        data = self._problem.data
        if data.features > costs.MOST_FEATURES:
            return np.inf
        return costs.newton(data, quadratic=False, work=costs.NEAR_SOLUTION)

    def _level(self, data: Blocks, losses: ExampleLosses, single: bool = True) -> Level:
        problem = self._problem
        kind = Level if data.m == 1 else ClassLevel
        return kind(data, losses, problem.lam, problem.regularizer, self._penalized, single)

    def _begun(self, state: State) -> Level:
        """All rows at the start, or where samples lead to if it is w = 0."""
        problem = self._problem
        level, last = self._level(problem.data, problem.losses), None
        quasi = self._prefers_quasi_newton()
        if problem.intercept.penalized(state.w).any():
            points = problem.completed(state.w), problem.at_zero
            best = min(points, key=lambda point: problem.primal_at(*point))
            level.put(*(part.copy() for part in best))  # that at 0 is kept by the problem
            if quasi:
                self._metric = self._metric_at(level, None)
        else:
            w = state.w
            quadratic = problem.losses.abilities.quadratic and problem.data.m == 1
            self._is_one_system, self._by_products = quadratic and not quasi, quadratic and quasi
            sampled = self._sample_for_metric() if quasi and not quadratic else None
            if not quadratic and sampled is None:
                for size in sample.sizes(problem.n, problem.data.features * problem.data.m, quasi):
                    last = self._on_sample(w, size, state)
                    w, level.single = last.w, last.single and level.single
            if last is None and not state.duals.any():
                level.put(*(part.copy() for part in problem.at_zero))
            else:
                level.put(w)
            if sampled is not None or (
                quasi and not quadratic and self._is_dear(level.bent_share())
            ):
                self._metric = self._metric_at(level, sampled or last)
        if not self._is_one_system:
            self.objective = (last or level).objective()  # of a sample it is near enough
        return level

    def _prefers_quasi_newton(self) -> bool:
        """Whether a Hessian of all rows is dear, or there is none."""
        problem = self._problem
        return self._is_dear() and abilities(problem.regularizer).quadratic

    def _is_dear(self, share: float = 1.0) -> bool:
        """Whether a Hessian of that share of the rows is dear; of some losses there is none."""
        data, can = self._problem.data, self._problem.losses.abilities
        if data.m > 1 and not (can.covariance and data.storage.gram_by_blas):
            return True
        dear = DEAR if data.m == 1 else DEAR_OF_CLASSES
        return share * costs.hessian(data) > dear * costs.sweep(data)

    def _metric_at(self, level: Level, sampled: Level | None) -> Metric:
        """The metric for quasi-Newton steps from a level, with the matrix of a sample if any.

        For classes it is G (x) B, with the Gram matrix G of the rows and the mean Hessian B of the
        losses: exact where all examples have the same probabilities, as at w = 0.
        """
        hessian = level.losses.abilities.mean_hessian
        if hessian is None:
            return Metric(None if sampled is None else by_factor(sampled.factor()))
        rows, losses, lam = (sampled or level).data, level.losses, self._problem.lam
        if rows.features > MOST_FEATURES_OF_CLASSES:
            return Metric()
        B = hessian(level.predictions, losses.weights_or_ones)
        one = rows.for_one_output()
        gram = np.zeros((one.gram_size, one.gram_size))
        rows.storage.add_gram(None, np.broadcast_to(1 / rows.n, rows.n), gram)
        whole = one.bordered_gram(gram)
        whole = np.tril(whole) + np.tril(whole, -1).T
        if not (np.isfinite(whole).all() and np.isfinite(B).all()):
            return Metric()
        if self._penalized.all():
            return Metric(of_product(whole, B, lam, None))
        return Metric(of_product(whole[:-1, :-1], B, lam, float(whole[-1, -1])))

    def _sample_for_metric(self) -> Level | None:
        """A sample at w = 0, whose matrix costs about as much as a few sweeps.

        None if it would be too small, or has not seen some feature, for which its matrix is lam.
        Sparse rows are mostly of that kind.
        """
        problem = self._problem
        size = sample.size_for_metric(problem.n, problem.data.features)
        if size is None or problem.data.m > 1 or not problem.data.storage.gram_by_blas:
            return None
        sampled = self._drawn(problem.at_zero[0], size)
        return sampled if sampled.sees_all_features() else None

    def _drawn(self, w: Array, size: int) -> Level:
        """A sample of that size at a point."""
        problem = self._problem
        examples, losses = sample.draw(problem.losses, size, self._rng)
        level = self._level(problem.data.take(examples), losses)
        level.put(w)
        return level

    def _on_sample(self, w: Array, size: int, state: State) -> Level:
        """A sample, at the point where steps on it lead to."""
        problem, level = self._problem, self._drawn(w, size)
        by_metric = problem.data.m > 1 and self._is_dear()
        metric = self._metric_at(level, None) if by_metric else None
        gradient = level.gradient()
        for _ in range(MOST_STEPS_ON_CLASSES if by_metric else MOST_STEPS_OF_SAMPLE):
            direction = (level if metric is None else metric).direction(gradient)
            if not np.isfinite(direction).all():
                break
            decrease = -0.5 * float(gradient @ direction)
            level.step(gradient, direction)
            if decrease <= SHARE_OF_ERROR * problem.data.d / size * level.noise():
                break
            before, gradient = gradient, level.gradient()
            if metric is not None:
                metric.learn(level.moved, gradient - before)
        state.visited += level.visited
        return level

    def _estimated(self, level: Level, direction: Array, exact: Array, duals: Array) -> float:
        """The gap of the present point and these duals, which are `exact` moved into the domain.

        Duals that were moved change abar by at most what their norm and that of the data allow.
        """
        lam = self._problem.lam
        rest = (1 - level.length) * (self._penalized * direction)
        squares = 0.0
        if duals is not exact:
            moved = (duals - exact).ravel()
            squares = float(np.einsum("i,i->", moved, moved)) / self._problem.n
        if squares:
            squares *= self._problem.data.storage.mean_square / lam
        return 0.5 * (level.losses_gap(duals) + lam * float(rest @ rest) + squares)
