"""What objects can do is asked of them: by name or as an object makes no difference."""

from typing import NamedTuple

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from quartz import (
    AbsoluteGap,
    Plan,
    Problem,
    QuartzClassifier,
    QuartzClassifierCV,
    QuartzRegressor,
    losses,
    methods,
    quartz_path,
    regularizers,
    samplings,
    solve,
)
from quartz.losses import check_loss
from quartz.losses.base import abilities
from quartz.losses.examples import ExampleLosses
from quartz.losses.numeric import numeric_step

IRIS = load_iris(return_X_y=True)
BINARY = IRIS[0][:100], IRIS[1][:100]


class Pseudohuber(NamedTuple):
    """phi(a) = sqrt(1 + (a - y)^2) - 1, the loss of CONTRIBUTING.md, without a step."""

    @property
    def gamma(self):
        return 1.0

    def value(self, a, y):
        return np.sqrt(1 + (a - y) ** 2) - 1

    def gradient(self, a, y):
        return (a - y) / np.sqrt(1 + (a - y) ** 2)

    def conjugate(self, u, y):
        return u * y + 1 - np.sqrt(np.maximum(1 - u**2, 0)) + losses.barrier(u, -1, 1)


class Probit(NamedTuple):
    """A margin loss with probabilities of its own: smoothed hinge, and a ramp."""

    gamma, targets = 1.0, "sign"

    def value(self, a, y):
        slack = np.maximum(1.0 - y * a, 0.0)
        bent = np.minimum(slack, 1.0)
        return bent * (slack - 0.5 * bent)

    def gradient(self, a, y):
        return -y * np.minimum(np.maximum(1.0 - y * a, 0.0), 1.0)

    def conjugate(self, u, y):
        return y * u + 0.5 * u**2 + losses.barrier(-y * u, 0.0, 1.0)

    def probabilities(self, a):
        return np.clip(0.5 + 0.25 * a, 0, 1)


@pytest.mark.parametrize(
    ("name", "loss", "data"),
    [
        ("log_loss", losses.Logistic(), BINARY),
        ("log_loss", losses.Logistic(), IRIS),
        ("multinomial", losses.Softmax(), BINARY),
        ("multinomial", losses.Softmax(), IRIS),
    ],
    ids=["two", "one-vs-rest", "multinomial of two", "multinomial"],
)
def test_a_loss_object_has_the_probabilities_of_its_name(name, loss, data):
    X, y = data
    by_name, by_object = (
        QuartzClassifier(kind, alpha=0.01, random_state=0).fit(X, y) for kind in (name, loss)
    )
    probabilities = by_object.predict_proba(X)
    np.testing.assert_array_equal(probabilities, by_name.predict_proba(X))
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    np.testing.assert_array_equal(by_object.classes_[probabilities.argmax(1)], by_object.predict(X))
    exported = by_object.to_sklearn()
    assert isinstance(exported, LogisticRegression | OneVsRestClassifier)
    np.testing.assert_allclose(exported.predict_proba(X), probabilities, atol=1e-12)


def test_probabilities_of_ones_own_are_used_but_not_exported_as_logistic():
    X, y = BINARY
    check_loss(Probit())
    model = QuartzClassifier(Probit(), alpha=0.01, random_state=0).fit(X, y)
    scores = model.decision_function(X)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], np.clip(0.5 + 0.25 * scores, 0, 1))
    assert isinstance(model.to_sklearn(), LinearSVC)
    hinge = QuartzClassifier(losses.Hinge(), random_state=0)
    assert not hasattr(hinge, "predict_proba")
    assert isinstance(hinge.fit(X, y).to_sklearn(), LinearSVC)


@pytest.mark.parametrize("ratio", [0.5, 0.8])
def test_a_path_begins_where_that_of_the_named_penalty_does(ratio):
    """The share of alpha that is lam is 1 for an object, 1 - l1_ratio for the name."""
    X, y = load_diabetes(return_X_y=True)
    mu = ratio / (1 - ratio)
    named = QuartzRegressor(penalty="elasticnet", l1_ratio=ratio, tol=1e-9)
    by_name = quartz_path(named, X, y, alphas=5)
    same = QuartzRegressor(penalty=regularizers.ElasticNet(mu), tol=1e-9)
    by_object = quartz_path(same, X, y, alphas=5)
    np.testing.assert_allclose(by_object.alphas, by_name.alphas * (1 - ratio))
    scale = np.abs(by_name.coefs).max()
    np.testing.assert_allclose(by_object.coefs, by_name.coefs, atol=1e-3 * scale)
    assert np.abs(by_object.coefs[0]).max() < 1e-3 * scale
    groups = np.arange(10) // 2
    group = quartz_path(QuartzRegressor(penalty=regularizers.GroupL2(groups, mu)), X, y, alphas=3)
    named.set_params(penalty="group", groups=groups)
    alphas = quartz_path(named, X, y, alphas=3).alphas
    np.testing.assert_allclose(group.alphas, alphas * (1 - ratio))


