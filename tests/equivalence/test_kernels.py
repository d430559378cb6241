"""Every compiled kernel against the reference on the same index sets, to 1e-12."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

import registry
from quartz import Plan, Problem, State, certify, data, losses, methods, samplings, solve
from quartz.data import KroneckerBlocks, StackedBlocks
from quartz.kernels.compile import specialize
from quartz.kernels.permuted import shuffle
from quartz.losses import examples
from quartz.methods import reference
from quartz.methods.compiled import CompiledEngine
from quartz.methods.permuted import PermutedEpochs
from quartz.methods.quartz import as_method
from quartz.samplings import IndexSets

L2, ENET, GROUP = (registry.REGULARIZERS[k] for k in (0, 1, 4))

# Each line is a kernel of its own: storage, option, regularizer, primal step, weights.
KERNELS = [
    (losses.SmoothedHinge(), "rows, sparse", 1, L2, 1.0, False),
    (losses.SmoothedHinge(), "rows, sparse", 2, L2, 1.0, True),
    (losses.SquaredHinge(), "rows, sparse", 1, ENET, 10.0, True),
    (losses.SquaredHinge(), "rows, sparse", 2, GROUP, 1.0, False),
    (losses.Logistic(), "rows, sparse", 1, ENET, np.inf, False),
    (losses.Logistic(), "rows, dense", 1, GROUP, np.inf, True),
    (losses.Logistic(), "rows, dense", 2, ENET, np.inf, False),
    (losses.Hinge(), "rows, sparse", 1, registry.REGULARIZERS[2], 1.0, True),
    (losses.Squared(), "rows, dense", 1, registry.REGULARIZERS[3], 1.0, False),
    (losses.EpsilonInsensitive(), "rows, sparse", 1, L2, 1.0, False),
    (losses.Softmax(), "kronecker", 1, L2, 1.0, True),
    (losses.Softmax(), "kronecker", 2, ENET, 1.0, False),
    (losses.Softmax(), "stacked, sparse", 1, GROUP, 1.0, False),
    (losses.SmoothedMulticlassHinge(), "kronecker", 1, L2, 1.0, False),
    (losses.SmoothedMulticlassHinge(), "stacked, dense", 2, L2, np.inf, True),
    (losses.Huber(), "stacked, sparse", 1, L2, 1.0, True),
    (losses.SmoothedEpsilonInsensitive(), "kronecker", 2, L2, 1.0, False),
]


@pytest.mark.parametrize(("loss", "kind", "option", "g", "factor", "weighted"), KERNELS)
def test_kernel_is_the_reference(loss, kind, option, g, factor, weighted):
    rng = np.random.default_rng(0)
    weights = rng.random(registry.N) * (np.arange(registry.N) != 4) if weighted else None
    problem = registry.make_problem(loss, rng, kind=kind, regularizer=g, weights=weights)
    plan = Plan.of(
        problem, registry.SAMPLINGS["independent"], option=option, primal_step_factor=factor
    )
    slow, fast = State.start(problem), State.start(problem)
    engine = CompiledEngine(plan)
    for count in (1, 7, 40):  # sets of any size, the empty one among them
        sets = plan.sampling.draw(rng, count)
        reference.advance(slow, plan, sets)
        engine.advance(fast, sets)
        np.testing.assert_allclose(fast.duals, slow.duals, atol=1e-12)
        np.testing.assert_allclose(fast.abar, slow.abar, atol=1e-12)
        np.testing.assert_allclose(fast.w, slow.w, atol=1e-12)
        assert (fast.iteration, fast.visited) == (slow.iteration, slow.visited)
    engine.advance(fast, IndexSets(np.zeros(1, dtype=np.int64), np.empty(0, dtype=np.int64)))


def simple_problem(n=300, features=40, loss=None, lam=1e-3, **options):
    X, y = data.make_classification(n, features, density=0.2, seed=3)
    return Problem(X, y, loss or losses.SmoothedHinge(), lam, **options)


@pytest.mark.parametrize("sampling", [samplings.Uniform(), samplings.Nice(6), samplings.Bucket(5)])
def test_whole_runs_agree(sampling):
    problem = simple_problem()
    fast, slow = (
        solve(problem, methods.Quartz(sampling, engine=engine))
        for engine in ("compiled", "reference")
    )
    assert fast.trace.iterations == slow.trace.iterations
    np.testing.assert_allclose(fast.trace.gaps, slow.trace.gaps, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("sampling", [samplings.Uniform(), methods.Permuted()])
def test_float32_and_int64_indices_run_without_copies(dtype, index, sampling):
    """The kernel reads the arrays it is given; the certificate is of these data, in float64."""
    problem = simple_problem()
    X = problem.data.storage.matrix.astype(dtype)
    X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
    typed = Problem(X, problem.y, problem.loss, problem.lam)
    rows = typed.data.kernel_view().rows
    for mine, theirs in ((rows.values, X.data), (rows.columns, X.indices), (rows.starts, X.indptr)):
        assert np.shares_memory(mine, theirs)
    result = solve(typed, sampling, tol=1e-9)
    assert result.converged, result.message
    exact = Problem(X.astype(np.float64), problem.y, problem.loss, problem.lam)
    again = certify(exact, result.duals, result.w, primal="own")
    assert again.gap == pytest.approx(result.certificate.gap, abs=1e-14)


def test_dense_float32():
    problem = simple_problem(n=100)
    X = problem.data.storage.matrix.toarray().astype(np.float32)
    result = solve(Problem(X, problem.y, problem.loss, problem.lam), methods.Permuted(), tol=1e-9)
    assert result.converged


@pytest.mark.parametrize(
    "make", [lambda X: KroneckerBlocks(X, 3), lambda X: StackedBlocks(np.repeat(X, 3, axis=0), 3)]
)
def test_blocks_in_float32(make):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 4)).astype(np.float32)
    single, double = make(X), make(X.astype(np.float64))
    w, alpha = rng.normal(size=single.d), rng.normal(size=(20, 3))
    np.testing.assert_allclose(single.predictions(w), double.predictions(w), rtol=1e-12)
    np.testing.assert_allclose(single.combination(alpha), double.combination(alpha), rtol=1e-12)


def test_incremental_abar_does_not_drift():
    """After 300 epochs abar is that of alpha to 1e-10, and w that of the reference recursion."""
    problem = simple_problem(n=200)
    plan = Plan.of(problem, samplings.Uniform())
    state, engine = State.start(problem), CompiledEngine(plan)
    rng = np.random.default_rng(0)
    for _ in range(300):
        engine.advance(state, plan.sampling.draw(rng, 200))
    exact = problem.abar(state.duals)
    assert np.linalg.norm(state.abar - exact) <= 1e-10 * np.linalg.norm(exact)
    np.testing.assert_allclose(state.w, problem.conjugate_point(exact), atol=1e-8)


def test_scale_is_folded_before_it_underflows():
    """A primal step of 0.9 shrinks the scale below 1e-300 within one call."""
    problem = simple_problem(n=50)
    plan = replace(Plan.of(problem, samplings.Uniform(), option=2), primal_step=0.9)
    slow, fast = State.start(problem), State.start(problem)
    sets = plan.sampling.draw(np.random.default_rng(0), 800)
    reference.advance(slow, plan, sets)
    CompiledEngine(plan).advance(fast, sets)
    np.testing.assert_allclose(fast.w, slow.w, atol=1e-12)
    np.testing.assert_allclose(fast.duals, slow.duals, atol=1e-12)


def test_duplicates_and_zero_rows():
    """Threefold duplicates are summed, so their norms are right and nothing diverges."""
    rng = np.random.default_rng(0)
    X = sp.random_array((60, 10), density=0.3, format="coo", rng=rng)
    keep = X.coords[0] != 7  # row 7 is empty
    rows, columns = (np.tile(c[keep], 3) for c in X.coords)
    order = np.argsort(rows, kind="stable")
    indptr = np.searchsorted(rows[order], np.arange(61))
    values = np.tile(X.data[keep], 3)[order]
    tripled = sp.csr_array((values, columns[order], indptr), shape=(60, 10))
    y = np.sign(rng.normal(size=60))
    for sampling in (samplings.Uniform(), methods.Permuted()):
        problem = Problem(tripled, y, losses.SquaredHinge(), 0.01)
        result = solve(problem, sampling, tol=1e-8)
        assert result.converged
        v = as_method(sampling).steps(problem, np.random.default_rng(0)).v
        assert v[7] == 0
        assert v[0] == pytest.approx(np.sum((3 * X.toarray()[0]) ** 2))


@pytest.mark.parametrize("lam", [1e-12, 1e-6, 1e-3, 1.0, 1e3])
@pytest.mark.parametrize("loss", [losses.SquaredHinge(), losses.Logistic()])
def test_lam_from_tiny_to_huge(lam, loss):
    """No divergence, no false certificate, convergence where it is to be had."""
    problem = simple_problem(n=60, features=80, loss=loss, lam=lam)
    for sampling in (samplings.Uniform(), methods.Permuted()):
        result = solve(problem, sampling, tol=1e-6, max_passes=300, passes_per_check=20)
        assert result.status.value in ("converged", "pass limit")
        assert result.certificate.gap >= -1e-12
        assert result.converged or lam < 1e-5


def test_imbalanced_labels():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(620, 8))
    y = np.where(np.arange(620) % 31 == 0, 1.0, -1.0)  # 1 : 30
    for loss in (losses.SquaredHinge(), losses.Logistic()):
        assert solve(Problem(X, y, loss, 1e-3), methods.Permuted(), tol=1e-9).converged


def test_identical_seed_identical_trajectory():
    problem = simple_problem()
    for sampling in (samplings.Nice(4), methods.Permuted()):
        first, again, other = (solve(problem, sampling, seed=seed, tol=1e-7) for seed in (1, 1, 2))
        np.testing.assert_array_equal(first.duals, again.duals)
        assert first.trace.gaps == again.trace.gaps
        assert np.any(first.duals != other.duals)


def test_columns_that_no_example_uses_change_nothing():
    """The duals are the same with d = 40 and d = 5,000,000; benchmarks.limits times this."""
    problem = simple_problem()
    X = problem.data.storage.matrix
    wide = sp.csr_array((X.data, X.indices, X.indptr), shape=(300, 5_000_000))
    narrow, broad = (
        solve(
            Problem(matrix, problem.y, problem.loss, problem.lam),
            samplings.Uniform(),
            tol=0,
            max_passes=3,
        )
        for matrix in (X, wide)
    )
    np.testing.assert_array_equal(narrow.duals, broad.duals)


# The practical mode


@pytest.mark.parametrize("loss", registry.LOSSES, ids=registry.label)
def test_permuted_reaches_the_certified_optimum(loss):
    rng = np.random.default_rng(0)
    problem = registry.make_problem(loss, rng, n=40, lam=0.05, weights=rng.random(40) + 0.1)
    tol = 1e-8 if loss.gamma > 0 else 1e-4
    result = solve(problem, methods.Permuted(), tol=tol, max_passes=3000)
    assert result.converged, result.message
    slow = methods.Quartz(engine="reference")
    other = solve(problem, slow, tol=tol, max_passes=3000, passes_per_check=10)
    assert result.certificate.primal_value >= other.certificate.dual_value - 1e-12
    assert other.certificate.primal_value >= result.certificate.dual_value - 1e-12


@pytest.mark.parametrize("g", registry.REGULARIZERS, ids=registry.label)
def test_permuted_with_every_regularizer(g):
    problem = registry.make_problem(
        losses.SmoothedHinge(), np.random.default_rng(0), n=40, lam=0.05, regularizer=g
    )
    assert solve(problem, methods.Permuted(), tol=1e-8).converged


def test_permuted_epoch_is_a_serial_pass_in_the_drawn_order():
    """While all are active, an epoch is Option I over a permutation, with the gaps of the time."""
    problem = simple_problem(loss=losses.SquaredHinge())
    plan = Plan.of(problem, samplings.Uniform(), primal_step_factor=np.inf)
    epochs = PermutedEpochs(problem, np.random.default_rng(5))
    fast, slow = State.start(problem), State.start(problem)
    estimate = epochs.run(fast, wanted=0.0, passes=1.0)
    order = np.arange(300, dtype=np.uint32)
    seed = np.random.default_rng(5).integers(2**63, dtype=np.uint64)
    specialize(shuffle, {})(order, seed + np.uint64(1))
    assert sorted(order) == list(range(300))
    gaps = []
    for i in order:
        z = problem.conjugate_point(slow.abar)
        values = (
            problem.losses.values(problem.data.predictions(z))[i]
            + problem.losses.conjugates(slow.duals)[i]
        )
        gaps.append(values + slow.duals[i] * problem.data.predict_one(int(i), z))
        reference.advance(slow, plan, IndexSets(np.array([0, 1]), np.array([i])))
    np.testing.assert_allclose(fast.duals, slow.duals, atol=1e-12)
    assert estimate == pytest.approx(np.mean(gaps), rel=1e-12)


def test_shuffle_is_uniform():
    from scipy.stats import chisquare

    rng = np.random.default_rng(0)
    compiled, counts = specialize(shuffle, {}), np.zeros((5, 5))
    for _ in range(5000):
        order = np.arange(5, dtype=np.uint32)
        compiled(order, rng.integers(2**63, dtype=np.uint64))
        counts[np.arange(5), order] += 1
    assert chisquare(counts.ravel()).pvalue > 1e-3


def test_skipping_saves_visits_and_changes_no_answer():
    X, y = data.make_classification(2000, 60, density=0.2, noise=0.01, seed=1)
    problem = Problem(X, y, losses.SquaredHinge(), lam=1e-5)
    result = solve(problem, methods.Permuted(), tol=1e-9)
    assert result.converged
    epochs = PermutedEpochs(problem, np.random.default_rng(0))
    state, epoch = State.start(problem), 0  # a call is one epoch when all are active
    while certify(problem, state.duals, primal="conjugate").relative_gap > 1e-9:
        epochs._inactive[:] = 0  # the same without skipping
        epochs.run(state, wanted=0.0, passes=1.0)
        epoch += 1
    assert result.trace.passes[-1] < 0.8 * epoch


def test_certificates_are_few_in_practical_mode():
    problem = simple_problem(n=2000, lam=1e-4)
    trace = solve(problem, methods.Permuted(), tol=1e-9).trace
    assert len(trace) <= 8


def test_permuted_reports_limits_and_interrupts():
    problem = simple_problem(lam=1e-5)
    limited = solve(problem, methods.Permuted(), tol=1e-12, max_passes=3)
    assert limited.status.value == "pass limit"
    assert "theorem" not in limited.message  # it promises nothing here
    assert solve(problem, methods.Permuted(), tol=0, max_seconds=0.02).status.value == "time limit"

    def interrupt(state, certificate):
        raise KeyboardInterrupt

    stopped = solve(problem, methods.Permuted(), callback=interrupt)
    assert stopped.status.value == "interrupted"
    assert np.isfinite(stopped.certificate.gap)


def test_permuted_refuses_what_it_does_not_do():
    """Options of Algorithm 1 are parameters of Quartz only."""
    problem = simple_problem()
    for arguments in (
        {"option": 2},
        {"engine": "reference"},
        {"primal": "own"},
        {"primal_step_factor": 10.0},
    ):
        with pytest.raises(TypeError, match=next(iter(arguments))):
            methods.Permuted(**arguments)
        with pytest.raises(TypeError, match=next(iter(arguments))):
            solve(problem, **arguments)
    with pytest.raises(ValueError, match="got 'shuffled'"):
        solve(problem, "shuffled")
    with pytest.raises(ValueError, match="engine must be"):
        solve(problem, methods.Quartz(engine="gpu"))
    vector = Problem(problem.data.storage, problem.y > 0, registry.SquaredToClass(), 0.1)
    with pytest.raises(ValueError, match=r"Option I needs SquaredToClass\.step"):
        solve(vector, methods.Permuted())


def test_an_estimate_at_rounding_level_does_not_stall_the_run():
    """With gamma = 0 all may be skipped with gaps of zero while the true gap misses the target."""
    rng = np.random.default_rng(0)
    for n in (1, 2, 7):
        X, y = rng.normal(size=(n, 4)), np.where(rng.random(n) > 0.5, 1.0, -1.0)
    problem = Problem(X, y, losses.EpsilonInsensitive(), 0.1)
    result = solve(problem, methods.Permuted(), tol=1e-7, max_passes=3000)
    assert result.converged
    assert result.trace.passes[-1] < 200


def test_callback_is_called_on_a_slow_problem():
    X, y = data.make_classification(200, 50, density=0.5, seed=3)
    seen = []
    problem = Problem(X, y, losses.SquaredHinge(), lam=1e-9)
    solve(
        problem,
        methods.Permuted(),
        tol=0,
        max_passes=200,
        callback=lambda s, c: seen.append(s.visited),
    )
    assert len(seen) >= 6


def test_vector_losses_of_many_examples_are_compiled_with_the_same_values():
    rng = np.random.default_rng(0)
    n = examples.MANY_OF_CLASSES + 1
    a, y = rng.normal(size=(n, 3)), rng.integers(3, size=n)
    loss = losses.Softmax()
    by_hand = [loss.value(*pair) for pair in zip(a, y, strict=True)]
    found = examples.ExampleLosses(loss, y, shape=a.shape).values(a)
    np.testing.assert_allclose(found, by_hand, rtol=1e-12)
