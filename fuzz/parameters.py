"""Objects with random parameters, drawn by the names of the parameters.

A `Choice` fixes what a compiled kernel depends on: the class, the options with few values, and the
classes of objects inside, such as the sampling of a method. From it come `Made` objects for one
problem each, with numbers that fit it. `TABLE` says how a parameter is drawn by its name, or by the
names of its class and itself; one that it lacks is drawn near its default.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args, get_origin, get_type_hints

import numpy as np

from fuzz.registry import METHODS, SAMPLINGS, Kind

Rng = np.random.Generator


@dataclass(frozen=True)
class Choice:
    """A class, and the arguments that are the same for all problems of a combination."""

    kind: Kind
    fixed: Mapping[str, "str | float | Choice"] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Its class and the classes inside, for tables."""
        inside = [choice.name for choice in self.fixed.values() if isinstance(choice, Choice)]
        words = [value for value in self.fixed.values() if value == "reference"]
        parts = [str(part) for part in (*inside, *words)]
        return f"{self.kind.__name__}({', '.join(parts)})" if parts else self.kind.__name__


@dataclass(frozen=True)
class Made:
    """A class with its arguments, from which the object or its source can be made."""

    kind: Kind
    arguments: Mapping[str, Any]

    def build(self) -> Any:
        """The object."""
        given = self.arguments.items()
        return self.kind(**{k: v.build() if isinstance(v, Made) else v for k, v in given})

    def code(self) -> str:
        """An expression that makes the object, as a user writes it."""
        package = self.kind.__module__.split(".")[1]
        shown = ", ".join(f"{name}={source(value)}" for name, value in self.arguments.items())
        return f"{package}.{self.kind.__name__}({shown})"


@dataclass(frozen=True)
class Fit:
    """What parameters must fit.

    Attributes
    ----------
    n : int
        Number of examples.
    length : int
        Number of penalized coordinates.
    extreme : bool
        Whether numbers may be very large or very small.
    """

    n: int
    length: int
    extreme: bool


def source(value: object) -> str:
    """An expression for an argument."""
    if isinstance(value, Made):
        return value.code()
    if isinstance(value, np.ndarray):
        return f"np.array({value.tolist()!r})"
    if isinstance(value, float) and np.isinf(value):
        return "np.inf" if value > 0 else "-np.inf"
    return repr(value)


def choose(rng: Rng, kind: Kind) -> Choice:
    """Fix the options of a class that have few values, and the classes inside."""
    hints = get_type_hints(kind.__init__) if inspect.isclass(kind) else {}
    fixed: dict[str, str | float | Choice] = {}
    for name in inspect.signature(kind).parameters:
        if get_origin(hints.get(name)) is Literal:
            words = get_args(hints[name])
            fixed[name] = words[rng.integers(len(words))]
        elif name in FEW_VALUES:
            fixed[name] = pick(rng, *FEW_VALUES[name])
        elif name == "sampling":
            fixed[name] = choose(rng, pick(rng, list(SAMPLINGS.values())))
        elif name == "inner" and rng.random() < 0.5:
            inside = [*SAMPLINGS.values(), *[METHODS["Permuted"], METHODS["Quartz"]] * 8]
            fixed[name] = choose(rng, pick(rng, inside))
    return Choice(kind, fixed)


def make(rng: Rng, choice: Choice, fit: Fit) -> Made:
    """Draw the other arguments."""
    arguments: dict[str, Any] = {}
    for name, parameter in inspect.signature(choice.kind).parameters.items():
        if name in choice.fixed:
            value = choice.fixed[name]
            arguments[name] = make(rng, value, fit) if isinstance(value, Choice) else value
            continue
        special = TABLE.get(f"{choice.kind.__name__}.{name}", TABLE.get(name))
        if special is not None:
            arguments[name] = special(rng, fit, arguments)
        elif name != "inner":  # which keeps its default, a method
            arguments[name] = _near(rng, choice.kind, parameter)
    return Made(choice.kind, arguments)


def pick(rng: Rng, options: list[Any], weights: list[float] | None = None) -> Any:
    """One of the options, by default with equal probabilities."""
    shares = None if weights is None else np.array(weights) / np.sum(weights)
    return options[rng.choice(len(options), p=shares)]


def power(rng: Rng, low: float, high: float) -> float:
    """10 to a uniformly random power."""
    return float(10.0 ** rng.uniform(low, high))


def _near(rng: Rng, kind: Kind, parameter: inspect.Parameter) -> Any:
    """A value near the default of a parameter."""
    default = parameter.default
    if isinstance(default, bool):
        return bool(rng.random() < 0.5)
    if isinstance(default, int):
        return default + int(rng.integers(3))
    if isinstance(default, float):
        return default if rng.random() < 0.5 else default * power(rng, -2, 2)
    raise NotImplementedError(
        f"No way to draw the parameter {parameter.name!r} of {kind.__name__} is known: add it to "
        "TABLE in fuzz/parameters.py."
    )