@pytest.mark.parametrize("fit_intercept", [True, "penalized"])
def test_groups_as_an_object_couple_the_targets_that_they_fit(fit_intercept):
    X, y = load_diabetes(return_X_y=True)
    targets, groups = np.column_stack([y, -y]) / 100, np.arange(10) // 2
    common = {"alpha": 1e-3, "fit_intercept": fit_intercept, "random_state": 0, "tol": 1e-8}
    named = QuartzRegressor(penalty="group", groups=groups, l1_ratio=0.5, **common)
    labels = np.append(groups, [5] * (fit_intercept == "penalized")).astype(int)
    g = regularizers.GroupL2(np.repeat(labels, 2))
    coupled = QuartzRegressor(penalty=g, **common | {"alpha": 5e-4})
    assert len(coupled.training(X, targets).problems) == 1
    scale = np.abs(named.fit(X, targets).coef_).max()
    np.testing.assert_allclose(coupled.fit(X, targets).coef_, named.coef_, atol=1e-3 * scale)
    single = QuartzRegressor(penalty=regularizers.GroupL2(labels), **common)
    assert len(single.training(X, targets).problems) == 2


@pytest.mark.parametrize("fit_intercept", [True, False, "penalized"])
def test_the_loss_of_contributing_works_in_the_estimators(fit_intercept):
    X, y = load_diabetes(return_X_y=True)
    y = (y - y.mean()) / y.std()
    model = QuartzRegressor(Pseudohuber(), alpha=1e-4, fit_intercept=fit_intercept, random_state=0)
    model.fit(X, y)
    assert model.converged_
    huber = QuartzRegressor("huber", alpha=1e-4, fit_intercept=fit_intercept, random_state=0)
    assert model.score(X, y) == pytest.approx(huber.fit(X, y).score(X, y), abs=0.05)
    path = quartz_path(model, X, y, alphas=4)
    assert path.converged.all()


def test_a_margin_loss_without_a_step_works_in_a_search():
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    model = QuartzClassifierCV(Probit(), alphas=[0.1, 1e-3], cv=3, random_state=0).fit(X, y)
    assert model.converged_
    assert model.score(X, y) > 0.95


SCALAR = [
    losses.Squared(),
    losses.Logistic(),
    losses.SmoothedHinge(0.3),
    losses.SquaredHinge(),
    losses.Huber(2.0),
    losses.SmoothedEpsilonInsensitive(),
    losses.Hinge(),
    losses.Absolute(),
    losses.EpsilonInsensitive(0.2),
]


@pytest.mark.parametrize("loss", SCALAR, ids=repr)
def test_the_numeric_step_is_the_closed_form(loss):
    rng = np.random.default_rng(0)
    for _ in range(300):
        y = np.sign(rng.normal()) if abilities(loss).targets == "sign" else rng.normal()
        alpha = -float(loss.gradient(3 * rng.normal(), y))
        a, q = 3 * rng.normal(), 10 ** rng.uniform(-6, 6)
        exact = loss.step(alpha, a, y, q)
        assert numeric_step(loss, alpha, a, y, q) == pytest.approx(exact, rel=1e-9, abs=1e-9)


class Poisson(NamedTuple):
    """exp(a) - y a, whose gradient grows without bound, on a range where it is called smooth."""

    gamma = 1e-3

    def value(self, a, y):
        return np.exp(a) - y * a

    def gradient(self, a, y):
        return np.exp(a) - y

    def conjugate(self, u, y):
        mean = np.maximum(u + y, 0.0)
        return mean * np.log(np.maximum(mean, 1e-300)) - mean + losses.barrier(u + y, 0.0, np.inf)


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize(("c", "exact"), [(100.0, -95.42), (300.0, -294.3), (800.0, -793.3)])
def test_the_numeric_step_where_gradients_grow_fast(c, exact):
    """The root of b - c + exp(b) - 2 is near log(c), the bracket of the bound endless."""
    found = numeric_step(Poisson(), 0.0, c, 2.0, 1.0)
    assert found == pytest.approx(exact, abs=0.05)
    b = c + found
    assert b - c + np.exp(b) - 2.0 == pytest.approx(0.0, abs=1e-9 * c)


