"""Estimators of scikit-learn with the coefficients of a fitted estimator of Quartz."""

from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import LabelBinarizer
from sklearn.svm import LinearSVC
from sklearn.utils.validation import check_is_fitted

from quartz.arrays import AnyArray
from quartz.losses import Logistic, Softmax

if TYPE_CHECKING:
    from quartz.estimators.base import LinearModel
    from quartz.estimators.classifier import QuartzClassifier
    from quartz.estimators.regressor import QuartzRegressor

SklearnLinear: TypeAlias = LogisticRegression | LinearSVC
SklearnClassifier: TypeAlias = SklearnLinear | OneVsRestClassifier


def classifier(model: "QuartzClassifier") -> SklearnClassifier:
    """A classifier with the same decisions, and the same probabilities if there are any.

    LogisticRegression has those of the logistic loss for two classes and of the multinomial loss;
    for more classes the logistic loss needs OneVsRestClassifier. All others become a LinearSVC.
    """
    check_is_fitted(model)
    probabilities = getattr(type(model.loss_), "probabilities", None)
    if probabilities is Logistic.probabilities and len(model.classes_) > 2:
        rest = OneVsRestClassifier(LogisticRegression())
        rest.estimators_ = [
            _filled(LogisticRegression(), model, k, np.array([0, 1]))
            for k in range(len(model.classes_))
        ]
        if not hasattr(type(rest), "classes_"):  # it is a property in older versions
            rest.classes_ = model.classes_
        rest.label_binarizer_ = LabelBinarizer(sparse_output=True).fit(model.classes_)
        _describe(rest, model)
        return rest
    alike = probabilities in (Logistic.probabilities, Softmax.probabilities)
    kind = LogisticRegression() if alike else LinearSVC()
    return _filled(kind, model, slice(None), model.classes_)


def regressor(model: "QuartzRegressor") -> LinearRegression:
    """A LinearRegression with the same predictions."""
    check_is_fitted(model)
    other = LinearRegression()
    other.coef_, other.intercept_ = model.dense_coefficients(), np.copy(model.intercept_)[()]
    _describe(other, model)
    return other


def _filled(
    other: SklearnLinear, model: "QuartzClassifier", rows: int | slice, classes: AnyArray
) -> SklearnLinear:
    """Return `other` with these rows of the coefficients of `model`."""
    other.coef_ = np.atleast_2d(model.dense_coefficients()[rows])
    other.intercept_ = np.atleast_1d(model.intercept_[rows]).copy()
    other.classes_, other.n_iter_ = classes, model.n_iter_
    _describe(other, model)
    return other


def _describe(other: SklearnClassifier | LinearRegression, model: "LinearModel") -> None:
    """Copy the number and the names of the features."""
    other.n_features_in_ = model.n_features_in_
    if hasattr(model, "feature_names_in_"):
        other.feature_names_in_ = model.feature_names_in_
