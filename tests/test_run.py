"""Stopping rules, the budget, results that can be read, and the first error that one meets."""

import pickle
import sys

import numpy as np
import pytest

import quartz
from quartz import (
    AbsoluteGap,
    Plan,
    Problem,
    RelativeGap,
    Status,
    When,
    data,
    losses,
    methods,
    regularizers,
    samplings,
    solve,
)
from quartz.run import StoppingRule

METHODS = [None, methods.Permuted(), methods.Accelerated(), samplings.Nice(4), methods.Newton()]


@pytest.fixture
def problem():
    X, y = data.make_classification(300, 20, density=0.3, seed=1)
    return Problem(X, y, losses.SmoothedHinge(), lam=1e-3, intercept="free")


def test_the_certificate_of_a_result_meets_the_rule():
    """Though another one may have had a smaller gap."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 30)) * np.exp(2 * rng.normal(size=(60, 1)))
    problem = Problem(X, np.sign(X[:, 0]), losses.SquaredHinge(), lam=1e-4)
    values = solve(problem, methods.Permuted(), tol=1e-6, passes_per_check=1).trace.dual_values
    for share in (0.5, 0.8, 0.95):
        level = share * values[-1]
        rule = When(lambda certificate, level=level: certificate.dual_value >= level)
        found = solve(problem, methods.Permuted(), tol=rule, passes_per_check=1)
        assert found.converged
        assert found.certificate.dual_value >= level


def test_newton_steps_that_cannot_be_made_end_by_the_limit():
    X, y = data.make_classification(30, 4, density=0.9, seed=1)
    huge = Problem(1e120 * X.toarray(), y, losses.Logistic(), 1e-200)
    with np.errstate(all="ignore"):
        found = solve(huge, methods.Newton(), max_passes=20, max_seconds=20)
    assert found.status in (Status.PASS_LIMIT, Status.CONVERGED)


def test_the_plan_of_an_accelerated_sampling_is_that_of_the_problem():
    X, y = data.make_classification(200, 10, density=0.5, seed=1)
    problem = Problem(X, y, losses.Logistic(), 1e-6)
    for outer in (methods.Accelerated, methods.Automatic):
        found = solve(problem, outer(samplings.Nice(4)), max_passes=20)
        assert found.plan.problem.lam == 1e-6


@pytest.mark.parametrize("method", [methods.SPDC(), methods.ProxSDCA(), methods.DisDCA(2, 2)])
def test_passes_between_certificates_for_compared_methods(method):
    X, y = data.make_classification(100, 10, density=0.5, seed=1)
    problem = Problem(X, y, losses.Logistic(), 1e-4)
    found = solve(problem, method, tol=0, max_passes=20, passes_per_check=10)
    assert len(found.trace) == 3


def test_data_of_a_free_intercept_are_not_for_other_problems(problem):
    with pytest.raises(ValueError, match=r"Use problem\.with_lam"):
        Problem(problem.data, problem.y, problem.loss, 0.1)
    found = solve(problem.with_lam(0.1))
    found.coef[:] = 0.0
    assert found.certificate.w.any()


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_rules_end_a_run_by_certificates(problem, method):
    relative = solve(problem, method, tol=RelativeGap(1e-5), max_passes=3000)
    assert relative.converged
    assert relative.trace.gaps == solve(problem, method, tol=1e-5, max_passes=3000).trace.gaps
    absolute = solve(problem, method, tol=AbsoluteGap(1e-4), max_passes=3000)
    assert absolute.converged
    assert absolute.certificate.gap <= 1e-4
    assert all(gap > 1e-4 for gap in absolute.trace.gaps[:-1])
    assert "Converged: gap" in absolute.message
    seen = []
    condition = When(lambda found: seen.append(found) or found.relative_gap <= 1e-2)
    own = solve(problem, method, tol=condition, max_passes=3000)
    assert own.converged
    assert own.certificate.relative_gap <= 1e-2
    assert own.certificate is seen[-1]


def test_a_condition_that_never_holds(problem):
    found = solve(problem, tol=When(lambda certificate: False), max_passes=20)
    assert found.status is Status.PASS_LIMIT
    assert "your condition does not hold at a relative gap of" in found.message
    missed = solve(problem, samplings.Uniform(), tol=AbsoluteGap(1e-9), max_passes=2)
    assert "more passes are needed" in missed.message
    for tol in (-1.0, np.nan):
        with pytest.raises(ValueError, match="tol must be"):
            solve(problem, tol=AbsoluteGap(tol))


class Stalled(StoppingRule):
    """The dual value has not risen for some certificates: a rule with a memory."""

    def __init__(self, patience):
        self.patience, self.values = patience, []

    def begin(self):
        return Stalled(self.patience)

    def gap(self, primal_value):
        return 0.0

    def is_met(self, certificate):
        self.values.append(certificate.dual_value)
        recent, before = self.values[-self.patience :], self.values[: -self.patience]
        return bool(before) and max(recent) <= max(before)

    def verdict(self, certificate, met):
        return "the dual value has stalled" if met else "the dual value still rises"


@pytest.mark.parametrize("method", [*METHODS, methods.SAGA()], ids=repr)
def test_a_rule_with_a_memory_sees_each_certificate_once(method):
    X, y = data.make_classification(100, 10, density=0.5, seed=1)
    problem, rule = Problem(X, y, losses.Logistic(), lam=0.1), Stalled(5)
    first, again = (
        solve(problem, method, tol=rule, max_passes=2000, passes_per_check=1) for _ in range(2)
    )
    assert first.converged
    assert rule.values == []
    values = first.trace.dual_values
    assert max(values[-5:]) <= max(values[:-5])
    assert len(values) == 6 or max(values[-6:-1]) > max(values[:-6])
    assert again.trace.gaps == first.trace.gaps
    assert first.message.startswith("Converged: the dual value has stalled, certified")


@pytest.mark.parametrize("intercept", [None, "penalized", "free"])
@pytest.mark.parametrize("outputs", [1, 3])
def test_coef_and_intercept_predict(intercept, outputs):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 5)) + 1.0
    y = X @ rng.normal(size=(5, outputs)) + 3.0 + rng.normal(size=(100, outputs))
    y = y[:, 0] if outputs == 1 else y
    problem = Problem(X, y, losses.Squared(), 1e-3, intercept=intercept)
    found = solve(problem, tol=1e-9)
    assert found.coef.shape == ((5,) if outputs == 1 else (5, 3))
    predictions = X @ found.coef + found.intercept
    np.testing.assert_allclose(predictions, problem.data.predictions(found.w), atol=1e-10)
    if intercept is None:
        assert found.intercept == 0
    else:
        assert np.shape(found.intercept) == (() if outputs == 1 else (3,))
        assert np.all(np.abs(found.intercept) > 0.1)


def test_general_blocks_have_one_vector(problem):
    blocks = data.StackedBlocks(np.random.default_rng(0).normal(size=(10, 4, 2)))
    found = solve(Problem(blocks, np.zeros(10, dtype=int), losses.Softmax(), 0.1))
    assert found.coef.shape == (4,)


@pytest.mark.parametrize("intercept", [None, "penalized", "free"])
@pytest.mark.parametrize("method", [None, samplings.Nice(4)], ids=["default", "nice"])
def test_results_and_problems_are_pickled(intercept, method):
    X, y = data.make_classification(60, 8, density=0.5, seed=2)
    problem = Problem(X, y, losses.Logistic(), 0.05, intercept=intercept)
    found = pickle.loads(pickle.dumps(solve(problem, method)))
    again = solve(pickle.loads(pickle.dumps(problem)), method)
    np.testing.assert_array_equal(found.coef, again.coef)
    assert again.trace.gaps == found.trace.gaps


def test_reprs_fit_on_a_screen(problem):
    found = solve(problem, samplings.Nice(4))
    for text in (repr(found), repr(found.plan), repr(Plan.of(problem, samplings.Importance()))):
        lines = text.splitlines()
        assert len(lines) <= 6
        assert max(map(len, lines)) <= 100
    assert "intercept" in repr(found)
    assert "theta" in repr(found.plan)
    assert "certificates" in repr(found.trace)
    several = Problem(np.eye(3), [0, 1, 2], losses.Softmax(), 0.1, intercept="free")
    assert "intercept [" in repr(solve(several))


def test_the_certificate_names_its_point(problem):
    step = solve(Problem(problem.data.storage, problem.y, losses.Squared(), 1e-6), tol=1e-9)
    assert "quartz" not in str(step.certificate)
    assert "the method's own w" in str(step.certificate)
    plain = solve(problem, methods.Permuted())
    assert "z = grad g*(abar)" in str(plain.certificate)


def test_solving_a_matrix_shows_the_two_lines():
    with pytest.raises(TypeError, match=r"solve takes a Problem, got ndarray") as caught:
        solve(np.eye(2), np.ones(2))
    assert "problem = Problem(X, y, losses.Logistic(), lam=1e-3)" in str(caught.value)
    assert "result = solve(problem)" in str(caught.value)


def test_submodules_are_reachable():
    for name in ("compat", "estimators", "methods", "samplings", "theory"):
        assert getattr(quartz, name) is sys.modules[f"quartz.{name}"]
    assert set(dir(quartz)) >= {"compat", "estimators", "solve", "AbsoluteGap"}


def test_newton_steps_alone_and_where_they_do_not_apply(problem):
    logistic = Problem(problem.data.storage, problem.y, losses.Logistic(), 1e-4, intercept="free")
    found = solve(logistic, methods.Newton(), tol=1e-10)
    assert found.converged
    assert found.trace.iterations[-1] <= 20
    groups = regularizers.GroupL2(np.arange(problem.data.features) % 2, mu=0.1)
    grouped = Problem(problem.data.storage, problem.y, losses.Logistic(), 1e-4, groups)
    with pytest.raises(ValueError, match="Newton steps need"):
        solve(grouped, methods.Newton())


@pytest.mark.parametrize(
    "method", [methods.APCG(), methods.SPDC(), methods.SAGA(), methods.ProxSDCA()], ids=repr
)
def test_compared_methods_see_a_penalized_intercept(method):
    X, y = data.make_classification(60, 8, density=0.5, seed=2)
    X = X.toarray() + 0.5
    ones = Problem(np.hstack([X, np.ones((60, 1))]), y, losses.Logistic(), 0.05)
    column = Problem(X, y, losses.Logistic(), 0.05, intercept="penalized")
    left, right = (solve(p, method, tol=1e-6, max_passes=3000) for p in (ones, column))
    assert right.converged
    np.testing.assert_allclose(left.w, right.w, atol=2e-3)
