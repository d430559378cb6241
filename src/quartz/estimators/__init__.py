"""scikit-learn estimators."""

from quartz.estimators.classifier import QuartzClassifier
from quartz.estimators.cross_validated import QuartzClassifierCV, QuartzRegressorCV
from quartz.estimators.path import Path, quartz_path
from quartz.estimators.regressor import QuartzRegressor

__all__ = [
    "Path",
    "QuartzClassifier",
    "QuartzClassifierCV",
    "QuartzRegressor",
    "QuartzRegressorCV",
    "quartz_path",
]
