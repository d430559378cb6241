"""The estimators: scikit-learn's own checks, optima of scikit-learn, and how users meet them."""

import os
import pickle
import signal
import sys
import threading
import time
import warnings

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import linear_model, svm
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_diabetes, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from estimator_checks import run_check
from quartz import (
    QuartzClassifier,
    QuartzRegressor,
    losses,
    regularizers,
    samplings,
    solve,
)
from quartz.data import make_classification
from quartz.estimators.threads import in_threads

MORE = [
    QuartzClassifier("multinomial"),
    QuartzClassifier("squared_hinge", fit_intercept="penalized"),
    QuartzRegressor("huber"),
]


@parametrize_with_checks([QuartzClassifier(), QuartzRegressor()])
def test_scikit_learn_checks(estimator, check):
    run_check(estimator, check)


@pytest.mark.slow
@parametrize_with_checks(MORE)
def test_more_scikit_learn_checks(estimator, check):
    run_check(estimator, check)


def iris(binary=False):
    X, y = load_iris(return_X_y=True)
    return (X[y > 0], y[y > 0]) if binary else (X, y)


def same_coefficients(ours, theirs, atol=1e-4):
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=atol)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=10 * atol)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_optimum_of_logistic_regression(weighted, class_weight):
    X, y = iris(binary=True)
    y = np.array(["no", "yes"])[y - 1]
    weights = np.random.default_rng(0).random(100) + 0.1 if weighted else np.ones(100)
    ours = QuartzClassifier(alpha=0.05, tol=1e-11, class_weight=class_weight, random_state=0)
    theirs = linear_model.LogisticRegression(
        C=1 / (0.05 * weights.sum()), class_weight=class_weight, solver="newton-cholesky", tol=1e-12
    )
    ours.fit(X, y, sample_weight=weights)
    theirs.fit(X, y, sample_weight=weights)
    same_coefficients(ours, theirs)
    np.testing.assert_array_equal(ours.classes_, theirs.classes_)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-4)
    np.testing.assert_allclose(ours.predict_log_proba(X), theirs.predict_log_proba(X), atol=1e-3)


def test_optimum_of_multinomial_logistic_regression():
    X, y = iris()
    ours = QuartzClassifier("multinomial", alpha=0.05, tol=1e-10, random_state=0).fit(X, y)
    theirs = linear_model.LogisticRegression(C=1 / (0.05 * 150), tol=1e-12, max_iter=10_000)
    same_coefficients(ours, theirs.fit(X, y), atol=1e-3)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-3)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_optimum_of_linear_svc(loss):
    """LIBLINEAR penalizes the intercept."""
    X, y = iris()
    ours = QuartzClassifier(loss, alpha=0.05, fit_intercept="penalized", tol=1e-9, random_state=0)
    theirs = svm.LinearSVC(C=1 / (0.05 * 150), loss=loss, tol=1e-10, max_iter=1_000_000)
    same_coefficients(ours.fit(X, y), theirs.fit(X, y), atol=2e-3)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


def test_optimum_of_ridge_and_elastic_net():
    X, y = load_diabetes(return_X_y=True)
    Y = np.column_stack([y, y[::-1]])
    weights = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    ours = QuartzRegressor(alpha=0.1 / weights.sum(), tol=1e-12).fit(X, Y, sample_weight=weights)
    theirs = linear_model.Ridge(alpha=0.1).fit(X, Y, sample_weight=weights)
    same_coefficients(ours, theirs, atol=1e-3)
    assert ours.predict(X).shape == (len(y), 2)
    ours = QuartzRegressor(alpha=0.1, penalty="elasticnet", l1_ratio=0.8, tol=1e-10).fit(X, y)
    theirs = linear_model.ElasticNet(alpha=0.1, l1_ratio=0.8, tol=1e-12, max_iter=100_000)
    same_coefficients(ours, theirs.fit(X, y), atol=1e-2)
    assert isinstance(ours.intercept_, float)


