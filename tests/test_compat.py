"""The look-alikes of scikit-learn's classes: its checks, its optima, its parameters."""

import inspect

import numpy as np
import pytest
from sklearn import linear_model, svm
from sklearn.datasets import load_diabetes, load_iris
from sklearn.utils.estimator_checks import parametrize_with_checks

from estimator_checks import run_check
from quartz import compat

ORIGINALS = {
    "LogisticRegression": linear_model.LogisticRegression,
    "LinearSVC": svm.LinearSVC,
    "Ridge": linear_model.Ridge,
    "ElasticNet": linear_model.ElasticNet,
}


@parametrize_with_checks([compat.LogisticRegression(), compat.Ridge()])
def test_scikit_learn_checks(estimator, check):
    run_check(estimator, check)


@pytest.mark.slow
@parametrize_with_checks([compat.LinearSVC(), compat.ElasticNet()])
def test_more_scikit_learn_checks(estimator, check):
    run_check(estimator, check)


def same(ours, theirs, X, y, weights, atol):
    ours.fit(X, y, sample_weight=weights)
    theirs.fit(X, y, sample_weight=weights)
    assert ours.converged_
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=atol)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=atol)


WEIGHTS = [None, np.random.default_rng(0).random(442) + 0.1]


@pytest.mark.parametrize("weights", WEIGHTS, ids=["plain", "weighted"])
@pytest.mark.parametrize("classes", [2, 3])
def test_logistic_regression(weights, classes):
    X, y = load_iris(return_X_y=True)
    y = np.minimum(y, classes - 1)
    weights = None if weights is None else weights[:150]
    options = {"C": 2.0, "class_weight": {0: 1.0, 1: 3.0}, "tol": 1e-11}
    ours = compat.LogisticRegression(**options, random_state=0)
    theirs = linear_model.LogisticRegression(**options, max_iter=10_000)
    same(ours, theirs, X, y, weights, 1e-3)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-3)


@pytest.mark.parametrize("weights", WEIGHTS, ids=["plain", "weighted"])
@pytest.mark.parametrize("intercept", [True, False])
def test_linear_svc(weights, intercept):
    X, y = load_iris(return_X_y=True)
    weights = None if weights is None else weights[:150]
    options = {"C": 0.5, "fit_intercept": intercept, "tol": 1e-9}
    ours = compat.LinearSVC(**options, random_state=0)
    theirs = svm.LinearSVC(**options, max_iter=10**6)
    same(ours, theirs, X, y, weights, 1e-3)


@pytest.mark.parametrize("class_weight", ["balanced", {0: 2.0, 1: 0.5}])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("weights", WEIGHTS, ids=["plain", "weighted"])
def test_linear_svc_has_the_class_weights_of_liblinear(weights, classes, class_weight):
    X, y = load_iris(return_X_y=True)
    X, y = X[:130], np.minimum(y, classes - 1)[:130]  # as many of each class need no weights
    weights = None if weights is None else weights[:130]
    options = {"C": 0.5, "class_weight": class_weight, "tol": 1e-9}
    ours = compat.LinearSVC(**options, random_state=0)
    same(ours, svm.LinearSVC(**options, max_iter=10**6), X, y, weights, 1e-3)


@pytest.mark.parametrize("weights", WEIGHTS, ids=["plain", "weighted"])
def test_regression(weights):
    X, y = load_diabetes(return_X_y=True)
    pairs = [
        (compat.Ridge(0.1, tol=1e-12), linear_model.Ridge(0.1), 1e-3),
        (
            compat.Ridge(0.1, positive=True, tol=1e-9),
            linear_model.Ridge(0.1, positive=True, tol=1e-9),
            1e-1,
        ),
        (compat.ElasticNet(0.1, tol=1e-10), linear_model.ElasticNet(0.1, tol=1e-10), 1e-2),
    ]
    for ours, theirs, atol in pairs:
        same(ours, theirs, X, y, weights, atol)


@pytest.mark.parametrize("name", compat.__all__)
def test_parameters_have_the_names_of_the_originals(name):
    ours, theirs = (
        inspect.signature(kind.__init__).parameters
        for kind in (getattr(compat, name), ORIGINALS[name])
    )
    assert set(ours) - set(theirs) <= {"n_jobs"}
    assert type(getattr(compat, name)().set_params()).__name__ == name


def test_messages():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="C must be a finite number above 0, got 0"):
        compat.LogisticRegression(C=0).fit(X, y)
    with pytest.raises(ValueError, match='loss must be "squared_hinge" or "hinge"'):
        compat.LinearSVC("log_loss").fit(X, y)
    with pytest.raises(ValueError, match=r"l1_ratio must be .* Try 0.99"):
        compat.ElasticNet(l1_ratio=1.0).fit(X, y)
