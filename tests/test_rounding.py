"""The certificate includes rounding: exact duals, bounds for P and D, and the float64 status."""

from fractions import Fraction
from math import fsum
from typing import NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from quartz import Problem, QuartzClassifier, certify, grid, losses, methods, regularizers, solve
from quartz.certificate import certify_accurately
from quartz.data import CsrStorage, DenseStorage, dense
from quartz.data import storage as storages
from quartz.data.accurate import AccurateStorage
from quartz.laws import LawError
from quartz.rounding import norm, relative_error
from quartz.run import Status


def exact(values) -> Fraction:
    return sum(map(Fraction, np.ravel(values)), Fraction(0))


# The grid


@given(st.integers(0, 2**32 - 1), st.integers(2, 40), st.integers(-100, 100), st.booleans())
def test_balanced_duals_sum_to_exactly_zero_inside_their_bounds(seed, n, scale, weighted):
    rng = np.random.default_rng(seed)
    s = 10.0**scale * (10.0 ** rng.uniform(-6, 6, size=n) if weighted else np.ones(n))
    signs = np.where(np.arange(n) % 2, 1.0, -1.0)
    low, high = np.minimum(signs * s, 0), np.maximum(signs * s, 0)
    alpha = signs * s * rng.random(n)
    up, down = alpha[signs > 0].sum(), -alpha[signs < 0].sum()
    alpha[signs > 0] *= min(1.0, down / up)
    alpha[signs < 0] *= min(1.0, up / down)
    found = grid.balanced(alpha, low, high)
    assert exact(found) == 0
    assert np.all((low <= found) & (found <= high))
    assert np.abs(found - alpha).max() <= 1e-14 * n * np.abs(alpha).max()


@given(st.integers(0, 2**32 - 1), st.integers(2, 8), st.sampled_from([1.0, 1e-14, 1e60]))
def test_duals_of_classes_are_exactly_in_their_simplices(seed, m, scale):
    rng = np.random.default_rng(seed)
    y, totals = rng.integers(0, m, size=12), 10.0 ** rng.uniform(-3, 3, size=12)
    shares = rng.dirichlet(np.full(m, 0.3), size=12)
    alpha = -min(scale, 1.0) * totals[:, None] * shares
    alpha[np.arange(12), y] = 0.0
    alpha[np.arange(12), y] = -alpha.sum(axis=1)
    found = grid.simplex_duals(alpha, y, totals)
    for i in range(12):
        assert exact(found[i]) == 0
        assert found[i, y[i]] <= totals[i]
        assert np.all(np.delete(found[i], y[i]) <= 0)
    assert np.abs(found - alpha).max() <= 1e-14 * m * np.abs(alpha).max()


@given(st.integers(0, 2**32 - 1), st.integers(2, 6), st.sampled_from([1.0, 1e-13]))
def test_duals_of_classes_are_exactly_balanced(seed, m, scale):
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.arange(m), rng.integers(0, m, size=10)])
    n = len(y)
    points = 0.3 * np.bincount(y, minlength=m) / n + 0.7 * np.eye(m)[y]
    alpha = scale * (np.eye(m)[y] - points)
    found = grid.balanced_simplex_duals(alpha, y, np.ones(n))
    assert [exact(column) for column in found.T] == [0] * m
    assert [exact(row) for row in found] == [0] * n
    assert np.abs(found - alpha).max() <= 1e-14 * n * np.abs(alpha).max()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", [losses.Logistic(), losses.Hinge(), losses.Squared()])
def test_free_intercepts_have_duals_that_sum_to_exactly_zero(loss, weighted):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 4)) + 5, np.where(rng.random(30) < 0.4, 1.0, -1.0)
    weights = 10.0 ** rng.uniform(-6, 6, size=30) if weighted else None
    problem = Problem(X, y, loss, 1e-2, weights=weights, intercept="free")
    found = solve(problem, max_passes=5)
    assert exact(found.duals) == 0
    assert np.isfinite(problem.losses.conjugates(found.duals)).all()


