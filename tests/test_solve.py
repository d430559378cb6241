"""`solve`: statuses, messages, starts, seeds, callbacks, interruption and the trace."""

import importlib
import re
import sys
from threading import Event

import numpy as np
import pytest

import registry
from quartz import Problem, Start, State, Status, certify, data, losses, methods, samplings, solve


@pytest.fixture
def problem():
    X, y = data.make_classification(60, 12, density=0.4, seed=1)
    return Problem(X, y, losses.SmoothedHinge(), lam=0.01)


def test_converged_means_certified(problem):
    result = solve(problem, tol=1e-8)
    assert result.status is Status.CONVERGED
    again = certify(problem, result.duals, result.w, primal="own")
    rounding = again.rounding + result.certificate.rounding
    assert again.gap == pytest.approx(result.certificate.gap, abs=rounding)
    assert 0 <= result.certificate.relative_gap <= 1e-8
    assert result.message.startswith("Converged: relative gap")
    assert "Converged" in repr(result)


@pytest.mark.parametrize("loss", registry.LOSSES, ids=registry.label)
@pytest.mark.parametrize("g", registry.REGULARIZERS, ids=registry.label)
def test_every_loss_with_every_regularizer_reaches_its_optimum(loss, g):
    """And the optimum is that of a general-purpose method."""
    from scipy.optimize import minimize

    problem = registry.make_problem(loss, np.random.default_rng(5), regularizer=g, lam=0.3)
    tol = 1e-6 if loss.gamma > 0 else 1e-3
    slow = methods.Quartz(engine="reference")
    result = solve(problem, slow, tol=tol, max_passes=5000, passes_per_check=5)
    assert result.converged, result.message
    start = g.conjugate_gradient(np.full(registry.D, 0.01))
    rival = minimize(problem.primal, start, method="Nelder-Mead", options={"maxiter": 3000})
    assert rival.fun >= result.certificate.dual_value - 1e-9


def test_pass_limit_message_predicts(problem):
    result = solve(problem, samplings.Uniform(), tol=1e-12, max_passes=4)
    assert result.status is Status.PASS_LIMIT
    assert 4 <= result.trace.passes[-1] < 5
    for part in ("Not converged (pass limit)", "tol = 1e-12", "observed rate", "theorem promises"):
        assert part in result.message


def test_time_limit(problem):
    result = solve(problem, tol=0, max_seconds=0.0)
    assert result.status is Status.TIME_LIMIT
    assert result.trace.seconds[-1] < 1


def test_callback_sees_certificates_and_stops(problem):
    seen = []

    def callback(state, certificate):
        seen.append((state.iteration, certificate.gap))
        return len(seen) == 3

    result = solve(problem, samplings.Uniform(), tol=0, callback=callback)
    assert result.status is Status.STOPPED
    assert [iteration for iteration, _ in seen] == result.trace.iterations == [0, 60, 120]
    assert [gap for _, gap in seen] == result.trace.gaps


@pytest.mark.parametrize("sampling", [None, samplings.Uniform()], ids=["default", "uniform"])
def test_interrupt_returns_the_best_pair_so_far(problem, sampling):
    calls = []

    def callback(state, certificate):
        calls.append(certificate.gap)
        if len(calls) == 4:
            raise KeyboardInterrupt

    result = solve(problem, sampling, tol=0, callback=callback)
    assert result.status is Status.INTERRUPTED
    assert result.certificate.gap == min(calls)
    assert certify(problem, result.duals, result.w, primal="own").gap == pytest.approx(min(calls))


def test_interrupt_before_the_first_certificate(problem, monkeypatch):
    from quartz.run import loop

    real, calls = loop.certify, []

    def certify_once_interrupted(*arguments, **options):
        calls.append(1)
        if len(calls) == 1:
            raise KeyboardInterrupt
        return real(*arguments, **options)

    monkeypatch.setattr(loop, "certify", certify_once_interrupted)
    result = solve(problem)
    assert result.status is Status.INTERRUPTED
    assert np.isfinite(result.certificate.gap)
    assert len(result.trace) == 1


def test_divergence_is_reported_and_never_certified():
    """An ESO that is too small makes the full batch blow up; the best pair is still returned."""

    class Reckless(samplings.NiceSampling):
        def eso(self, data):
            return data.squared_norms()  # right for serial samplings, 30 times too small here

    problem = Problem(np.ones((30, 2)), np.arange(30.0), losses.Squared(), lam=1e-3)
    with np.errstate(over="ignore", invalid="ignore"):
        result = solve(problem, Reckless(30, 30), tol=1e-9, max_passes=2000)
        rare = {"start": Start(objective=1.0), "passes_per_check": 500}  # no certificate before it
        sudden = solve(problem, Reckless(30, 30), tol=1e-9, max_passes=2000, **rare)
    for each in (result, sudden):
        assert each.status is Status.DIVERGED
        assert "verify_eso" in each.message
        assert np.isfinite(each.certificate.gap)


def test_same_seed_same_trajectory(problem):
    results = [solve(problem, samplings.Nice(4), tol=1e-6, seed=seed) for seed in (3, 3, 4)]
    assert results[0].trace.gaps == results[1].trace.gaps
    assert results[0].trace.gaps != results[2].trace.gaps
    np.testing.assert_array_equal(results[0].duals, results[1].duals)
    generator = solve(problem, samplings.Nice(4), tol=1e-6, seed=np.random.default_rng(3))
    assert generator.trace.gaps == results[0].trace.gaps


