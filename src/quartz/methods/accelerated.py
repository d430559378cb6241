"""Acceleration: a proximal-point loop with momentum around plain epochs, of any sampling.

Outer step k minimizes P(w) + kappa/2 ||w - c_k||^2 roughly, by epochs over the same data; that
problem is much better conditioned. Up to a constant its regularizer is (lam + kappa) times
g'(w) - <shift, w>, where g' = (lam g + kappa/2 ||.||^2) / (lam + kappa) and
shift = kappa c_k / (lam + kappa), so that its z is

    z = grad g'*(abar' + shift),    abar' = 1/((lam + kappa) n) sum_i A_i alpha_i:

the kernels run on a strengthened problem with the shift added to abar', and need not know of it.
The duals stay, and the centre moves by momentum:

    c_{k+1} = u_k + beta_k (u_k - u_{k-1}),    u_k the primal point of outer step k.

The losses of both problems are the same, so the duals are feasible for the original one, too. With
its abar, u_k has the gap

    1/n sum_i GAP_phi_i(u_k) + lam (g(u_k) + g*(abar) - <u_k, abar>).

lam abar = (lam + kappa)(abar' + shift) - kappa c_k: where the outer steps converge, u = c, the
second term vanishes; for L2 it is kappa^2 / (2 lam) ||u - c||^2. Both terms are known without a
pass. The certificate is computed from scratch, as everywhere, for the better of u and original z.
"""

from dataclasses import dataclass, field, replace

import numpy as np

from quartz.arrays import Array
from quartz.certificate import Certificate
from quartz.kernels.passes import squared_distance
from quartz.methods.permuted import Permuted
from quartz.methods.quartz import as_method
from quartz.methods.state import State
from quartz.methods.steps import Epochs, Method, Steps
from quartz.problem import Problem
from quartz.regularizers import base as regularizers
from quartz.samplings import Recipe

# All were chosen on the cells of docs/benchmarks-acceleration.md.

# An outer step ends when the losses' part of the gap is this multiple of kappa/2 ||u - c||^2.
INNER_GAP = 3.0
INNER_GAP_NOT_SMOOTH = 0.5  # for losses that are not smooth
LOOSER = 1.1  # factor by which the multiple grows after an outer step that was good
WORSE = 2.0  # factor of the gap's growth after which the multiple is halved and momentum restarts
# kappa is adapted to the epochs that an outer step takes.
EASY, HARD, MOST = 2, 8, 20  # epochs of an easy and of a hard outer step, and the limit
EASY_STEPS = 3  # easy outer steps in a row after which kappa is halved
EASY_NOT_SMOOTH, MOST_NOT_SMOOTH = 4, 100  # epochs, for losses that are not smooth
# Short epochs are done together before w is formed again, which costs about d / 25 visits.
LEAST_TOGETHER, MOST_TOGETHER = 0.1, 0.5  # passes
FORMING_W = 0.04  # visits of an example that forming one coordinate of w costs
LONGEST_SKIP = 7  # epochs that an example is inactive: the centre moves, so it must be seen again


@dataclass(frozen=True)
class Accelerated(Method):
    """A proximal-point loop with momentum around other steps, for small lam; a heuristic.

    Parameters
    ----------
    inner : Method or sampling, default Permuted()
        What solves the outer steps: permuted epochs, or Algorithm 1 with a sampling.
    """

    has_free_columns = True

    inner: Method | Recipe = field(default_factory=Permuted)

    def steps(self, problem: Problem, rng: np.random.Generator) -> "ProximalPoints":
        """Return its steps for a problem."""
        return accelerate(as_method(self.inner).epochs(problem, rng))