@pytest.mark.parametrize("loss", ["log_loss", "multinomial", "hinge"])
def test_weight_is_repetition_and_zero_weight_is_removal(loss):
    X, y = iris()
    times = np.random.default_rng(1).integers(0, 3, 150)
    model = QuartzClassifier(loss, alpha=0.1, tol=1e-10, random_state=0, max_passes=20_000)
    weighted = clone(model).fit(X, y, sample_weight=times)
    repeated = clone(model).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    same_coefficients(weighted, repeated, atol=1e-3)
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-8)
    scaled = clone(model).fit(X, y, sample_weight=7.0 * times)
    same_coefficients(weighted, scaled, atol=1e-12)
    without = clone(model).fit(X, y, sample_weight=(y != 1).astype(float))
    np.testing.assert_array_equal(without.classes_, [0, 2])


def test_penalties():
    X, y = make_classification(200, 12, density=0.5, noise=0.1)
    groups = np.repeat(["a", "b", "c"], 4)
    options = {"alpha": 0.3, "l1_ratio": 0.9, "tol": 1e-8, "random_state": 0}
    grouped = QuartzClassifier(penalty="group", groups=groups, **options).fit(X, y)
    by_group = np.abs(grouped.coef_[0]).reshape(3, 4)
    assert (by_group.max(axis=1) == 0).any()
    assert ((by_group > 0).all(axis=1) | (by_group == 0).all(axis=1)).all()
    sparse = QuartzClassifier(penalty="elasticnet", **options | {"alpha": 0.05}).fit(X, y)
    assert 0 < np.count_nonzero(sparse.coef_) < 12
    positive = QuartzClassifier(penalty="nonnegative", tol=1e-6).fit(X, y)
    assert positive.coef_.min() >= 0
    own = QuartzClassifier(penalty=regularizers.BoxL2(-0.1, 0.1), alpha=0.01).fit(X, y)
    assert np.abs(own.coef_).max() <= 0.1
    together = QuartzRegressor(penalty="group", groups=groups, fit_intercept="penalized", **options)
    together.fit(X, np.column_stack([y, -y]))
    assert together.coef_.shape == (2, 12)
    assert ((together.coef_ == 0).all(axis=0) | (together.coef_ != 0).all(axis=0)).all()


def test_the_certificate():
    X, y = iris()
    model = QuartzClassifier(alpha=0.01, random_state=0).fit(X, y)
    assert model.converged_
    assert len(model.certificate_) == len(model.trace_) == 3
    assert model.duality_gap_ == sum(c.gap for c in model.certificate_)
    assert 0 <= model.duality_gap_ <= 1e-4 * model.objective_
    assert model.dual_coef_.shape == (150, 3)
    joint = QuartzClassifier("multiclass_hinge", alpha=0.01, random_state=0).fit(X, y)
    assert joint.certificate_.gap == joint.duality_gap_
    np.testing.assert_array_equal(joint.support_, np.flatnonzero(joint.dual_coef_.any(axis=1)))
    assert 0 < len(joint.support_) < 150
    html = joint._repr_html_()
    assert "relative gap" in html
    assert "certified" in html
    assert "relative gap" not in QuartzClassifier()._repr_html_()


@pytest.mark.parametrize("limit", [{"max_passes": 2}, {"max_seconds": 0.0}])
def test_warns_exactly_when_the_certificate_misses_tol(limit):
    X, y = iris()
    model = QuartzClassifier(alpha=1e-5, tol=1e-12, random_state=0, **limit)
    with pytest.warns(ConvergenceWarning, match=r"gap .* misses tol=1e-12.*Raise max_passes"):
        model.fit(X, y)
    assert not model.converged_
    relative = max(c.relative_gap for c in model.certificate_)
    assert relative > 1e-12
    assert model.predict(X).shape == (150,)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        QuartzClassifier(tol=1e-3).fit(X, y)


@pytest.mark.slow  # on a busy machine, signals and compilation meet
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_leaves_a_fitted_estimator(n_jobs):
    X, y = make_classification(5000, 200, density=0.5, noise=0.4, classes=6)
    model = QuartzClassifier("hinge", alpha=1e-9, tol=0, max_passes=1e9, n_jobs=n_jobs)
    with pytest.warns(ConvergenceWarning):
        clone(model).set_params(max_passes=30).fit(X, y)  # compiles, which is not to be timed
    timer = threading.Timer(2.0, os.kill, (os.getpid(), signal.SIGINT))
    began = time.perf_counter()
    timer.start()
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model.fit(X, y)
    assert time.perf_counter() - began < 30
    assert model.coef_.shape == (6, 200)
    assert all(np.isfinite(c.gap) for c in model.certificate_)


