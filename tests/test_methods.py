"""The compared methods: their references, their optimum, their own bounds."""

from typing import NamedTuple

import numpy as np
import pytest

from quartz import (
    Problem,
    State,
    certify,
    data,
    losses,
    methods,
    regularizers,
    samplings,
    solve,
    theory,
)
from quartz.methods import apcg, pulled

METHODS = [
    methods.ProxSDCA(),
    methods.IproxSDCA(),
    methods.ASDCA(),
    methods.ASDCA(batch_size=5),
    methods.APCG(),
    methods.SPDC(),
    methods.SPDC(batch_size=5),
    methods.SAGA(),
    methods.AccProxSDCA(),
    methods.MiniBatchSDCA(batch_size=5),
    methods.DisDCA(nodes=4, batch_size=5, variant="basic"),
    methods.DisDCA(nodes=4, batch_size=5),
]
OF_OUR_KERNELS = (
    methods.ProxSDCA,
    methods.IproxSDCA,
    methods.AccProxSDCA,
    methods.MiniBatchSDCA,
    methods.DisDCA,
)
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
    found = solve(problem, method, tol=1e-8, max_passes=3000)
    ours = solve(problem, tol=1e-10)
    assert found.converged, found.message
    assert found.certificate.dual_value <= ours.certificate.primal_value
    assert ours.certificate.dual_value <= found.certificate.primal_value


def both_ways(problem, steps, count):
    """The states after three calls of the lazy kernel, and of its reference on the same sets."""
    fast, slow = State.start(problem), State.start(problem)
    previous = slow.w.copy()
    sampling = samplings.Nice(steps.batch_size).bind(problem)
    for seed in range(3):
        sets = sampling.draw(np.random.default_rng(seed), count)
        steps._run(fast, sets)
        pulled.reference(steps, slow, previous, sets)
    return fast, slow


