"""[th-mainth]: the mean gap over seeds stays below (1 - theta)^t gap_0.

Statistical margin: at every t the mean over SEEDS runs, less 3 standard errors, must not exceed the
bound; at the last t the mean itself must not.
"""

import numpy as np
import pytest

import registry
from quartz import Plan, State, iterate, losses, regularizers
from quartz.theory import expected_gap

SEEDS = 60
NAMES = ("uniform", "importance", "nice", "product", "bucket", "independent", "distributed")


def mean_gaps(plan, iterations):
    """Mean and standard error over seeds of the gap of (w^t, alpha^t), t = 0, ..., iterations."""
    problem = plan.problem
    gaps = np.empty((SEEDS, iterations + 1))
    for seed in range(SEEDS):
        state = State.start(problem)
        states = iterate(plan, state, np.random.default_rng(seed), engine="reference")
        gaps[seed, 0] = problem.primal(state.w) - problem.dual(state.duals)
        for t in range(1, iterations + 1):
            next(states)
            gaps[seed, t] = problem.primal(state.w) - problem.dual(state.duals)
    return gaps.mean(axis=0), gaps.std(axis=0, ddof=1) / np.sqrt(SEEDS)


def assert_theorem(problem, name, option):
    plan = Plan.of(problem, registry.SAMPLINGS[name], option=option)
    iterations = min(int(3 / plan.theta), 150)
    mean, error = mean_gaps(plan, iterations)
    bound = expected_gap(plan.theta, mean[0], np.arange(iterations + 1))
    assert plan.theta > 0
    assert bound[-1] < 0.5 * bound[0], "too few iterations to tell anything"
    assert np.all(mean - 3 * error <= bound * (1 + 1e-9))
    assert mean[-1] <= bound[-1]


@pytest.mark.parametrize("option", [1, 2])
@pytest.mark.parametrize("name", NAMES)
def test_th_mainth(name, option):
    rng = np.random.default_rng(0)
    problem = registry.make_problem(losses.SmoothedHinge(), rng, separable=name == "product")
    assert_theorem(problem, name, option)


@pytest.mark.parametrize("option", [1, 2])
@pytest.mark.parametrize("name", NAMES)
def test_with_weights_and_elastic_net(name, option):
    rng = np.random.default_rng(1)
    problem = registry.make_problem(
        losses.Logistic(),
        rng,
        regularizer=regularizers.ElasticNet(mu=0.1),
        weights=rng.random(registry.N) + 0.1,
        lam=0.05,
        separable=name == "product",
    )
    assert_theorem(problem, name, option)


@pytest.mark.parametrize("option", [1, 2])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("loss", "kind"),
    [(losses.SmoothedMulticlassHinge(), "kronecker"), (losses.Huber(), "stacked, sparse")],
    ids=["kronecker", "stacked"],
)
def test_with_blocks(loss, kind, name, option):
    rng = np.random.default_rng(2)
    problem = registry.make_problem(loss, rng, kind=kind, lam=0.2, separable=name == "product")
    assert_theorem(problem, name, option)


@pytest.mark.parametrize("option", [1, 2])
def test_with_a_regularizer_that_is_not_separable(option):
    g = regularizers.GroupL2(np.array([0, 1, 0, 2, 1, 1]), mu=0.1)
    problem = registry.make_problem(losses.Squared(), np.random.default_rng(3), regularizer=g)
    assert_theorem(problem, "nice", option)


def test_the_bound_breaks_when_v_is_too_small():
    """Control: with v a twentieth of the ESO, steps on parallel examples overshoot."""
    from dataclasses import replace

    from quartz import Problem

    problem = Problem(np.ones((9, 2)), np.arange(9.0), losses.Squared(), lam=0.02)
    good = Plan.of(problem, registry.SAMPLINGS["full batch"])
    mean, _ = mean_gaps(good, 40)
    assert np.all(mean <= expected_gap(good.theta, mean[0], np.arange(41)) * (1 + 1e-9))
    bad = replace(good, v=good.v / 20)
    mean, _ = mean_gaps(bad, 40)
    assert mean[-1] > expected_gap(good.theta, mean[0], 40)
