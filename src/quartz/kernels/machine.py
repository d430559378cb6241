"""Everything that needs Numba, whose import takes 0.2 s; imported with the first kernel.

With NUMBA_DISABLE_JIT=1 the kernels run as plain Python, slowly: for debuggers, and for measuring
coverage.
"""

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.errors import NumbaError
from numba.extending import intrinsic, overload

from quartz.domain import barrier

__all__ = ["NumbaError", "compiled_barrier", "njit", "prefetch_element", "quiet", "typeof"]

njit = numba.njit
typeof = numba.typeof
UNCOMPILED = bool(numba.config.DISABLE_JIT)  # type: ignore[attr-defined]  # kernels run as Python


def _prefetch_element(typingctx: Any, array: Any, position: Any) -> Any:
    """Load the cache line of the element at a flat position of the array, for reading."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        values = context.make_array(signature.args[0])(context, builder, arguments[0])
        pointer = builder.gep(values.data, [arguments[1]])
        byte_pointer = ir.IntType(8).as_pointer()
        word = ir.IntType(32)
        prefetch = cgutils.get_or_insert_function(  # type: ignore[no-untyped-call]
            builder.module,
            ir.FunctionType(ir.VoidType(), [byte_pointer, word, word, word]),
            "llvm.prefetch.p0i8",
        )
        read, keep, data = (ir.Constant(word, number) for number in (0, 3, 1))
        builder.call(prefetch, [builder.bitcast(pointer, byte_pointer), read, keep, data])
        return context.get_dummy_value()

    return types.void(array, types.intp), generate


def _no_prefetch(array: Any, position: Any) -> None:
    """Do nothing, in place of the intrinsic, which Python does not know."""


prefetch_element: Any = _no_prefetch if UNCOMPILED else intrinsic(_prefetch_element)


def quiet(kernel: Callable[..., object]) -> Callable[..., object]:
    """Return a kernel that warns of no overflow and no division by 0, as compiled ones do not."""
    if not UNCOMPILED:
        return kernel

    def without_warnings(*arguments: object) -> object:
        with np.errstate(all="ignore"):
            return kernel(*arguments)

    return without_warnings


@overload(barrier)
def compiled_barrier(x, lower, upper):  # type: ignore[no-untyped-def]
    """The barrier of one number, without the array that `np.where` would allocate."""

    def scalar_barrier(x, lower, upper):  # type: ignore[no-untyped-def]
        return 0.0 if lower <= x <= upper else np.inf

    return scalar_barrier
