"""Newton steps: their gap, their derivatives, their optimum."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression, Ridge

import registry
from quartz import Problem, State, certify, data, losses, methods, regularizers, samplings, solve
from quartz.data import as_storage, storage
from quartz.losses.base import abilities
from quartz.methods import newton
from quartz.methods.newton import NewtonSteps

LOSSES = [loss for loss in registry.LOSSES if abilities(loss).curvature is not None]


def make(loss, lam=1e-4, density=0.3, kind=sp.csr_array, dtype=np.float64, **options):
    X, y = data.make_classification(300, 20, density=density, seed=3)
    X = X.toarray().astype(dtype)
    return Problem(kind(X), y, loss, lam, **options)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("kind", [sp.csr_array, np.array], ids=["sparse", "dense"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [None, "free", "penalized"])
def test_estimate_is_the_gap_and_falls_to_rounding(loss, kind, weighted, intercept):
    rng = np.random.default_rng(0)
    weights = rng.integers(0, 3, 300).astype(float) if weighted else None
    problem = make(loss, kind=kind, weights=weights, intercept=intercept)
    state, steps = State.start(problem), NewtonSteps(problem)
    for _ in range(30):
        estimate = steps.advance(state, 0.0, 0.0)
        found = certify(problem, state.duals, state.w, primal="own")
        assert found.loss_gap == pytest.approx(0, abs=1e-12)
        assert estimate == pytest.approx(found.gap, rel=1e-6, abs=1e-12)
    assert found.gap - found.rounding < 1e-12 * found.primal_value


@pytest.mark.parametrize("density", [0.1, 0.9])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gram_of_both_ways(density, dtype, monkeypatch):
    """Through the nonzeros or by BLAS, the lower triangle is X' diag(c) X."""
    monkeypatch.setattr(storage, "GRAM_ROWS", 64)  # 150 examples: three parts
    problem = make(losses.Squared(), density=density, dtype=dtype)
    X = problem.data.storage.matrix
    assert as_storage(X).gram_by_blas == (density > 0.5)
    examples, weights = np.arange(0, 300, 2), np.linspace(-1, 1, 150)
    expected = X.toarray()[examples].T @ (weights[:, None] * X.toarray()[examples])
    for matrix in (X, X.toarray()):
        out = np.zeros((20, 20))
        as_storage(matrix).add_gram(examples, weights, out)
        np.testing.assert_allclose(np.tril(out), np.tril(expected), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("lam", [1e-2, 1e-6])
def test_agrees_with_scikit_learn(lam):
    problem = make(losses.Logistic(), lam)
    X, y = problem.data.storage.matrix, problem.y
    rival = LogisticRegression(
        C=1 / (lam * 300), fit_intercept=False, solver="newton-cholesky", tol=1e-12
    ).fit(X, y)
    result = solve(problem, tol=1e-12)
    np.testing.assert_allclose(result.w, rival.coef_.ravel(), rtol=1e-4, atol=1e-6)
    ridge = Ridge(alpha=lam * 300, fit_intercept=False, solver="cholesky").fit(X, y)
    result = solve(Problem(X, y, losses.Squared(), lam), tol=1e-12)
    np.testing.assert_allclose(result.w, ridge.coef_, rtol=1e-4, atol=1e-6)


def test_when_it_applies():
    assert newton.applies(make(losses.Logistic()))
    X, y = make(losses.Logistic()).data.storage.matrix, np.arange(300) % 3
    assert not newton.applies(Problem(X, y, losses.Softmax(), 0.1))
    assert not newton.applies(Problem(X, np.sign(y - 0.5), losses.Hinge(), 0.1))
    enet = Problem(X, y.astype(float), losses.Squared(), 0.1, regularizers.ElasticNet(mu=0.1))
    assert not newton.applies(enet)


def test_never_taken_where_a_sampling_is_named(monkeypatch):
    problem = make(losses.Logistic(), lam=1e-7)
    taken = []
    step = NewtonSteps.advance

    def spy(self, *arguments):
        taken.append(1)
        return step(self, *arguments)

    monkeypatch.setattr(NewtonSteps, "advance", spy)
    for inner in (methods.Permuted(), samplings.Uniform(), samplings.Nice(4)):
        solve(problem, methods.Automatic(inner), max_passes=60)
    assert not taken
    assert solve(problem, tol=1e-9).converged
    assert taken
