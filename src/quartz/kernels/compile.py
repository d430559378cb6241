"""Specialize a kernel and compile it with Numba.

A kernel is a plain Python function that calls placeholders such as `loss_step`. To specialize it,
its globals are copied with the placeholders replaced by real functions (a loss's methods, a
storage's row operations), the same is done to every plain function that it calls, and the result is
compiled. A user's loss in plain Python therefore runs at full speed, and one kernel serves all
losses, regularizers and storages.

Numba's cache on disk is not made for such kernels. It watches only the file of the function that it
compiles, so that an edited loss would run in its old version. It unpickles the whole index of a
function at once, so that a class that only one program defines would break the index for all
others. And it numbers helper functions anew in each process, so that helpers of one name in kernels
that different processes cached clash in the linker, and a kernel then runs another's helper.
Therefore every specialization for every signature, and each helper, gets a name of its own, with a
hash of all code that goes into it. Helpers that are the same in several kernels are compiled once.
"""

import dis
import hashlib
import math
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import cast

import numpy as np

from quartz.domain import barrier
from quartz.kernels.placeholder import Function, Parts
from quartz.signals import deferred_interrupts

# Options of Numba. Division by zero gives what NumPy gives, which is also what the reference does.
# Helpers are inlined, because passing the arrays of a row to a call costs as much as the row itself
# (60 against 37 ns for a visit of an example of a9a).
_OPTIONS: dict[str, bool | str] = {"nogil": True, "error_model": "numpy"}
_HELPER_OPTIONS = _OPTIONS | {"forceinline": True}

_OWNS_DATA = 4  # the flag of an array that owns its memory, which does not affect its Numba type


def specialize(kernel: Function, parts: Parts) -> Function:
    """Return `kernel` with the placeholders in `parts` replaced; it is compiled when called.

    Parameters
    ----------
    kernel : function
    parts : mapping from str to function
        The function that replaces each placeholder, by the placeholder's name.

    Returns
    -------
    Specialized
        It is called with positional arguments, in the order of the kernel's.
    """
    key = kernel, tuple(sorted(parts.items()))
    found = _specialized.get(key)
    if found is None or not found.is_current():
        found = _specialized[key] = Specialized(cast(FunctionType, kernel), dict(parts))
    return cast(Function, found)


_specialized: dict[tuple[object, ...], "Specialized"] = {}


class NotCompilableError(TypeError):
    """Numba cannot compile a function of a loss, a regularizer or a storage."""


class Specialized:
    """A kernel with its placeholders replaced, compiled once for each signature."""

    def __init__(self, kernel: FunctionType, parts: Parts) -> None:
        parts = {"prefetch_element": _machine().prefetch_element, **parts}
        self._kernel, self._parts = kernel, parts
        self._fingerprint = _fingerprint(kernel, parts)
        self._read = list(_read(kernel, parts))
        self._compiled: dict[object, Callable[..., object]] = {}

    def is_current(self) -> bool:
        """Whether the globals that were compiled into the code still have the same values."""
        return all(names.get(name) is value for names, name, value in self._read)

    def __call__(self, *arguments: object) -> object:
        kind = _kind(arguments)
        try:
            if kind in self._compiled:
                return self._compiled[kind](*arguments)
            return self._first_call(kind, arguments)
        except _machine().NumbaError as error:
            raise NotCompilableError(
                f"The loss or regularizer of this problem cannot be compiled for the kernel "
                f"{self._kernel.__name__}: use NumPy, fields of self and functions of your own "
                f"module only (see quartz.losses.base), or solve with "
                f'methods.Quartz(engine="reference").\n{error}'
            ) from error

    def _first_call(self, kind: object, arguments: tuple[object, ...]) -> object:
        """Compile and run; LLVM would swallow an interruption, so that it is kept until the end."""
        with deferred_interrupts(patience=1) as presses:
            self._compiled[kind] = self._compile(_signature(arguments))
            found = self._compiled[kind](*arguments)
        if presses:
            raise KeyboardInterrupt
        return found

    def _compile(self, signature: tuple[object, ...]) -> Callable[..., object]:
        types = hashlib.sha256(repr(signature).encode()).hexdigest()[:16]
        linked = _link(self._kernel, self._parts, f"{self._fingerprint}_{types}")
        cached = self._fingerprint is not None
        machine = _machine()
        compiled: Callable[..., object]
        compiled = machine.quiet(machine.njit(cache=cached, **_OPTIONS)(linked))
        return compiled


@cache
def _machine() -> ModuleType:
    """The module with all that needs Numba, imported when the first kernel needs it.

    An import that is interrupted could not be repeated.
    """
    with deferred_interrupts() as presses:
        machine = import_module("quartz.kernels.machine")
    if presses:
        raise KeyboardInterrupt
    return machine


def _signature(arguments: tuple[object, ...]) -> tuple[object, ...]:
    """The Numba types of the arguments."""
    try:
        return tuple(map(_machine().typeof, arguments))
    except ValueError as error:
        raise _machine().NumbaError(str(error)) from error


def _kind(argument: object) -> object:
    """A key for an argument's Numba type, found 20 times as fast as by `numba.typeof`."""
    if isinstance(argument, np.ndarray):
        return argument.dtype, argument.ndim, argument.flags.num & ~_OWNS_DATA
    if isinstance(argument, tuple):
        return type(argument), tuple(map(_kind, argument))
    return type(argument)


