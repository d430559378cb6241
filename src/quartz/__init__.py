"""Certified training of linear models by Quartz: dual coordinate ascent with arbitrary sampling.

Submodules are imported when first used, so that ``import quartz`` stays light.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOME = {
    "Certificate": "quartz.certificate",
    "Plan": "quartz.solvers",
    "Problem": "quartz.problem",
    "QuartzClassifier": "quartz.estimators",
    "QuartzClassifierCV": "quartz.estimators",
    "QuartzRegressor": "quartz.estimators",
    "QuartzRegressorCV": "quartz.estimators",
    "Result": "quartz.solvers",
    "certify": "quartz.certificate",
    "iterate": "quartz.solvers",
    "quartz_path": "quartz.estimators",
    "solve": "quartz.solvers",
}
_SUBMODULES = ("data", "losses", "methods", "regularizers", "samplings", "solvers", "theory")

if TYPE_CHECKING:
    from quartz import data, losses, methods, regularizers, samplings, solvers, theory
    from quartz.certificate import Certificate, certify
    from quartz.estimators import (
        QuartzClassifier,
        QuartzClassifierCV,
        QuartzRegressor,
        QuartzRegressorCV,
        quartz_path,
    )
    from quartz.problem import Problem
    from quartz.solvers import Plan, Result, iterate, solve

__all__ = [
    "Certificate",
    "Plan",
    "Problem",
    "QuartzClassifier",
    "QuartzClassifierCV",
    "QuartzRegressor",
    "QuartzRegressorCV",
    "Result",
    "certify",
    "data",
    "iterate",
    "losses",
    "methods",
    "quartz_path",
    "regularizers",
    "samplings",
    "solve",
    "solvers",
    "theory",
]


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return import_module(f"quartz.{name}")
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'quartz' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
