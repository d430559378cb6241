"""Optima of scikit-learn on real data; skipped where QUARTZ_DATA_DIR does not have them."""

import numpy as np
import pytest
from sklearn import linear_model, svm
from sklearn.preprocessing import StandardScaler

from experiments import datasets
from quartz import compat


def read(file):
    try:
        return datasets.read(file)
    except datasets.MissingDataError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("class_weight", [None, "balanced"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", ["mushrooms", "a9a"])
def test_logistic_regression(name, weighted, class_weight):
    X, y = read(f"{name}.bz2")
    weights = np.random.default_rng(0).random(len(y)) + 0.5 if weighted else None
    options = {"class_weight": class_weight}
    ours = compat.LogisticRegression(**options, tol=1e-11, random_state=0)
    theirs = linear_model.LogisticRegression(**options, tol=1e-10, solver="newton-cholesky")
    ours.fit(X, y, sample_weight=weights)
    theirs.fit(X.toarray(), y, sample_weight=weights)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-4)


def test_linear_svc():
    X, y = read("mushrooms.bz2")
    ours = compat.LinearSVC(tol=1e-9, random_state=0).fit(X, y)
    theirs = svm.LinearSVC(tol=1e-8, max_iter=10**6).fit(X.toarray(), y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)


def test_ridge_and_elastic_net():
    X, y = read("cadata.bz2")
    X, y = StandardScaler().fit_transform(X.toarray()), (y - y.mean()) / y.std()
    ours = compat.Ridge(tol=1e-12, random_state=0).fit(X, y)
    np.testing.assert_allclose(ours.coef_, linear_model.Ridge().fit(X, y).coef_, atol=1e-5)
    ours = compat.ElasticNet(0.01, tol=1e-10, random_state=0).fit(X, y)
    theirs = linear_model.ElasticNet(0.01, tol=1e-12, max_iter=10**5).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)
    assert (np.flatnonzero(ours.coef_) == np.flatnonzero(theirs.coef_)).all()
