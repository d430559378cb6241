"""scikit-learn estimators."""

from quartz.estimators.classifier import QuartzClassifier
from quartz.estimators.regressor import QuartzRegressor

__all__ = ["QuartzClassifier", "QuartzRegressor"]
