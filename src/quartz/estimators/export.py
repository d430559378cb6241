"""Plain scikit-learn estimators with the coefficients of ours."""

from typing import Any

import numpy as np
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import LabelBinarizer
from sklearn.svm import LinearSVC
from sklearn.utils.validation import check_is_fitted

from quartz.losses import Logistic, Softmax


def classifier(model: Any) -> Any:
    """LogisticRegression where that has the same probabilities, or one-vs-rest, else LinearSVC."""
    check_is_fitted(model)
    probabilities = getattr(type(model.loss_), "probabilities", None)
    if probabilities is Logistic.probabilities and len(model.classes_) > 2:
        rest = OneVsRestClassifier(LogisticRegression())
        rest.estimators_ = [
            _filled(LogisticRegression(), model, k, np.array([0, 1]))
            for k in range(len(model.classes_))
        ]
        if not hasattr(type(rest), "classes_"):  # a property in older versions
            rest.classes_ = model.classes_
        rest.label_binarizer_ = LabelBinarizer(sparse_output=True).fit(model.classes_)
        _describe(rest, model)
        return rest
    alike = probabilities in (Logistic.probabilities, Softmax.probabilities)
    kind = LogisticRegression() if alike else LinearSVC()
    return _filled(kind, model, slice(None), model.classes_)


def regressor(model: Any) -> Any:
    """LinearRegression."""
    check_is_fitted(model)
    other = LinearRegression()
    other.coef_, other.intercept_ = model.dense_coefficients(), np.copy(model.intercept_)[()]
    _describe(other, model)
    return other


def _filled(other: Any, model: Any, rows: Any, classes: Any) -> Any:
    other.coef_ = np.atleast_2d(model.dense_coefficients()[rows])
    other.intercept_ = np.atleast_1d(model.intercept_[rows]).copy()
    other.classes_, other.n_iter_ = classes, model.n_iter_
    _describe(other, model)
    return other


def _describe(other: Any, model: Any) -> None:
    other.n_features_in_ = model.n_features_in_
    if hasattr(model, "feature_names_in_"):
        other.feature_names_in_ = model.feature_names_in_
