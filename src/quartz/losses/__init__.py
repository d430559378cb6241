"""Losses: one family per file; `base` says what a loss must give, `check_loss` tests one."""

from quartz.domain import barrier
from quartz.losses.base import Loss, LossWithStep
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
"""All losses; the law tests run over them."""

__all__ = [
    "LOSSES",
    "Absolute",
    "EpsilonInsensitive",
    "Hinge",
    "Huber",
    "Logistic",
    "Loss",
    "LossWithStep",
    "SmoothedEpsilonInsensitive",
    "SmoothedHinge",
    "SmoothedMulticlassHinge",
    "Softmax",
    "Squared",
    "SquaredHinge",
    "barrier",
    "check_loss",
]
