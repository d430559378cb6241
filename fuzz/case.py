"""One case: a problem, how it is solved, and how to write it down."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fuzz.exact import Objective
from fuzz.parameters import Made, source
from fuzz.storages import StorageKind, stored
from quartz import AbsoluteGap, Problem, RelativeGap, Result, Start, When, solve
from quartz.data import KroneckerBlocks, StackedBlocks

SMALL = 400  # entries of X up to which it is written down in full


class OnPurposeError(Exception):
    """What a callback raises."""


def feasible_duals(problem: Problem, rng: np.random.Generator) -> Any:
    """Those that belong to random predictions."""
    predictions = rng.normal(size=problem.data.dual_shape)
    with np.errstate(all="ignore"):
        return -problem.losses.gradients(predictions)


@dataclass(frozen=True)
class Case:
    """A problem and the arguments of `solve`; most attributes are named as there.

    Attributes
    ----------
    seed, combination, number : int
        They make the case again.
    ordinary : bool
        Whether all scales are ordinary.
    X : ndarray
        Dense; `storage` and `form` say how quartz gets it.
    outputs : int
        m.
    rule, tol : str and float
        The class of the stopping rule, and its tolerance.
    start, callback : str
        What kind, see `_start` and `_callback`.
    calls : int
        At which call the callback does what it does.
    """

    seed: int
    combination: int
    number: int
    ordinary: bool
    X: Any
    storage: StorageKind
    form: str
    blocks: str
    outputs: int
    y: Any
    weights: Any
    loss: Made
    regularizer: Made
    lam: float
    intercept: str | None
    method: Made | None
    rule: str
    tol: float
    max_passes: float
    max_seconds: float
    passes_per_check: float | None
    start: str
    callback: str
    calls: int

    @property
    def key(self) -> str:
        """The argument of ``python -m fuzz --only``."""
        return f"{self.seed}:{self.combination}:{self.number}"

    def matrix(self) -> Any:
        """X in the form in which quartz gets it."""
        return stored(self.X, self.storage, self.form, self.rng(1))

    def problem(self, matrix: Any = None) -> Problem:
        """As a user makes it, of a matrix that was made before or of a new one."""
        matrix = self.matrix() if matrix is None else matrix
        # The library makes Kronecker blocks itself where targets say how many outputs there are.
        if self.blocks == "kronecker" and (self.number % 2 or len(self.y) < self.outputs):
            matrix = KroneckerBlocks(matrix, self.outputs)
        if self.blocks == "stacked":
            matrix = StackedBlocks(matrix, self.outputs)
        return Problem(
            matrix,
            self.y,
            self.loss.build(),
            lam=self.lam,
            regularizer=self.regularizer.build(),
            weights=self.weights,
            intercept=self.intercept,  # type: ignore[arg-type]
        )

    def solve(self, problem: Problem | None = None) -> Result:
        """The result, of a problem that was made before or of a new one."""
        problem = self.problem() if problem is None else problem
        return solve(
            problem,
            None if self.method is None else self.method.build(),
            tol=self._rule(),
            max_passes=self.max_passes,
            max_seconds=self.max_seconds,
            start=self._start(problem),
            seed=self.number,
            passes_per_check=self.passes_per_check,
            callback=self._callback(),
        )

    def meets_rule(self, result: Result) -> bool:
        """Whether the gap is as small as the rule asks, up to the rounding of a quotient."""
        upper, lower = result.certificate.primal_value, result.certificate.dual_value
        size = abs(upper) if self.rule == "RelativeGap" else 1.0
        return upper - lower <= self.tol * size * (1 + 1e-15)

    def objective(self, problem: Problem) -> Objective:
        """The problem for the exact checker, with the weights that quartz normalized."""
        return Objective(
            X=self.X,
            y=self.y,
            outputs=self.outputs,
            stacked=self.blocks == "stacked",
            weights=problem.weights,
            lam=self.lam,
            loss=self.loss.kind.__name__,
            loss_fields=dict(self.loss.arguments),
            regularizer=self.regularizer.kind.__name__,
            regularizer_fields=dict(self.regularizer.arguments),
            intercept=self.intercept,
        )

    def code(self) -> str:
        """Source that makes and solves the case; what is large or has a past, by its numbers."""
        method = None if self.method is None else self.method.code()
        arguments = [
            f"{self.loss.code()}",
            f"lam={self.lam!r}",
            f"regularizer={self.regularizer.code()}",
            f"weights={None if self.weights is None else source(self.weights)}",
            f"intercept={self.intercept!r}",
        ]
        options = [
            f"tol={self.tol!r}" if self.rule == "RelativeGap" else f"tol={self.rule}({self.tol!r})",
            f"max_passes={self.max_passes!r}",
            f"seed={self.number}",
            f"passes_per_check={self.passes_per_check!r}",
        ]
        is_plain = (self.start, self.callback) == ("none", "none") and self.rule != "When"
        lines = [
            f"# python -m fuzz --only {self.key}",
            f"# {self.storage.name}, {self.form}; {self.blocks}, m = {self.outputs}; "
            f"start: {self.start}; callback: {self.callback}",
        ]
        if not is_plain or self.X.size > SMALL:
            shown = ", ".join([*arguments, str(method), *options])
            shown = shown if len(shown) < 2000 else shown[:2000] + " ..."
            made = f"fuzz.problem({self.key.replace(':', ', ')})"
            return "\n".join([*lines, f"# {shown}", "import fuzz", f"print({made}.solve())"])
        matrix = f"np.array({self.X.tolist()!r}, dtype=np.{self.storage.values})"
        matrix = f"sp.csr_array({matrix})" if self.storage.sparse else matrix
        matrix = matrix if self.blocks != "stacked" else f"StackedBlocks({matrix}, {self.outputs})"
        return "\n".join(
            [
                *lines,
                "import numpy as np, scipy.sparse as sp",
                "from quartz import *",
                "from quartz.data import *",
                f"X = {matrix}",
                f"y = np.array({self.y.tolist()!r})",
                f"problem = Problem(X, y, {', '.join(arguments)})",
                f"print(solve(problem, {method}, {', '.join(options)}))",
            ]
        )

    def rng(self, purpose: int) -> np.random.Generator:
        """Random numbers that do not depend on those of the draw."""
        return np.random.default_rng([self.seed, self.combination, self.number, purpose])

    def _rule(self) -> Any:
        tol = self.tol
        if self.rule == "When":
            return When(lambda certificate: certificate.gap <= tol)
        return AbsoluteGap(tol) if self.rule == "AbsoluteGap" else RelativeGap(tol)

    def _start(self, problem: Problem) -> Any:
        """Nothing, the result of another problem, duals, or a pair."""
        rng, shape = self.rng(2), problem.data.dual_shape
        if self.start == "another lam":
            return self._past(lam=self.lam * 10 ** rng.uniform(-2, 2))
        if self.start == "another problem":
            return self._past(X=rng.permutation(self.X))
        if self.start in ("feasible duals", "an objective"):
            duals = feasible_duals(problem, rng)
            return duals if self.start == "feasible duals" else Start(duals, objective=1.0)
        if self.start == "any duals":
            return rng.normal(size=shape)
        if self.start == "a pair":
            return rng.normal(size=problem.data.d), np.zeros(shape)
        return None

    def _past(self, **changes: Any) -> Result:
        """The result of a problem that differs in this."""
        before = replace(self, start="none", callback="none", max_passes=3.0, **changes)
        return before.solve()

    def _callback(self) -> Any:
        """None, or one that stops, raises or interrupts at the call of that number."""
        if self.callback == "none":
            return None
        count = 0

        def callback(state: Any, certificate: Any) -> bool:
            nonlocal count
            count += 1
            if count == self.calls and self.callback == "raises":
                raise OnPurposeError
            if count == self.calls and self.callback == "interrupts":
                raise KeyboardInterrupt
            return count == self.calls

        return callback
