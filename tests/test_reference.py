"""The reference solver against a second, even more literal transcription of Algorithm 1."""

import numpy as np
import pytest
from scipy.optimize import minimize

import registry
from quartz import Plan, State, losses, regularizers
from quartz.losses.base import abilities
from quartz.methods.reference import advance
from quartz.samplings import IndexSets


def algorithm_1(plan, alpha, w, sets):
    """Algorithm 1 with dense blocks, abar from scratch, and a numeric argmax for Option I."""
    problem = plan.problem
    A, n, lam, theta = problem.data.dense(), problem.n, problem.lam, plan.theta
    p = plan.sampling.probabilities
    alpha, w = alpha.reshape(n, -1).copy(), w.copy()
    for S in sets:
        abar = np.einsum("ijk,ik->j", A, alpha) / (lam * n)
        z = problem.regularizer.conjugate_gradient(abar)
        w = (1 - theta) * w + theta * z
        new = alpha.copy()
        for i in S:
            if plan.option == 2:
                gradient = np.atleast_1d(
                    problem.loss.gradient(np.squeeze(A[i].T @ w), problem.y[i])
                )
                new[i] = alpha[i] - theta / p[i] * alpha[i] - theta / p[i] * gradient
            else:
                # Option I through its primal twin: -grad phi at prox_{q phi}(z'A_i - q alpha_i)
                q = plan.v[i] / (lam * n)
                centre = A[i].T @ z - q * alpha[i]
                b = minimize(
                    lambda b, i=i, q=q, c=centre: (
                        q * float(np.sum(problem.loss.value(_fit(problem, b), problem.y[i])))
                        + 0.5 * np.sum((b - c) ** 2)
                    ),
                    centre,
                    method="Nelder-Mead" if len(centre) > 1 else "BFGS",
                    options={"xatol": 1e-10, "fatol": 1e-16, "maxiter": 4000}
                    if len(centre) > 1
                    else {"gtol": 1e-10},
                ).x
                new[i] = (b - centre) / q
        alpha = new
    return alpha, w


def _fit(problem, b):
    return b if abilities(problem.loss).vector or b.size > 1 else b[0]


@pytest.mark.parametrize("option", [1, 2])
@pytest.mark.parametrize(
    ("loss", "kind"),
    [
        (losses.Logistic(), "rows, dense"),
        (losses.SmoothedHinge(), "rows, sparse"),
        (losses.Softmax(), "kronecker"),
        (losses.Softmax(), "stacked, sparse"),
        (losses.Squared(), "stacked, dense"),
    ],
    ids=registry.label,
)
@pytest.mark.parametrize("g", registry.REGULARIZERS, ids=registry.label)
def test_advance_is_algorithm_1(loss, kind, g, option):
    rng = np.random.default_rng(0)
    problem = registry.make_problem(loss, rng, kind=kind, regularizer=g, density=0.8)
    plan = Plan.of(problem, registry.SAMPLINGS["nice"], option=option)
    state = State.start(problem, registry.feasible_alpha(problem, rng), rng.normal(size=registry.D))
    sets = [[0, 4, 8], [], [2], [1, 2, 3, 4, 5, 6]]
    alpha, w = algorithm_1(plan, state.duals, state.w, sets)
    indptr = np.cumsum([0] + [len(S) for S in sets])
    advance(state, plan, IndexSets(indptr, np.concatenate(sets).astype(np.int64)))
    tolerance = 1e-12 if option == 2 else 2e-5  # the numeric argmax is only that accurate
    np.testing.assert_allclose(state.w, w, atol=tolerance)
    np.testing.assert_allclose(state.duals.reshape(alpha.shape), alpha, atol=tolerance)
    np.testing.assert_allclose(state.abar, problem.abar(state.duals), atol=1e-12)
    assert state.iteration == 4
    assert state.visited == 10


def test_primal_step_factor_scales_theta():
    problem = registry.make_problem(losses.Squared(), np.random.default_rng(0))
    plain, ten, prox = (
        Plan.of(problem, registry.SAMPLINGS["uniform"], primal_step_factor=factor)
        for factor in (1, 10, np.inf)
    )
    assert plain.primal_step == plain.theta
    assert ten.primal_step == pytest.approx(min(1, 10 * ten.theta))
    assert prox.primal_step == 1


def test_loss_that_is_not_smooth_returns_z():
    """theta = 0: w stays, and the certificate takes z."""
    from quartz import solve

    problem = registry.make_problem(losses.Hinge(), np.random.default_rng(0))
    result = solve(problem, registry.SAMPLINGS["uniform"], tol=1e-4)
    assert result.converged
    assert result.plan.theta == 0
    assert result.certificate.point == "conjugate"
    by_default = solve(problem, tol=1e-4)
    assert by_default.converged
    assert by_default.certificate.point == "conjugate"


def test_elastic_net_sets_coefficients_to_zero():
    from quartz import solve

    problem = registry.make_problem(
        losses.Squared(), np.random.default_rng(0), regularizer=regularizers.ElasticNet(mu=1.5)
    )
    result = solve(problem, tol=1e-9)
    assert result.converged
    assert 0 < np.count_nonzero(result.w) < registry.D
