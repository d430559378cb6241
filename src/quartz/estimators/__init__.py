"""scikit-learn estimators."""

from quartz.estimators.classifier import QuartzClassifier
from quartz.estimators.path import Path, quartz_path
from quartz.estimators.regressor import QuartzRegressor
from quartz.estimators.search import QuartzClassifierCV, QuartzRegressorCV

__all__ = [
    "Path",
    "QuartzClassifier",
    "QuartzClassifierCV",
    "QuartzRegressor",
    "QuartzRegressorCV",
    "quartz_path",
]
