"""Combinations and cases, both known by their numbers alone."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from fuzz import numbers
from fuzz.case import Case
from fuzz.parameters import Choice, Fit, Made, Rng, choose, make, pick, power
from fuzz.registry import COMPARED, LOSSES, METHODS, REGULARIZERS
from fuzz.storages import KINDS, StorageKind
from quartz.losses.base import abilities
from quartz.losses.examples import MANY, MANY_OF_CLASSES

MOST_EXAMPLES = 40  # of a small problem, and its features
CASES, CASES_OF_MANY = 50, 6  # of a combination with few or many examples
VISITS, REFERENCE_VISITS = 200_000, 1_000  # of examples in a run at most, by kernels and without
ATTEMPTS = 40  # to find a method that applies
QUICK = 1_000_000  # number from which on combinations compile little or nothing
COMMON = [kind for kind in KINDS if kind.values == "float64" and kind.indices != "int64"]


@dataclass(frozen=True)
class Combination:
    """What one compiled kernel serves.

    Attributes
    ----------
    seed, number : int
    loss, regularizer : str
        Names of their classes.
    storage : StorageKind
    intercept : {None, "free", "penalized"}
    blocks : {"rows", "kronecker", "stacked"}
        How an example lies on rows; "rows" has one output.
    weighted : bool
    many : bool
        Whether there are so many examples that certificates are compiled loops.
    method : Choice or None
        None is the default of `solve`.
    """

    seed: int
    number: int
    loss: str
    regularizer: str
    storage: StorageKind
    intercept: str | None
    blocks: str
    weighted: bool
    many: bool
    method: Choice | None

    @property
    def cases(self) -> int:
        """How many cases to draw of it."""
        return CASES_OF_MANY if self.many else CASES

    @property
    def labels(self) -> Mapping[str, str]:
        """What the summary counts by."""
        return {
            "loss": self.loss,
            "penalty": self.regularizer,
            "storage": self.storage.name,
            "intercept": str(self.intercept),
            "blocks": self.blocks + (", many" if self.many else ""),
            "method": "default" if self.method is None else self.method.name,
        }


@lru_cache(maxsize=8)
def combination(seed: int, number: int) -> Combination:
    """The combination of that number, with a method that applies to it; see also `QUICK`."""
    rng, quick = np.random.default_rng([seed, number]), number >= QUICK
    loss = pick(rng, list(LOSSES))
    vector = abilities(_smallest(LOSSES[loss])).vector
    blocks = pick(rng, ["rows", "kronecker", "stacked"], [0, 4, 1] if vector else [8, 1, 1])
    rest: dict[str, Any] = {
        "loss": loss,
        "regularizer": pick(rng, list(REGULARIZERS), _mostly("L2", list(REGULARIZERS))),
        "storage": pick(rng, COMMON if quick else KINDS),
        "intercept": None if blocks == "stacked" else pick(rng, [None, "penalized", "free"]),
        "blocks": blocks,
        "weighted": bool(rng.random() < 0.4),
        "many": bool((blocks == "rows" or vector) and not quick and rng.random() < 0.12),
    }
    by_default = Combination(seed, number, method=None, **rest)
    if rng.random() < (0.02 if quick else 0.2):
        return by_default
    for _ in range(ATTEMPTS):
        found = replace(by_default, method=_method(rng, quick))
        if _applies(found):
            return found
    return by_default


def problem(seed: int, combination_number: int, number: int) -> Case:
    """The case of these three numbers."""
    return case(combination(seed, combination_number), number)


def case(of: Combination, number: int, small: bool = False) -> Case:
    """A case of a combination; a `small` one is also ordinary."""
    rng = np.random.default_rng([of.seed, of.number, number])
    extreme = bool(rng.random() < 1 / 3) and not small
    can = abilities(_smallest(LOSSES[of.loss]))
    m = 1 if of.blocks == "rows" else int(rng.integers(2, 5))
    n, features = (8, 3) if small else _sizes(rng, of, m, can.vector)
    rows = n * m if of.blocks == "stacked" else n
    X = numbers.matrix(rng, (rows, features), of.storage.values, extreme)
    examples = X.reshape(n, -1)
    if can.targets == "class":
        y = numbers.classes(rng, examples, m)
    elif can.targets == "sign":
        y = numbers.signs(rng, examples, m, both=of.intercept == "free" and rng.random() < 0.9)
    else:
        y = numbers.real_targets(rng, examples, m, extreme)
    length = features * (m if of.blocks == "kronecker" else 1) + m * (of.intercept == "penalized")
    fit = Fit(n, length, extreme)
    reference = of.method is not None and "reference" in of.method.name
    most_passes = (REFERENCE_VISITS if reference else VISITS) / n
    return Case(
        seed=of.seed,
        combination=of.number,
        number=number,
        ordinary=not extreme,
        X=X,
        storage=of.storage,
        form=pick(rng, list(of.storage.forms)),
        blocks=of.blocks,
        outputs=m,
        y=y if m > 1 or can.targets == "class" else y[:, 0],
        weights=numbers.weights(rng, n, extreme) if of.weighted else None,
        loss=make(rng, Choice(LOSSES[of.loss]), fit),
        regularizer=make(rng, Choice(REGULARIZERS[of.regularizer]), fit),
        lam=power(rng, -12, 3) if extreme else power(rng, -6, 1),
        intercept=of.intercept,
        method=None if of.method is None else make(rng, of.method, fit),
        rule=pick(rng, ["RelativeGap", "AbsoluteGap", "When"], [8, 1, 1]),
        tol=pick(rng, [power(rng, -14, -2), 0.0], [19, 1]),
        max_passes=min(pick(rng, list(PASSES), list(PASSES.values())), most_passes),
        max_seconds=pick(rng, [np.inf, 0.0], [0.97, 0.03]),
        passes_per_check=pick(rng, [None, 0.5, 3.0], [8, 1, 1]),
        start=pick(rng, list(STARTS), list(STARTS.values())),
        callback=pick(rng, list(CALLBACKS), list(CALLBACKS.values())),
        calls=int(rng.integers(1, 4)),
    )


# How often each is drawn; `fuzz.case` says what the kinds of starts and callbacks are.
PASSES = {0.0: 1.0, 0.3: 1.0, 1.0: 2.0, 3.0: 3.0, 20.0: 6.0, 100.0: 10.0}
STARTS = {
    "none": 11.0,
    "another lam": 3.0,
    "another problem": 2.0,
    "feasible duals": 1.5,
    "any duals": 1.0,
    "a pair": 1.0,
    "an objective": 0.5,
}
CALLBACKS = {"none": 16.0, "stops": 1.5, "raises": 1.5, "interrupts": 1.0}


def _method(rng: Rng, quick: bool) -> Choice:
    """One of our own methods, or more rarely one of those compared with."""
    if quick:
        chosen = choose(rng, METHODS[pick(rng, ["Newton", "Quartz"])])
        engine = {"engine": "reference"} if "engine" in chosen.fixed else {}
        return Choice(chosen.kind, {**chosen.fixed, **engine})
    weights = [0.1 if name in COMPARED else 1.0 + (name == "Quartz") for name in METHODS]
    return choose(rng, METHODS[pick(rng, list(METHODS), weights)])


def _applies(of: Combination) -> bool:
    """Whether quartz accepts the method for such problems, asked with a small one."""
    asked = replace(case(of, 0, small=True), start="none", callback="none", max_passes=0.0)
    try:
        asked.solve()
    except ValueError:
        return False
    except Exception:
        return True  # a case will show it
    return True


def _sizes(rng: Rng, of: Combination, m: int, vector: bool) -> tuple[int, int]:
    """Numbers of examples and of columns."""
    if of.many:
        least = MANY_OF_CLASSES if vector else MANY
        return least + int(rng.integers(1, 100)), int(rng.integers(1, 5))
    n = pick(rng, [1, 2, 3, rng.integers(2, MOST_EXAMPLES + 1)], [1, 1, 1, 20])
    return int(n), int(rng.integers(1, MOST_EXAMPLES // m + 1))


def _mostly(name: str, names: list[str]) -> list[float]:
    return [float(len(names) - 1) if each == name else 1.5 for each in names]


def _smallest(kind: Any) -> Any:
    """An object of the class with its defaults, to be asked what it can do."""
    return Made(kind, {}).build()