# Products


@pytest.mark.parametrize("kind", ["csr", "csr32", "dense", "dense32"])
def test_transposed_products_are_summed_in_parts(monkeypatch, kind):
    monkeypatch.setattr(storages, "PART_ROWS", 64)
    monkeypatch.setattr(dense, "PART_ROWS", 64)
    monkeypatch.setattr(dense, "CONVERTED", 0)
    monkeypatch.setattr(dense, "SUMMED_ROWS", 16)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3)).astype(np.float32 if "32" in kind else np.float64)
    x = rng.normal(size=300)
    storage = CsrStorage(sp.csr_array(X)) if "csr" in kind else DenseStorage(X)
    expected = {"csr": 64 + 4, "csr32": 64 + 4, "dense": 16 + 4 + 1 + 4, "dense32": 16 + 1 + 1 + 18}
    assert storage.column_terms == expected[kind]
    found = storage.multiply_transposed(x)
    bound = relative_error(storage.column_terms) * (np.abs(X).T @ np.abs(x))
    for j in range(3):
        true = sum(Fraction(float(a)) * Fraction(b) for a, b in zip(X[:, j], x, strict=True))
        assert abs(Fraction(found[j]) - true) <= Fraction(bound[j])
    several = storage.multiply_transposed(np.column_stack([x, 2 * x]))
    np.testing.assert_allclose(several, np.column_stack([found, 2 * found]), rtol=1e-12)


@pytest.mark.parametrize("kind", ["csr", "dense", "dense32"])
def test_accurate_products_are_off_by_one_rounding(kind):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 20)) * 10.0 ** rng.integers(-8, 8, size=(40, 20))
    X = X.astype(np.float32 if "32" in kind else np.float64)
    w, alpha = rng.normal(size=20), rng.normal(size=40)
    storage = AccurateStorage(CsrStorage(sp.csr_array(X)) if kind == "csr" else DenseStorage(X))

    def dot(row, x):
        return float(sum(Fraction(float(a)) * Fraction(b) for a, b in zip(row, x, strict=True)))

    np.testing.assert_allclose(
        storage.multiply(w), [dot(row, w) for row in X], rtol=1e-15, atol=1e-20
    )
    np.testing.assert_allclose(
        storage.multiply_transposed(alpha), [dot(row, alpha) for row in X.T], rtol=1e-15, atol=1e-20
    )


# Bounds