def test_results_do_not_depend_on_n_jobs():
    X, y = make_classification(500, 30, density=0.3, classes=5)
    one, two = (QuartzClassifier(n_jobs=jobs, random_state=3).fit(X, y) for jobs in (1, 2))
    np.testing.assert_array_equal(one.coef_, two.coef_)
    np.testing.assert_array_equal(one.dual_coef_, two.dual_coef_)
    assert in_threads([lambda: 1, lambda: 2], 2, threading.Event()) == [1, 2]


def test_warm_start():
    X, y = iris()
    model = QuartzClassifier(alpha=1e-3, tol=1e-8, warm_start=True, random_state=0).fit(X, y)
    model.fit(X, y)
    assert [trace.passes for trace in model.trace_] == [[0.0]] * 3
    model.set_params(loss="hinge", tol=1e-3).fit(X, y)  # its duals may be outside the domain
    assert model.converged_
    model.fit(X[:100], y[:100])
    assert model.coef_.shape == (1, 4)


@pytest.mark.parametrize(
    "convert",
    [
        np.asarray,
        np.asfortranarray,
        lambda X: X.astype(np.float32),
        sp.csr_matrix,
        sp.csc_matrix,
        sp.csr_array,
        sp.coo_array,
    ],
)
def test_any_kind_of_matrix(convert):
    X, y = iris(binary=True)
    X = np.round(X, 1).astype(np.float32).astype(float)
    model = QuartzClassifier(alpha=0.1, tol=1e-9, random_state=0)
    expected = clone(model).fit(X, y)
    found = model.fit(convert(X), y)
    np.testing.assert_allclose(found.coef_, expected.coef_, atol=1e-4)
    np.testing.assert_array_equal(found.predict(convert(X)), expected.predict(X))


def test_large_indices_and_memory_maps(tmp_path):
    X, y = make_classification(300, 20, density=0.3)
    large = X.copy()
    large.indices, large.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    model = QuartzClassifier(alpha=0.01, tol=1e-9, random_state=0)
    expected = clone(model).fit(X, y).coef_
    np.testing.assert_allclose(clone(model).fit(large, y).coef_, expected)
    joblib.dump(X.toarray(), tmp_path / "X")
    mapped = joblib.load(tmp_path / "X", mmap_mode="r")
    np.testing.assert_allclose(clone(model).fit(mapped, y).coef_, expected, atol=1e-4)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_keep_their_names(library):
    frames = pytest.importorskip(library)
    X, y = iris()
    names = [f"feature {k}" for k in range(4)]
    frame = frames.DataFrame({name: X[:, k] for k, name in enumerate(names)})
    model = QuartzClassifier("multinomial", random_state=0).fit(frame, y)
    assert list(model.feature_names_in_) == names
    assert model.score(frame, y) > 0.9


def test_works_with_the_tools_of_scikit_learn():
    X, y = iris()
    pipeline = make_pipeline(StandardScaler(), QuartzClassifier(random_state=0))
    search = GridSearchCV(pipeline, {"quartzclassifier__alpha": [1e-3, 1e-1]}, n_jobs=2).fit(X, y)
    assert search.best_score_ > 0.9
    assert cross_val_score(QuartzClassifier("squared_hinge"), X, y).mean() > 0.9
    calibrated = CalibratedClassifierCV(QuartzClassifier("hinge", alpha=0.01)).fit(X, y)
    assert calibrated.predict_proba(X).shape == (150, 3)
    fitted = pickle.loads(pickle.dumps(search.best_estimator_))
    np.testing.assert_array_equal(fitted.predict(X), search.predict(X))


def test_no_probabilities_without_their_loss():
    X, y = iris()
    model = QuartzClassifier("hinge", alpha=0.1).fit(X, y)
    assert not hasattr(model, "predict_proba")
    with pytest.raises(AttributeError) as error:
        model.predict_proba(X)
    assert "CalibratedClassifierCV" in str(error.value.__cause__)


@pytest.mark.parametrize("loss", ["log_loss", "multinomial", "squared_hinge"])
@pytest.mark.parametrize("binary", [False, True])
def test_to_sklearn(loss, binary):
    X, y = iris(binary)
    model = QuartzClassifier(loss, alpha=0.01, random_state=0).fit(X, y)
    other = model.to_sklearn()
    assert type(other).__module__.startswith("sklearn.")
    np.testing.assert_array_equal(other.predict(X), model.predict(X))
    if loss != "squared_hinge":
        np.testing.assert_allclose(other.predict_proba(X), model.predict_proba(X))


