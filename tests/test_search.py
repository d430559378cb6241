"""The choice of alpha by cross-validation."""

import os
import signal
import threading
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from sklearn import linear_model
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import get_scorer, make_scorer, mean_absolute_error
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    LeaveOneGroupOut,
    LeaveOneOut,
    StratifiedKFold,
)
from sklearn.utils.estimator_checks import parametrize_with_checks

from estimator_checks import run_check
from quartz import (
    QuartzClassifier,
    QuartzClassifierCV,
    QuartzRegressor,
    QuartzRegressorCV,
    quartz_path,
)
from quartz.data import make_classification


@parametrize_with_checks(
    [QuartzClassifierCV(alphas=[1.0, 0.01], cv=3), QuartzRegressorCV(alphas=[1.0, 0.01], cv=3)]
)
def test_scikit_learn_checks(estimator, check):
    run_check(estimator, check)


def test_scores_are_those_of_a_grid_search():
    X, y = load_iris(return_X_y=True)
    alphas = [1.0, 0.1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6]
    folds = StratifiedKFold(4, shuffle=True, random_state=0)
    options = {"tol": 1e-8, "random_state": 0}
    ours = QuartzClassifierCV(alphas=alphas, cv=folds, scoring="neg_log_loss", **options).fit(X, y)
    model = QuartzClassifier(**options)
    theirs = GridSearchCV(model, {"alpha": alphas}, cv=folds, scoring="neg_log_loss").fit(X, y)
    expected = np.column_stack([theirs.cv_results_[f"split{k}_test_score"] for k in range(4)])
    np.testing.assert_allclose(ours.scores_, expected, atol=1e-3)
    assert ours.alpha_ == theirs.best_params_["alpha"]
    assert ours.best_score_ == pytest.approx(ours.scores_.mean(axis=1).max())
    assert (ours.relative_gaps_ <= 1e-8).all()
    np.testing.assert_allclose(ours.coef_, theirs.best_estimator_.coef_, rtol=1e-3)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-3)


def test_scores_are_those_of_ridge_cv():
    X, y = load_diabetes(return_X_y=True)
    folds = [(np.flatnonzero(np.arange(442) % 3 != k), np.arange(k, 442, 3)) for k in range(3)]
    ours = QuartzRegressorCV(alphas=5, cv=folds, tol=1e-8, random_state=0).fit(X, y)
    for k, (train, test) in enumerate(folds):
        for j, alpha in enumerate(ours.alphas_):
            ridge = linear_model.Ridge(alpha=alpha * len(train)).fit(X[train], y[train])
            assert ours.scores_[j, k] == pytest.approx(ridge.score(X[test], y[test]), abs=1e-4)
    absolute = QuartzRegressorCV(
        alphas=[1e-2, 1e-5], scoring=make_scorer(mean_absolute_error, greater_is_better=False)
    ).fit(X, y)
    assert absolute.best_score_ < 0


def test_results_do_not_depend_on_n_jobs():
    X, y = make_classification(300, 20, density=0.3, classes=3, noise=0.2)
    model = QuartzClassifierCV("squared_hinge", alphas=7, cv=3, random_state=1)
    one, two = (clone(model).set_params(n_jobs=jobs).fit(X, y) for jobs in (1, 2))
    for name in ("scores_", "relative_gaps_", "coef_", "dual_coef_"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))


def test_weight_is_repetition():
    X, y = load_iris(return_X_y=True)
    X, y = X[y > 0], y[y > 0]
    rng = np.random.default_rng(0)
    times, groups = rng.integers(0, 3, 100), np.arange(100) % 3
    model = QuartzClassifierCV(alphas=[1, 0.01], tol=1e-9, class_weight="balanced", random_state=0)

    def folds(X, y, groups):
        return list(LeaveOneGroupOut().split(X, y, groups))

    weighted = clone(model).set_params(cv=folds(X, y, groups)).fit(X, y, sample_weight=times)
    X, y, groups = (np.repeat(values, times, axis=0) for values in (X, y, groups))
    repeated = clone(model).set_params(cv=folds(X, y, groups)).fit(X, y)
    np.testing.assert_allclose(weighted.scores_, repeated.scores_, atol=1e-12)
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-3)


