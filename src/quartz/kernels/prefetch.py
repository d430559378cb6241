"""Software prefetch, which does nothing where a kernel runs uncompiled."""

from quartz.arrays import AnyArray
from quartz.kernels.placeholder import Position, placeholder

CACHE_LINE = 8  # entries of float64 in a cache line
LONG_ROW = 128  # entries of a row that are prefetched at most; the hardware loads the rest


@placeholder
def prefetch_element(array: AnyArray, position: Position) -> None:
    """Placeholder: load the cache line of the element at a flat position of the array.

    The compiler replaces it by an LLVM intrinsic (:mod:`quartz.kernels.machine`).
    """
