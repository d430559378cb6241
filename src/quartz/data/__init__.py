"""Data: the examples as blocks, and generators of synthetic problems."""

from quartz.data.blocks import Blocks, KernelView, RowBlocks, as_blocks, as_storage
from quartz.data.kronecker import KroneckerBlocks
from quartz.data.stacked import StackedBlocks
from quartz.data.storage import Storage
from quartz.data.synthetic import make_classification, make_regression

__all__ = [
    "Blocks",
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
