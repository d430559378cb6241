"""Models for many alphas: each as good as a single fit, the same for any number of threads."""

import time
import warnings
from threading import Event

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris
from sklearn.exceptions import ConvergenceWarning

from quartz import QuartzClassifier, QuartzRegressor, quartz_path
from quartz.data import make_classification
from quartz.estimators import many_alphas, threads


@pytest.mark.parametrize("loss", ["log_loss", "hinge", "multinomial"])
def test_a_path_is_as_good_as_single_fits(loss):
    X, y = load_iris(return_X_y=True)
    model = QuartzClassifier(loss, tol=1e-6, random_state=0)
    path = quartz_path(model, X, y, alphas=6, eps=1e-2)
    assert path.converged.all()
    assert (np.diff(path.alphas) < 0).all()
    for k, alpha in enumerate(path.alphas):
        single = clone(model).set_params(alpha=alpha).fit(X, y)
        assert path.objectives[k] - path.gaps[k] <= single.objective_
        assert single.objective_ - single.duality_gap_ <= path.objectives[k]
        assert path.coefs[k].shape == single.coef_.shape
    assert path.passes[1:].mean() <= 2 * path.passes[0] + 5


@pytest.mark.parametrize("loss", ["log_loss", "hinge"])
@pytest.mark.parametrize("classes", [2, 3])
def test_a_path_is_the_same_for_all_numbers_of_threads(classes, loss):
    X, y = load_iris(return_X_y=True)
    X, y = X[y < classes], y[y < classes]
    model = QuartzClassifier(loss, random_state=0, tol=1e-6)
    alone, two, four = (
        quartz_path(clone(model).set_params(n_jobs=jobs), X, y, alphas=25, eps=1e-2)
        for jobs in (1, 2, 4)
    )
    assert alone.converged.all()
    for other in (two, four):
        np.testing.assert_array_equal(other.coefs, alone.coefs)
        np.testing.assert_array_equal(other.gaps, alone.gaps)


def test_most_alphas_of_a_path_need_a_certificate_only():
    X, y = make_classification(2000, 50, density=0.2)
    path = quartz_path(QuartzClassifier(random_state=0), X, y, alphas=50, eps=1e-2)
    assert path.converged.all()
    assert np.count_nonzero(path.passes == 0) >= 25
    # also with other penalties, classes and weights
    weights = np.random.default_rng(0).random(2000)
    for options in ({"penalty": "elasticnet"}, {"loss": "multinomial"}, {"fit_intercept": False}):
        model = QuartzClassifier(random_state=0, tol=1e-3).set_params(**options)
        other = quartz_path(model, X, y, alphas=30, eps=1e-2, sample_weight=weights)
        assert other.converged.all()
        assert np.count_nonzero(other.passes == 0) >= 10


def test_alphas_of_any_kind():
    X, y = load_iris(return_X_y=True)
    model = QuartzClassifier("multinomial", random_state=0, max_passes=200)
    uneven = [1.0, 0.999, 0.998, 1e-4, 0.997, 0.5, 0.1, 0.1]
    one_logarithm = [1.0, 1e-2, np.nextafter(1e-2, 1), 1e-3]
    assert np.unique(np.log(one_logarithm)).size == 3
    for alphas in ([0.1], [0.1, 0.1], [0.1] * 5, uneven, one_logarithm, [1e200, 1e-150]):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # 1e-150 takes long
            path = quartz_path(model, X, y, alphas=alphas)
        np.testing.assert_array_equal(path.alphas, sorted(alphas, reverse=True))
        assert path.converged[path.alphas > 1e-9].all()
        assert len(path.coefs) == len(path.passes) == len(alphas)


def test_a_path_that_is_cut_off():
    X, y = make_classification(300, 20, density=0.5)
    model = QuartzClassifier(random_state=0, max_seconds=0.0)
    with pytest.warns(ConvergenceWarning, match=r"misses tol=0.0001 in \d+ of 20 problems"):
        path = quartz_path(model, X, y, alphas=20)
    assert not path.converged.all()
    relative = path.gaps / path.objectives
    np.testing.assert_array_equal(path.converged, relative <= 1e-4)


