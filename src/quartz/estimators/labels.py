"""Labels of any kind as class numbers 0, 1, 2, ..."""

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from quartz.arrays import AnyArray, Array, IntArray

MOST_DISTANT = 1000  # labels so far apart, at most, are counted in place of being sorted


def encoded(y: AnyArray, weights: Array | None) -> tuple[AnyArray, IntArray]:
    """The classes with an example of positive weight, and the index of the class of each y."""
    found = _of_whole_numbers(y) if weights is None else None
    classes, codes = _of_anything(y, weights) if found is None else found
    if len(classes) < 2:
        shown = f"only one class: {classes[0]}" if len(classes) else "none with a positive weight"
        raise ValueError(
            f"A classifier needs examples of two classes or more, but there is {shown}. Give "
            "examples of another class; a sample_weight of 0 leaves an example out."
        )
    return classes, codes


def _of_whole_numbers(y: AnyArray) -> tuple[AnyArray, IntArray] | None:
    """The same for whole numbers that are close together, without sorting; None for others."""
    if y.dtype.kind not in "fiu" or y.ndim != 1 or not y.size:
        return None
    low, high = y.min(), y.max()
    if not float(high) - float(low) <= MOST_DISTANT:
        return None
    upper = y == high
    if np.count_nonzero(upper) + np.count_nonzero(y == low) == y.size and low != high:
        if low != np.rint(low) or high != np.rint(high):
            return None
        return np.array([low, high]), upper.astype(np.intp)
    steps = (y.astype(np.int64) if y.dtype.itemsize < 4 else y) - low
    steps = steps.astype(np.intp)
    if y.dtype.kind == "f" and not (low == np.rint(low) and np.array_equal(steps + low, y)):
        return None
    occur = np.bincount(steps) > 0
    codes = (np.cumsum(occur) - 1)[steps]
    classes = np.empty(np.count_nonzero(occur), y.dtype)
    classes[codes] = y
    return classes, codes


def _of_anything(y: AnyArray, weights: Array | None) -> tuple[AnyArray, IntArray]:
    """The same for labels of any type."""
    check_classification_targets(y)
    kept = slice(None) if weights is None else weights > 0
    classes = np.unique(y[kept])
    # A class all of whose examples have weight 0 gets the index of another; it has no effect.
    codes = np.minimum(np.searchsorted(classes, y), max(len(classes), 1) - 1)
    return classes, codes