def _link(
    function: FunctionType, parts: Parts, suffix: str, callers: tuple[FunctionType, ...] = ()
) -> FunctionType:
    """Copy a function, with `suffix` added to its name and compiled helpers in its globals."""
    if function in callers:
        raise NotCompilableError(f"{function.__qualname__} calls itself, which a kernel cannot do.")
    names = {**function.__globals__, **dict(_globals(function, parts))}
    for name, callee in _callees(function, parts):
        names[name] = _helper(callee, parts, (*callers, function))
    copy = FunctionType(
        function.__code__, names, function.__name__, function.__defaults__, function.__closure__
    )
    copy.__module__ = function.__module__
    copy.__qualname__ = f"{function.__qualname__}_{suffix}"
    return copy


_helpers: dict[str, Callable[..., object]] = {}


def _helper(
    function: FunctionType, parts: Parts, callers: tuple[FunctionType, ...]
) -> Callable[..., object]:
    """A function that kernels call, compiled once for all kernels in which its code is the same."""
    fingerprint = _fingerprint(function, parts)
    if fingerprint in _helpers:
        return _helpers[fingerprint]
    linked = _link(function, parts, str(fingerprint), callers)
    helper: Callable[..., object] = _machine().njit(**_HELPER_OPTIONS)(linked)
    if fingerprint is not None:
        _helpers[fingerprint] = helper
    return helper


def _globals(function: FunctionType, parts: Parts) -> Iterator[tuple[str, object]]:
    """The names and values of the globals that `function` reads, with placeholders replaced.

    Only names that it or a nested function loads count: np.log does not load a global `log`.
    """
    for name in _global_names(function.__code__):
        if name in function.__globals__:
            value = function.__globals__[name]
            is_placeholder = getattr(value, "is_placeholder", False)
            yield name, parts.get(name, value) if is_placeholder else value


@cache
def _global_names(code: CodeType) -> tuple[str, ...]:
    codes, names = [code], []
    for each in codes:
        codes.extend(constant for constant in each.co_consts if isinstance(constant, CodeType))
        instructions = dis.get_instructions(each)
        names += [one.argval for one in instructions if one.opname == "LOAD_GLOBAL"]
    return tuple(names)


def _callees(function: FunctionType, parts: Parts) -> Iterator[tuple[str, FunctionType]]:
    """The plain functions among the globals that `function` reads."""
    for name, value in _globals(function, parts):
        if isinstance(value, FunctionType) and value is not barrier:
            yield name, value


def _reached(kernel: FunctionType, parts: Parts) -> Iterator[FunctionType]:
    """The kernel and all plain functions that it calls, directly or not."""
    reached: set[FunctionType] = set()
    pending = [kernel]
    while pending:
        function = pending.pop()
        if function not in reached:
            reached.add(function)
            yield function
            pending.extend(callee for _, callee in _callees(function, parts))


def _read(kernel: FunctionType, parts: Parts) -> Iterator[tuple[dict[str, object], str, object]]:
    """The globals that all functions reached read: the namespace, the name and the value."""
    for function in _reached(kernel, parts):
        names = function.__globals__
        for name in _global_names(function.__code__):
            if name in names:
                yield names, name, names[name]


def _fingerprint(kernel: FunctionType, parts: Parts) -> str | None:
    """A hash of the code of all functions reached, and of the values that are compiled into it.

    The code that runs is hashed and not its source, since the file may have been edited after it
    was imported. Returns None if a value is of a kind that cannot be hashed, such as a module with
    settings; then nothing is cached on disk.
    """
    digest = hashlib.sha256(repr((_OPTIONS, _HELPER_OPTIONS)).encode())
    functions: list[FunctionType] = [_machine().compiled_barrier, *_reached(kernel, parts)]
    for function in functions:
        digest.update(f"{function.__module__}.{function.__qualname__}".encode())
        digest.update(_bytes(function.__code__))
        cells = [cell.cell_contents for cell in function.__closure__ or ()]
        read = [value for _, value in _globals(function, parts)]
        for value in (*cells, *(function.__defaults__ or ()), *read):
            described = _describe(value)
            if described is None:
                return None
            digest.update(described)
    return digest.hexdigest()[:16]


def _describe(value: object) -> bytes | None:
    """The bytes of a value that compiled code may contain; None if it is of another kind."""
    if value is None or isinstance(value, bool | int | float | complex | str | np.generic):
        return repr(value).encode()
    if isinstance(value, tuple):
        described = [_describe(entry) for entry in value]
        return None if None in described else b"(%b)" % b",".join(filter(None, described))
    if isinstance(value, np.ndarray):
        return repr((value.dtype, value.shape)).encode() + value.tobytes()
    if isinstance(value, FunctionType | type | BuiltinFunctionType | np.ufunc):
        # The code of plain functions is hashed as well, by `_fingerprint`.
        return f"{getattr(value, '__module__', '')}.{value.__qualname__}".encode()
    if value is np or value is math or value is _machine().prefetch_element:
        return repr(type(value)).encode()
    return None


@cache
def _bytes(code: CodeType) -> bytes:
    return b"".join(_pieces(code))


def _pieces(code: CodeType) -> Iterator[bytes]:
    """What a code object does, without its file and line numbers."""
    yield code.co_code
    yield repr((code.co_names, code.co_varnames, code.co_freevars)).encode()
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _pieces(constant)
        else:
            yield repr(constant).encode()
