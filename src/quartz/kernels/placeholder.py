"""Marks the functions of a kernel that stand for another one; see `quartz.kernels.compile`."""

from collections.abc import Callable
from typing import TypeVar

Function = TypeVar("Function", bound=Callable[..., object])


def placeholder(function: Function) -> Function:
    """Mark a function to be replaced by what `specialize` is given under its name."""
    function.is_placeholder = True  # type: ignore[attr-defined]
    return function