def test_a_class_may_be_missing_in_a_fold():
    X, y = load_iris(return_X_y=True)
    folds = [(np.arange(100), np.arange(100, 150)), (np.arange(50, 150), np.arange(50))]
    model = QuartzClassifierCV("multinomial", alphas=[0.1], cv=folds).fit(sp.csr_array(X), y)
    np.testing.assert_array_equal(model.scores_, [[0.0, 0.0]])
    np.testing.assert_array_equal(model.classes_, [0, 1, 2])
    # which some scores refuse
    model.set_params(scoring="neg_log_loss", cv=[*folds, (np.arange(1, 150, 2), np.arange(150))])
    with pytest.warns(UserWarning, match=r"2 of 3 scores are nan and left out \(.*label"):
        model.fit(X, y)
    assert model.best_score_ == model.scores_[0, 2]


def test_the_quick_score_is_that_of_scikit_learn():
    X, y = load_iris(return_X_y=True)
    names, weights = np.array(["c", "a", "b"])[y], np.arange(150.0)
    model = QuartzClassifierCV(alphas=[0.1, 1.0], random_state=0)
    quick = clone(model).fit(X, names, sample_weight=weights)
    slow = clone(model).set_params(scoring="accuracy").fit(X, names, sample_weight=weights)
    np.testing.assert_allclose(quick.scores_, slow.scores_)
    assert len(np.unique(quick.scores_)) > 2


def test_limits_lose_nothing():
    X, y = load_iris(return_X_y=True)
    model = QuartzClassifierCV(alphas=3, max_seconds=0.0)
    with pytest.warns(ConvergenceWarning) as caught:
        model.fit(X, y)
    messages = [str(warning.message) for warning in caught]
    assert any("search was cut off with 15 of 15 scores missing" in text for text in messages)
    assert any("misses tol" in text for text in messages)
    assert model.alpha_ == model.alphas_[0]
    assert model.predict(X).shape == (150,)
    assert np.isfinite(model.duality_gap_)
    model = QuartzClassifierCV(alphas=[1e-6, 1e-7], max_passes=2, tol=1e-9, random_state=0)
    with pytest.warns(ConvergenceWarning) as caught:
        model.fit(X, y)
    assert "10 of 10 fits of the search miss tol=1e-09" in str(caught[0].message)
    assert not np.isnan(model.scores_).any()


def test_an_unfinished_search_takes_the_best_of_what_there_is():
    model = QuartzClassifierCV()
    model.alphas_ = np.array([1.0, 0.1, 0.01])
    nan = np.nan
    for scores, alpha in (
        ([[0.5, 0.5], [0.7, 0.7], [0.9, nan]], 0.1),
        ([[0.5, nan], [0.7, nan], [nan, nan]], 0.1),
        ([[nan, nan], [nan, nan], [nan, nan]], 1.0),
    ):
        model.scores_ = np.array(scores)
        model.relative_gaps_ = 0 * model.scores_
        with pytest.warns(ConvergenceWarning, match="cut off"):
            model._choose("")
        assert model.alpha_ == alpha


