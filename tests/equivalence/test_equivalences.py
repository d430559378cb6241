"""Variants that must coincide (design, section 7 item 10)."""

import numpy as np
import pytest

import registry
from quartz import Plan, Problem, State, iterate, losses, methods, regularizers, samplings, solve
from quartz.data import KroneckerBlocks, RowBlocks, StackedBlocks
from quartz.methods.reference import advance
from quartz.samplings import IndexSets


def same_sampling(left, right, data):
    np.testing.assert_allclose(left.probabilities, right.probabilities)
    np.testing.assert_allclose(left.eso(data), right.eso(data), rtol=1e-9)
    np.testing.assert_allclose(left.joint(), right.joint(), atol=1e-12)


@pytest.fixture
def problem():
    return registry.make_problem(losses.SmoothedHinge(), np.random.default_rng(0))


def test_nice_of_one_is_uniform(problem):
    same_sampling(samplings.Nice(1).bind(problem), samplings.Uniform().bind(problem), problem.data)


def test_distributed_on_one_node_is_nice(problem):
    for tau in (1, 4, 9):
        one = samplings.Distributed(nodes=1, batch_size=tau).bind(problem)
        same_sampling(one, samplings.Nice(tau).bind(problem), problem.data)


def test_unequal_parts_formula_agrees_with_the_paper_on_one_node(problem):
    sampling = samplings.Distributed(1, 4).bind(problem)
    equal, general = sampling._eso_equal(problem.data), sampling._eso_unequal(problem.data)
    np.testing.assert_allclose(equal, general)


def test_doubly_uniform_of_one_size_is_nice(problem):
    fixed = samplings.DoublyUniform({3: 1.0}).bind(problem)
    same_sampling(fixed, samplings.Nice(3).bind(problem), problem.data)


def test_full_batch_is_n_nice_and_independent_of_one(problem):
    full = samplings.FullBatch().bind(problem)
    same_sampling(full, samplings.Nice(problem.n).bind(problem), problem.data)
    same_sampling(full, samplings.Independent(np.ones(problem.n)), problem.data)


def test_bucket_of_one_group_is_importance(problem):
    same_sampling(
        samplings.Bucket(groups=1).bind(problem), samplings.Importance().bind(problem), problem.data
    )


def test_bucket_of_separable_groups_is_product():
    problem = registry.make_problem(losses.Squared(), np.random.default_rng(0), separable=True)
    product = samplings.Product(groups=3).bind(problem)
    bucket = samplings.BucketSampling(product.labels, product.probabilities)
    same_sampling(product, bucket, problem.data)


def test_product_of_single_examples_is_the_full_batch():
    """Groups of size one that share no feature."""
    problem = Problem(np.diag(np.arange(1.0, 6)), np.ones(5), losses.Squared(), lam=0.1)
    product, full = samplings.Product().bind(problem), samplings.FullBatch().bind(problem)
    same_sampling(product, full, problem.data)
    np.testing.assert_array_equal(
        np.sort(product.draw(np.random.default_rng(0), 1)[0]), np.arange(5)
    )


def test_explicit_list_of_all_pairs_is_nice(problem):
    from itertools import combinations

    pairs = list(combinations(range(problem.n), 2))
    explicit = samplings.Explicit(pairs, np.full(len(pairs), 1 / len(pairs)))
    nice = samplings.Nice(2, spectral=True).bind(problem)
    np.testing.assert_allclose(explicit.joint(), nice.joint())
    np.testing.assert_allclose(explicit.probabilities, nice.probabilities)


def test_option_1_duals_are_those_of_prox_sdca(problem):
    """w never feeds back into Option I, so the primal step changes w only; with step 1, w = z."""
    states = []
    for factor in (1.0, 10.0, np.inf):
        plan = Plan.of(problem, samplings.Uniform(), primal_step_factor=factor)
        state = State.start(problem)
        steps = iterate(plan, state, np.random.default_rng(1))
        for _ in range(50):
            next(steps)
        states.append(state)
    for state in states[1:]:
        np.testing.assert_array_equal(state.duals, states[0].duals)
    z = problem.conjugate_point(problem.abar(states[2].duals))
    advance(states[2], plan, IndexSets(np.array([0, 0]), np.array([], dtype=np.int64)))
    np.testing.assert_allclose(states[2].w, z, rtol=1e-9)
    assert np.abs(states[0].w - z).max() > 1e-6  # Quartz's w lags behind


