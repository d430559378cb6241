"""Whatever ends a run, the best certified pair is returned, or carried by what is raised."""

import os
import signal
import time
from contextlib import contextmanager
from threading import Event

import numpy as np
import pytest

from quartz import Problem, QuartzClassifier, losses, methods, solve
from quartz.estimators import threads
from quartz.run import Status, interruption


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5))
    return Problem(X, np.where(X[:, 0] > 0, 1.0, -1.0), losses.Logistic(), 1e-4)


def raising(error: BaseException, at: int = 2):
    """A callback that raises at its call of that number."""
    calls = []

    def callback(state, certificate):
        calls.append(certificate)
        if len(calls) == at:
            raise error

    return callback, calls


@pytest.mark.parametrize("kind", [ValueError, MemoryError, SystemExit, RuntimeError])
def test_what_a_callback_raises_carries_the_best_pair(problem, kind):
    callback, calls = raising(kind("mine"))
    with pytest.raises(kind, match="mine") as caught:
        solve(problem, tol=1e-12, passes_per_check=1, callback=callback)
    found = caught.value.result
    assert found.status is Status.FAILED
    assert found.certificate.gap == min(certificate.gap for certificate in calls)
    assert "Not converged (an exception)" in found.message
    assert any("`result`" in note for note in caught.value.__notes__)


def test_an_interruption_at_the_very_end_carries_the_result(problem, monkeypatch):
    @contextmanager
    def interrupted(count):
        yield
        raise KeyboardInterrupt

    monkeypatch.setattr("quartz.run.solver.several_threads", interrupted)
    with pytest.raises(KeyboardInterrupt) as caught:
        solve(problem, tol=1e-6)
    assert caught.value.result.certificate.relative_gap <= 1e-6


def test_nothing_is_attached_before_there_is_a_certificate(problem):
    class Failing(methods.Permuted):
        def steps(self, problem, rng):
            raise RuntimeError("set-up")

    with pytest.raises(RuntimeError) as caught:
        solve(problem, Failing())
    assert not hasattr(caught.value, "result")


def test_an_interruption_of_the_set_up_returns_a_certified_start(problem):
    class Interrupted(methods.Permuted):
        def steps(self, problem, rng):
            raise KeyboardInterrupt

    found = solve(problem, Interrupted())
    assert found.status is Status.INTERRUPTED
    assert found.w.tolist() == [0.0] * 5
    assert found.certificate.gap == pytest.approx(np.log(2))
    assert found.plan is None


def test_a_second_interruption_soon_after_the_first_one_raises(problem, monkeypatch):
    clock = [100.0]
    monkeypatch.setattr(interruption.time, "monotonic", lambda: clock[0])

    def interrupted():
        return solve(problem, tol=1e-12, callback=raising(KeyboardInterrupt())[0])

    first = interrupted()
    assert first.status is Status.INTERRUPTED
    assert "A second Ctrl-C within a second raises KeyboardInterrupt" in first.message
    clock[0] += 1.0
    with pytest.raises(KeyboardInterrupt) as caught:
        interrupted()
    assert caught.value.result.status is Status.INTERRUPTED
    clock[0] += 10.0
    assert interrupted().status is Status.INTERRUPTED


def test_interruptions_raise_if_wanted(problem):
    callback, calls = raising(KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt) as caught:
        solve(problem, tol=1e-12, callback=callback, on_interrupt="raise")
    assert caught.value.result.certificate.gap <= calls[0].gap
    with pytest.raises(ValueError, match='on_interrupt must be "return" or "raise", got \'stop\''):
        solve(problem, on_interrupt="stop")


@pytest.mark.parametrize("classes", [2, 3])
def test_estimators_keep_the_model_when_they_raise(monkeypatch, classes):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 5)), np.arange(60) % classes
    monkeypatch.setattr(interruption, "is_raised", lambda on_interrupt: True)
    monkeypatch.setattr("quartz.run.solver.is_raised", lambda on_interrupt: True)
    monkeypatch.setattr("quartz.estimators.threads.is_raised", lambda on_interrupt: True)
    model = QuartzClassifier(loss="squared_hinge", alpha=1e-3, n_jobs=2)
    if classes == 2:
        monkeypatch.setattr("quartz.run.loop.Loop.run", _interrupt)
    else:
        monkeypatch.setattr("quartz.estimators.threads.deferred_interrupts", _pressed)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert model.coef_.shape == (1 if classes == 2 else classes, 5)


def _interrupt(*arguments, **options):
    raise KeyboardInterrupt


@contextmanager
def _pressed(stop):
    yield [signal.SIGINT]


def test_interruptions_while_tasks_end_lose_nothing():
    """The second Ctrl-C comes before the first one is dealt with."""
    stop, handler = Event(), signal.signal(signal.SIGINT, signal.default_int_handler)

    def task(number):
        if number == 1:
            for _ in range(2):
                os.kill(os.getpid(), signal.SIGINT)
                time.sleep(0.5)  # until the main thread has seen it
        assert stop.wait(30)
        return number

    try:
        with pytest.raises(KeyboardInterrupt) as caught:
            threads.in_threads([lambda: task(1), lambda: task(2)], 2, stop)
    finally:
        signal.signal(signal.SIGINT, handler)
    assert caught.value.results == [1, 2]