@pytest.mark.slow  # on a busy machine, signals and compilation meet
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_ends_the_search_and_fits_the_best_alpha(n_jobs):
    X, y = make_classification(5000, 200, density=0.5, noise=0.4)
    model = QuartzClassifierCV("hinge", alphas=[1e-1, 1e-2, 1e-9], cv=2, max_passes=1e9)
    model.set_params(n_jobs=n_jobs, random_state=0)
    with pytest.warns(ConvergenceWarning):
        clone(model).set_params(max_passes=30).fit(X, y)
    model.set_params(alphas=[1e-1, *np.geomspace(1e-8, 1e-9, 20)], tol=1e-7)
    timer = threading.Timer(3.0, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    second = threading.Timer(8.0, os.kill, (os.getpid(), signal.SIGINT))
    second.start()
    try:
        with pytest.warns(ConvergenceWarning, match="search was cut off"):
            model.fit(X, y)
    except KeyboardInterrupt:  # the second one came after the fit
        pass
    second.cancel()
    assert np.isnan(model.scores_).any()
    assert model.coef_.shape == (1, 200)


def test_metadata_is_routed():
    X, y = load_iris(return_X_y=True)
    groups, weights = np.arange(150) % 5, np.linspace(0.5, 1.5, 150)
    options = {"tol": 1e-8, "random_state": 0}
    with sklearn.config_context(enable_metadata_routing=True):
        scorer = get_scorer("accuracy").set_score_request(sample_weight=True)
        model = QuartzClassifierCV(alphas=[0.1, 0.01], cv=GroupKFold(5), scoring=scorer, **options)
        model.set_fit_request(sample_weight=True)
        model.fit(X, y, groups=groups, sample_weight=weights)
    for k, (train, test) in enumerate(GroupKFold(5).split(X, y, groups)):
        single = QuartzClassifier(alpha=0.1, **options)
        single.fit(X[train], y[train], sample_weight=weights[train])
        expected = single.score(X[test], y[test], sample_weight=weights[test])
        assert model.scores_[0, k] == pytest.approx(expected)
    with pytest.raises(ValueError, match="metadata"):
        QuartzClassifierCV().fit(X, y, groups=groups)


def test_routing_with_the_default_score_and_threads():
    X, y = load_iris(return_X_y=True)
    groups = np.arange(150) % 3

    def weighted(model, X, y, extra):
        return model.score(X, y) + extra.mean()

    with sklearn.config_context(enable_metadata_routing=True):
        model = QuartzClassifierCV(alphas=[0.1, 0.01], cv=GroupKFold(3), n_jobs=2, random_state=0)
        plain = model.fit(X, y, groups=groups).scores_
        scorer = make_scorer_with_extra(weighted)
        model.set_params(scoring=scorer).fit(X, y, groups=groups, extra=np.full(150, 2.0))
    np.testing.assert_allclose(model.scores_, plain + 2)


def make_scorer_with_extra(function):
    class Scorer(sklearn.utils.metadata_routing._MetadataRequester):
        def __call__(self, model, X, y, extra):
            return function(model, X, y, extra)

        def score(self, model, X, y, extra):
            """Names what may be asked for."""

    return Scorer().set_score_request(extra=True)


def test_folds_in_any_form():
    X, y = load_diabetes(return_X_y=True)
    model = QuartzRegressorCV(alphas=[1e-3, 1e-5], random_state=0)
    expected = clone(model).set_params(cv=KFold(3)).fit(X, y).scores_
    splits = list(KFold(3).split(X))
    masks = [tuple(np.isin(np.arange(442), part) for part in split) for split in splits]
    for folds in (splits, masks, iter(splits)):
        found = QuartzRegressorCV(alphas=[1e-3, 1e-5], cv=folds, random_state=0).fit(X, y)
        np.testing.assert_array_equal(found.scores_, expected)
    with sklearn.config_context(enable_metadata_routing=True):
        found = QuartzRegressorCV(alphas=[1e-3, 1e-5], cv=iter(splits), random_state=0).fit(X, y)
    np.testing.assert_array_equal(found.scores_, expected)
    with pytest.raises(ValueError, match="gives no folds"):
        clone(model).set_params(cv=[]).fit(X, y)


def test_scores_that_are_not_numbers():
    X, y = load_diabetes(return_X_y=True)
    model = QuartzRegressorCV(alphas=[1e-3], cv=LeaveOneOut())
    undefined = pytest.warns(sklearn.exceptions.UndefinedMetricWarning)
    with undefined, pytest.raises(ValueError, match="all scores are nan"):
        model.fit(X[:6], y[:6])
    weights = np.repeat([0.0, 1.0], [10, 432])
    model = QuartzRegressorCV(alphas=[1e-3], cv=[(np.arange(10, 442), np.arange(10))] * 2)
    with pytest.raises(ValueError, match="all scores are nan"):
        model.fit(X, y, sample_weight=weights)
    model.set_params(cv=[(np.arange(100, 442), np.arange(k)) for k in (10, 50)])
    with pytest.warns(UserWarning, match="1 of 2 scores are nan"):
        model.fit(X, y, sample_weight=weights)
    assert np.isfinite(model.best_score_)
    with pytest.raises(ValueError, match="none with a positive weight"):
        QuartzClassifierCV(alphas=[1.0], cv=[(np.arange(10), np.arange(10, 442))]).fit(
            X, y > 100, sample_weight=weights
        )


def test_errors_of_a_scorer_end_the_search():
    X, y = load_iris(return_X_y=True)

    def broken(model, X, y):
        raise RuntimeError("no score")

    with pytest.raises(RuntimeError, match="no score"):
        QuartzClassifierCV(alphas=20, scoring=broken, n_jobs=2).fit(X, y)


def test_callbacks_of_a_search():
    pytest.importorskip("sklearn.callback")
    names = []

    class Names:
        def setup(self, estimator, context):
            pass

        def on_fit_task_begin(self, estimator, context):
            names.append(context.task_name)

        def on_fit_task_end(self, estimator, context):
            pass

        def teardown(self, estimator, context):
            pass

    X, y = load_iris(return_X_y=True)
    model = QuartzClassifierCV(alphas=[0.1, 0.01], cv=2).set_callbacks(Names()).fit(X, y)
    assert model.converged_
    assert names[:2] == ["fit", "search"]
    assert names.count("piece") == 2
    assert names.count("output") == 3
    assert names.count("certificate") >= 3


def test_predictions_of_ones_own_count():
    class Contrary(QuartzClassifierCV):
        def predict(self, X):
            right = super().predict(X)
            return np.where(right == self.classes_[0], self.classes_[1], self.classes_[0])

    X, y = load_iris(return_X_y=True)
    X, y = X[y < 2], y[y < 2]
    model = Contrary(alphas=[0.1, 0.01], random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.scores_, 0.0)


def test_an_empty_fold_is_left_out():
    X, y = load_iris(return_X_y=True)
    even = np.arange(150) % 2 == 0
    folds = [(even, ~even), (even, np.zeros(150, dtype=bool))]
    model = QuartzClassifierCV(alphas=[0.1, 0.01], cv=folds, random_state=0)
    with pytest.warns(UserWarning, match="2 of 4 scores are nan and left out"):
        model.fit(X, y)
    np.testing.assert_array_equal(np.isnan(model.scores_), [[False, True]] * 2)


def test_messages():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="alphas must be positive"):
        QuartzClassifierCV(alphas=[0.0]).fit(X, y)
    with pytest.raises(ValueError, match="scoring must be one score"):
        QuartzClassifierCV(scoring=["accuracy", "f1"]).fit(X, y)
    with pytest.raises(ValueError, match=r"scoring|valid"):
        QuartzClassifierCV(scoring="accurate").fit(X, y)


def test_a_path_with_the_estimator_of_a_search():
    X, y = load_diabetes(return_X_y=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        path = quartz_path(QuartzRegressorCV(random_state=0), X, y, alphas=[1e-2, 1e-3])
    single = quartz_path(QuartzRegressor(random_state=0), X, y, alphas=[1e-2, 1e-3])
    np.testing.assert_array_equal(path.coefs, single.coefs)