def test_to_sklearn_of_regression():
    X, y = load_diabetes(return_X_y=True)
    for target in (y, np.column_stack([y, -y])):
        model = QuartzRegressor().fit(X, target)
        np.testing.assert_allclose(model.to_sklearn().predict(X), model.predict(X))


def test_sparsify():
    X, y = iris()
    model = QuartzClassifier(penalty="elasticnet", alpha=0.1, random_state=0).fit(X, y)
    expected = model.decision_function(X)
    assert sp.issparse(model.sparsify().coef_)
    np.testing.assert_allclose(model.decision_function(X), expected)
    np.testing.assert_allclose(model.decision_function(sp.csr_array(X)), expected)
    np.testing.assert_allclose(model.densify().decision_function(X), expected)


@pytest.mark.parametrize("sampling", ["permuted", "uniform", "importance", "nice"])
def test_samplings_by_name(sampling):
    X, y = iris(binary=True)
    model = QuartzClassifier(alpha=0.1, sampling=sampling, acceleration="off", random_state=0)
    assert model.fit(X, y).converged_


def test_objects_in_place_of_names():
    X, y = iris(binary=True)
    model = QuartzClassifier(
        losses.SmoothedHinge(0.5), alpha=0.1, sampling=samplings.Bucket(4), random_state=0
    )
    assert model.fit(X, y).converged_
    model = QuartzRegressor(losses.SmoothedEpsilonInsensitive(), random_state=0)
    assert model.fit(X, X[:, 0]).converged_


class Recorder:
    """A callback in scikit-learn's protocol."""

    def __init__(self, stop=False):
        self.events, self.stop = [], stop

    def setup(self, estimator, context):
        self.events.append("setup")

    def on_fit_task_begin(self, estimator, context):
        self.events.append(f"begin {context.task_name}")

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
        self.events.append(f"end {context.task_name}")
        if context.task_name == "certificate":
            X, y = iris()
            self.score = fitted_estimator.score(X, y)
        return self.stop and context.task_name == "certificate"

    def teardown(self, estimator, context):
        self.events.append("teardown")


@pytest.mark.parametrize("loss", ["log_loss", "multinomial"])
def test_callbacks_of_scikit_learn(loss):
    pytest.importorskip("sklearn.callback")
    X, y = iris()
    recorder = Recorder()
    QuartzClassifier(loss, alpha=0.01).set_callbacks(recorder).fit(X, y)
    events = recorder.events
    assert events[:2] == ["setup", "begin fit"]
    assert events[-2:] == ["end fit", "teardown"]
    assert events.count("begin certificate") == events.count("end certificate") > 1
    assert events.count("begin output") == events.count("end output") == 3 * (loss == "log_loss")
    assert recorder.score > 0.9
    model = QuartzClassifier(loss, alpha=1e-6, tol=1e-9).set_callbacks(Recorder(stop=True))
    with pytest.warns(ConvergenceWarning, match="stopped by callback"):
        model.fit(X, y)
    assert model.n_iter_ == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"loss": "logistic"}, "loss must be one of 'hinge'"),
        ({"penalty": "l1"}, "penalty must be one of 'l2'"),
        ({"penalty": "elasticnet", "l1_ratio": 1.0}, "l1_ratio must be .* Try 0.99"),
        ({"penalty": "group"}, "needs groups, an array with the group of each of the 4 features"),
        ({"sampling": "random"}, "sampling must be one of 'auto'"),
        ({"fit_intercept": "free"}, "fit_intercept must be True"),
        ({"alpha": 0.0}, "alpha must be .* a small one will do"),
        ({"penalty": None}, "penalty=None has no certificate"),
        ({"acceleration": "yes"}, "acceleration must be"),
        ({"max_seconds": "1"}, "max_seconds must be .* None is no limit"),
        ({"max_seconds": -1}, "max_seconds must be"),
        ({"n_jobs": "all"}, "n_jobs must be"),
    ],
)
def test_messages(options, message):
    X, y = iris()
    with pytest.raises(ValueError, match=message):
        QuartzClassifier(**options).fit(X, y)
    with pytest.raises(ValueError, match="only one class: a"):
        QuartzClassifier().fit(X, ["a"] * 150)
    with pytest.raises(ValueError, match=r"[Ww]eights"):
        QuartzClassifier().fit(X, y, sample_weight=np.zeros(150))