class ProximalPoints(Steps):
    """The outer loop as the bound covers it (`quartz.theory.accelerated_gap`), for smooth losses.

    kappa = max_i v_i / (gamma_i n) - lam throughout; an outer step ends when the gap of its problem
    is at most sqrt(q) / (2 - sqrt(q)) kappa/2 ||u - c||^2, q = lam / (lam + kappa); and the
    momentum is the constant (1 - sqrt(q)) / (1 + sqrt(q)).

    Parameters
    ----------
    epochs : Epochs
        Plain ones, of a problem with a regularizer that can be `weakened`.

    Attributes
    ----------
    plan : Plan or None
        That of the epochs.
    kappa : float
        Strength of the proximal term; 0 means that nothing is to be gained.
    """

    most_epochs: float = np.inf  # of an outer step, or a few more

    def __init__(self, epochs: Epochs) -> None:
        self._epochs = epochs
        self.plan = epochs.plan
        self._problem = problem = epochs.problem
        curvatures = epochs.v / problem.n
        if problem.losses.abilities.smooth:
            curvatures = curvatures / problem.gammas
        self._largest = float(curvatures.max())  # a larger kappa does not condition better
        self.kappa = max(self._wanted_strength(curvatures) - problem.lam, 0.0)
        self._accuracy = self._first_accuracy()
        forming = FORMING_W * problem.data.d / problem.n
        self._together = min(max(LEAST_TOGETHER, forming), MOST_TOGETHER)
        self._centre = self._previous = np.empty(0)
        self._combination = np.empty(0)  # 1/n sum_i A_i alpha_i
        regularizers.weakened(problem.regularizer, 0.5)  # raises if it cannot be weakened
        at_zero = problem.losses.values(np.zeros(problem.data.dual_shape))
        self._rounding = 1e-16 * float(np.mean(at_zero))  # the size of a gap that is only rounding

    def advance(self, state: State, wanted: float, target: float) -> float:
        """Do one outer step; returns the estimate of the original problem's gap at `state.w`."""
        if self.kappa == 0:
            estimate = self._epochs.run(state, wanted, passes=1.0)
            state.w = self._problem.conjugate_point(state.abar).copy()
            return estimate
        if not self._centre.size:
            centre = self._problem.intercept.without_free(self._first_centre(state))
            self._centre = self._previous = centre
            self._combination = self._problem.lam * state.abar
        problem = self._problem.strengthened(self.kappa)
        self._epochs.turn_to(problem)
        self._epochs.reactivate(within=LONGEST_SKIP)
        # Free coordinates have a centre of their own, which the intercept carries.
        shift = self._problem.intercept.without_free(self.kappa * self._centre)
        shifted = (self._combination + shift) / problem.lam
        inner = replace(state, abar=shifted)
        epochs, enough, passes = 0, -np.inf, 0.0
        while True:
            gap = self._epochs.run(inner, enough, passes)
            epochs += self._epochs.epochs
            w = problem.conjugate_point(shifted)
            enough, passes = self._enough(w), self._together
            if not gap > max(enough, self._rounding) or epochs >= self.most_epochs:
                break
            if inner.visited >= state.most_visited:
                break
        state.iteration, state.visited = inner.iteration, inner.visited
        state.w = w.copy()
        self._combination = problem.lam * shifted - shift
        state.abar[:] = self._combination / self._problem.lam
        estimate = gap + self._regularizer_gap(state)
        self._move_centre(state.w, estimate, epochs)
        return estimate

    def refresh(self, state: State, certificate: Certificate) -> None:
        """Take over abar from scratch; no skipping if the estimate was too low."""
        w = state.w
        self._epochs.refresh(state, certificate)
        if self.kappa > 0:
            state.w = w  # the certificate may have chosen z, which does not move with the centre
            self._combination = self._problem.lam * certificate.abar

    def _first_centre(self, state: State) -> Array:
        """The best of z, w and 0, by their P.

        At small lam, where P is flat, plain epochs leave z far from the solution.
        """
        problem = self._problem
        both = problem.conjugate_point(state.abar), state.w
        others = [x for x in both if x.any() and np.isfinite(x).all()]
        if not others:
            return np.zeros(problem.data.d)
        points = [problem.at_zero, *(problem.completed(x, state.carried) for x in others)]
        return min(points, key=lambda point: problem.primal_at(*point))[0].copy()

    def _wanted_strength(self, curvatures: Array) -> float:
        return self._largest

    def _first_accuracy(self) -> float:
        return self._root / (2 - self._root)

    def _enough(self, w: Array) -> float:
        """The gap of the inner problem at which an outer step ends."""
        return self._accuracy * 0.5 * self.kappa * squared_distance(w, self._centre)

    @property
    def _root(self) -> float:
        """sqrt(q) = sqrt(lam / (lam + kappa))."""
        return float(np.sqrt(self._problem.lam / (self._problem.lam + self.kappa)))

    @property
    def _full_momentum(self) -> float:
        return (1 - self._root) / (1 + self._root)

    def _regularizer_gap(self, state: State) -> float:
        problem = self._problem
        terms = problem.regularizer_value(state.w) + problem.regularizer_conjugate(state.abar)
        return problem.lam * (terms - float(state.w @ state.abar))

    def _move_centre(self, w: Array, estimate: float, epochs: int) -> None:
        self._centre = w + self._full_momentum * (w - self._previous)
        self._previous = w


