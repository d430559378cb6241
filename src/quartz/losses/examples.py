"""The losses s_i phi_i of all examples: one loss, the targets and the weights.

If there are many examples, each function is one compiled loop. That avoids temporary vectors, and
many short operations of NumPy, for which threads would have to wait for the GIL.
"""

from collections.abc import Callable
from functools import cached_property
from math import fsum
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import brentq

from quartz import grid
from quartz.arrays import AnyArray, Array, Floats, IntArray, Mask, quietly, sums_of_rows
from quartz.kernels import examples as kernels
from quartz.kernels.compile import NotCompilableError
from quartz.losses.base import Abilities, Loss, Prediction, abilities
from quartz.parallel import in_parts, rows_in_parts

# Numbers of examples
MANY_OF_CLASSES = 100  # above which compiled loops pay for a loss over classes
MANY = 10_000  # above which compiled loops pay for a scalar loss
TOGETHER = 32_768  # which NumPy evaluates at once: vectors of 256 KiB, which stay in the cache

# Kernels that evaluate formulas of the loss and do little else
FORMULAS = frozenset({"evaluate", "conjugates", "fenchel_young", "shifted_slope"})

# Predictions at which a bounded gradient has reached its bound; the smaller ones are for formulas
# that overflow to nan at the larger ones.
FAR = 1e30, 300.0, 30.0

MOST_WIDENINGS = 500  # fourfold each, up to the largest float

# Numbers that could be multiplied in the time of a loss, and in that of a look at its bounds
WORK, WORK_OF_BOUNDS = 15, 5

SIGNS = np.array([-1.0, 1.0])  # the targets of a loss for two classes

SLACK = 1e-12  # how far outside its domain rounding may put a dual variable, relative to its size

_not_compilable: set[tuple[type | str, ...]] = set()  # type of the loss, kernel and its options


class FenchelYoung(NamedTuple):
    """The Fenchel-Young gaps of all examples, and means over the examples.

    Attributes
    ----------
    gaps : ndarray of shape (n,)
        s_i phi_i(a_i) + (s_i phi_i)*(-alpha_i) + <a_i, alpha_i>.
    loss, conjugate : float
        Means of the first and of the second term.
    loss_size, conjugate_size : float
        Means of their absolute values, the second one with gamma s_i |alpha_i / s_i|^2 added: their
        accuracy is relative to these.
    """

    gaps: Array
    loss: float
    conjugate: float
    loss_size: float
    conjugate_size: float


