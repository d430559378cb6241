"""Samplings, one in each file; `base` says what a sampling must provide."""

from quartz.samplings.base import IndexSets, Recipe, Sampling
from quartz.samplings.bucket import Bucket, BucketSampling
from quartz.samplings.distributed import Distributed, DistributedSampling
from quartz.samplings.doubly_uniform import DoublyUniform, DoublyUniformSampling
from quartz.samplings.explicit import Explicit
from quartz.samplings.grouping import pack, separable_components
from quartz.samplings.independent import Independent
from quartz.samplings.nice import FullBatch, Nice, NiceSampling
from quartz.samplings.product import Product, ProductSampling
from quartz.samplings.serial import Importance, Serial, Uniform
from quartz.samplings.verify import EsoReport, estimate_eso, verify_eso

__all__ = [
    "Bucket",
    "BucketSampling",
    "Distributed",
    "DistributedSampling",
    "DoublyUniform",
    "DoublyUniformSampling",
    "EsoReport",
    "Explicit",
    "FullBatch",
    "Importance",
    "Independent",
    "IndexSets",
    "Nice",
    "NiceSampling",
    "Product",
    "ProductSampling",
    "Recipe",
    "Sampling",
    "Serial",
    "Uniform",
    "estimate_eso",
    "pack",
    "separable_components",
    "verify_eso",
]
