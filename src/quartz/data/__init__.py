"""Data: storages of rows, the examples as blocks over them, generators of synthetic problems."""

from quartz.data.blocks import Blocks, KernelView, RowBlocks, as_blocks, as_storage
from quartz.data.csr import CsrStorage
from quartz.data.dense import DenseStorage
from quartz.data.kronecker import KroneckerBlocks
from quartz.data.stacked import StackedBlocks
from quartz.data.storage import Storage
from quartz.data.synthetic import make_classification, make_regression

__all__ = [
    "Blocks",
    "CsrStorage",
    "DenseStorage",
    "KernelView",
    "KroneckerBlocks",
    "RowBlocks",
    "StackedBlocks",
    "Storage",
    "as_blocks",
    "as_storage",
    "make_classification",
    "make_regression",
]
