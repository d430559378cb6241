"""Optima of scikit-learn, through our own certificate: P of its w is at most D + 1e-6."""

import numpy as np
import pytest

from quartz import Problem, losses, regularizers, samplings, solve
from quartz.data import make_classification, make_regression

linear_model = pytest.importorskip("sklearn.linear_model")


def assert_same_optimum(problem, w, sampling):
    result = solve(problem, sampling, tol=1e-9, max_passes=20_000, passes_per_check=20)
    assert result.converged, result.message
    assert problem.primal(w) >= result.certificate.dual_value - 1e-12
    assert problem.primal(w) - result.certificate.dual_value <= 1e-6 * abs(
        result.certificate.primal_value
    )
    np.testing.assert_allclose(result.w, w, atol=1e-3 * np.abs(w).max())


@pytest.mark.parametrize("sampling", [samplings.Importance(), samplings.Nice(8)])
def test_ridge(sampling):
    X, y = make_regression(150, 20, density=0.4)
    lam = 0.01
    model = linear_model.Ridge(alpha=lam * 150, fit_intercept=False, solver="cholesky")
    assert_same_optimum(
        Problem(X, y, losses.Squared(), lam), model.fit(X.toarray(), y).coef_, sampling
    )


@pytest.mark.parametrize("sampling", [samplings.Uniform(), samplings.Bucket(4)])
def test_logistic_with_weights(sampling):
    X, y = make_classification(150, 20, density=0.4)
    weights = np.random.default_rng(0).random(150) + 0.2
    lam = 0.01
    model = linear_model.LogisticRegression(
        C=1 / (lam * weights.sum()), fit_intercept=False, solver="newton-cholesky", tol=1e-12
    )
    w = model.fit(X, y, sample_weight=weights).coef_[0]
    assert_same_optimum(Problem(X, y, losses.Logistic(), lam, weights=weights), w, sampling)


@pytest.mark.parametrize("sampling", [samplings.Uniform(), samplings.Distributed(5, 2)])
def test_elastic_net(sampling):
    X, y = make_regression(150, 20, density=0.4)
    alpha, ratio = 0.01, 0.6
    model = linear_model.ElasticNet(
        alpha=alpha, l1_ratio=ratio, fit_intercept=False, tol=1e-12, max_iter=100_000
    )
    w = model.fit(X, y).coef_
    g = regularizers.ElasticNet(mu=ratio / (1 - ratio))
    assert_same_optimum(Problem(X, y, losses.Squared(), alpha * (1 - ratio), g), w, sampling)


def test_softmax():
    X, y = make_classification(120, 10, density=0.5, classes=3)
    lam = 0.02
    model = linear_model.LogisticRegression(C=1 / (lam * 120), fit_intercept=False, tol=1e-10)
    w = model.fit(X, y).coef_.T.ravel()
    assert_same_optimum(Problem(X, y, losses.Softmax(), lam), w, samplings.Nice(4))


def test_squared_hinge():
    svm = pytest.importorskip("sklearn.svm")
    X, y = make_classification(150, 20, density=0.4)
    lam = 0.01
    model = svm.LinearSVC(C=1 / (2 * lam * 150), fit_intercept=False, tol=1e-12, max_iter=10**6)
    w = model.fit(X, y).coef_[0]
    assert_same_optimum(Problem(X, y, losses.SquaredHinge(), lam), w, samplings.Uniform())