def test_a_start_near_a_known_objective_is_not_certified(problem):
    """But nothing is lost: a run without a pass, and one that was interrupted, are."""
    method = methods.Permuted()
    found = solve(problem, method, tol=1e-3)
    start = Start(found.duals, found.w, objective=found.certificate.primal_value)
    expected = {"start": start}
    again = solve(problem, method, tol=1e-8, **expected)
    assert again.converged
    assert again.trace.passes[0] > 0
    assert len(again.trace) < len(solve(problem, method, tol=1e-8, start=found).trace)
    still = solve(problem, method, tol=1e-8, max_passes=0, **expected)
    assert still.certificate.gap == pytest.approx(found.certificate.gap)
    assert solve(problem, method, tol=1e-8, start=Start(objective=0.0)).trace.passes[0] == 0
    stop = Event()
    stop.set()
    stopped = solve(problem, method, tol=1e-8, stop=stop, **expected)
    assert stopped.status == Status.INTERRUPTED
    assert stopped.certificate.gap == pytest.approx(found.certificate.gap)
    with pytest.raises(ValueError, match="objective must"):
        solve(problem, start=Start(objective="one"))


def test_warm_start_from_result_state_and_alpha(problem):
    result = solve(problem, tol=1e-8)
    for start in (result, State.start(problem, result.duals, result.w)):
        again = solve(problem, tol=1e-8, start=start)
        assert again.converged
        assert again.trace.passes == [0.0]
    assert solve(problem, tol=1e-7, start=result.duals).trace.passes[-1] <= 1
    assert solve(problem, tol=1e-8, start=(result.w, result.duals)).trace.passes == [0.0]
    before = result.duals.copy()
    solve(problem, tol=0, max_passes=2, start=result)
    np.testing.assert_array_equal(result.duals, before)
    other = Problem(problem.data, problem.y, problem.loss, lam=0.009)
    warm, cold = solve(other, tol=1e-6, start=result), solve(other, tol=1e-6)
    assert warm.converged
    assert warm.trace.passes[-1] < cold.trace.passes[-1]


def test_trace_is_complete_and_consistent(problem):
    trace = solve(problem, samplings.Nice(5), tol=1e-6).trace
    assert len(trace) > 3
    np.testing.assert_allclose(trace.gaps, np.subtract(trace.primal_values, trace.dual_values))
    np.testing.assert_allclose(trace.passes, np.array(trace.iterations) * 5 / 60)
    assert np.all(np.diff(trace.seconds) > 0)
    assert trace.gaps[-1] < 1e-3 * trace.gaps[0]


def test_primal_choice_is_respected(problem):
    for primal in ("own", "conjugate"):
        result = solve(problem, methods.Quartz(primal=primal), tol=1e-4)
        assert result.certificate.point == primal


def test_passes_per_check(problem):
    trace = solve(problem, samplings.Uniform(), tol=0, max_passes=6, passes_per_check=3).trace
    assert trace.passes == [0, 3, 6]


def test_pass_limit_holds_within_a_chunk(problem):
    result = solve(problem, samplings.Uniform(), tol=0, max_passes=2, passes_per_check=100)
    assert result.trace.passes == [0, 2]


def test_sampling_that_hits_examples_rarely(problem):
    result = solve(problem, samplings.Independent(np.full(60, 1e-7)), tol=0, max_seconds=0.0)
    assert result.status is Status.TIME_LIMIT


def test_wrong_conjugate_is_never_certified():
    """P < D contradicts weak duality."""
    from quartz.laws import LawError

    class TooLow(losses.Squared):
        def conjugate(self, u, y):
            return u * (0.4 * u + y) - 1

    with pytest.raises(LawError, match=r"is below D = .*check_loss"):
        solve(Problem(np.eye(3), np.ones(3), TooLow(), lam=0.1))


def test_logistic_with_large_steps_converges():
    """q = 1000: here plain Newton inside the step cycles."""
    X, y = data.make_classification(100, 10, density=0.5)
    result = solve(Problem(X, y, losses.Logistic(), lam=1e-5), tol=1e-6, max_passes=3000)
    assert result.converged, result.message


def test_progress_bar_reports_the_gap(problem, capsys):
    solve(problem, tol=1e-4, progress=True)
    shown = capsys.readouterr().err
    assert "relative gap" in shown
    assert "100%" in shown


@pytest.mark.parametrize("seconds", [0.0, 1000.0])
def test_progress_without_tqdm_is_told_in_lines(problem, monkeypatch, capsys, seconds):
    """Every line that is due, or only the last one if the run ends before."""
    monkeypatch.setitem(sys.modules, "tqdm", None)
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    monkeypatch.setattr("quartz.progress.SECONDS_PER_LINE", seconds)
    assert solve(problem, tol=1e-6, progress=True).converged
    out, err = capsys.readouterr()
    lines = err.splitlines()
    assert not out
    assert all(re.fullmatch(r"pass +\d+\.\d  relative gap \d\.\de[-+]\d\d", line) for line in lines)
    assert float(lines[-1].split()[-1]) <= 1e-6
    assert len(lines) > 1 if seconds == 0 else len(lines) == 1


def test_import_is_lazy():
    """`import quartz` loads neither NumPy, SciPy nor Numba; the names are there when asked for."""
    import subprocess

    code = "import sys, quartz; print({'numpy', 'scipy', 'numba'} & set(sys.modules), dir(quartz))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.startswith("set()")
    quartz = importlib.import_module("quartz")
    for name in quartz.__all__:
        assert getattr(quartz, name) is not None
        assert name in shown.stdout
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        quartz.nonsense  # noqa: B018
