"""Marks the functions of a kernel that stand for another one; see `quartz.kernels.compile`.

It also names the types that appear in the signatures of kernels.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, TypeVar

import numpy as np

from quartz.arrays import Array

Function = TypeVar("Function", bound=Callable[..., object])
"""A function whose signature is kept by what marks or compiles it."""

Parts: TypeAlias = Mapping[str, Callable[..., Any]]
"""The function that replaces each placeholder, by the placeholder's name."""

Opaque: TypeAlias = object
"""An argument that a kernel only hands on to placeholders, whose replacements know its fields.

Its concrete type is that of the storage, loss, regularizer or method for which the kernel is
compiled. As an `object`, its fields cannot be read by mistake.
"""

Position: TypeAlias = int | np.integer[Any]
"""An index inside a kernel, mostly unsigned, because Numba tests signed ones for being negative."""

NumberOrArray = TypeVar("NumberOrArray", float, Array)
"""A number, or an array if there are several outputs or g is not separable.

A function of it takes numbers and returns a number, or takes arrays and returns an array.
"""


def placeholder(function: Function) -> Function:
    """Mark a function as one that `specialize` replaces if it is given another of that name.

    A placeholder without a replacement is compiled as it is written.
    """
    function.is_placeholder = True  # type: ignore[attr-defined]
    return function
