"""Losses: one family per file; `base` says what a loss must provide, `check_loss` tests one."""

from quartz.domain import barrier
from quartz.losses.base import Loss
from quartz.losses.check import check_loss
from quartz.losses.hinge import Hinge, SmoothedHinge, SquaredHinge
from quartz.losses.insensitive import (
    Absolute,
    EpsilonInsensitive,
    Huber,
    SmoothedEpsilonInsensitive,
)
from quartz.losses.logistic import Logistic
from quartz.losses.multiclass import SmoothedMulticlassHinge, Softmax
from quartz.losses.squared import Squared

LOSSES = (
    Squared,
    Logistic,
    SmoothedHinge,
    SquaredHinge,
    Huber,
    SmoothedEpsilonInsensitive,
    Softmax,
    SmoothedMulticlassHinge,
    Hinge,
    Absolute,
    EpsilonInsensitive,
)
"""All losses of the library; the tests of the laws run over them."""

__all__ = [
    "LOSSES",
    "Absolute",
    "EpsilonInsensitive",
    "Hinge",
    "Huber",
    "Logistic",
    "Loss",
    "SmoothedEpsilonInsensitive",
    "SmoothedHinge",
    "SmoothedMulticlassHinge",
    "Softmax",
    "Squared",
    "SquaredHinge",
    "barrier",
    "check_loss",
]