@pytest.mark.parametrize("kind", [lambda X: X, lambda X: X.toarray()], ids=["sparse", "dense"])
@pytest.mark.parametrize("method", [methods.SPDC(1), methods.SPDC(4), methods.SAGA()], ids=repr)
@pytest.mark.parametrize("weighted", [False, True])
def test_pulled_steps_agree_with_their_reference(kind, method, weighted):
    problem = make(losses.Logistic(), weighted=weighted, kind=kind)
    steps = method.steps(problem, np.random.default_rng(0))
    fast, slow = both_ways(problem, steps, 50)
    np.testing.assert_allclose(fast.w, slow.w, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(fast.duals, slow.duals, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(fast.abar, slow.abar, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_apcg_agrees_with_its_reference(weighted):
    problem = make(losses.SmoothedHinge(), weighted=weighted)
    steps = methods.APCG().steps(problem, np.random.default_rng(0))
    fast, slow = State.start(problem), State.start(problem)
    z = slow.duals.copy()
    for seed in range(3):
        sets = samplings.Nice(1).bind(problem).draw(np.random.default_rng(seed), 50)
        steps._run(fast, sets)
        apcg.reference(steps, slow, z, sets)
    np.testing.assert_allclose(fast.w, slow.w, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(fast.duals, slow.duals, rtol=1e-10, atol=1e-12)


def test_asdca_agrees_with_its_lines():
    problem = make(losses.Logistic(), weighted=True)
    steps = methods.ASDCA(4).steps(problem, np.random.default_rng(0))
    sets = samplings.Nice(4).bind(problem).draw(np.random.default_rng(1), 50)
    fast, slow = State.start(problem), State.start(problem)
    steps._run(fast, sets)
    for t in range(len(sets)):
        u = (1 - steps.theta) * slow.w + steps.theta * problem.abar(slow.duals)
        towards = -problem.losses.gradients(problem.data.predictions(u))
        chosen = sets[t]
        slow.duals[chosen] += steps.theta * (towards - slow.duals)[chosen]
        slow.w = (1 - steps.theta) * slow.w + steps.theta * problem.abar(slow.duals)
    np.testing.assert_allclose(fast.w, slow.w, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(fast.duals, slow.duals, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("variant", ["basic", "practical"])
@pytest.mark.parametrize("weighted", [False, True])
def test_disdca_agrees_with_its_lines(variant, weighted):
    problem, nodes, m = make(losses.Logistic(), weighted=weighted), 3, 5
    steps = methods.DisDCA(nodes, m, variant).steps(problem, np.random.default_rng(0))
    fast, slow = State.start(problem), State.start(problem)
    steps.advance(fast, 0.0, 0.0)
    norms, data_of = problem.data.squared_norms(), problem.data
    rng = np.random.default_rng(0)  # draws the same sets
    if variant == "basic":
        sets = samplings.Distributed(nodes, m).bind(problem).draw(rng, fast.iteration)
    bounds = np.searchsorted(np.arange(problem.n) * nodes // problem.n, np.arange(nodes + 1))
    for t in range(fast.iteration):
        z = problem.conjugate_point(problem.abar(slow.duals))
        new = slow.duals.copy()
        if variant == "basic":
            for i in sets[t]:
                q = nodes * m * norms[i] / (problem.lam * problem.n)
                new[i] = problem.losses.step_one(i, new[i], data_of.predict_one(i, z), q)
        else:
            for k in range(nodes):
                u = z.copy()
                for i in rng.integers(bounds[k], bounds[k + 1], size=m):
                    scale = nodes / (problem.lam * problem.n)
                    old = new[i]
                    q = scale * norms[i]
                    new[i] = problem.losses.step_one(i, old, data_of.predict_one(i, u), q)
                    data_of.accumulate(i, scale * (new[i] - old), u)
        slow.duals = new
    np.testing.assert_allclose(fast.duals, slow.duals, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(fast.abar, problem.abar(slow.duals), rtol=1e-9, atol=1e-12)


def test_disdca_on_one_node_and_safe_batches_of_one_are_prox_sdca():
    problem, rng = make(losses.SmoothedHinge()), np.random.default_rng(0)
    serial = methods.ProxSDCA().steps(problem, rng).plan
    for method in (methods.MiniBatchSDCA(1), methods.DisDCA(1, 1, "basic")):
        plan = method.steps(problem, rng).plan
        np.testing.assert_allclose(plan.p, serial.p)
        np.testing.assert_allclose(plan.v, serial.v, rtol=1e-5)
        assert plan.primal_step == serial.primal_step == 1


def test_safe_mini_batching_shortens_by_beta():
    """beta_b = 1 + (b - 1)(lambda_max - 1) / (n - 1) for unit rows, and no less is safe."""
    problem, b = make(losses.Hinge()), 7
    rows = problem.data.storage.matrix.toarray()
    largest = np.linalg.eigvalsh(rows @ rows.T)[-1]
    beta = 1 + (b - 1) * (largest - 1) / (problem.n - 1)
    v = methods.MiniBatchSDCA(b).steps(problem, np.random.default_rng(0)).plan.v
    np.testing.assert_allclose(v, beta, rtol=1e-5)
    assert (v >= beta * (1 - 1e-12)).all()


@pytest.mark.parametrize(
    "method", [methods.SPDC(20), methods.SAGA(), methods.AccProxSDCA(), methods.DisDCA(4, 5)]
)
def test_another_regularizer(method):
    problem = make(losses.SmoothedHinge(), regularizer=regularizers.ElasticNet(0.1))
    found = solve(problem, method, tol=1e-6, max_passes=3000)
    assert found.converged, found.message


@pytest.mark.parametrize(
    "method",
    [methods.MiniBatchSDCA(5), methods.DisDCA(4, 5, "basic"), methods.DisDCA(4, 5)],
    ids=repr,
)
def test_losses_that_are_not_smooth_and_several_outputs(method):
    found = solve(make(losses.Hinge(), lam=0.1), method, tol=1e-2, max_passes=3000)
    assert found.converged, found.message
    X, y = data.make_classification(100, 10, density=0.5, classes=3, seed=1)
    found = solve(Problem(X, y, losses.Softmax(), 0.1), method, tol=1e-6, max_passes=3000)
    assert found.converged, found.message


def saddle_point(problem):
    best = solve(problem, tol=1e-13, max_passes=3000)
    return best.w, best.duals


@pytest.mark.parametrize("batch_size", [1, 8])
def test_spdc_contracts_as_its_theorem_says(batch_size):
    """(1/(2 tau) + lam) ||x - x*||^2 + (1/(4 sigma) + gamma) ||y - y*||^2 / m falls by theta."""
    problem = make(losses.SmoothedHinge(), lam=1e-3)
    w, alpha = saddle_point(problem)

    def distance(steps, state):
        return (0.5 / steps.tau + problem.lam) * np.sum((state.w - w) ** 2) + (
            0.25 / steps.sigma + steps.gamma
        ) * np.sum((state.duals - alpha) ** 2) / batch_size

    ratios = []
    for seed in range(30):
        state = State.start(problem)
        steps = methods.SPDC(batch_size).steps(problem, np.random.default_rng(seed))
        first = distance(steps, state)
        for _ in range(15):
            steps.advance(state, 0.0, 0.0)
        ratios.append(distance(steps, state) / first)
    assert np.mean(ratios) <= steps.theta**state.iteration


def test_saga_contracts_as_its_docstring_says():
    """||w - w*||^2 + 4 r eta^2 sum_i ||A_i (alpha_i - alpha_i*)||^2 falls by its rate."""
    problem = make(losses.SmoothedHinge(), lam=1e-2)
    w, alpha = saddle_point(problem)
    norms = problem.data.squared_norms()

    def distance(steps, state):
        spread = np.sum(norms * (state.duals - alpha) ** 2)
        shrink = (1 + steps.tau * problem.lam) ** -2
        return np.sum((state.w - w) ** 2) + 4 * shrink * steps.tau**2 * spread

    ratios = []
    for seed in range(30):
        state = State.start(problem)
        steps = methods.SAGA().steps(problem, np.random.default_rng(seed))
        first = distance(steps, state)
        for _ in range(10):
            steps.advance(state, 0.0, 0.0)
        ratios.append(distance(steps, state) / first)
    term = theory.saga(problem.n, problem.lam, 1.0, norms)
    assert np.mean(ratios) <= (1 - 1 / term) ** state.iteration


def test_accprox_sdca_stays_below_xi():
    """P(w^t) - P* <= xi_t after every outer step."""
    problem = make(losses.SmoothedHinge(), lam=1e-5)
    w, _ = saddle_point(problem)
    steps = methods.AccProxSDCA().steps(problem, np.random.default_rng(0))
    assert steps.kappa > 100 * problem.lam
    state, best = State.start(problem), problem.primal(w)
    for _ in range(200):
        steps.advance(state, 0.0, 0.0)
        assert problem.primal(state.w) - best <= steps.bound + 1e-12
    assert steps.bound < 0.2 * problem.primal(np.zeros(problem.data.d)) * (1 + steps.eta**-2)


@pytest.mark.parametrize(
    "method",
    [methods.ProxSDCA(), methods.MiniBatchSDCA(8), methods.DisDCA(4, 2, "basic")],
    ids=repr,
)
def test_dual_steps_converge_as_the_analysis_of_sdca_says(method):
    """E D* - D(alpha^t) <= (1 - theta)^t (D* - D(0)), theta of [a-theta] with the method's v."""
    problem = make(losses.SmoothedHinge(), lam=1e-3)
    _, alpha = saddle_point(problem)
    best = problem.dual(alpha)
    lags = []
    for seed in range(30):
        state = State.start(problem)
        steps = method.steps(problem, np.random.default_rng(seed))
        for _ in range(5):
            steps.advance(state, 0.0, 0.0)
        lags.append(best - problem.dual(state.duals))
    first = best - problem.dual(np.zeros(problem.n))
    assert np.mean(lags) <= (1 - steps.plan.theta) ** state.iteration * first


def test_practical_disdca_converges_as_the_theorem_of_cocoa_says():
    problem, nodes, m = make(losses.SmoothedHinge(), lam=1e-3), 4, 25
    _, alpha = saddle_point(problem)
    best, lags = problem.dual(alpha), []
    for seed in range(20):
        state = State.start(problem)
        steps = methods.DisDCA(nodes, m).steps(problem, np.random.default_rng(seed))
        for _ in range(5):
            steps.advance(state, 0.0, 0.0)
        lags.append(best - problem.dual(state.duals))
    parts = np.split(problem.data.storage.matrix.toarray(), nodes)
    largest = max(np.linalg.norm(part, 2) ** 2 for part in parts)
    term = theory.disdca_practical(problem.n, nodes, m, problem.lam, 1.0, largest)
    first = best - problem.dual(np.zeros(problem.n))
    assert np.mean(lags) <= (1 - 1 / term) ** state.iteration * first


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
        lags.append(best - problem.dual(state.duals))
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
        gaps.append(certify(problem, state.duals, state.w, primal="own").gap)
    first = problem.primal(np.zeros(problem.data.d))  # P(0) - D(0)
    rate = 1 - steps.theta * batch_size / problem.n
    assert np.mean(gaps) <= first * rate**state.iteration


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_refusals(method):
    rng = np.random.default_rng(0)
    for outer in (methods.Accelerated, methods.Automatic):
        with pytest.raises(ValueError, match="goes around"):
            solve(make(losses.Logistic()), outer(method))
    if isinstance(method, OF_OUR_KERNELS):
        return
    with pytest.raises(ValueError, match="gamma = 0"):
        method.steps(make(losses.Hinge()), rng)
    X, y = data.make_classification(50, 10, density=0.5, seed=1)
    with pytest.raises(ValueError, match="one output"):
        method.steps(Problem(X, (y > 0).astype(int), losses.Softmax(), 0.1), rng)
    if not isinstance(method, methods.SPDC | methods.SAGA):
        with pytest.raises(ValueError, match="L2 only"):
            method.steps(make(losses.Logistic(), regularizer=regularizers.ElasticNet(0.1)), rng)


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("seed", range(5))
def test_saga_contracts_in_one_step_on_tiny_problems(size, seed):
    """The expectation over i, exactly, from random points, where lam is not small."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(size, 2))
    lam = float(rng.uniform(0.05, 2)) * np.max(np.sum(X**2, axis=1))
    problem = Problem(X, rng.normal(size=size), losses.Squared(), lam)
    w, alpha = saddle_point(problem)
    steps = methods.SAGA().steps(problem, rng)
    shrink = (1 + steps.tau * lam) ** -2

    def potential(state):
        spread = np.sum(np.sum(X**2, axis=1) * (state.duals - alpha) ** 2)
        return np.sum((state.w - w) ** 2) + 4 * shrink * steps.tau**2 * spread

    point = rng.normal(size=2), rng.normal(size=size) * rng.integers(0, 2)
    after = []
    for i in range(size):
        state = State.start(problem, point[1], point[0])
        previous = state.w.copy()
        pulled.reference(steps, state, previous, samplings.IndexSets.of_equal_size(np.array([[i]])))
        after.append(potential(state))
    rate = 1 - 1 / theory.saga(size, lam, 1.0, np.sum(X**2, axis=1))
    first = potential(State.start(problem, point[1], point[0]))
    assert np.mean(after) <= rate * first * (1 + 1e-12)


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_empty_examples_and_a_huge_lam(method):
    y = np.tile([1.0, -1.0], 40)
    for X, lam in ((np.zeros((80, 2)), 0.1), (np.eye(80), 1e20)):
        found = solve(Problem(X, y, losses.Logistic(), lam), method, tol=1e-6)
        assert found.converged, found.message
    if method in (methods.APCG(), methods.SAGA(), methods.SPDC(), methods.ASDCA()):
        found = solve(Problem([[0.0]], [1.0], losses.Logistic(), 1.0), method, tol=1e-6)
        assert found.converged, found.message


@pytest.mark.parametrize("method", [methods.SAGA(), methods.SPDC()], ids=repr)
def test_lazy_steps_at_a_tiny_lam(method):
    """abar is huge and moves x by hardly anything at a time."""
    problem = make(losses.Logistic(), lam=1e-16)
    steps = method.steps(problem, np.random.default_rng(0))
    fast, slow = both_ways(problem, steps, 200)
    np.testing.assert_allclose(fast.w, slow.w, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_warm_starts_bring_their_w(method):
    problem = make(losses.SmoothedHinge(), lam=1e-4)
    best = solve(problem, tol=1e-8)
    again = solve(problem, method, start=best, tol=1e-8)
    assert again.converged
    assert again.trace.passes == [0.0]


def test_no_promise_of_the_theorem_for_other_methods():
    """[th-mainth] is about the averaged w."""
    problem = make(losses.SmoothedHinge(), lam=1e-4)
    for method in (methods.ProxSDCA(), samplings.Uniform()):
        message = solve(problem, method, tol=1e-12, max_passes=2).message
        assert ("theorem promises" in message) == (method == samplings.Uniform())
    longer = solve(problem, methods.Quartz(primal_step_factor=10.0), tol=0.1e-9, max_passes=2)
    assert "theorem" not in longer.message


def test_practical_disdca_shows_its_w():
    seen = []
    solve(
        make(losses.SmoothedHinge()),
        methods.DisDCA(4, 5),
        tol=1e-3,
        callback=lambda state, certificate: seen.append(state.w.copy()),
    )
    assert np.any(seen[-1])


class NoStep(NamedTuple):
    """A smooth loss without a proximal step."""

    gamma = 1.0

    def value(self, a, y):
        return 0.5 * (a - y) ** 2

    def gradient(self, a, y):
        return a - y

    def conjugate(self, u, y):
        return 0.5 * u**2 + u * y


@pytest.mark.parametrize(
    "method", [methods.ProxSDCA(), methods.APCG(), methods.SPDC(), methods.DisDCA()], ids=repr
)
def test_a_loss_without_a_step_gets_a_numeric_one(method):
    plain, own = (
        solve(make(loss, lam=0.1), method, tol=1e-6, max_passes=3000)
        for loss in (losses.Squared(), NoStep())
    )
    assert own.converged
    assert plain.trace.passes == own.trace.passes
    np.testing.assert_allclose(own.w, plain.w, atol=1e-9)


def test_refusals_of_their_own():
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="smooth"):
        methods.AccProxSDCA().steps(make(losses.Hinge()), rng)
    with pytest.raises(ValueError, match="variant"):
        methods.DisDCA(2, 2, "fast").steps(make(losses.Hinge()), rng)
    with pytest.raises(ValueError, match="batch_size"):
        methods.DisDCA(2, 0).steps(make(losses.Hinge()), rng)
    with pytest.raises(ValueError, match="methods"):
        solve(make(losses.Logistic()), method="spdc")
    with pytest.raises(ValueError, match="methods"):
        solve(make(losses.Logistic()), methods.SPDC)