@pytest.mark.parametrize("function", ["_along", "_without_examples"])
def test_ctrl_c_between_two_runs_loses_nothing(function, monkeypatch):
    X, y = make_classification(300, 20, density=0.5)
    real, calls, pressed = getattr(many_alphas, function), [], Event()

    def pressing(*arguments):
        calls.append(1)
        if len(calls) == 3:
            pressed.set()
            time.sleep(0.5)  # until the main thread has seen it
        return real(*arguments)

    def interrupted_wait(*arguments, **options):
        pressed.wait()
        raise KeyboardInterrupt

    monkeypatch.setattr(many_alphas, function, pressing)
    monkeypatch.setattr(threads, "wait", interrupted_wait)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        path = quartz_path(QuartzClassifier("hinge", random_state=0), X, y, alphas=30)
    assert len(path.alphas) == 30
    assert np.isfinite(path.gaps).all()
    assert path.converged.any()
    assert not path.converged.all()


@given(st.integers(1, 80), st.floats(0, 25), st.booleans())
def test_levels_have_each_alpha_once(count, width, smooth):
    levels = many_alphas._levels(np.geomspace(1.0, np.exp(-width), count), smooth)
    numbers = np.concatenate([row for level in levels for row in level])
    np.testing.assert_array_equal(np.sort(numbers), np.arange(count))
    assert all((np.diff(row) > 0).all() for row in levels[0])
    assert all(len(row) == 1 for level in levels[1:] for row in level)


@given(st.lists(st.floats(-5, 5), min_size=4, max_size=4), st.floats(0.01, 0.99))
def test_starts_lie_on_the_cubic_through_the_nearest_solutions(coefficients, alpha):
    known = np.array([0.01, 0.05, 0.3, 1.0])
    cubic = np.polynomial.Polynomial(coefficients)
    found = many_alphas._shares(known, alpha) @ cubic(np.log(known))
    assert found == pytest.approx(cubic(np.log(alpha)), abs=1e-9)


def test_uneven_solutions_are_joined_by_lines():
    """The cubic through them would leave for 100 times their values."""
    solutions = {alpha: (np.zeros(1), np.zeros(1)) for alpha in (1.0, 0.99, 0.98, 1e-6)}
    assert list(many_alphas._nearest(solutions, 1e-3)) == [1e-6, 0.98]
    even = dict.fromkeys((1.0, 0.1, 0.01, 0.001, 0.0001), solutions[1.0])
    assert list(many_alphas._nearest(even, 0.05)) == [1e-3, 0.01, 0.1, 1.0]


def test_paths_of_sparse_models_begin_at_zero():
    X, y = load_diabetes(return_X_y=True)
    for options in (
        {"penalty": "elasticnet", "l1_ratio": 0.9},
        {"penalty": "group", "l1_ratio": 0.5, "groups": np.arange(10) // 2},
    ):
        path = quartz_path(QuartzRegressor(tol=1e-8, **options), X, y, alphas=8)
        # the optimum is 0, and P is strongly convex
        lam = path.alphas[0] * (1 - options["l1_ratio"])
        assert 0.5 * lam * np.sum(path.coefs[0] ** 2) <= path.gaps[0] + 1e-12 * path.objectives[0]
        assert np.abs(path.coefs[0]).max() < 1e-5 * np.abs(path.coefs[-1]).max()
        assert np.count_nonzero(path.coefs[2]) > 0
    with pytest.raises(ValueError, match="alphas must be positive"):
        quartz_path(QuartzRegressor(), X, y, alphas=[0.0, 1.0])
    with pytest.raises(ValueError, match="alphas must be positive"):
        quartz_path(QuartzRegressor(), X, y, alphas=[1.0, "one"])
    for eps in (0, 2, "small"):
        with pytest.raises(ValueError, match="eps must be"):
            quartz_path(QuartzRegressor(), X, y, eps=eps)


def test_weights_decide_the_alphas_of_a_path():
    X, y = load_diabetes(return_X_y=True)
    path = quartz_path(QuartzRegressor(), X, y, alphas=3)
    far, weights = np.vstack([X, 100 * X[:5]]), np.append(np.ones(442), np.zeros(5))
    weighted = quartz_path(
        QuartzRegressor(), far, np.append(y, y[:5]), alphas=3, sample_weight=weights
    )
    np.testing.assert_allclose(weighted.alphas, path.alphas)
    flat = quartz_path(QuartzRegressor(penalty="elasticnet"), X, np.ones(442), alphas=3)
    assert not flat.coefs.any()