class ExampleLosses:
    """The losses of all examples.

    Parameters
    ----------
    loss : Loss
        phi.
    y : ndarray
        Targets.
    weights : ndarray of shape (n,), optional
        s_i; 1 by default.
    shape : tuple of int, optional
        Shape of the predictions and of the dual variables, (n,) or (n, m); by default that of y.
    can : Abilities, optional
        Those of the loss, if they are known.
    """

    def __init__(
        self,
        loss: Loss,
        y: AnyArray,
        weights: Array | None = None,
        shape: tuple[int, ...] | None = None,
        can: Abilities | None = None,
    ) -> None:
        self.loss, self.y, self.weights = loss, y, weights
        self.abilities = abilities(loss) if can is None else can
        self.shape = y.shape if shape is None else shape

    def __getstate__(self) -> dict[str, object]:
        """Without the ones that take no memory: pickling would fill them in."""
        broadcast = ("weights_or_ones", "_constant_curvatures")
        return {name: value for name, value in self.__dict__.items() if name not in broadcast}

    @property
    def n(self) -> int:
        """Number of examples."""
        return self.shape[0]

    @cached_property
    def weights_or_ones(self) -> Array:
        """s_i; without weights, ones that take no memory."""
        return np.broadcast_to(1.0, self.n) if self.weights is None else self.weights

    @cached_property
    def gammas(self) -> Array:
        """gamma_i = gamma / s_i, infinite for weight 0; the array must not be changed."""
        if self.weights is None:
            return np.full(self.n, float(self.loss.gamma))
        gammas = np.full(self.n, np.inf)
        return np.divide(self.loss.gamma, self.weights, out=gammas, where=self.weights > 0)

    # All examples

    @quietly
    def values(self, a: Array) -> Array:
        """s_i phi_i(a_i) for every example."""
        return self._evaluated("value", a, np.empty(len(a)))

    @quietly
    def gradients(self, a: Array) -> Array:
        """s_i grad phi_i(a_i) for every example."""
        if self.abilities.vector or a.ndim == 1:
            return self._evaluated("gradient", a, np.empty(a.shape))
        return _weighted(np.asarray(self.loss.gradient(a, self.y)), self.weights)

    @quietly
    def curvatures(self, a: Array) -> Array:
        """s_i phi_i''(a_i) for every example, of a scalar loss that has a curvature."""
        if a.ndim == 1:
            return self._evaluated("curvature", a, np.empty(a.shape))
        curvature = self.abilities.curvature
        assert curvature is not None
        return _weighted(np.asarray(curvature(self.loss, a, self.y)), self.weights)

    @cached_property
    def _constant_curvatures(self) -> Array:
        """Those of a quadratic loss; without weights, one number that takes no memory."""
        few = self if self.weights is not None else self.take(slice(1))
        return np.broadcast_to(few.curvatures(np.zeros(few.shape)), self.shape)

    @quietly
    def slopes(self, a: Array) -> tuple[Array, Array | None]:
        """`gradients`, and `curvatures` of a scalar loss that has them, at once."""
        if self.abilities.curvature is None:
            return self.gradients(a), None
        slopes = self.abilities.slopes
        if self.abilities.quadratic:
            return self.gradients(a), self._constant_curvatures
        if slopes is None:
            return self.gradients(a), self.curvatures(a)
        if len(a) <= TOGETHER:
            pair = (np.asarray(each, np.float64) for each in slopes(self.loss, a, self.y))
            gradients, curvatures = (_weighted(each, self.weights) for each in pair)
            return gradients, curvatures
        first, second = np.empty(len(a)), np.empty(len(a))

        def of_part(part: slice) -> None:
            first[part], second[part] = slopes(self.loss, a[part], self.y[part])

        in_parts(of_part, _parts(len(a)), WORK * len(a))
        return _weighted(first, self.weights), _weighted(second, self.weights)

    @quietly
    def conjugates(self, alpha: Array, some: IntArray | None = None) -> Array:
        """(s_i phi_i)*(-alpha_i) = s_i phi_i*(-alpha_i / s_i) for every example, or for `some`.

        With s_i = 0 it is 0 at alpha_i = 0 and infinite elsewhere.
        """
        if some is not None:
            return self.take(some).conjugates(alpha[some])
        u, weights = -alpha, self.weights
        if weights is None:
            return self._evaluated("conjugate", u, np.empty(len(u)))
        found: Array | None = self._compiled("conjugates", u, self.y, weights)
        if found is not None:
            return found
        nonzero = u != 0
        each = np.where(nonzero if u.ndim == 1 else nonzero.any(axis=1), np.inf, 0.0)
        kept = np.flatnonzero(weights)
        s = weights[kept]
        scaled = u[kept] / (s if u.ndim == 1 else s[:, None])
        of_kept = ExampleLosses(self.loss, self.y[kept], s, scaled.shape)
        each[kept] = of_kept._evaluated("conjugate", scaled, np.empty(len(s)))
        return each

    @quietly
    def fenchel_young(self, a: Array, alpha: Array) -> FenchelYoung:
        """Fenchel-Young gaps of the predictions a and the dual variables alpha."""
        if not self.abilities.vector:
            found = self._compiled("fenchel_young", a, alpha, self.y, self.weights)
            if found is not None:
                return FenchelYoung(*found)
        gaps = np.empty(self.n)

        def of_part(part: slice) -> tuple[float, float, float, float]:
            return self.take(part)._gaps(a[part], alpha[part], gaps[part])

        sums = in_parts(of_part, _parts(self.n), WORK * a.size)
        by_pairs = np.ascontiguousarray(np.transpose(sums)).sum(axis=1)
        return FenchelYoung(gaps, *map(float, by_pairs / self.n))

    def take(self, examples: slice | IntArray) -> "ExampleLosses":
        """The losses of some examples, with their weights as they are."""
        weights = None if self.weights is None else self.weights[examples]
        y = self.y[examples]
        return ExampleLosses(self.loss, y, weights, (len(y), *self.shape[1:]), self.abilities)

    def _gaps(self, a: Array, alpha: Array, gaps: Array) -> tuple[float, float, float, float]:
        """Write the Fenchel-Young gaps into `gaps`; returns sums for `FenchelYoung`."""
        values, conjugates = self.values(a), self.conjugates(alpha)
        products = a * alpha
        np.add(values, conjugates, out=gaps)
        gaps += products if a.ndim == 1 else sums_of_rows(products)
        return (
            float(np.sum(values)),
            float(np.sum(conjugates)),
            float(np.sum(np.abs(values))),
            float(np.sum(np.abs(conjugates))) + self._bend(alpha),
        )

    def _bend(self, alpha: Array) -> float:
        """The sum of gamma s_i |alpha_i / s_i|^2."""
        squares = alpha * alpha
        if self.weights is not None:
            weights = self.weights if alpha.ndim == 1 else self.weights[:, None]
            squares = np.divide(squares, weights, out=squares, where=weights > 0)
        return float(self.loss.gamma) * float(np.sum(squares))

    @cached_property
    def mean_conjugate_at_zero(self) -> float:
        """The mean of s_i phi_i*(0), which is minus the infimum of the mean loss."""
        if self.abilities.lowest == 0:
            return 0.0
        if self.by_label is not None:
            return float(np.sum(self.by_label.conjugates(np.zeros(self.by_label.shape)))) / self.n
        sums = []
        for part in _parts(self.n, self.shape[1] if len(self.shape) > 1 else 1):
            some = self.take(part)
            sums.append(float(np.sum(some.conjugates(np.zeros(some.shape)))))
        return fsum(sums) / self.n

    @cached_property
    def by_label(self) -> "ExampleLosses | None":
        """One example for each label, with the total weight of all that have it.

        They stand for all examples where predictions are equal. None if targets are no labels.
        """
        kind, weights = self.abilities.targets, self.weights
        if kind == "real" or self.y.ndim > 1:
            return None
        if kind == "class":
            outputs = self.shape[1]
            labels, codes = np.arange(outputs), self.y
            totals = np.bincount(codes, weights, len(labels)).astype(np.float64)
        else:
            labels, positive = SIGNS, self.y > 0
            if weights is None:
                count = int(np.count_nonzero(positive))
                totals = np.array([self.n - count, count], dtype=np.float64)
            else:
                totals = np.bincount(positive, weights, 2).astype(np.float64)
        shape = (len(labels), *self.shape[1:])
        return ExampleLosses(self.loss, labels, totals, shape, self.abilities)

    # One example

    def gradient_one(self, i: int, a: Floats) -> Floats:
        """Gradient of s_i phi_i at the prediction a."""
        gradient = self.loss.gradient(a, self.y[i])
        return gradient if self.weights is None else self.weights[i] * gradient

    def step_one(self, i: int, alpha: Prediction, a: Prediction, q: float) -> Floats:
        """Return the new alpha_i of Option I for the weighted loss, q = v_i / (lam n).

        For alpha_i / s_i it is the step of the unweighted loss with q s_i in place of q.
        """
        step = self.abilities.step
        assert step is not None
        s = 1.0 if self.weights is None else self.weights[i]
        if s == 0:
            return np.zeros_like(alpha)
        if np.ndim(a) and not self.abilities.vector:  # multitask: separable over outputs
            outputs = zip(alpha / s, a, self.y[i], strict=True)
            return s * np.array([step(self.loss, *output, q * s) for output in outputs])
        return s * step(self.loss, alpha / s, a, self.y[i], q * s)

    # The domain of the conjugates

    @cached_property
    def dual_bounds(self) -> tuple[Array, Array]:
        """The lower and the upper bounds of feasible dual variables, for a scalar loss.

        They are minus the gradients at predictions far away (see `FAR`).
        """
        if self.abilities.quadratic:  # a conjugate that is finite everywhere
            unbounded = np.full(self.shape, np.inf)
            if self.weights is not None:
                unbounded[self.weights == 0] = 0.0
            return -unbounded, unbounded
        if self.abilities.targets == "sign":  # two targets are enough
            chosen = [_of_sign(self.y, pair) for pair in self._ends(SIGNS)]
        else:
            chosen = list(self._ends(self.y))
        low, high = (_weighted(end, self.weights) for end in chosen)
        if self.weights is not None:
            for bound, end, inside in ((low, chosen[0], np.inf), (high, chosen[1], -np.inf)):
                rounded = ~_is_exact(end) & (bound != 0)  # times s_i
                bound[rounded] = np.nextafter(bound[rounded], inside)
        return low, high

    @cached_property
    def has_rounded_bounds(self) -> bool:
        """Whether s_i times an end of the domain of phi_i* is no float, unlike s_i itself."""
        if self.abilities.vector or self.weights is None:
            return False
        some = self.y if self.abilities.targets == "real" else SIGNS
        return not all(_is_exact(end).all() for end in self._ends(some))

    def _ends(self, y: AnyArray, share: float = 1.0) -> tuple[Array, Array]:
        """Minus the gradients of the unweighted loss far away, to the right and to the left.

        They are taken at that share of the usual distance.
        """
        reach = max(1.0, float(np.abs(y).max(initial=0.0)), self._largest_parameter)
        ends = []
        for side in (1.0, -1.0):
            end = np.full(y.shape, np.nan)
            for far in FAR:
                if np.isnan(end).any():
                    with np.errstate(all="ignore"):
                        found = -self.loss.gradient(np.full(y.shape, side * share * far * reach), y)
                    found = np.clip(found, -FAR[0] * reach, FAR[0] * reach)
                    end = np.where(np.isnan(end), found, end)
            ends.append(end)
        return ends[0], ends[1]

    @property
    def _largest_parameter(self) -> float:
        """The largest number among the parameters of the loss, beyond which its slope settles."""
        parameters = self.loss if isinstance(self.loss, tuple) else ()
        numbers = [abs(float(each)) for each in parameters if isinstance(each, int | float)]
        return max((each for each in numbers if each < np.inf), default=0.0)

    @cached_property
    def steepest(self) -> Array:
        """Bounds for the norms of the gradients of s_i phi_i; infinite if there are none."""
        if self.abilities.simplex:
            return np.sqrt(2.0) * self.weights_or_ones
        if self.abilities.vector:
            return np.full(self.n, np.inf)
        signs = self.abilities.targets == "sign"
        some = SIGNS if signs else self.y
        far, nearer = self._ends(some), self._ends(some, 1 / 16)
        bounded = (far[0] == nearer[0]) & (far[1] == nearer[1])
        largest = np.maximum(*map(np.abs, far))
        bounded &= largest < FAR[0]  # where ends are cut off
        ends = np.where(bounded, largest, np.inf)
        if signs:
            ends = _of_sign(self.y, ends)
        ends = _weighted(ends, self.weights).reshape(self.n, -1)
        return np.asarray(ends.sum(axis=1))

    @cached_property
    def typical_slope(self) -> float:
        """A bound for the root of the mean square of `steepest`, if possible without these."""
        if self.weights is None and self.abilities.targets == "sign":
            steepest = ExampleLosses(self.loss, SIGNS, can=self.abilities).steepest.max()
            return float(steepest) * (self.y.size // self.n)  # a sum over the outputs
        return float(np.sqrt(np.mean(self.steepest**2)))

    def nearest_feasible(self, alpha: Array) -> Array:
        """Dual variables moved into the domain of the conjugates.

        For a scalar loss they are the nearest feasible ones, for a loss with `simplex` near ones;
        of other losses over several outputs the domain is not known.
        """
        if self.abilities.quadratic and self.weights is None:
            return alpha
        if not self.abilities.vector:
            low, high = self.dual_bounds
            found = np.empty_like(alpha)

            def of_part(part: slice) -> None:
                above = np.maximum(alpha[part], low[part])
                np.minimum(above, high[part], out=found[part])

            in_parts(of_part, _parts(self.n), WORK_OF_BOUNDS * alpha.size)
            return found
        points_of_all = np.empty_like(alpha)
        for part in _parts(*alpha.shape):
            some = self.take(part)
            points = np.maximum(some.simplex_points(alpha[part]), 0.0)
            sums, weights = sums_of_rows(points), some.weights_or_ones
            points *= np.divide(weights, sums, out=np.zeros_like(sums), where=sums > 0)[:, None]
            points_of_all[part] = some.simplex_points(points)  # the map is its own inverse
        return points_of_all

    def rounded_into_domain(self, alpha: Array) -> Array:
        """Dual variables that rounding put outside the domain of the conjugates, moved into it.

        Those farther outside than SLACK stay there, and their conjugates are infinite. Those of a
        loss with `simplex` are moved to where they sum to 0 exactly.
        """
        if self.abilities.simplex:
            found = grid.simplex_duals(alpha, self.y, np.asarray(self.weights_or_ones))
        elif self.abilities.vector:
            return alpha.copy()
        else:
            found = self.nearest_feasible(alpha)
        outputs = alpha.size // self.n
        sizes = self.weights_or_ones + np.abs(alpha).reshape(self.n, -1).max(axis=1)
        near = 4 * SLACK * outputs * sizes  # conjugates over classes forgive less than that
        moved = np.abs(found - alpha).reshape(self.n, -1).max(axis=1)
        far = np.flatnonzero(moved > near)
        found[far] = alpha[far]
        return found

    def simplex_points(self, alpha: Array) -> Array:
        """s_i p_i, for dual variables alpha_i = s_i (e_y - p_i) of a loss with `simplex`."""
        points = np.negative(alpha, order="C")
        flat, own = points.ravel(), np.arange(0, alpha.size, alpha.shape[1]) + self.y
        flat[own] += 1.0 if self.weights is None else self.weights
        return points

    # One scalar loss, all predictions shifted by one number

    @quietly
    def shifted_slope(self, a: Array, y: Array, shift: float) -> tuple[float, float, float]:
        """Sums over the examples of s_i phi_i', s_i |phi_i'| and s_i phi_i'' at a_i + shift."""
        found: tuple[float, float, float] | None
        found = self._compiled("shifted_slope", a, y, self.weights, shift)
        if found is not None:
            return found
        one = ExampleLosses(self.loss, y, self.weights, can=self.abilities)
        slopes, bends = one.slopes(a + shift)
        assert bends is not None
        whole = float(bends[0]) * len(bends) if not bends.strides[0] else float(bends.sum())
        return float(slopes.sum()), float(np.abs(slopes).sum()), whole

    @quietly
    def shifted_root(self, a: Array, y: Array, start: float) -> float:
        """The shift where sum_i s_i phi_i'(a_i + shift) changes its sign; nan if there is none."""
        found: float | None = self._compiled("shifted_root", a, y, self.weights, start)
        if found is not None:
            return found
        weights = self.weights_or_ones
        return _root(lambda shift: float(weights @ self.loss.gradient(a + shift, y)), start)

    def repaired_by_loop(self, alpha: Array, a: Array, close: float) -> Array | None:
        """`quartz.intercept.repair.repaired` as one compiled loop; None if that does not pay."""
        found: Array | None = self._compiled(
            "repair", alpha, a, self.y, self.weights, self.dual_bounds, close
        )
        return found

    def _evaluated(self, method: str, x: Array, out: Array) -> Array:
        """Fill `out` with s_i times a method of the loss for every example."""
        found: Array | None = self._compiled(
            "evaluate", x, self.y, self.weights, out, method=method
        )
        if found is not None:
            return found
        function = getattr(self.loss, f"{method}s" if self.abilities.plural else method)
        if self.abilities.plural:
            for part in _parts(len(x), x.shape[1]):
                out[part] = function(x[part], self.y[part])
        elif self.abilities.vector:
            for i, pair in enumerate(zip(x, self.y, strict=True)):
                out[i] = function(*pair)
        elif x.ndim == 1 and len(x) <= TOGETHER:
            out[:] = function(x, self.y)
        else:
            for part in _parts(len(x)):
                terms = function(x[part], self.y[part])
                out[part] = terms if terms.ndim < 2 else terms.sum(axis=1)
        return _weighted(out, self.weights)

    def _compiled(self, kernel: str, x: Array, *arguments: object, **choice: str) -> Any:
        """Call a function of `quartz.kernels.examples`, and return what it returns.

        None if there are few examples, if a scalar loss has several outputs, or if the loss cannot
        be compiled.
        """
        can, vector = self.abilities, self.abilities.vector
        if len(x) <= (MANY_OF_CLASSES if vector else MANY) or x.ndim > 1 + vector:
            return None
        if (can.transcendental or can.plural) and kernel in FORMULAS:
            return None
        key: tuple[type | str, ...] = type(self.loss), kernel, *choice.values()
        if key in _not_compilable:
            return None
        try:
            return getattr(kernels, kernel)(self.loss, x, *arguments, **choice)
        except NotCompilableError:
            _not_compilable.add(key)
            return None


def _parts(count: int, outputs: int = 1) -> list[slice]:
    """Numbers of examples that NumPy evaluates at once."""
    return rows_in_parts(count, max(TOGETHER // outputs, 1))


def _is_exact(end: Array) -> Mask:
    """Whether a weight times an end of a domain is a float, or there is no end."""
    return np.isin(end, (-1.0, 0.0, 1.0)) | (np.abs(end) >= FAR[0])


@quietly  # a pair may be infinite
def _of_sign(y: Array, pair: Array) -> Array:
    """The first number of the pair where y = -1, the second one where y = +1.

    A linear function of y is several times faster than a choice, where it is exact.
    """
    middle, half = 0.5 * (pair[0] + pair[1]), 0.5 * (pair[1] - pair[0])
    if middle - half == pair[0] and middle + half == pair[1]:
        return middle + half * y
    return np.where(y > 0, pair[1], pair[0])


def _weighted(each: Array, weights: Array | None) -> Array:
    if weights is None:
        return each
    s = weights if each.ndim == 1 else weights[:, None]
    return np.multiply(each, s, out=np.zeros_like(each), where=s > 0)  # an infinite one may count 0


def _root(rising: Callable[[float], float], start: float) -> float:
    """Where a nondecreasing function is 0 or jumps over 0; nan if it does neither."""
    here = rising(start)
    if here == 0:
        return start
    low, width = start, -1.0 if here > 0 else 1.0
    for _ in range(MOST_WIDENINGS):
        high = start + width
        if (rising(high) > 0) != (here > 0):  # a product of the two may underflow
            # At extreme scales it may end before it is accurate; any shift is a valid intercept.
            root, _ = brentq(
                rising,
                low,
                high,
                xtol=1e-300,
                rtol=1e-15,
                maxiter=500,
                full_output=True,
                disp=False,
            )
            return float(root)
        low, width = high, 4 * width
    return np.nan
