"""Acceleration: the same optimum, certified for the original problem, in fewer passes."""

import numpy as np
import pytest

import registry
from quartz import Problem, State, Status, certify, data, losses, methods, solve
from quartz.methods.accelerated import AcceleratedEpochs
from quartz.methods.permuted import PermutedEpochs


@pytest.mark.parametrize("loss", registry.LOSSES, ids=registry.label)
def test_every_loss_reaches_the_optimum_of_plain_epochs(loss):
    problem = registry.make_problem(loss, np.random.default_rng(5), lam=0.02)
    tol = 1e-9 if loss.gamma > 0 else 1e-5
    plain = solve(problem, methods.Permuted(), tol=tol, max_passes=20_000)
    fast = solve(problem, methods.Accelerated(), tol=tol, max_passes=5000)
    assert fast.converged, fast.message
    assert fast.certificate.dual_value <= plain.certificate.primal_value
    assert plain.certificate.dual_value <= fast.certificate.primal_value
    again = certify(problem, fast.duals, fast.w, primal="own")
    assert again.gap == pytest.approx(fast.certificate.gap, abs=1e-14)


@pytest.mark.parametrize("g", registry.REGULARIZERS, ids=registry.label)
@pytest.mark.parametrize("weighted", [False, True])
def test_every_regularizer_and_weights(g, weighted):
    rng = np.random.default_rng(6)
    options = {"weights": rng.uniform(0, 3, registry.N)} if weighted else {}
    problem = registry.make_problem(losses.SquaredHinge(), rng, regularizer=g, lam=1e-3, **options)
    fast = solve(problem, methods.Accelerated(), tol=1e-9, max_passes=5000)
    plain = solve(problem, methods.Permuted(), tol=1e-9, max_passes=50_000)
    assert fast.converged
    assert plain.converged
    np.testing.assert_allclose(fast.w, plain.w, atol=1e-3)


def hard_problem(lam=1e-6):
    X, y = data.make_classification(2000, 60, density=0.5, seed=1)
    return Problem(X, y, losses.SquaredHinge(), lam)


def test_far_fewer_passes_on_an_ill_conditioned_problem():
    problem = hard_problem()
    fast = solve(problem, methods.Accelerated(), tol=1e-6)
    assert fast.converged
    assert not solve(problem, methods.Permuted(), max_passes=5 * fast.trace.passes[-1]).converged


def test_the_estimate_is_the_gap_when_all_are_awake():
    """The estimate needs no pass: it is exact but for the updates within the last epoch."""
    problem = hard_problem(1e-4)
    state, steps = (
        State.start(problem),
        AcceleratedEpochs(PermutedEpochs(problem, np.random.default_rng(0))),
    )
    for _ in range(10):
        estimate = steps.advance(state, 0.0, 0.0)
        np.testing.assert_allclose(state.abar, problem.abar(state.duals), rtol=1e-9, atol=1e-12)
    certificate = certify(problem, state.duals, state.w, primal="own")
    regularizer_part = estimate - np.mean(steps._epochs._gaps)
    assert regularizer_part == pytest.approx(certificate.regularizer_gap, rel=1e-6)
    assert 0.2 < estimate / certificate.gap < 5


def test_nothing_to_gain_means_plain_epochs():
    problem = hard_problem(lam=100.0)
    epochs = PermutedEpochs(problem, np.random.default_rng(0))
    assert AcceleratedEpochs(epochs).kappa == 0
    fast = solve(problem, methods.Accelerated(), tol=1e-9)
    plain = solve(problem, methods.Permuted(), tol=1e-9)
    np.testing.assert_array_equal(fast.duals, plain.duals)


def test_heavy_tailed_rows_are_slow_but_honest():
    """Here plain epochs are far better. Momentum alone would diverge; the guard keeps it finite."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 200)) * np.exp(2 * rng.normal(size=(500, 1)))
    y = np.where(X[:, 0] + X[:, 1] > 0, 1.0, -1.0)
    problem = Problem(X, y, losses.SquaredHinge(), lam=1e-5)
    optimum = solve(problem, methods.Permuted(), tol=1e-6).certificate
    result = solve(problem, methods.Accelerated(), tol=1e-6, max_passes=200)
    assert result.status is Status.PASS_LIMIT
    assert result.certificate.dual_value <= optimum.primal_value
    assert optimum.dual_value <= result.certificate.primal_value < 10 * optimum.primal_value


def test_refusals():
    problem = hard_problem()
    with pytest.raises(ValueError, match="method must be"):
        solve(problem, methods.Accelerated("fast"))
