"""Certified training of linear models by Quartz: dual coordinate ascent with arbitrary sampling.

Submodules are imported when first used, so that ``import quartz`` stays light.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOME = {
    "AbsoluteGap": "quartz.run",
    "Certificate": "quartz.certificate",
    "Plan": "quartz.methods.plan",
    "Problem": "quartz.problem",
    "QuartzClassifier": "quartz.estimators",
    "QuartzClassifierCV": "quartz.estimators",
    "QuartzRegressor": "quartz.estimators",
    "QuartzRegressorCV": "quartz.estimators",
    "RelativeGap": "quartz.run",
    "Result": "quartz.run",
    "Start": "quartz.run",
    "State": "quartz.methods.state",
    "Status": "quartz.run",
    "StoppingRule": "quartz.run",
    "Trace": "quartz.run",
    "When": "quartz.run",
    "certify": "quartz.certificate",
    "iterate": "quartz.methods.quartz",
    "quartz_path": "quartz.estimators",
    "solve": "quartz.run",
}
_SUBMODULES = (
    "compat",
    "data",
    "estimators",
    "losses",
    "methods",
    "regularizers",
    "samplings",
    "theory",
)

if TYPE_CHECKING:
    from quartz import (
        compat,
        data,
        estimators,
        losses,
        methods,
        regularizers,
        samplings,
        theory,
    )
    from quartz.certificate import Certificate, certify
    from quartz.estimators import (
        QuartzClassifier,
        QuartzClassifierCV,
        QuartzRegressor,
        QuartzRegressorCV,
        quartz_path,
    )
    from quartz.methods.plan import Plan
    from quartz.methods.quartz import iterate
    from quartz.methods.state import State
    from quartz.problem import Problem
    from quartz.run import (
        AbsoluteGap,
        RelativeGap,
        Result,
        Start,
        Status,
        StoppingRule,
        Trace,
        When,
        solve,
    )

__all__ = [
    "AbsoluteGap",
    "Certificate",
    "Plan",
    "Problem",
    "QuartzClassifier",
    "QuartzClassifierCV",
    "QuartzRegressor",
    "QuartzRegressorCV",
    "RelativeGap",
    "Result",
    "Start",
    "State",
    "Status",
    "StoppingRule",
    "Trace",
    "When",
    "certify",
    "compat",
    "data",
    "estimators",
    "iterate",
    "losses",
    "methods",
    "quartz_path",
    "regularizers",
    "samplings",
    "solve",
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