@pytest.mark.parametrize("n_jobs", [0, 1.5, "x"])
def test_n_jobs_is_checked_also_for_one_problem(n_jobs):
    X, y = iris(binary=True)
    wanted = rf"n_jobs must be a number of threads, -1 for all cores, or None, got {n_jobs!r}\."
    with pytest.raises(ValueError, match=wanted):
        QuartzClassifier(n_jobs=n_jobs).fit(X, y)
    with pytest.raises(ValueError, match=wanted):
        QuartzRegressor(n_jobs=n_jobs).fit(X, y)


@pytest.mark.parametrize(
    ("model", "remedy"),
    [
        (QuartzClassifier("smoothed_hinge"), 'Without any the loss is "hinge"'),
        (QuartzClassifier("multiclass_hinge"), "A small number comes close to none"),
        (QuartzRegressor("huber"), 'Without any the loss is "absolute"'),
    ],
    ids=lambda value: getattr(value, "loss", None),
)
@pytest.mark.parametrize("smoothing", [0, -1.0, "much"])
def test_smoothing_is_named(model, remedy, smoothing):
    X, y = iris()
    wanted = rf"smoothing must be a finite number above 0, got {smoothing!r}\. {remedy}"
    with pytest.raises(ValueError, match=wanted):
        clone(model).set_params(smoothing=smoothing).fit(X, y)
    assert QuartzClassifier("log_loss", smoothing=smoothing).fit(X, y).converged_


@pytest.mark.parametrize("loss", ["log_loss", "multinomial", "hinge"])
@pytest.mark.parametrize("binary", [True, False])
def test_a_class_without_weight_is_named(loss, binary):
    X, y = iris(binary)
    labels = np.unique(y).tolist()
    wanted = (
        r"class_weight=\{1: 0\.0\} leaves the examples of class 1 the weight 0, .*Give the class a "
        r'weight above 0, leave out its examples .*or use fit_intercept="penalized" or False'
    )
    with pytest.raises(ValueError, match=wanted):
        QuartzClassifier(loss, class_weight={1: 0.0}).fit(X, y)
    assert QuartzClassifier(loss, class_weight={1: 0.0}, fit_intercept=False).fit(X, y).converged_
    with pytest.raises(ValueError, match=r"leaves no example a weight above 0\. Give two classes"):
        QuartzClassifier(loss, class_weight=dict.fromkeys(labels, 0)).fit(X, y)
    for weight in (-1.0, np.nan, "heavy"):
        wanted = r"class_weight\[1\] must be a finite number, 0 or more, got"
        with pytest.raises(ValueError, match=wanted):
            QuartzClassifier(loss, class_weight={1: weight}).fit(X, y)


@pytest.mark.parametrize("acceleration", ["auto", "on", "off"])
def test_mini_batches_of_few_examples(acceleration):
    X, y = iris(binary=True)
    few = slice(None, None, 5)
    model = QuartzClassifier(sampling="nice", acceleration=acceleration, alpha=0.1, random_state=0)
    assert len(y[few]) == 20
    assert model.fit(X[few], y[few]).converged_
    assert model.fit(X, y).converged_


@pytest.mark.parametrize("kind", ["<U1", object])
def test_targets_of_a_regressor_are_numbers(kind):
    X, _ = iris()
    targets = np.array(["a", "b", "c"] * 50, dtype=kind)
    wanted = r"y must hold numbers, got an array of (<U1|object): .*'a'.*use QuartzClassifier"
    for y in (targets, np.column_stack([targets, targets])):
        with pytest.raises(ValueError, match=wanted):
            QuartzRegressor().fit(X, y)
    numbers = np.arange(150.0).astype(object)
    assert QuartzRegressor().fit(X, numbers).converged_


@pytest.mark.parametrize("several", [False, True])
def test_verbose_without_tqdm(several, monkeypatch, capsys):
    X, y = iris(binary=not several)
    monkeypatch.setitem(sys.modules, "tqdm", None)
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert QuartzClassifier(verbose=True).fit(X, y).converged_
    shown = capsys.readouterr().err.splitlines()
    assert shown[-1].startswith("3 of 3 runs" if several else "pass ")


