"""Free and penalized intercepts: other solvers, laws, kernels, hard cases."""

from typing import NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.linear_model import ElasticNet, LogisticRegression, Ridge
from sklearn.svm import SVC, SVR

import registry
from quartz import (
    Plan,
    Problem,
    State,
    certify,
    iterate,
    losses,
    methods,
    regularizers,
    samplings,
    solve,
)
from quartz.data import KroneckerBlocks, StackedBlocks, make_classification
from quartz.intercept.best import best_intercept
from quartz.intercept.repair import repaired
from quartz.losses.base import abilities
from quartz.methods.newton import NewtonSteps

LAM = 1e-3
LOSSES = [
    losses.Logistic(),
    losses.SquaredHinge(),
    losses.SmoothedHinge(),
    losses.Squared(),
    losses.Huber(),
    losses.Hinge(),
    losses.Absolute(),
    losses.EpsilonInsensitive(0.1),
]


def data(n=300, offset=0.4, seed=1):
    X, y = make_classification(n, 20, density=0.3, noise=0.2, seed=seed)
    return X.toarray() + offset, np.where(
        X @ np.ones(20) > np.quantile(X @ np.ones(20), 0.7), y, -y
    )


def classes(n=300, m=4, offset=0.4, seed=1):
    """Some classes are rare."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6)) + offset
    scores = (X - offset) @ rng.normal(size=(6, m)) + rng.gumbel(size=(n, m))
    y = np.argmax(scores + np.linspace(0, 4, m), axis=1)
    y[:m] = np.arange(m)
    return X, y


def several(loss, n=300):
    """Data for a loss over classes, or of one output for several at once."""
    if abilities(loss).vector:
        return classes(n)
    X, y = data(n)
    return X, np.column_stack([y, -y, np.roll(y, 7)])


def value(problem, w, b):
    a = problem.data.rows.predictions(w) + b
    return np.mean(problem.losses.values(a)) + problem.lam * regularizers.base.value(
        problem.regularizer, w
    )


def reference(loss, X, y, lam):
    """w and b by another solver, at a tight tolerance."""
    n = len(y)
    if isinstance(loss, losses.Logistic):
        other = LogisticRegression(C=1 / (lam * n), tol=1e-12, solver="newton-cholesky").fit(X, y)
        return other.coef_[0], other.intercept_[0]
    if isinstance(loss, losses.Squared):
        other = Ridge(alpha=lam * n, solver="cholesky").fit(X, y)
        return other.coef_, other.intercept_
    if isinstance(loss, losses.Hinge):
        other = SVC(C=1 / (lam * n), kernel="linear", tol=1e-9).fit(X, y)
        return other.coef_[0], other.intercept_[0]
    if isinstance(loss, losses.EpsilonInsensitive):
        other = SVR(C=1 / (lam * n), kernel="linear", tol=1e-9, epsilon=0.1).fit(X, y)
        return other.coef_[0], other.intercept_[0]

    def objective(x):
        gradients = loss.gradient(X @ x[:-1] + x[-1], y)
        total = np.mean(loss.value(X @ x[:-1] + x[-1], y)) + 0.5 * lam * x[:-1] @ x[:-1]
        return total, np.append(X.T @ gradients / n + lam * x[:-1], gradients.mean())

    x = minimize(objective, np.zeros(21), jac=True, method="L-BFGS-B", tol=1e-15).x
    return x[:-1], x[-1]


@pytest.mark.parametrize(
    "kind",
    [np.asarray, pytest.param(sp.csr_array, marks=pytest.mark.slow)],
    ids=["dense", "sparse"],
)
@pytest.mark.parametrize(
    "loss", [x for x in LOSSES if not isinstance(x, losses.Absolute)], ids=repr
)
def test_agrees_with_other_solvers(loss, kind):
    X, y = data()
    problem = Problem(kind(X), y, loss, LAM, intercept="free")
    tol = 1e-8 if loss.gamma > 0 else 1e-5
    found = solve(problem, tol=tol, max_passes=5000)
    assert found.converged, found.message
    w, b = reference(loss, X, y, LAM)
    other = value(problem, w, b)
    certificate = found.certificate
    assert certificate.dual_value <= other + 1e-12
    coefficients, intercept = problem.coefficients(found.w)
    assert value(problem, coefficients, intercept) == pytest.approx(
        certificate.primal_value, abs=1e-12 + certificate.primal_rounding
    )
    # lam/2 ||w - w*||^2 <= P - P* of both
    near = np.sqrt(2 * (certificate.gap + max(other - certificate.dual_value, 0)) / LAM)
    assert np.linalg.norm(coefficients - w) <= 2 * near + 1e-9


def reference_for_several(loss, X, y, lam):
    """W, flat, and b by another solver, at a tight tolerance."""
    n, m = len(y), 1 + int(np.max(y)) if y.ndim == 1 else y.shape[1]
    if isinstance(loss, losses.Squared):
        other = Ridge(alpha=lam * n, solver="cholesky").fit(X, y)
        return other.coef_.T.ravel(), other.intercept_
    if isinstance(loss, losses.Softmax):
        other = LogisticRegression(C=1 / (lam * n), tol=1e-12, solver="newton-cholesky").fit(X, y)
        return other.coef_.T.ravel(), other.intercept_ - other.intercept_.mean()

    def objective(x):
        W = x[:-m].reshape(-1, m)
        a = X @ W + x[-m:]
        total = np.mean(
            losses.examples.ExampleLosses(loss, y, shape=a.shape).values(a)
        ) + 0.5 * lam * np.sum(W**2)
        gradients = losses.examples.ExampleLosses(loss, y, shape=a.shape).gradients(a) / n
        return total, np.append(X.T @ gradients + lam * W, gradients.sum(axis=0))

    x = minimize(objective, np.zeros((X.shape[1] + 1) * m), jac=True, method="L-BFGS-B", tol=1e-15)
    return x.x[:-m], x.x[-m:] - x.x[-m:].mean()


SEVERAL = [
    losses.Softmax(),
    losses.SmoothedMulticlassHinge(),
    losses.Squared(),
    losses.SquaredHinge(),
]


@pytest.mark.parametrize(
    ("loss", "kind"),
    [
        (losses.Softmax(), sp.csr_array),
        (losses.SmoothedMulticlassHinge(), np.asarray),
        (losses.Squared(), np.asarray),
    ],
    ids=repr,
)
def test_several_outputs_agree_with_other_solvers(loss, kind):
    X, y = several(loss)
    problem = Problem(kind(X), y, loss, LAM, intercept="free")
    found = solve(problem, tol=1e-9, max_passes=5000)
    assert found.converged, found.message
    w, b = reference_for_several(loss, X, y, LAM)
    certificate, other = found.certificate, value(problem, w, b)
    assert certificate.dual_value <= other + 1e-12
    coefficients, intercepts = problem.coefficients(found.w)
    assert intercepts.shape == (problem.data.m,)
    np.testing.assert_allclose(intercepts, b, atol=5e-4)
    np.testing.assert_allclose(coefficients, w, atol=5e-4)
    if abilities(loss).vector:
        assert intercepts.mean() == pytest.approx(0, abs=1e-10)


def test_several_outputs_are_one_at_a_time():
    """Of a scalar loss they have nothing to do with one another."""
    X, Y = several(losses.SquaredHinge())
    together = Problem(X, Y, losses.SquaredHinge(), LAM, intercept="free")
    found = solve(together, tol=1e-10, max_passes=5000)
    W, b = together.coefficients(found.w)
    for k in range(3):
        alone = Problem(X, Y[:, k], losses.SquaredHinge(), LAM, intercept="free")
        w, b_k = alone.coefficients(solve(alone, tol=1e-10).w)
        np.testing.assert_allclose(W.reshape(-1, 3)[:, k], w, atol=1e-4)
        assert b[k] == pytest.approx(b_k, abs=1e-4)


@pytest.mark.parametrize("loss", SEVERAL, ids=repr)
@pytest.mark.parametrize("weighted", [False, True])
@given(seed=st.integers(0, 10**6))
@example(seed=140993)  # a nearly singular Hessian, with a small slope far away
@settings(max_examples=10, deadline=None)
def test_weak_duality_of_several_outputs(loss, weighted, seed):
    rng = np.random.default_rng(seed)
    X, y = several(loss, 40)
    weights = None
    if weighted:
        weights = rng.integers(0, 3, 40).astype(float)
        weights[:8] = 1.0
    problem = Problem(X, y, loss, LAM, weights=weights, intercept="free")
    m, d = problem.data.m, X.shape[1]
    w, b = rng.normal(size=d * m) * rng.exponential(3), rng.normal(size=m) * 3
    far = problem.data.rows.predictions(w * rng.normal(size=w.size)) + rng.normal(size=m)
    start = -problem.losses.gradients(far * rng.choice([0.01, 1.0, 100.0]))
    alpha = repaired(problem.losses, start, far)
    assert np.abs(alpha.sum(axis=0)).max() <= 1e-12 * np.abs(start).sum() + 1e-13
    assert np.isfinite(problem.losses.conjugates(alpha)).all()
    assert problem.dual(alpha) <= value(problem, w, b) + 1e-9
    predictions = problem.data.rows.predictions(w)
    best = best_intercept(problem.losses, predictions)
    for _ in range(10 if abilities(loss).vector else 0):  # each time ten steps more
        best = best_intercept(problem.losses, predictions, best)
    for other in (b, best + 1e-3 * rng.normal(size=m)):
        assert value(problem, w, best) <= value(problem, w, other) + 1e-9
    certificate = certify(problem, start)
    assert -1e-9 <= certificate.gap < np.inf
    assert certificate.dual_value <= value(problem, w, b) + 1e-9


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("weighted", [False, True])
@given(seed=st.integers(0, 10**6))
@settings(max_examples=10, deadline=None)
def test_weak_duality_at_random_points(loss, weighted, seed):
    rng = np.random.default_rng(seed)
    X, y = data(40)
    weights = rng.integers(0, 3, 40).astype(float) if weighted else None
    if weighted:
        weights[:2] = 1.0
        y = np.append([1.0, -1.0], y[2:])
    problem = Problem(X, y, loss, LAM, weights=weights, intercept="free")
    w, b = rng.normal(size=20) * rng.exponential(3), rng.normal() * 3
    start = -problem.losses.gradients(X @ (w * rng.normal(size=20)) + rng.normal())
    alpha = repaired(problem.losses, start, X @ w + b)
    assert abs(alpha.sum()) <= 1e-13 * np.abs(start).sum() + 1e-14
    assert np.isfinite(problem.losses.conjugates(alpha)).all()
    assert problem.dual(alpha) <= value(problem, w, b) + 1e-9
    best = best_intercept(problem.losses, X @ w)
    for other in (b, best - 1e-3, best + 1e-3):
        assert value(problem, w, best) <= value(problem, w, other) + 1e-12
    certificate = certify(problem, start)
    assert -1e-9 <= certificate.gap < np.inf
    assert certificate.dual_value <= value(problem, w, b) + 1e-9


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("scale", [0.01, 1.0, 100.0])
def test_compiled_loops_certify_the_same(loss, weighted, scale, monkeypatch):
    """Those for many examples, by the formulas in NumPy for few."""
    rng = np.random.default_rng(5)
    X, y = data(60)
    weights = rng.integers(0, 3, 60).astype(float) if weighted else None
    problem = Problem(X, y, loss, LAM, weights=weights, intercept="free")
    start = -problem.losses.gradients(scale * rng.normal(size=60))
    by_formulas = certify(problem, start)
    monkeypatch.setattr(losses.examples, "MANY", 0)
    compiled = certify(problem, start)
    assert compiled.primal_value == pytest.approx(by_formulas.primal_value, rel=1e-12)
    assert compiled.dual_value == pytest.approx(by_formulas.dual_value, rel=1e-12, abs=1e-12)
    np.testing.assert_allclose(compiled.duals, by_formulas.duals, rtol=1e-9, atol=1e-12)
    # the best intercept may be any of an interval
    assert compiled.loss_gap == pytest.approx(by_formulas.loss_gap, rel=1e-9, abs=1e-12)
    assert not any(key[0] is type(loss) for key in losses.examples._not_compilable)


@pytest.mark.parametrize("size", [40.0, 80.0, 300.0])
def test_the_best_intercept_of_saturated_predictions(size):
    """All are on the wrong side, and balanced weights cancel but for rounding."""
    y = np.where(np.arange(1000) < 300, 1.0, -1.0)
    X = -(y * (1 + np.random.default_rng(0).random(1000)))[:, None]
    weights = np.where(y > 0, 5 / 3, 5 / 7)
    problem = Problem(X, y, losses.Logistic(), 1e-6, weights=weights, intercept="free")
    b = best_intercept(problem.losses, size * X[:, 0])
    assert abs(b) < 2 * size
    assert value(problem, np.array([size]), b) <= value(problem, np.array([size]), 0.0)


def test_duals_outside_the_domain_are_repaired_too():
    X, y = data(40)
    problem = Problem(X, y, losses.Logistic(), LAM, weights=np.arange(40.0), intercept="free")
    certificate = certify(problem, np.full(40, 50.0))
    assert abs(certificate.duals.sum()) < 1e-9
    assert np.isfinite(certificate.gap)


def test_the_dual_is_minus_infinity_where_it_is_not_feasible():
    X, y = data()
    problem = Problem(X, y, losses.Logistic(), LAM, intercept="free")
    assert problem.dual(0.5 * y) == -np.inf
    assert problem.dual(np.zeros(300)) == 0


@pytest.mark.parametrize("loss", [losses.Logistic(), losses.Softmax()], ids=repr)
def test_weight_is_repetition(loss):
    X, y = classes(100) if abilities(loss).vector else data(100)
    times = np.random.default_rng(0).integers(0, 4, 100)
    times[:4] = 1
    twice = Problem(np.repeat(X, times, axis=0), np.repeat(y, times), loss, LAM, intercept="free")
    once = Problem(X, y, loss, LAM, weights=times.astype(float), intercept="free")
    left, right = solve(twice, tol=1e-10), solve(once, tol=1e-10)
    assert left.certificate.primal_value == pytest.approx(right.certificate.primal_value, abs=1e-9)
    w, b = twice.coefficients(left.w)
    w2, b2 = once.coefficients(right.w)
    gaps = left.certificate.gap + right.certificate.gap  # lam/2 ||w - w*||^2 is at most the gap
    assert np.linalg.norm(w - w2) <= 2 * np.sqrt(2 * gaps / LAM) + 1e-12
    assert b == pytest.approx(b2, abs=1e-3)


@pytest.mark.parametrize("kind", ["free", "penalized"])
@pytest.mark.parametrize(
    ("make", "g", "sampling"),
    [
        (np.asarray, regularizers.L2(), samplings.Uniform()),
        (lambda X: X.astype(np.float32), regularizers.L2(), samplings.Uniform()),
        (sp.csr_array, regularizers.L2(), samplings.Nice(4)),
        (sp.csr_array, regularizers.ElasticNet(0.5), samplings.Nice(4)),
    ],
    ids=["dense", "float32", "sparse", "elastic net"],
)
def test_kernels_agree_with_the_reference(kind, make, g, sampling):
    X, y = data(60)
    problem = Problem(make(X), y, losses.Logistic(), 1e-2, g, intercept=kind)
    fast, slow = (
        solve(problem, methods.Quartz(sampling, engine=engine), tol=0, max_passes=5)
        for engine in ("compiled", "reference")
    )
    np.testing.assert_allclose(fast.duals, slow.duals, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(fast.trace.gaps, slow.trace.gaps, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("kind", "loss", "make", "g"),
    [
        ("free", losses.Softmax(), sp.csr_array, regularizers.L2()),
        ("free", losses.SquaredHinge(), np.asarray, regularizers.L2()),
        ("free", losses.SmoothedMulticlassHinge(), np.asarray, regularizers.ElasticNet(0.1)),
        ("penalized", losses.Softmax(), sp.csr_array, regularizers.L2()),
    ],
    ids=repr,
)
def test_kernels_for_several_outputs_agree_with_the_reference(kind, loss, make, g):
    X, y = several(loss, 60)
    problem = Problem(make(X), y, loss, 1e-2, g, intercept=kind)
    fast, slow = (
        solve(problem, methods.Quartz(samplings.Nice(3), engine=engine), tol=0, max_passes=3)
        for engine in ("compiled", "reference")
    )
    np.testing.assert_allclose(fast.duals, slow.duals, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(fast.trace.gaps, slow.trace.gaps, rtol=1e-8, atol=1e-10)


def test_penalized_is_a_column_of_ones():
    X, y = data()
    ones = Problem(np.hstack([X, np.ones((300, 1))]), y, losses.Logistic(), LAM)
    problem = Problem(X, y, losses.Logistic(), LAM, intercept="penalized")
    for sampling in (samplings.Uniform(), samplings.Importance(), samplings.Nice(3)):
        left, right = (solve(p, sampling, tol=1e-7, max_passes=3000) for p in (ones, problem))
        assert left.trace.passes == right.trace.passes
        np.testing.assert_allclose(left.w, right.w, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(
    "loss", [losses.Logistic(), losses.SquaredHinge(), losses.Softmax()], ids=repr
)
def test_shifted_columns_cost_no_more(loss):
    X, y = classes(500, offset=0.0) if abilities(loss).vector else data(500, offset=0.0)
    passes = []
    for shift in (0.0, 1.0, 10.0, 100.0):
        problem = Problem(X + shift, y, loss, LAM, intercept="free")
        found = solve(problem, methods.Permuted(), tol=1e-6, max_passes=1000)
        assert found.converged, found.message
        passes.append(found.trace.passes[-1])
    assert max(passes) <= passes[0] + 2


@pytest.mark.parametrize("positives", [1, 5, 50])
@pytest.mark.parametrize(
    "loss", [losses.Logistic(), losses.SquaredHinge(), losses.Hinge()], ids=repr
)
def test_rare_positives(loss, positives):
    X, _ = make_classification(20_000, 50, density=0.2, seed=3)
    y = np.where(np.arange(20_000) < positives, 1.0, -1.0)
    found = solve(Problem(X, y, loss, 1e-3, intercept="free"), tol=1e-6, max_passes=2000)
    assert found.converged, found.message


@pytest.mark.parametrize(
    "g",
    [regularizers.ElasticNet(0.3), regularizers.NonnegativeL2(), regularizers.BoxL2(-0.1, 0.1)],
    ids=repr,
)
@pytest.mark.parametrize(
    "method",
    [methods.Permuted(), methods.Accelerated(), methods.Automatic(methods.Permuted())],
    ids=["off", "on", "auto"],
)
def test_other_regularizers(g, method):
    X, y = data(offset=0.1)
    problem = Problem(X, y, losses.Logistic(), 1e-2, g, intercept="free")
    found = solve(problem, method, tol=1e-7, max_passes=2000)
    assert found.converged, found.message
    b = problem.coefficients(found.w)[1]
    for seed in range(20):
        rng = np.random.default_rng(seed)
        other = g.conjugate_gradient(rng.normal(size=20))
        assert value(problem, other, b + rng.normal()) >= found.certificate.dual_value


@pytest.mark.parametrize("ratio", [0.2, 0.7])
def test_elastic_net_of_scikit_learn(ratio):
    X, y = data()
    target = X @ np.arange(20) + 3 * y + 50
    other = ElasticNet(alpha=0.1, l1_ratio=ratio, tol=1e-10, max_iter=100_000).fit(X, target)
    g = regularizers.ElasticNet(ratio / (1 - ratio))
    problem = Problem(X, target, losses.Squared(), 0.1 * (1 - ratio), g, intercept="free")
    found = solve(problem, tol=1e-9, max_passes=5000)
    w, b = problem.coefficients(found.w)
    assert found.certificate.dual_value <= value(problem, other.coef_, other.intercept_) + 1e-12
    np.testing.assert_allclose(w, other.coef_, atol=1e-3)
    assert b == pytest.approx(other.intercept_, abs=1e-2)


@pytest.mark.parametrize("outer", [methods.Accelerated, methods.Automatic])
def test_samplings_can_be_accelerated(outer):
    """The estimate of their gap needs the multiplier."""
    X, y = data()
    passes = [
        solve(
            Problem(X, y, losses.Logistic(), 1e-3, intercept=kind),
            outer(samplings.Nice(8)),
        ).trace.passes[-1]
        for kind in ("free", "penalized")
    ]
    assert passes[0] <= 1.5 * passes[1]


@pytest.mark.parametrize("loss", [losses.Softmax(), losses.Huber()], ids=repr)
def test_the_estimate_of_several_outputs_uses_the_multipliers_of_its_time(loss):
    """The estimate of an accelerated sampling is the gap of the losses, up to the proximal term."""
    X, y = several(loss, 80)
    problem = Problem(X, y, loss, 1e-3, intercept="free")
    epochs = methods.Quartz(samplings.Nice(4)).epochs(problem, np.random.default_rng(0))
    state = State.start(problem)
    for _ in range(3):
        shift = state.carried.copy()
        estimate = epochs.run(state, 0.0, 1.0)
        a = problem.data.predictions(problem.conjugate_point(state.abar)) + shift
        gaps = problem.losses.fenchel_young(a, state.duals).gaps
        proximal = problem.intercept.proximal_term(problem.lam, state.abar)
        assert estimate == pytest.approx(np.mean(gaps) + proximal, rel=1e-12)


def test_a_regularizer_without_acceleration():
    class Plain(NamedTuple):
        """L2 that cannot be weakened."""

        separable = True

        def value(self, w):
            return 0.5 * w**2

        def conjugate(self, u):
            return 0.5 * u**2

        def conjugate_gradient(self, u):
            return u

    X, y = data()
    problem = Problem(X, y, losses.Logistic(), 1e-4, Plain(), intercept="free")
    assert solve(problem, tol=1e-4, max_passes=2000).converged


def test_offsets_that_rounding_feels():
    """Large targets or columns: the bound for rounding keeps D below the optimum."""
    rng = np.random.default_rng(3)
    for far, wide in ((1e9, 0.0), (0.0, 1e7), (1e8, 1e5)):
        X, noise = rng.normal(size=(30, 4)), rng.normal(size=30)
        y = X @ np.arange(4) + noise
        exact = Problem(X, y, losses.Squared(), 1e-3, intercept="free")
        optimum = solve(exact, tol=1e-12).certificate.primal_value
        moved = Problem(X + wide, y + far, losses.Squared(), 1e-3, intercept="free")
        certificate = solve(moved, max_passes=100).certificate
        assert certificate.dual_value <= optimum * (1 + 1e-12)
        assert certificate.relative_gap < 1e-4


class _NaiveLogistic(NamedTuple):
    """A formula that overflows far away."""

    gamma, targets = 4.0, "sign"

    def value(self, a, y):
        return np.log1p(np.exp(-y * a))

    def gradient(self, a, y):
        e = np.exp(-y * a)
        return -y * e / (1 + e)

    def conjugate(self, u, y):
        return losses.Logistic().conjugate(u, y)


@pytest.mark.filterwarnings("error")
def test_a_gradient_that_overflows_far_away():
    X, y = data(50)
    problem, other = (
        Problem(X, y, loss, LAM, intercept="free") for loss in (_NaiveLogistic(), losses.Logistic())
    )
    alpha = 0.3 * y
    new = repaired(problem.losses, alpha, np.zeros(50))
    np.testing.assert_allclose(new, repaired(other.losses, alpha, np.zeros(50)))


def test_hard_cases():
    free = {"intercept": "free"}
    alike = Problem(np.full((10, 2), 0.3), np.tile([1.0, -1], 5), losses.Logistic(), 0.1, **free)
    assert solve(alike).converged
    large = Problem(np.arange(4.0)[:, None], [1, 1, -1, -1], losses.SquaredHinge(), 1.0, **free)
    for seed in range(50):
        alpha = np.append([0, 0], -1e6 * np.random.default_rng(seed).random(2))
        assert np.isfinite(certify(large, alpha).dual_value)
    X, y = data()
    huge = Problem(X, 1e8 * y, losses.Squared(), 0.01, **free)
    assert np.isfinite(huge.dual(solve(huge).duals))
    assert "intercept=free" in repr(huge)


def test_few_examples_of_several_classes_are_accelerated():
    """The intercepts must keep up with acceleration, whose lam is much larger."""
    X, y = classes(80)
    problem = Problem(X, y, losses.Softmax(), 1e-4, intercept="free")
    found = solve(problem, methods.Accelerated(), tol=1e-4)
    assert found.converged, found.message
    assert found.trace.passes[-1] < 300


def test_warm_starts():
    X, y = data()
    problem = Problem(X, y, losses.Logistic(), 1e-4, intercept="free")
    first = solve(problem, tol=1e-6)
    again = solve(problem, tol=1e-6, start=first)
    assert again.trace.passes == [0.0]
    other = Problem(X, y, losses.Logistic(), 1.1e-4, intercept="free")
    plain = methods.Permuted()
    warm, cold = (solve(other, plain, start=start, max_passes=2000) for start in (first, None))
    assert warm.converged
    assert warm.trace.passes[-1] < 0.7 * cold.trace.passes[-1]
    without = solve(Problem(X, y, losses.Logistic(), 1e-4))
    assert solve(problem, start=without).converged


def test_a_constant_feature_gets_no_coefficient():
    """The penalty prefers the intercept, so that the solution stays unique."""
    X, y = data()
    problem = Problem(
        np.hstack([X, np.full((300, 1), 2.0)]), y, losses.Logistic(), LAM, intercept="free"
    )
    found = solve(problem, tol=1e-9)
    w, _ = problem.coefficients(found.w)
    assert abs(w[-1]) < 1e-6


def test_newton_begins_where_the_run_stands():
    """The w of epochs is without the multiplier; starting at 0 instead cost eight passes."""
    X, y = data()
    problem = Problem(X, y, losses.Logistic(), LAM, intercept="free")
    found = solve(problem, tol=1e-8)
    state = State.start(problem, found.duals, found.w)
    state.w[-1] = 0.0
    steps = NewtonSteps(problem, np.random.default_rng(0))
    assert steps.advance(state, 0, 0) < 1e-8  # nothing but the best intercept
    assert steps.advance(state, 0, 0) < 1e-12


def test_duals_at_a_corner_stay_there():
    """Examples inside the tube of an epsilon-insensitive loss keep alpha = 0."""
    X, y = data()
    problem = Problem(X, y, losses.EpsilonInsensitive(0.3), 0.1, intercept="free")
    side = np.repeat([0.0, 1.0, -1.0], [200, 50, 50])
    alpha = -0.5 * side + 0.01 * (side > 0)
    a = y + 0.3 * side
    new = repaired(problem.losses, alpha, a)
    np.testing.assert_array_equal(new[:200], 0)
    assert abs(new.sum()) < 1e-12


def test_refusals():
    X, y = data()
    with pytest.raises(ValueError, match="run away"):
        Problem(X, np.ones(300), losses.Logistic(), LAM, intercept="free")
    with pytest.raises(ValueError, match="run away"):
        Problem(X, y, losses.Logistic(), LAM, weights=(y > 0).astype(float), intercept="free")
    with pytest.raises(ValueError, match="intercept must be"):
        Problem(X, y, losses.Logistic(), LAM, intercept=True)
    with pytest.raises(ValueError, match="Class 2 has no example"):
        Problem(KroneckerBlocks(X, 3), (y > 0).astype(int), losses.Softmax(), LAM, intercept="free")
    with pytest.raises(ValueError, match="labels of output 1 are"):
        Problem(X, np.column_stack([y, np.ones(300)]), losses.Logistic(), LAM, intercept="free")
    with pytest.raises(ValueError, match="plain rows"):
        Problem(StackedBlocks(X, 2), y[:150] > 0, losses.Softmax(), LAM, intercept="free")
    with pytest.raises(ValueError, match="simplex"):
        Problem(X, (y > 0).astype(int), registry.SquaredToClass(), LAM, intercept="free")
    problem = Problem(X, y, losses.Logistic(), LAM, intercept="free")
    with pytest.raises(ValueError, match="no free intercept"):
        solve(problem, methods.SPDC())
    with pytest.raises(ValueError, match="Option I"):
        solve(problem, methods.Quartz(option=2))
    with pytest.raises(ValueError, match="share the intercept"):
        solve(problem, samplings.Product())
    with pytest.raises(ValueError, match="use solve"):
        iterate(Plan.of(problem, samplings.Uniform()), State.start(problem), None)
    naive = Problem(X, y, _NaiveLogistic(), LAM, intercept="free")
    slow = methods.Quartz(samplings.Uniform(), engine="reference")
    assert solve(naive, slow, tol=1e-3).converged  # by a numeric step
    assert State.start(problem).carried != 0
