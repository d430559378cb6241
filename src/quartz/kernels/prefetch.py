"""Software prefetch; it does nothing where a kernel runs uncompiled."""

from quartz.arrays import AnyArray
from quartz.kernels.placeholder import Position, placeholder


@placeholder
def prefetch_element(array: AnyArray, position: Position) -> None:
    """Placeholder: ask the processor for the cache line of ``array[position]``, flat.

    The compiler puts an intrinsic of LLVM here (:mod:`quartz.kernels.machine`).
    """
