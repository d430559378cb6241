"""Weak duality, the two parts of the gap, weights and the choice of the primal point."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import registry
from quartz import Problem, certify, losses, regularizers
from quartz.regularizers import base as reg

SEEDS = st.integers(0, 10**6)


@pytest.mark.parametrize("g", registry.REGULARIZERS, ids=registry.label)
@pytest.mark.parametrize("loss", registry.LOSSES, ids=registry.label)
@given(seed=SEEDS, weighted=st.booleans())
@settings(max_examples=5, deadline=None)
def test_gap_parts_are_nonnegative_and_add_up(loss, g, seed, weighted):
    """The Fenchel duality interpretation: P - D = lam GAP_g + mean GAP_phi, both >= 0."""
    rng = np.random.default_rng(seed)
    weights = rng.random(registry.N) * (rng.random(registry.N) < 0.8) + 1e-3 if weighted else None
    problem = registry.make_problem(loss, rng, regularizer=g, weights=weights)
    alpha = registry.feasible_alpha(problem, rng)
    w = g.conjugate_gradient(rng.normal(size=problem.data.d))  # inside the domain of g
    certificate = certify(problem, alpha, w, primal="own")
    scale = 1 + abs(certificate.primal_value) + abs(certificate.dual_value)
    assert certificate.primal_value == pytest.approx(problem.primal(w), rel=1e-12)
    assert certificate.dual_value == pytest.approx(problem.dual(alpha), rel=1e-12)
    assert certificate.regularizer_gap >= -1e-12 * scale
    assert certificate.example_gaps.min() >= -1e-10 * scale * problem.n
    parts = certificate.regularizer_gap + certificate.loss_gap
    assert certificate.gap == pytest.approx(parts, abs=1e-11 * scale)


@pytest.mark.parametrize("loss", registry.LOSSES, ids=registry.label)
def test_optimality_conditions_close_the_parts(loss):
    """GAP_phi = 0 at alpha_i = -grad phi_i(A_i'w) [eq:s899sns09u], GAP_g = 0 at z [eq:98y98hss]."""
    rng = np.random.default_rng(0)
    problem = registry.make_problem(loss, rng, weights=rng.random(registry.N) + 0.1)
    w = rng.normal(size=problem.data.d)
    a = problem.data.predictions(w)
    alpha = np.array([-problem.losses.gradient_one(i, a[i]) for i in range(problem.n)])
    assert abs(certify(problem, alpha, w, primal="own").example_gaps).max() < 1e-10
    assert abs(certify(problem, alpha, primal="conjugate").regularizer_gap) < 1e-10


def test_best_point_is_the_one_with_the_smaller_primal():
    rng = np.random.default_rng(0)
    problem = registry.make_problem(losses.Logistic(), rng)
    alpha = registry.feasible_alpha(problem, rng)
    z = problem.conjugate_point(problem.abar(alpha))
    good, bad = 0.3 * z, 100 * z
    assert problem.primal(good) < problem.primal(z) < problem.primal(bad)
    assert certify(problem, alpha, good).point == "own"
    assert certify(problem, alpha, bad).point == "conjugate"
    np.testing.assert_array_equal(certify(problem, alpha, bad).w, z)
    own = certify(problem, alpha, bad, primal="own")
    assert own.primal_value - own.primal_rounding == pytest.approx(problem.primal(bad), rel=1e-15)
    assert certify(problem, alpha).point == "conjugate"


def test_infeasible_duals_give_an_infinite_gap():
    problem = registry.make_problem(losses.Hinge(), np.random.default_rng(0))
    certificate = certify(problem, np.full(problem.n, 7.0))
    assert certificate.dual_value == -np.inf
    assert certificate.gap == certificate.relative_gap == np.inf


def test_certificate_reads_well():
    text = str(
        certify(registry.make_problem(losses.Logistic(), np.random.default_rng(0)), np.zeros(9))
    )
    assert "P = 0.693147181, D = 0" in text
    assert "relative" in text


@pytest.mark.parametrize("loss", registry.LOSSES, ids=registry.label)
def test_weighted_step_is_the_argmax(loss):
    """Option I for s_i phi_i against other feasible points."""
    rng = np.random.default_rng(0)
    problem = registry.make_problem(loss, rng, weights=rng.random(registry.N) + 0.2)
    for _ in range(5):
        alpha = registry.feasible_alpha(problem, rng)
        rivals = registry.feasible_alpha(problem, rng)
        a = rng.normal(size=problem.data.dual_shape)
        for q in (0.3, 5.0):

            def objective(new, alpha=alpha, a=a, q=q):
                change = (new - alpha).reshape(problem.n, -1)
                linear = np.sum(a.reshape(problem.n, -1) * change, axis=1)
                return -problem.losses.conjugates(new) - linear - q / 2 * np.sum(change**2, axis=1)

            new = np.array(
                [problem.losses.step_one(i, alpha[i], a[i], q) for i in range(problem.n)]
            )
            for share in (1.0, 0.3, 1e-3):
                assert np.all(objective(new) >= objective(new + share * (rivals - new)) - 1e-9)


def test_multitask_is_the_sum_over_outputs():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(7, 4)), rng.normal(size=(7, 3))
    joint = Problem(X, Y, losses.Squared(), lam=0.2)
    singles = [Problem(X, Y[:, k], losses.Squared(), lam=0.2) for k in range(3)]
    W, alpha = rng.normal(size=(4, 3)), rng.normal(size=(7, 3))
    assert joint.primal(W.ravel()) == pytest.approx(
        sum(s.primal(W[:, k]) for k, s in enumerate(singles))
    )
    assert joint.dual(alpha) == pytest.approx(
        sum(s.dual(alpha[:, k]) for k, s in enumerate(singles))
    )


def test_gamma_i_of_weights():
    problem = registry.make_problem(
        losses.SmoothedHinge(gamma=0.5), np.random.default_rng(0), weights=[0, 1, 3] + [1] * 6
    )
    assert problem.weights.mean() == pytest.approx(1)
    np.testing.assert_allclose(problem.gammas[1:] * problem.weights[1:], 0.5)
    assert problem.gammas[0] == np.inf
    assert problem.condition(np.ones(9))[0] == 1
    assert np.all(
        registry.make_problem(losses.Hinge(), np.random.default_rng(0)).condition(np.zeros(9))
        == np.inf
    )


def test_group_regularizer_is_not_separable_and_others_are():
    for g in registry.REGULARIZERS:
        assert reg.abilities(g).separable != isinstance(g, regularizers.GroupL2)
