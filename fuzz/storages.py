"""The same matrix in all the forms in which users keep matrices.

A storage fixes what a kernel depends on, sparse or dense and the types of numbers; the forms of a
storage are what quartz must bring into order first.
"""

import tempfile
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from fuzz.parameters import Rng


class StorageKind(NamedTuple):
    """Sparse or dense, with its types."""

    sparse: bool
    values: str  # "float32" or "float64"
    indices: str  # "int32" or "int64"; "" if dense

    @property
    def name(self) -> str:
        """For tables."""
        return f"csr {self.values} {self.indices}" if self.sparse else f"dense {self.values}"

    @property
    def forms(self) -> tuple[str, ...]:
        """The forms in which a matrix may come."""
        return SPARSE_FORMS if self.sparse else DENSE_FORMS


SPARSE_FORMS = (
    "canonical",
    "unsorted",
    "duplicates",
    "stored zeros",
    "all at once",
    "read-only",
    "csr_matrix",
    "csc",
    "coo",
)
DENSE_FORMS = ("C order", "F order", "every second", "read-only", "memory map")
KINDS = [
    StorageKind(True, values, indices)
    for values in ("float64", "float32")
    for indices in ("int32", "int64")
] + [StorageKind(False, values, "") for values in ("float64", "float32")]


def stored(X: Any, kind: StorageKind, form: str, rng: Rng) -> Any:
    """The dense X as a matrix of that kind, in that form."""
    return _sparse(X, kind, form, rng) if kind.sparse else _dense(X, form)


def arrays(matrix: Any) -> list[Any]:
    """The arrays of which a matrix consists."""
    if not sp.issparse(matrix):
        return [matrix]
    if matrix.format == "coo":
        return [matrix.data, *matrix.coords]
    return [matrix.data, matrix.indices, matrix.indptr]


def _dense(X: Any, form: str) -> Any:
    if form == "F order":
        return np.asfortranarray(X)
    if form == "every second":
        return np.repeat(X, 2, axis=0)[::2]
    if form == "memory map":
        return _mapped(X)
    X = X.copy()
    X.flags.writeable = form != "read-only"
    return X


def _mapped(X: Any) -> Any:
    """A read-only map of a file, which lives as long as the map."""
    with tempfile.TemporaryFile() as file:
        file.write(X.tobytes())
        file.flush()
        return np.memmap(file, dtype=X.dtype, mode="r", shape=X.shape)


def _sparse(X: Any, kind: StorageKind, form: str, rng: Rng) -> Any:
    rows, columns = np.nonzero(X)
    values = X[rows, columns]
    if form in ("stored zeros", "all at once"):
        zero = np.argwhere(X == 0)
        zero = zero[rng.random(len(zero)) < 0.5]
        rows, columns = np.append(rows, zero[:, 0]), np.append(columns, zero[:, 1])
        values = np.append(values, np.zeros(len(zero), dtype=X.dtype))
    if form in ("duplicates", "all at once"):
        # Halves of small numbers would be rounded, so that their sum is another number.
        twice = (rng.random(values.size) < 0.5) & (np.abs(values) > 4 * np.finfo(X.dtype).tiny)
        values = np.where(twice, values / 2, values)
        rows, columns = np.append(rows, rows[twice]), np.append(columns, columns[twice])
        values = np.append(values, values[twice])
    order = np.lexsort((columns, rows))
    if form in ("unsorted", "all at once"):
        order = np.lexsort((rng.random(rows.size), rows))
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(X)))])
    parts = (
        values[order].astype(kind.values),
        columns[order].astype(kind.indices),
        starts.astype(kind.indices),
    )
    if form == "read-only":
        for part in parts:
            part.flags.writeable = False
    matrix = _kept(parts, X.shape, sp.csr_matrix if form == "csr_matrix" else sp.csr_array)
    return matrix.asformat(form) if form in ("csc", "coo") else matrix


def _kept(parts: tuple[Any, Any, Any], shape: tuple[int, int], container: Any) -> Any:
    """A CSR matrix of these very arrays, of which SciPy's constructor would narrow int64."""
    matrix = container(shape, dtype=parts[0].dtype)
    matrix.data, matrix.indices, matrix.indptr = parts
    return matrix
