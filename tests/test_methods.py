"""The compared methods: their references, their optimum, their own bounds."""

import numpy as np
import pytest

from quartz import Problem, certify, data, losses, methods, regularizers, samplings, solve
from quartz.methods import apcg, spdc
from quartz.solvers import State

METHODS = [
    methods.ProxSDCA(),
    methods.IproxSDCA(),
    methods.ASDCA(),
    methods.ASDCA(batch_size=5),
    methods.APCG(),
    methods.SPDC(),
    methods.SPDC(batch_size=5),
]
SMOOTH = [losses.SmoothedHinge(), losses.Logistic(), losses.Squared()]


def make(loss, lam=1e-2, weighted=False, regularizer=None, kind=lambda X: X):
    X, y = data.make_classification(200, 40, density=0.2, noise=0.1, seed=1)
    weights = np.random.default_rng(0).integers(0, 3, 200).astype(float) if weighted else None
    return Problem(kind(X), y, loss, lam, regularizer, weights)


@pytest.mark.parametrize("method", METHODS, ids=repr)
@pytest.mark.parametrize("loss", SMOOTH, ids=repr)
@pytest.mark.parametrize("weighted", [False, True])
def test_same_certified_optimum_as_quartz(method, loss, weighted):
    problem = make(loss, weighted=weighted)
    found = solve(problem, method=method, tol=1e-8, max_passes=3000)
    ours = solve(problem, tol=1e-10)
    assert found.converged, found.message
    assert found.certificate.dual <= ours.certificate.primal
    assert ours.certificate.dual <= found.certificate.primal


