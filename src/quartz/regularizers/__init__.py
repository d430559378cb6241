"""Regularizers: `base` says what one must provide, `check_regularizer` tests one."""

from quartz.regularizers.base import Regularizer
from quartz.regularizers.check import check_regularizer
from quartz.regularizers.elastic_net import ElasticNet
from quartz.regularizers.group import GroupL2
from quartz.regularizers.l2 import L2, BoxL2, NonnegativeL2

REGULARIZERS = (L2, ElasticNet, NonnegativeL2, BoxL2, GroupL2)
"""All regularizers of the library; the tests of the laws run over them."""

__all__ = [
    "L2",
    "REGULARIZERS",
    "BoxL2",
    "ElasticNet",
    "GroupL2",
    "NonnegativeL2",
    "Regularizer",
    "check_regularizer",
]
