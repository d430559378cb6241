"""Runs that do not end by themselves, and what became of them; for the programs beside this one."""

import json
import os
import signal
import time
import traceback
import warnings
from pathlib import Path

import numpy as np

from quartz import Problem, QuartzClassifier, Result, data, losses, samplings, solve
from quartz.methods import candidates
from quartz.run import interruption

candidates.SHORT = 0  # so that threads are used for small data, too

ENDLESS = {"tol": 0, "max_passes": 1e15}
LIMIT = 8.0  # seconds after which a run ends that an interruption did not end


def matrix(n=400, features=40):
    return data.make_classification(n, features, density=0.3, noise=0.5)


def listen():
    """Let SIGINT raise KeyboardInterrupt, which a shell in the background may have switched off."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def forget():
    """As if there had been no interruption before."""
    interruption._returned = -np.inf


def report(found):
    print(json.dumps(found), flush=True)


class Solve:
    """A call of `solve`."""

    def __init__(self, problem, method=None, **limits):
        self._problem, self._method = problem, method
        self._limits = ENDLESS | {"max_seconds": LIMIT} | limits

    def __call__(self, begin=lambda: None, **limits):
        """Call `begin`, and return the status and the gap of a run that begins then."""
        begin()
        found = solve(self._problem, self._method, **self._limits | limits)
        return found.status.value, found.certificate.gap

    def kept(self, error):
        """Whether an exception carries a certified pair."""
        result = getattr(error, "result", None)
        return isinstance(result, Result) and bool(np.isfinite(result.certificate.gap))


class Fit:
    """A fit of one-vs-rest with three classes, hence of three problems in threads."""

    def __init__(self, n_jobs, **limits):
        self._X = matrix()[0]
        self._y = np.arange(self._X.shape[0]) % 3
        self._limits = ENDLESS | {"max_seconds": LIMIT} | limits | {"n_jobs": n_jobs}

    def __call__(self, begin=lambda: None, **limits):
        """Return the status and the gap of a fit that calls `begin` when its problems exist."""
        self._model = _Announcing("squared_hinge", alpha=1e-6, random_state=0)
        self._model.set_params(**self._limits | limits)
        self._model.begin = begin
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            self._model.fit(self._X, self._y)
        message = str(caught[-1].message) if caught else "(converged"
        return message.split("(")[1].split(" after ")[0], self._model.duality_gap_

    def kept(self, error):
        """Whether the estimator is fitted although it raised."""
        return hasattr(self._model, "coef_") and bool(np.isfinite(self._model.duality_gap_))


class _Announcing(QuartzClassifier):
    def prepared(self, *arguments, **options):
        training = super().prepared(*arguments, **options)
        self.begin()
        return training


def runs(kind):
    """Runs of a kind: "solve", or "fit" with a number of threads; the first needs no Numba yet."""
    X, y = matrix()
    if kind == "solve":
        yield Solve(Problem(X, y, losses.Logistic(), 1e-6))
        yield Solve(Problem(X, y, losses.Logistic(), 1e-6, intercept="free"))
        yield Solve(Problem(X, y, losses.SmoothedHinge(), 1e-6), samplings.Importance())
    else:
        yield Fit(int(kind.removeprefix("fit")))


def outcome(run, begin=lambda: None, end=lambda: None, **limits):
    """What a run returned or raised, and after how many seconds; `end` is called after it."""
    began = time.perf_counter()
    try:
        status, gap = run(begin, **limits)
        end()
        found = {"status": status, "gap": gap}
    except BaseException as error:
        end()
        found = {
            "raised": type(error).__name__,
            "begun": _has_begun(error),
            "kept": run.kept(error),
            "traceback": traceback.format_exc(),
        }
    return found | {"seconds": time.perf_counter() - began}


def _has_begun(error):
    """Whether an exception comes from a run, and not from what is checked and set up before it."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    files = [Path(frame.f_code.co_filename).name for frame in frames]
    for k, (frame, file) in enumerate(zip(frames, files, strict=True)):
        name, variables = frame.f_code.co_name, frame.f_locals
        if (file, name) == ("solver.py", "solve"):
            inner = [other.f_code.co_name for other in frames[k + 1 :]]
            return "steps" in variables or inner[:1] == ["steps"]
        if (file, name) == ("base.py", "_fit") and variables.get("results") is not None:
            return True
        if (file, name) == ("threads.py", "in_threads"):
            return "count" in variables or "threadpoolctl.py" in files[k:]
    return False


def in_a_fork(work):
    """Return what `work` returns in a child process, and what the child wrote to stderr."""
    reader, writer = os.pipe()
    errors, complaint = os.pipe()
    child = os.fork()
    if not child:
        os.dup2(complaint, 2)
        try:
            text = json.dumps(work())
        except BaseException:
            text = json.dumps({"raised": "outside", "traceback": traceback.format_exc()})
        with os.fdopen(writer, "w") as pipe:
            pipe.write(text)
        os._exit(0)
    os.close(writer), os.close(complaint)
    with os.fdopen(reader) as pipe, os.fdopen(errors) as more:
        text, complaints = pipe.read(), more.read()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    found = json.loads(text) if text else {"raised": f"exit code {code}"}
    return found | {"stderr": complaints}
