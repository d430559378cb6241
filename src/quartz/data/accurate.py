"""Products with a storage in twice the working precision, for certificates at the last digits."""

from quartz.arrays import Array
from quartz.data.storage import Storage
from quartz.kernels import passes


class AccurateStorage(Storage):
    """The same rows; the entries of X x and X' x are off by about one rounding.

    With k terms in a sum the error is at most u |sum| + gamma(k)^2 sum |terms|, see
    :mod:`quartz.rounding`. A product takes several times as long as that of the storage itself.

    Parameters
    ----------
    storage : Storage
    """

    def __init__(self, storage: Storage) -> None:
        self.shape, self.rows, self.parts = storage.shape, storage.rows, storage.parts

    def multiply(self, x: Array) -> Array:
        return self._by_columns(passes.multiply_exactly, x, self.shape[0])

    def multiply_transposed(self, x: Array) -> Array:
        return self._by_columns(passes.multiply_transposed_exactly, x, self.shape[1])
