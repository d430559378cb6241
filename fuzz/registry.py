"""What there is to fuzz: the losses, regularizers, samplings and methods that quartz exports.

They are found by what they can do, so that a new one is fuzzed without being named here.
"""

import inspect
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, TypeAlias

from fuzz import exact
from quartz import losses, methods, regularizers, samplings

Kind: TypeAlias = Callable[..., Any]
"""A class, which is called to make an object of it."""


def _exported(package: ModuleType, *parts: str) -> Iterator[Kind]:
    """The concrete classes in `__all__` that have these attributes."""
    for name in package.__all__:
        kind = getattr(package, name)
        if not inspect.isclass(kind) or inspect.isabstract(kind):
            continue
        if not getattr(kind, "_is_protocol", False) and all(hasattr(kind, p) for p in parts):
            yield kind


def _with_formulas(kinds: Iterator[Kind], table: dict[str, Any], where: str) -> dict[str, Kind]:
    found = {kind.__name__: kind for kind in kinds}
    lacking = sorted(set(found) - set(table))
    if lacking:
        raise NotImplementedError(
            f"{lacking[0]} has no exact formulas: add its value and its conjugate to {where} in "
            "fuzz/exact.py, from paper and not from quartz's code."
        )
    return found


LOSSES = _with_formulas(
    _exported(losses, "value", "gradient", "conjugate", "gamma"), exact.LOSSES, "LOSSES"
)
REGULARIZERS = _with_formulas(
    _exported(regularizers, "value", "conjugate", "conjugate_gradient"),
    exact.REGULARIZERS,
    "REGULARIZERS",
)
SAMPLINGS = {kind.__name__: kind for kind in _exported(samplings, "bind")}
METHODS = {kind.__name__: kind for kind in _exported(methods, "steps", "has_free_columns")}

# Those that the paper compares Quartz with are drawn less often than our own.
COMPARED = {
    "APCG",
    "ASDCA",
    "AccProxSDCA",
    "DisDCA",
    "IproxSDCA",
    "MiniBatchSDCA",
    "ProxSDCA",
    "SAGA",
    "SPDC",
}