def labels(rng: Rng, length: int, most: int) -> Any:
    """Group numbers 0, 1, ..., all of which occur."""
    drawn = rng.integers(rng.integers(1, most + 1), size=length)
    return np.unique(drawn, return_inverse=True)[1].astype(np.int64)


def shares(rng: Rng, count: int) -> Any:
    """Positive numbers with the sum 1."""
    drawn = rng.uniform(0.05, 1, size=count)
    return drawn / drawn.sum()


def _gamma(rng: Rng, fit: Fit, _: Any) -> float:
    return 1.0 if rng.random() < 0.4 else power(rng, *((-9, 9) if fit.extreme else (-2, 2)))


def _epsilon(rng: Rng, fit: Fit, _: Any) -> float:
    wild = power(rng, *((-150, 150) if fit.extreme else (-3, 1)))
    return float(pick(rng, [0.0, 0.1, wild]))


def _mu(rng: Rng, fit: Fit, _: Any) -> float:
    return float(pick(rng, [0.0, 1.0, power(rng, *((-12, 12) if fit.extreme else (-3, 1)))]))


def _bounds(rng: Rng, fit: Fit) -> tuple[float, float]:
    """A box: around 0, without 0, a half-line, or a point."""
    size = power(rng, *((-150, 150) if fit.extreme else (-2, 2)))
    boxes = [(-1.0, 1.0), (-0.4, 0.2), (0.5, 2.0), (-3.0, -1.0), (0.0, np.inf), (-np.inf, 0.25)]
    low, high = pick(rng, [*boxes, (0.3, 0.3), (-np.inf, np.inf)])
    return low * size, high * size


def _upper(rng: Rng, fit: Fit, drawn: dict[str, Any]) -> float:
    """It replaces the lower bound, which was drawn before, since the two belong together."""
    drawn["lower"], upper = _bounds(rng, fit)
    return upper


def _batch_size(rng: Rng, fit: Fit, drawn: dict[str, Any]) -> int:
    """At most what a node owns, if there are nodes."""
    return int(rng.integers(1, max(1, min(fit.n // drawn.get("nodes", 1), 8)) + 1))


def _size_probabilities(rng: Rng, fit: Fit, _: Any) -> dict[int, float]:
    sizes = np.unique([*rng.integers(0, fit.n + 1, size=2), rng.integers(1, fit.n + 1)])
    return dict(zip(sizes.tolist(), shares(rng, sizes.size).tolist(), strict=True))


def _cover(rng: Rng, fit: Fit, _: Any) -> list[list[int]]:
    """Sets that together hold all examples."""
    order = rng.permutation(fit.n)
    cuts = sorted(rng.integers(0, fit.n + 1, size=2))
    return [part.tolist() for part in (*np.split(order, cuts), order[: 1 + fit.n // 2])]


def _within_groups(rng: Rng, fit: Fit, drawn: dict[str, Any]) -> Any:
    """Probabilities that sum to 1 within each of the groups drawn before."""
    p, groups = rng.uniform(0.1, 1, size=fit.n), drawn["groups"]
    return p / np.bincount(groups, p)[groups]


# Parameters with values that decide whether a method applies, and how often each is drawn.
FEW_VALUES: dict[str, tuple[list[Any], list[float]]] = {
    "primal_step_factor": ([1.0, 10.0, np.inf], [8, 1, 1]),
}
TABLE: dict[str, Callable[[Rng, Fit, dict[str, Any]], Any]] = {
    "gamma": _gamma,
    "epsilon": _epsilon,
    "mu": _mu,
    "lower": lambda rng, fit, drawn: -1.0,
    "upper": _upper,
    "GroupL2.groups": lambda rng, fit, drawn: labels(rng, fit.length, fit.length),
    "n": lambda rng, fit, drawn: fit.n,
    "spectral": lambda rng, fit, drawn: bool(rng.random() < 0.3),
    "nodes": lambda rng, fit, drawn: int(rng.integers(1, min(fit.n, 4) + 1)),
    "batch_size": _batch_size,
    "size_probabilities": _size_probabilities,
    "Serial.probabilities": lambda rng, fit, drawn: shares(rng, fit.n),
    "Independent.probabilities": lambda rng, fit, drawn: rng.uniform(0.05, 1, size=fit.n),
    "Bucket.groups": lambda rng, fit, drawn: int(rng.integers(1, min(fit.n, 8) + 1)),
    "BucketSampling.groups": lambda rng, fit, drawn: labels(rng, fit.n, min(fit.n, 5)),
    "BucketSampling.probabilities": _within_groups,
    "Product.groups": lambda rng, fit, drawn: None,
    # One group is the only one that shares no feature with another whatever the data are.
    "ProductSampling.groups": lambda rng, fit, drawn: np.zeros(fit.n, dtype=np.int64),
    "parts": lambda rng, fit, drawn: labels(rng, fit.n, min(fit.n, 4)),
    "batch_sizes": lambda rng, fit, drawn: np.bincount(drawn["parts"]).min().item(),
    "Explicit.sets": _cover,
    "Explicit.probabilities": lambda rng, fit, drawn: shares(rng, len(drawn["sets"])),
}
