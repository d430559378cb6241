"""The bounds of acceleration, docs/acceleration.md."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from quartz import Plan, Problem, State, losses, methods, regularizers, samplings, solve, theory
from quartz.methods.accelerated import ProximalPoints
from quartz.methods.quartz import SampledSteps

share = st.floats(0, 1)


def loops(problem, sampling, seed, passes=0.3, engine="compiled"):
    """The start, to be looked at so often, and the outer loop."""
    plan = Plan.of(problem, sampling)
    rng = np.random.default_rng(seed)
    state = replace(State.start(problem), interval=passes)
    return state, ProximalPoints(SampledSteps(plan, rng, engine, "conjugate"))


def ill_conditioned(loss, g=None, lam=1e-4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 8)) * np.exp(rng.normal(size=(40, 1)))
    y = np.where(X[:, 0] + rng.normal(size=40) > 0, 1.0, -1.0)
    return Problem(X, y, loss, lam, g)


SAMPLINGS = {
    "uniform": samplings.Uniform(),
    "importance": samplings.Importance(),
    "4-nice": samplings.Nice(4),
    "independent": samplings.Independent(np.linspace(0.05, 1, 40)),
    "distributed": samplings.Distributed(4, 2),
}


@pytest.mark.parametrize("name", SAMPLINGS)
@pytest.mark.parametrize(
    ("loss", "g"),
    [(losses.SmoothedHinge(), None), (losses.Logistic(), regularizers.ElasticNet(mu=0.2))],
    ids=["smoothed hinge, L2", "logistic, elastic net"],
)
def test_outer_steps_stay_below_the_bound(loss, g, name):
    """P(u_k) - P* <= 2 (1 - sqrt(q)/2)^k (P(u_0) - P*), not only in the mean over seeds."""
    problem = ill_conditioned(loss, g)
    best = solve(problem, methods.Accelerated(), tol=1e-10, max_passes=50_000)
    assert best.converged
    for seed in range(5):
        state, steps = loops(problem, SAMPLINGS[name], seed)
        assert steps.kappa > 100 * problem.lam
        first = problem.primal(state.w) - best.certificate.primal_value
        for k in range(1, 40):
            steps.advance(state, 0.0, 0.0)
            bound = theory.accelerated_gap(problem.lam, steps.kappa, first, k)
            assert problem.primal(state.w) - best.certificate.primal_value <= bound
        assert problem.primal(state.w) - best.certificate.primal_value < 0.5 * first


@pytest.mark.parametrize("sampling", [samplings.Uniform(), samplings.Nice(4)], ids=["1", "4-nice"])
def test_mean_iterations_of_outer_steps_stay_below_the_bound(sampling):
    """E[iterations] <= (1 + log(gap at the start / (theta_kappa eps))) / theta_kappa.

    eps = delta kappa/8 ||x - c||^2, x the optimum of the outer step; here its lower bound
    (1 - sqrt(delta))^2 ||u - c||^2 in place of ||x - c||^2.
    """
    problem = ill_conditioned(losses.SmoothedHinge())
    plan = Plan.of(problem, sampling)
    excess = []
    for seed in range(30):
        state, steps = loops(problem, sampling, seed, passes=1e-9)  # a set at a time
        steps.advance(state, 0.0, 0.0)
        inner = problem.strengthened(steps.kappa)
        rate = theory.theta(plan.p, plan.v, inner.lam, inner.gammas, inner.n)
        for _ in range(3):
            centre, before = steps._centre, state.iteration
            z = (steps._combination + steps.kappa * centre) / inner.lam
            predictions = problem.data.predictions(z)
            terms = problem.losses.values(predictions) + problem.losses.conjugates(state.duals)
            start = np.mean(terms + predictions * state.duals)
            steps.advance(state, 0.0, 0.0)
            delta, distance = steps._accuracy, state.w - centre
            least = (1 - np.sqrt(delta)) ** 2 * (distance @ distance)
            bound = 1 + max(0.0, np.log(start / (rate * delta * steps.kappa / 8 * least)))
            excess.append((state.iteration - before) * rate - bound)
    assert np.mean(excess) <= 0
    assert np.mean(excess) > -20  # nor is the bound out of all proportion


def identity_like(n=128):
    rng = np.random.default_rng(0)
    X = np.eye(n) + sp.random_array((n, n), density=3 / n, rng=rng).toarray()
    X /= np.linalg.norm(X, axis=1)[:, None]
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    return Problem(sp.csr_array(X), y, losses.SmoothedHinge(), lam=1e-2 / n)


def test_iterations_fall_with_tau_as_predicted():
    """On sparse data the speedup over tau = 1 is that of the bounds, far above SPDC's."""
    problem, counts, terms = identity_like(), {}, {}
    for tau in (1, 16):
        plan = Plan.of(problem, samplings.Nice(tau))
        terms[tau] = theory.accelerated_leading_term(plan.p, plan.v, problem.lam, 1.0, problem.n)
        state, steps = loops(problem, samplings.Nice(tau), 0, passes=0.1)
        while problem.primal(state.w) - problem.dual(state.duals) > 1e-4 * problem.primal(state.w):
            steps.advance(state, 0.0, 0.0)
        counts[tau] = state.iteration
    measured, predicted = counts[1] / counts[16], terms[1] / terms[16]
    assert measured == pytest.approx(predicted, rel=0.25)
    assert predicted > 2 * theory.spdc(128, 1, problem.lam, 1.0) / theory.spdc(
        128, 16, problem.lam, 1.0
    )


@given(n=st.integers(2, 10**6), t=share, o=share, scale=st.floats(-9, 1))
def test_never_worse_than_spdc(n, t, o, scale):
    tau, omega, lam = 1 + t * (n - 1), 1 + o * (n - 1), 10.0**scale
    ours = theory.accelerated_nice(n, tau, lam, 1.0, omega)
    assert ours <= theory.spdc(n, tau, lam, 1.0) * (1 + 1e-9)


@given(n=st.integers(2, 10**6), t=share, o=share, scale=st.floats(-9, 1))
def test_the_nice_term_is_the_general_one(n, t, o, scale):
    """Up to a factor of 2, for equal v_i."""
    tau, omega, lam = 1 + t * (n - 1), 1 + o * (n - 1), 10.0**scale
    v = np.array([theory.nice_largest_v(n, tau, omega)])
    general = theory.accelerated_leading_term(np.array([tau / n]), v, lam, 1.0, n)
    nice = theory.accelerated_nice(n, tau, lam, 1.0, omega)
    assert 0.5 * (1 - 1e-9) <= nice / general <= 2 * (1 + 1e-9)


def test_without_kappa_the_term_is_the_papers():
    p, v = np.array([0.5, 0.3]), np.array([1.0, 4.0])
    assert theory.accelerated_leading_term(p, v, 0.1, 1.0, 2, kappa=0.0) == pytest.approx(
        theory.leading_term(p, v, 0.1, 1.0, 2)
    )
    assert theory.proximal_strength(v, 5.0, 1.0, 2) == 0
    assert theory.proximal_strength(v, 0.5, 1.0, 2) == 1.5
    # at that strength 1/theta is at most twice 1/p
    assert theory.leading_term(p, v, 2.0, 1.0, 2) <= 2 / p.min()


def test_outer_steps_end_at_the_level_of_rounding():
    problem = ill_conditioned(losses.SmoothedHinge(), lam=1e-2)
    state, steps = loops(problem, samplings.Uniform(), 0, passes=1.0)
    for _ in range(600):
        estimate = steps.advance(state, 0.0, 0.0)
    assert abs(estimate) < 1e-14