def test_certificates_keep_their_duals():
    """Solvers go on with theirs."""
    X, y = make_classification(200, 20, density=0.5, noise=0.4)
    model = QuartzClassifier("hinge", fit_intercept=False, alpha=1e-4, tol=1e-9, random_state=0)
    with pytest.warns(ConvergenceWarning):
        model.set_params(max_passes=4).fit(X, y)
    (problem,) = model.training(X, y).problems
    assert problem.dual(model.certificate_.duals) == pytest.approx(model.certificate_.dual_value)
    seen = []
    solve(
        problem, max_passes=5, passes_per_check=1, callback=lambda state, found: seen.append(found)
    )
    assert len(seen) > 2
    for certificate in seen:
        assert problem.dual(certificate.duals) == pytest.approx(certificate.dual_value)


def test_warnings_point_to_the_users_line():
    X, y = iris()
    with pytest.warns(ConvergenceWarning) as caught:
        QuartzClassifier(max_passes=1, tol=1e-12).fit(X, y)
    assert caught[0].filename == __file__


@pytest.mark.parametrize("several", [False, True])
def test_sparse_coefficients_are_exported(several):
    X, y = load_diabetes(return_X_y=True)
    target = np.column_stack([y, -y]) if several else y
    model = QuartzRegressor().fit(X, target)
    expected, shape = model.predict(X), model.coef_.shape
    other = model.sparsify().to_sklearn()
    np.testing.assert_allclose(other.predict(X), expected)
    other.coef_[:] = 0  # its own
    assert model.densify().coef_.shape == shape
    np.testing.assert_allclose(model.predict(X), expected)
    classifier = QuartzClassifier().fit(*iris()).sparsify()
    np.testing.assert_array_equal(
        classifier.to_sklearn().predict(iris()[0]), classifier.predict(iris()[0])
    )


SMALL_FITS = """
import sys
from sklearn.datasets import load_diabetes, load_digits
from quartz import QuartzClassifier, QuartzRegressor

X, y = load_digits(return_X_y=True)
for loss in ("log_loss", "squared_hinge", "smoothed_hinge"):
    assert QuartzClassifier(loss, alpha=1e-3).fit(X / 16, y > 4).converged_
assert QuartzClassifier("multinomial", alpha=1e-3).fit(X / 16, y).converged_
X, y = load_diabetes(return_X_y=True)
for options in ({}, {"penalty": "elasticnet"}, {"penalty": "nonnegative"}, {"loss": "huber"}):
    assert QuartzRegressor(alpha=1e-3, **options).fit(X, y / 100).converged_
print("numba" in sys.modules)
"""


def test_small_dense_problems_need_no_numba():
    import subprocess
    import sys

    command = [sys.executable, "-W", "error", "-c", SMALL_FITS]
    shown = subprocess.run(command, capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "False"


@pytest.mark.parametrize(
    "labels",
    [
        np.array([2**60, 2**60 + 1, 2**60 + 2], dtype=np.uint64),
        np.array([-100, 0, 100], dtype=np.int8),
        np.array([3, 5, 9], dtype=np.uint8),
        np.array([-2.0, 0.0, 7.0]),
        np.array([-(2**62), 0, 2**62]),
    ],
)
def test_labels_of_any_numeric_type(labels):
    rng = np.random.default_rng(0)
    codes = np.arange(60) % 3
    X = rng.normal(size=(60, 2)) + codes[:, None]
    model = QuartzClassifier("log_loss", alpha=0.1).fit(X, labels[codes])
    np.testing.assert_array_equal(model.classes_, labels)
    assert model.classes_.dtype == labels.dtype
    assert np.isin(model.predict(X), labels).all()


def test_targets_of_half_precision():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = (300 + X[:, 0]).astype(np.float16)  # whose sum overflows
    assert QuartzRegressor(alpha=1e-3).fit(X, y).score(X, y) > 0.9


def test_seeds_of_any_integer_type():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30_000, 4)), rng.choice([0, 1], 30_000)
    first, second = (
        QuartzClassifier("log_loss", alpha=1e-3, random_state=seed).fit(X, y)
        for seed in (3, np.int64(3))
    )
    np.testing.assert_array_equal(first.coef_, second.coef_)
