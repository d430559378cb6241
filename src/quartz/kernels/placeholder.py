"""Marks the functions of a kernel that stand for another one; see `quartz.kernels.compile`."""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, TypeVar

import numpy as np

Function = TypeVar("Function", bound=Callable[..., object])

Parts: TypeAlias = Mapping[str, Callable[..., Any]]
"""What placeholders stand for, by their names."""

Opaque: TypeAlias = Any
"""An argument that a kernel only hands on to placeholders, which know its fields.

Its type is that of the storage, loss, regularizer or method at hand, known when it is compiled.
"""

Position: TypeAlias = int | np.integer[Any]
"""An index inside a kernel, mostly unsigned: Numba tests signed ones for being negative."""


def placeholder(function: Function) -> Function:
    """Mark a function to be replaced by what `specialize` is given under its name.

    One that is not given stays as it is written.
    """
    function.is_placeholder = True  # type: ignore[attr-defined]
    return function