def test_prox_sdca_by_its_own_formula():
    """Serial Option I with L2 is the textbook SDCA step of the squared loss."""
    rng = np.random.default_rng(0)
    X, y, lam = rng.normal(size=(6, 3)), rng.normal(size=6), 0.3
    problem = Problem(X, y, losses.Squared(), lam)
    state, plan = State.start(problem), Plan.of(problem, samplings.Uniform())
    alpha, w = np.zeros(6), np.zeros(3)
    order = rng.integers(6, size=40)
    advance(state, plan, IndexSets(np.arange(41), order))
    for i in order:
        delta = (y[i] - X[i] @ w - alpha[i]) / (1 + X[i] @ X[i] / (lam * 6))
        alpha[i] += delta
        w += delta * X[i] / (lam * 6)
    np.testing.assert_allclose(state.duals, alpha, rtol=1e-12)
    np.testing.assert_allclose(state.abar, w, rtol=1e-12)


@pytest.mark.parametrize("loss", registry.LOSSES, ids=registry.label)
def test_weights_are_repetitions(loss):
    """Weight 2 is the example twice, weight 0 leaves it out: same optimum."""
    rng = np.random.default_rng(0)
    base = registry.make_problem(loss, rng, n=8, lam=0.5)
    times = np.array([2, 1, 0, 3, 1, 2, 0, 1])
    weighted = Problem(base.data, base.y, loss, 0.5, weights=times)
    rows = np.repeat(np.arange(8), times)
    repeated = Problem(base.data.take(rows), base.y[rows], loss, 0.5)
    w = rng.normal(size=base.data.d)
    assert weighted.primal(w) == pytest.approx(repeated.primal(w), rel=1e-12)
    tol = 1e-7 if loss.gamma > 0 else 1e-4
    options = {"tol": tol, "max_passes": 3000, "passes_per_check": 10}
    left = solve(weighted, methods.Quartz(engine="reference"), **options)
    right = solve(repeated, methods.Quartz(engine="reference"), **options)
    assert left.converged
    assert right.converged
    distance = np.sum((left.w - right.w) ** 2)  # P is lam-strongly convex
    gaps = left.certificate.gap + right.certificate.gap
    assert 0.5 / 4 * 0.5 * distance <= gaps + 1e-15
    np.testing.assert_array_equal(left.duals[times == 0], 0)


def test_scaling_all_weights_changes_nothing():
    rng = np.random.default_rng(0)
    weights = rng.random(9) + 0.1
    one, ten = (
        registry.make_problem(losses.Logistic(), np.random.default_rng(1), weights=scale * weights)
        for scale in (1, 10)
    )
    np.testing.assert_allclose(one.weights, ten.weights)


def test_kronecker_is_its_stacked_expansion():
    """The same trajectory from the two storages of A_i = x_i (x) I."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(7, 3)), rng.integers(2, size=7)
    kronecker = Problem(KroneckerBlocks(X, 2), y, losses.Softmax(), lam=0.1)
    stacked = Problem(StackedBlocks(kronecker.data.dense()), y, losses.Softmax(), lam=0.1)
    for option in (1, 2):
        left, right = (
            solve(problem, methods.Quartz(samplings.Nice(3), option=option), tol=0, max_passes=5)
            for problem in (kronecker, stacked)
        )
        np.testing.assert_allclose(left.w, right.w, atol=1e-12)
        np.testing.assert_allclose(left.duals, right.duals, atol=1e-12)


def test_sparse_and_dense_storage_agree():
    rng = np.random.default_rng(0)
    sparse = registry.make_data("rows, sparse", rng)
    dense = RowBlocks(sparse.storage.matrix.toarray())
    y = rng.normal(size=sparse.n)
    left, right = (
        solve(
            Problem(data, y, losses.Huber(), 0.1, regularizers.ElasticNet(0.1)), tol=0, max_passes=5
        )
        for data in (sparse, dense)
    )
    np.testing.assert_allclose(left.w, right.w, atol=1e-12)


def test_labels_can_be_folded_into_the_data():
    """phi_i(y_i A_i'w): one can get rid of the labels by redefining A_i to y_i A_i."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(8, 3)), np.sign(rng.normal(size=8))
    left = solve(Problem(X, y, losses.SmoothedHinge(), 0.1), tol=0, max_passes=5)
    folded = Problem(y[:, None] * X, np.ones(8), losses.SmoothedHinge(), 0.1)
    right = solve(folded, tol=0, max_passes=5)
    np.testing.assert_allclose(left.w, right.w, atol=1e-12)
    np.testing.assert_allclose(left.duals, y * right.duals, atol=1e-12)