def test_gaps_below_rounding_are_not_claimed():
    """Interpolating data, where P is far below the rounding of its terms."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(3, 5)), rng.normal(size=3)
    for targets, loss in ((y, losses.Absolute()), (np.sign(y), losses.Hinge())):
        problem = Problem(X, targets, loss, lam=1e-12)
        found = solve(problem, tol=1e-6)
        assert found.status is Status.ROUNDING
        assert not found.converged
        assert "As far as float64 goes" in found.message
        assert found.certificate.is_accurate
        residuals = [
            sum(Fraction(a) * Fraction(b) for a, b in zip(row, found.w, strict=True)) for row in X
        ]
        exact_loss = [
            abs(a - Fraction(t)) if targets is y else max(Fraction(0), 1 - Fraction(t) * a)
            for a, t in zip(residuals, targets, strict=True)
        ]
        penalty = Fraction(problem.lam) * sum(Fraction(b) ** 2 for b in found.w) / 2
        assert sum(exact_loss) / 3 + penalty <= Fraction(found.certificate.primal_value)


@pytest.mark.parametrize("lam", [1e-12, 1e-13, 1e-15])
def test_logistic_regression_of_separable_data_at_small_lam(lam):
    X, y = np.array([[1.0], [-1.0], [2.0]]), np.array([1.0, -1.0, 1.0])
    found = solve(Problem(X, y, losses.Logistic(), lam))
    assert found.converged
    model = QuartzClassifier(alpha=lam / 10, fit_intercept=False).fit(X, y)
    assert model.converged_


def test_logistic_regression_with_free_intercept_at_small_lam():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(6, 8)), np.where(rng.normal(size=6) > 0, 1.0, -1.0)
        y[:2] = 1, -1
        assert solve(Problem(X, y, losses.Logistic(), 1e-12, intercept="free")).converged


def test_rounding_is_far_below_usual_tolerances_and_an_accurate_certificate_has_less():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 10)), np.where(rng.random(200) < 0.5, 1.0, -1.0)
    problem = Problem(X, y, losses.Logistic(), 1e-3)
    usual = solve(problem, tol=1e-9).certificate
    assert not usual.is_accurate
    assert 0 < usual.rounding < 1e-10
    accurate = certify_accurately(problem, usual)
    assert accurate.is_accurate
    assert 0 < accurate.rounding < usual.rounding
    assert abs(accurate.primal_value - usual.primal_value) <= usual.rounding
    assert abs(accurate.dual_value - usual.dual_value) <= usual.rounding


def test_an_exact_optimum_of_zero_is_certified():
    found = solve(Problem(np.eye(3), np.zeros(3), losses.Squared(), 0.1))
    assert found.converged
    assert found.certificate.gap == 0


@pytest.mark.parametrize("g", [regularizers.NonnegativeL2(), regularizers.BoxL2(0.1, 0.3)])
def test_averaged_points_that_rounding_puts_outside_are_moved_into_the_domain(g):
    X, y = np.eye(2), np.array([1.0, -1.0])
    problem = Problem(X, y, losses.Squared(), 0.1, regularizer=g)
    outside = np.array([0.3, -1e-18 if isinstance(g, regularizers.NonnegativeL2) else 0.3 + 1e-16])
    certificate = certify(problem, np.zeros(2), outside, primal="own")
    assert np.isfinite(certificate.primal_value)
    assert np.isfinite(np.sum(g.value(certificate.w)))


def test_duals_outside_by_rounding_are_moved_and_others_are_not():
    problem = Problem(np.eye(2), np.array([1.0, -1.0]), losses.Hinge(), 0.1)
    certificate = certify(problem, np.array([1 + 1e-15, 1e-16]))
    assert certificate.duals.tolist() == [1.0, 0.0]
    assert np.isfinite(certificate.dual_value)
    assert certify(problem, np.array([1.1, 0.0])).dual_value == -np.inf


def test_duals_of_classes_whose_sums_are_off_are_moved_or_refused():
    """Rows that are off by more than rounding, but by less than what conjugates forgive."""
    rng = np.random.default_rng(0)
    y = np.arange(40) % 10
    problem = Problem(rng.normal(size=(40, 5)), y, losses.Softmax(), 10.0)
    duals = solve(problem, tol=1e-12).duals.copy()
    duals[:, 0] -= 4e-12
    certificate = certify(problem, duals)
    assert certificate.gap >= 0
    assert all(exact(row) == 0 for row in certificate.duals)
    duals[:, 0] -= 1e-6
    assert certify(problem, duals).dual_value == -np.inf


def test_accurate_certificates_sum_the_column_of_an_intercept_exactly():
    """Duals of both signs that nearly cancel, with all positive ones first."""
    rng = np.random.default_rng(0)
    y = np.repeat([1.0, -1.0], 1000)
    problem = Problem(rng.normal(size=(2000, 2)), y, losses.Hinge(), 1e-9, intercept="penalized")
    duals = y * rng.random(2000)
    accurate = certify_accurately(problem, certify(problem, duals))
    scale = Fraction(problem.lam) * 2000
    X = np.column_stack([problem.data.storage.matrix, np.ones(2000)])
    products = (
        sum(Fraction(a) * Fraction(b) for a, b in zip(column, duals, strict=True)) for column in X.T
    )
    penalty = Fraction(problem.lam) * sum((total / scale) ** 2 for total in products) / 2
    dual = exact(y * duals) / 2000 - penalty
    assert Fraction(accurate.dual_value) <= dual
    assert accurate.dual_rounding < certify(problem, duals).dual_rounding


class Pinball(NamedTuple):
    """max(tau r, (tau - 1) r) of the residual r = y - a: the ends of the domain are no integers."""

    tau: float = 0.3

    @property
    def gamma(self):
        return 0.0

    def value(self, a, y):
        return np.maximum(self.tau * (y - a), (self.tau - 1) * (y - a))

    def gradient(self, a, y):
        return np.where(y > a, -self.tau, 1 - self.tau)[()]

    def conjugate(self, u, y):
        return u * y + losses.barrier(u, -self.tau, 1 - self.tau)


@pytest.mark.parametrize("intercept", [None, "free"])
def test_weighted_ends_of_domains_are_rounded_inwards(intercept):
    loss, rng = Pinball(), np.random.default_rng(0)
    X, y, s = rng.normal(size=(40, 3)), rng.normal(size=40), rng.random(40)
    problem = Problem(X, y, loss, 1e-3, weights=s, intercept=intercept)
    found = solve(problem, methods.Quartz(engine="reference"), max_passes=30)
    for alpha, weight in zip(found.duals, problem.weights, strict=True):
        least, most = Fraction(loss.tau - 1), Fraction(loss.tau)
        assert least * Fraction(weight) <= Fraction(alpha) <= most * Fraction(weight)


class Shifted(losses.Squared):
    """Squared error plus 1e6 y: terms whose signs differ and whose mean is small."""

    def value(self, a, y):
        return 0.5 * (a - y) ** 2 + 1e6 * y

    def conjugate(self, u, y):
        return u * (0.5 * u + y) - 1e6 * y


def test_rounding_is_relative_to_the_size_of_the_losses_not_to_their_mean():
    rng = np.random.default_rng(0)
    y = rng.normal(size=31)
    y[-1] = -np.sum(y[:-1])
    problem = Problem(np.zeros((31, 1)), y, Shifted(), 1.0)
    certificate = certify(problem, np.zeros(31), np.zeros(1), "own")
    true = sum(Fraction(t) ** 2 / 2 + 10**6 * Fraction(t) for t in y) / 31
    assert true <= Fraction(certificate.primal_value)
    assert certificate.primal_rounding > 1e-11


def test_unbounded_slopes_are_infinite():
    y, weights = np.array([1.0, 2.0, 3.0]), np.array([1.0, 1e-6, 0.0])
    steepest = Problem(np.eye(3), y, losses.Squared(), 1.0, weights=weights).losses.steepest
    assert steepest.tolist() == [np.inf, np.inf, 0.0]
    flat = losses.SquaredHinge(gamma=1e6)  # its slope at 1e30 is 1e24
    assert np.isinf(Problem(np.eye(3), np.sign(y), flat, 1.0).losses.steepest).all()
    steep = losses.SquaredHinge(gamma=1e-3)  # its slope at 1e30 is 1e33
    assert np.isinf(Problem(np.eye(3), np.sign(y), steep, 1.0).losses.steepest).all()
    bounded = Problem(np.eye(3), y, losses.Huber(), 1.0, weights=weights)
    np.testing.assert_array_equal(bounded.losses.steepest, bounded.weights)


@pytest.mark.parametrize("epsilon", [0.0, 1.0, 1e100])
def test_slopes_are_seen_beyond_the_parameters_of_a_loss(epsilon):
    X = np.array([[1e110], [3e110]])
    problem = Problem(X, np.zeros(2), losses.EpsilonInsensitive(epsilon), lam=1.0)
    assert np.array_equal(problem.losses.steepest, np.ones(2))
    assert np.array_equal(problem.losses.dual_bounds, ([-1.0, -1.0], [1.0, 1.0]))
    certificate = certify(problem, np.zeros(2), np.array([1.0]), "own")
    assert certificate.primal_rounding > 0


def test_norms_neither_underflow_nor_overflow():
    for scale in (1e-300, 1e-170, 1.0, 1e200):
        assert norm(scale * np.array([3.0, -4.0])) == pytest.approx(5 * scale, rel=1e-15)
    assert norm(np.zeros(2)) == norm(np.empty(0)) == 0
    data = Problem(np.full((2, 3), 1e-170), [1.0, -1.0], losses.Hinge(), 1.0).data
    assert np.all(data.lengths >= np.sqrt(3) * 1e-170)


def test_an_example_of_weight_zero_may_overflow():
    problem = Problem(np.eye(2), [1.0, 1e200], losses.Squared(), 1.0, weights=[1.0, 0.0])
    assert certify(problem, np.zeros(2)).primal_value == pytest.approx(0.5)


def test_steps_of_the_multiclass_hinge_end():
    """Newton steps for nu once went to and fro between two sets of classes."""
    loss = losses.SmoothedMulticlassHinge(0.06934913555823306)
    rng = np.random.default_rng(0)
    for _ in range(300):
        a = np.round(rng.normal(size=4), 1) * 10.0 ** rng.integers(-2, 3)
        alpha = loss.step(np.zeros(4), a, 1, 10.0 ** rng.uniform(-3, 6))
        assert abs(alpha.sum()) <= 1e-15
        assert np.all(np.delete(alpha, 1) <= 0)


# Broken losses


class Broken(losses.Squared):
    def conjugate(self, u, y):
        return 0.5 * u * u + u * y - 1.0


class NotANumber(losses.Squared):
    def conjugate(self, u, y):
        return u * np.nan


def test_a_broken_loss_is_named_and_only_if_it_is_the_users():
    X, y = np.eye(3), np.ones(3)
    with pytest.raises(LawError, match=r"check_loss.*Broken\(\), which is not part of Quartz"):
        solve(Problem(X, y, Broken(), 0.1))
    with pytest.raises(LawError, match=r"NotANumber.conjugate returned NaN"):
        solve(Problem(X, y, NotANumber(), 0.1))


def test_sums_over_examples_are_compensated():
    """fsum agrees with the mean loss of many examples to the last digits."""
    rng = np.random.default_rng(0)
    n = 20_000
    problem = Problem(rng.normal(size=(n, 1)), rng.normal(size=n) * 1e8, losses.Absolute(), 1.0)
    a = rng.normal(size=n)
    mean = problem.losses.fenchel_young(a, np.zeros(n)).loss
    assert mean == pytest.approx(fsum(np.abs(a - problem.y)) / n, rel=3e-16)


def test_sums_over_many_examples_are_within_their_bound():
    """Numbers whose sum loses half a unit each time, if it is one after another."""
    y = np.full(128 * 128, 2.0**-53)
    y[::128] = 1.0
    problem = Problem(np.zeros((len(y), 1)), y, losses.Absolute(), 1.0)
    found = certify(problem, np.zeros(len(y)), np.zeros(1), primal="own")
    true = sum(map(Fraction, y.tolist())) / len(y)
    assert true <= Fraction(found.primal_value)


@pytest.mark.parametrize("outputs", [1, 4])
@pytest.mark.parametrize("loss", [losses.Logistic(), losses.Hinge()], ids=repr)
def test_typical_slope_bounds_the_mean_square_of_slopes(loss, outputs):
    y = np.ones((50, outputs)) if outputs > 1 else np.ones(50)
    examples = Problem(np.ones((50, 1)), y, loss, 1.0).losses
    assert examples.typical_slope >= np.sqrt(np.mean(examples.steepest**2)) * (1 - 1e-15)
