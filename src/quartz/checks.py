"""Validation of arguments: every message names the argument, the bad value and the remedy."""

from collections.abc import Sequence
from typing import Protocol, TypeGuard

import numpy as np
from numpy.typing import ArrayLike

from quartz.arrays import AnyArray, Array, IntArray


def positive(name: str, value: object, remedy: str) -> float:
    """Return `value` as a float if it is a finite number above zero."""
    if not _is_number(value) or not 0 < value < np.inf:
        raise ValueError(f"{name} must be a finite number above 0, got {_plain(value)!r}. {remedy}")
    return float(value)


def nonnegative(name: str, value: object, remedy: str) -> float:
    """Return `value` as a float if it is a finite number that is not negative."""
    if not _is_number(value) or not 0 <= value < np.inf:
        raise ValueError(
            f"{name} must be a finite number, 0 or more, got {_plain(value)!r}. {remedy}"
        )
    return float(value)


def share(name: str, value: object, remedy: str) -> float:
    """Return `value` as a float if it is a number in [0, 1)."""
    if not _is_number(value) or not 0 <= value < 1:
        raise ValueError(
            f"{name} must be a number from 0 to below 1, got {_plain(value)!r}. {remedy}"
        )
    return float(value)


def count(name: str, value: object, low: int, high: int | None, remedy: str) -> int:
    """Return `value` as an int if it is a whole number in [`low`, `high`]; None is no limit."""
    if not _is_whole(value) or value < low or (high is not None and value > high):
        limits = f"at least {low}" if high is None else f"between {low} and {high}"
        raise ValueError(f"{name} must be a whole number {limits}, got {_plain(value)!r}. {remedy}")
    return int(value)


def one_of(name: str, value: object, choices: Sequence[str]) -> None:
    """Refuse a value that is not among the choices."""
    if value not in choices:
        listed = " or ".join(f'"{choice}"' for choice in choices)
        raise ValueError(f"{name} must be {listed}, got {_plain(value)!r}.")


def finite_array(name: str, values: ArrayLike, shape: tuple[int, ...]) -> Array:
    """Return `values` as a C-ordered array of float64 of exactly `shape`, all entries finite."""
    try:
        array = np.asarray(values, dtype=np.float64, order="C")
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must hold numbers: {error}.") from error
    if array.shape != shape:
        raise ValueError(f"{name} must have shape {shape}, got {array.shape}.")
    if not np.isfinite(array).all():
        bad = np.argwhere(~np.isfinite(array))[0]
        where = ", ".join(map(str, bad))
        raise ValueError(
            f"{name}[{where}] is {array[tuple(bad)]}; {name} must be finite. "
            "Remove or impute such entries first."
        )
    return unlocked(array)


def probabilities(name: str, values: ArrayLike) -> Array:
    """Return `values` as positive probabilities that sum to one (to 1e-9)."""
    p = distribution(name, values)
    zero = np.flatnonzero(p == 0)
    if zero.size:
        raise ValueError(
            f"{name}[{zero[0]}] is 0; a proper sampling [ass-proper] gives every example a "
            "positive probability. Raise it, or give the example weight 0 in the problem."
        )
    return p


def distribution(name: str, values: ArrayLike) -> Array:
    """Return `values` as nonnegative numbers that sum to one (to 1e-9)."""
    p = finite_array(name, values, np.shape(values))
    if p.ndim != 1 or p.size == 0:
        raise ValueError(f"{name} must be a nonempty vector, got shape {p.shape}.")
    if p.min() < 0:
        i = int(p.argmin())
        raise ValueError(f"{name}[{i}] is {p[i]}; probabilities cannot be negative.")
    if abs(p.sum() - 1) > 1e-9:
        raise ValueError(f"{name} must sum to 1, got {p.sum():.12g}. Divide it by its sum.")
    return p


def partition(name: str, groups: ArrayLike | Sequence[ArrayLike], n: int | None = None) -> IntArray:
    """Return the group number of each of the n examples; all numbers 0, ..., g - 1 occur.

    `groups` is a vector of such numbers, or a list of index lists such as [[0, 1], [2, 3, 4]].
    """
    if isinstance(groups, list | tuple) and any(np.ndim(group) > 0 for group in groups):
        labels = _labels_of_lists(name, groups, n)
    else:
        labels = np.asarray(groups)
    if labels.ndim != 1 or labels.size == 0 or not np.issubdtype(labels.dtype, np.integer):
        raise ValueError(
            f"{name} must be a vector with a group number for each example, or a list of index "
            f"lists such as [[0, 1], [2, 3, 4]]; got {groups!r}."
        )
    if n is not None and labels.size != n:
        raise ValueError(f"{name} must cover all {n} examples, got {labels.size} group numbers.")
    if labels.min() < 0:
        i = int(labels.argmin())
        raise ValueError(f"{name}[{i}] is {labels[i]}; groups are numbered from 0.")
    unused = np.flatnonzero(np.bincount(labels) == 0)
    if unused.size:
        raise ValueError(f"{name} leaves group {unused[0]} empty; number the groups 0, 1, 2, ...")
    return labels.astype(np.int64)


