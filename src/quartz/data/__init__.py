"""Data: the examples as blocks, and generators of synthetic problems."""

from quartz.data.blocks import Blocks, RowBlocks, as_blocks
from quartz.data.kronecker import KroneckerBlocks
from quartz.data.stacked import StackedBlocks
from quartz.data.synthetic import make_classification, make_regression

__all__ = [
    "Blocks",
    "KroneckerBlocks",
    "RowBlocks",
    "StackedBlocks",
    "as_blocks",
    "make_classification",
    "make_regression",
]