class AcceleratedEpochs(ProximalPoints):
    """The same with heuristics that mostly save many passes.

    kappa starts where lam + kappa is the *mean* of v_i / (gamma_i n), and is adapted to the epochs
    that an outer step takes. Outer steps are solved roughly. The momentum grows as in FISTA, with
    restarts.
    """

    most_epochs = MOST

    def __init__(self, epochs: Epochs) -> None:
        super().__init__(epochs)
        self._momentum, self._easy, self._lowest = 1.0, 0, np.inf

    def _wanted_strength(self, curvatures: Array) -> float:
        return float(curvatures.mean())

    def _first_accuracy(self) -> float:
        return INNER_GAP

    def _move_centre(self, w: Array, estimate: float, epochs: int) -> None:
        """Momentum of FISTA, capped as strong convexity asks, restarted by the gradient rule."""
        self._guard(estimate)
        step = w - self._previous
        following = 0.5 + np.sqrt(0.25 + self._momentum**2)
        beta = min((self._momentum - 1) / following, self._full_momentum)
        if (self._centre - w) @ step > 0:
            beta, following = 0.0, 1.0
        self._centre = w + beta * step
        self._previous, self._momentum = w, following
        self._adapt(epochs)

    def _guard(self, estimate: float) -> None:
        """Where the gap grows, outer steps were solved too roughly for their momentum."""
        if estimate > WORSE * self._lowest:
            self._accuracy /= 2
            self._momentum, self._lowest = 1.0, estimate
            self._epochs.reactivate()
        else:
            self._accuracy = min(LOOSER * self._accuracy, INNER_GAP)
        if estimate > 0:  # a negative estimate is rounding
            self._lowest = min(self._lowest, estimate)

    def _adapt(self, epochs: int) -> None:
        self._easy = self._easy + 1 if epochs <= EASY else 0
        if epochs >= HARD:
            self.kappa = min(2 * self.kappa, max(self.kappa, self._largest))
        elif self._easy >= EASY_STEPS:
            self.kappa, self._easy = self.kappa / 2, 0


class HalvedProximalPoints(ProximalPoints):
    """For losses that are not smooth: no momentum, but kappa is halved; a heuristic.

    kappa starts at the largest v_i / n, and falls whenever an outer step was easy. With momentum
    such losses took several times the passes.
    """

    most_epochs = MOST_NOT_SMOOTH

    def _first_accuracy(self) -> float:
        return INNER_GAP_NOT_SMOOTH

    def _move_centre(self, w: Array, estimate: float, epochs: int) -> None:
        self._centre = w
        if epochs <= EASY_NOT_SMOOTH:
            self.kappa /= 2


def accelerate(epochs: Epochs) -> ProximalPoints:
    """Return the heuristic outer loop that suits the loss."""
    smooth = epochs.problem.losses.abilities.smooth
    return AcceleratedEpochs(epochs) if smooth else HalvedProximalPoints(epochs)