def index_set(name: str, members: ArrayLike) -> IntArray:
    """Return `members` as a vector of int64 indices, none negative; one number is a set of one."""
    found = np.asarray(members if np.ndim(members) else [members])
    if found.size and (found.ndim != 1 or not np.issubdtype(found.dtype, np.integer)):
        raise ValueError(f"{name} must be a list of whole numbers, got {members!r}.")
    if found.size and found.min() < 0:
        raise ValueError(f"{name} holds {found.min()}, but indices are not negative.")
    return found.astype(np.int64)


def unlocked(array: AnyArray) -> AnyArray:
    """The same memory without the read-only flag.

    Numba would compile every kernel again for read-only arrays, such as memory maps. That is safe
    because kernels never write to the data.
    """
    return array if array.flags.writeable else np.asarray(_Unlocked(array))


class _Unlocked:
    """The array interface of another array, without the read-only flag."""

    def __init__(self, array: AnyArray) -> None:
        self._array = array  # keeps the memory alive
        address = array.__array_interface__["data"][0]
        self.__array_interface__ = array.__array_interface__ | {"data": (address, False)}


# A matrix of features


class HasShape(Protocol):
    """A dense array or a sparse matrix."""

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        ...

    @property
    def shape(self) -> tuple[int, ...]:
        """Length of each dimension."""
        ...


def array_like(name: str, value: object) -> None:
    """Refuse what NumPy would wrap as one object: a lazy frame, a generator, a dictionary."""
    is_known = hasattr(value, "shape") or hasattr(value, "__array__")
    if is_known or isinstance(value, list | tuple) or np.ndim(value) > 0:  # type: ignore[arg-type]
        return
    remedy = "Make an array of it first."
    if hasattr(value, "collect"):
        remedy = f"Give {name}.collect()."
    elif hasattr(value, "__next__"):
        remedy = f"Give list({name})."
    raise TypeError(
        f"{name} must be an array, a frame or a list, got an object of type "
        f"{type(value).__name__}. {remedy}"
    )


def check_dimensions(X: HasShape) -> None:
    """Refuse anything but a matrix."""
    if X.ndim != 2:
        raise ValueError(
            f"X must be a matrix with one row per example, got {X.ndim} dimension(s) of "
            f"shape {X.shape}. A single example is X.reshape(1, -1)."
        )


def check_shape(shape: tuple[int, int]) -> None:
    """Refuse a matrix without rows or columns."""
    if 0 in shape:
        raise ValueError(f"X is empty: its shape is {shape}. Give at least one row and column.")


def float_dtype(dtype: np.dtype[np.generic]) -> np.dtype[np.generic]:
    """The dtype to store: float32 and float64 stay, other real numbers become float64."""
    if dtype.kind not in "fiub":
        raise ValueError(f"X must hold real numbers, got dtype {dtype}. Encode them first.")
    return dtype if dtype in (np.float32, np.float64) else np.dtype(np.float64)


def not_finite(values: AnyArray) -> IntArray:
    """Flat positions of NaN and infinity; a finite sum shows cheaply that there are none."""
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(np.sum(values, dtype=np.float64)):
            return np.empty(0, dtype=np.int64)
    return np.flatnonzero(~np.isfinite(values))


def refuse_not_finite(i: int, j: int, value: float) -> None:
    """Raise for an entry that is NaN or infinite."""
    shown = "NaN" if np.isnan(value) else f"{value}"  # scikit-learn's spelling
    raise ValueError(
        f"X[{i}, {j}] is {shown}; the data must be finite. Remove row {i}, or impute it."
    )


def _labels_of_lists(name: str, groups: Sequence[ArrayLike], n: int | None) -> IntArray:
    members = [index_set(f"{name}[{number}]", group) for number, group in enumerate(groups)]
    empty = [number for number, group in enumerate(members) if group.size == 0]
    if empty:
        raise ValueError(f"{name} leaves group {empty[0]} empty; leave it out.")
    listed = np.concatenate(members)
    size = int(listed.max(initial=-1)) + 1 if n is None else n
    if listed.size and not 0 <= listed.min() <= listed.max() < size:
        bad = listed[(listed < 0) | (listed >= size)][0]
        raise ValueError(f"{name} names example {bad}, but the examples are 0, ..., {size - 1}.")
    times = np.bincount(listed, minlength=size)
    if times.max(initial=0) > 1:
        twice = int(times.argmax())
        where = [g for g, group in enumerate(members) if twice in group]
        raise ValueError(f"{name} must not overlap, but example {twice} is in groups {where}.")
    if not times.all():
        raise ValueError(f"{name} must cover all examples, but none holds {int(times.argmin())}.")
    labels = np.empty(size, dtype=np.int64)
    for number, group in enumerate(members):
        labels[group] = number
    return labels


def _plain(value: object) -> object:
    """Return a NumPy scalar as a Python number, which is printed without its type."""
    return value.item() if isinstance(value, np.generic) else value


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def _is_whole(value: object) -> TypeGuard[int]:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)