def test_a_loss_with_fast_gradients_does_not_diverge():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 10))
    y = rng.poisson(np.exp(0.3 * X[:, 0])).astype(float)
    for intercept in (None, "penalized", "free"):
        found = solve(Problem(X, y, Poisson(), 1e-3, intercept=intercept), methods.Permuted())
        assert found.converged, found.message


class ComplementaryLog(NamedTuple):
    """Logistic loss with probabilities that are not symmetric."""

    gamma, targets = 4.0, "sign"

    def value(self, a, y):
        return np.logaddexp(0.0, -y * a)

    def gradient(self, a, y):
        return -y / (1.0 + np.exp(y * a))

    def conjugate(self, u, y):
        b = np.minimum(np.maximum(-y * u, 1e-300), 1.0)
        rest = np.maximum(1.0 - b, 1e-300)
        return b * np.log(b) + rest * np.log(rest) + losses.barrier(-y * u, 0.0, 1.0)

    def probabilities(self, a):
        return 1 - np.exp(-np.exp(a))


def test_probabilities_of_two_classes_sum_to_one():
    X, y = BINARY
    model = QuartzClassifier(ComplementaryLog(), alpha=0.1, random_state=0).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)
    model.set_params(loss="hinge").fit(X, y)
    assert not hasattr(model.set_params(loss="log_loss"), "predict_proba")  # until it is fitted


def test_training_leaves_the_estimator_alone():
    X, y = BINARY
    model = QuartzClassifier(alpha=0.1, random_state=0).fit(X, y)
    (problem,) = model.training(X[:, :2], y).problems
    assert problem.data.features == 2
    assert model.predict(X).shape == (100,)
    fresh = QuartzClassifier()
    fresh.training(X, y)
    assert not hasattr(fresh, "n_features_in_")
    with pytest.raises(NotFittedError, match="chooses alpha in fit"):
        QuartzClassifierCV().training(X, y)
    with pytest.raises(ValueError, match="tol must be"):
        QuartzClassifier(tol=AbsoluteGap(1e-3)).fit(X, y)
    with pytest.raises(ValueError, match="goes around a sampling"):
        QuartzClassifier(sampling=methods.Permuted(), acceleration="on").fit(X, y)


def test_the_numeric_step_of_an_empty_example():
    for loss in SCALAR:
        y = 1.0
        found = numeric_step(loss, 0.0, 0.3, y, 0.0)
        assert np.isfinite(ExampleLosses(loss, np.array([y])).conjugates(np.array([found]))).all()


class SquaredDistance(NamedTuple):
    """||a - y||^2 / 2 of all outputs together, whose duals are not those of a simplex."""

    gamma, vector = 1.0, True

    def value(self, a, y):
        return 0.5 * np.sum((a - y) ** 2)

    def gradient(self, a, y):
        return a - y

    def conjugate(self, u, y):
        return 0.5 * np.sum(u * u) + np.sum(u * y)

    def step(self, alpha, a, y, q):
        return (y - a + q * alpha) / (1.0 + q)


def test_a_path_of_a_vector_loss_of_ones_own():
    X, y = load_diabetes(return_X_y=True)
    targets = np.column_stack([y, -y]) / 100
    model = QuartzRegressor(SquaredDistance(), fit_intercept="penalized", random_state=0)
    path = quartz_path(model, X, targets, alphas=4)
    assert path.converged.all()
    assert path.coefs.shape == (4, 2, 10)


class Window(samplings.NiceSampling):
    """Overrides what was proven of its parent."""

    def draw(self, rng, k):
        return samplings.IndexSets.of_equal_size(np.zeros((k, self.max_size), dtype=np.int64))


def test_proofs_are_not_inherited():
    assert samplings.NiceSampling.proven
    assert not Window.proven
    problem = Problem(np.eye(4), np.ones(4), losses.Squared(), 0.1)
    assert Plan.of(problem, samplings.Nice(2)).sampling.proven
    with pytest.raises(ValueError, match=r"Window\.draw gave a set that holds example 0 twice"):
        solve(problem, Window(4, 2))