@pytest.mark.parametrize("kind", [lambda X: X, lambda X: X.toarray()], ids=["sparse", "dense"])
@pytest.mark.parametrize("batch_size", [1, 4])
@pytest.mark.parametrize("weighted", [False, True])
def test_spdc_agrees_with_its_reference(kind, batch_size, weighted):
    problem = make(losses.Logistic(), weighted=weighted, kind=kind)
    steps = methods.SPDC(batch_size).steps(problem, np.random.default_rng(0))
    fast, slow = State.start(problem), State.start(problem)
    previous = slow.w.copy()
    for seed in range(3):
        sets = samplings.Nice(batch_size).bind(problem).draw(np.random.default_rng(seed), 50)
        steps._run(fast, sets)
        spdc.reference(steps, slow, previous, sets)
    np.testing.assert_allclose(fast.w, slow.w, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(fast.alpha, slow.alpha, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(fast.abar, slow.abar, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_apcg_agrees_with_its_reference(weighted):
    problem = make(losses.SmoothedHinge(), weighted=weighted)
    steps = methods.APCG().steps(problem, np.random.default_rng(0))
    fast, slow = State.start(problem), State.start(problem)
    z = slow.alpha.copy()
    for seed in range(3):
        sets = samplings.Nice(1).bind(problem).draw(np.random.default_rng(seed), 50)
        steps._run(fast, sets)
        apcg.reference(steps, slow, z, sets)
    np.testing.assert_allclose(fast.w, slow.w, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(fast.alpha, slow.alpha, rtol=1e-10, atol=1e-12)


def test_asdca_agrees_with_its_lines():
    problem = make(losses.Logistic(), weighted=True)
    steps = methods.ASDCA(4).steps(problem, np.random.default_rng(0))
    sets = samplings.Nice(4).bind(problem).draw(np.random.default_rng(1), 50)
    fast, slow = State.start(problem), State.start(problem)
    steps._run(fast, sets)
    for t in range(len(sets)):
        u = (1 - steps.theta) * slow.w + steps.theta * problem.abar(slow.alpha)
        towards = -problem.gradients(problem.data.predictions(u))
        chosen = sets[t]
        slow.alpha[chosen] += steps.theta * (towards - slow.alpha)[chosen]
        slow.w = (1 - steps.theta) * slow.w + steps.theta * problem.abar(slow.alpha)
    np.testing.assert_allclose(fast.w, slow.w, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(fast.alpha, slow.alpha, rtol=1e-10, atol=1e-12)


def test_spdc_with_another_regularizer():
    problem = make(losses.SmoothedHinge(), regularizer=regularizers.ElasticNet(0.1))
    found = solve(problem, method=methods.SPDC(20), tol=1e-6, max_passes=3000)
    assert found.converged, found.message


def saddle_point(problem):
    best = solve(problem, tol=1e-13, max_passes=3000)
    return best.w, best.alpha


@pytest.mark.parametrize("batch_size", [1, 8])
def test_spdc_contracts_as_its_theorem_says(batch_size):
    """(1/(2 tau) + lam) ||x - x*||^2 + (1/(4 sigma) + gamma) ||y - y*||^2 / m falls by theta."""
    problem = make(losses.SmoothedHinge(), lam=1e-3)
    w, alpha = saddle_point(problem)

    def distance(steps, state):
        return (0.5 / steps.tau + problem.lam) * np.sum((state.w - w) ** 2) + (
            0.25 / steps.sigma + steps.gamma
        ) * np.sum((state.alpha - alpha) ** 2) / batch_size

    ratios = []
    for seed in range(30):
        state = State.start(problem)
        steps = methods.SPDC(batch_size).steps(problem, np.random.default_rng(seed))
        first = distance(steps, state)
        for _ in range(15):
            steps.advance(state, 0.0, 0.0)
        ratios.append(distance(steps, state) / first)
    assert np.mean(ratios) <= steps.theta**state.iteration


def test_apcg_converges_as_its_theorem_says():
    """E F(x^k) - F* <= (1 - s/n)^k (F(x^0) - F* + mu/2 ||x^0 - x*||_L^2), F = -D."""
    problem = make(losses.SmoothedHinge(), lam=1e-3)
    _, alpha = saddle_point(problem)
    best, start = problem.dual(alpha), problem.dual(np.zeros(problem.n))
    lags = []
    for seed in range(30):
        state = State.start(problem)
        steps = methods.APCG().steps(problem, np.random.default_rng(seed))
        for _ in range(5):
            steps.advance(state, 0.0, 0.0)
        lags.append(best - problem.dual(state.alpha))
    lipschitz = (steps.largest_norm / (problem.lam * problem.n) + steps.gamma) / problem.n
    first = best - start + 0.5 * steps.root**2 * lipschitz * float(alpha @ alpha)
    assert np.mean(lags) <= (1 - steps.root / problem.n) ** state.iteration * first


@pytest.mark.parametrize("batch_size", [1, 8])
def test_asdca_is_within_its_bound(batch_size):
    """n / (m theta) iterations for each e-fold of the gap [tab-comtau]."""
    problem = make(losses.SmoothedHinge(), lam=1e-2)
    gaps = []
    for seed in range(20):
        state = State.start(problem)
        steps = methods.ASDCA(batch_size).steps(problem, np.random.default_rng(seed))
        for _ in range(100):
            steps.advance(state, 0.0, 0.0)
        gaps.append(certify(problem, state.alpha, state.w, primal="quartz").gap)
    first = problem.primal(np.zeros(problem.data.d))  # P(0) - D(0)
    rate = 1 - steps.theta * batch_size / problem.n
    assert np.mean(gaps) <= first * rate**state.iteration


@pytest.mark.parametrize("method", METHODS[2:], ids=repr)
def test_refusals(method):
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="gamma = 0"):
        method.steps(make(losses.Hinge()), rng)
    X, y = data.make_classification(50, 10, density=0.5, seed=1)
    with pytest.raises(ValueError, match="one output"):
        method.steps(Problem(X, (y > 0).astype(int), losses.Softmax(), 0.1), rng)
    with pytest.raises(ValueError, match="of its own"):
        solve(make(losses.Logistic()), samplings.Uniform(), method=method)
    with pytest.raises(ValueError, match="of its own"):
        solve(make(losses.Logistic()), engine="reference", method=method)
    if not isinstance(method, methods.SPDC):
        with pytest.raises(ValueError, match="L2 only"):
            method.steps(make(losses.Logistic(), regularizer=regularizers.ElasticNet(0.1)), rng)
