"""Nothing is lost, whatever happens to the process: threads, children, signals, too little memory.

What runs in other processes is in `programs/`.
"""

import json
import math
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import joblib
import numpy as np
import pytest
import scipy.sparse as sp

from programs import children, moments
from programs.runs import matrix
from quartz import Problem, QuartzClassifier, losses, methods, samplings, solve
from quartz.methods import candidates
from quartz.run import Status

HERE = Path(__file__).parent
COMPILED = 300.0  # seconds that a program may take, where no kernel is in the cache
READY = '"ready"\n'
PROMPT = 10.0  # seconds in which something must end that ends at once, on a busy machine

# A defect that is known


pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")

needs_signals = pytest.mark.skipif(
    not hasattr(signal, "setitimer"), reason="this platform has no signals of POSIX"
)
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform has no fork")
needs_memory_limits = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="memory is limited by means of Linux"
)


def program(name, *arguments):
    """Start a program, and wait until it is ready."""
    environment = os.environ | {
        "OPENBLAS_NUM_THREADS": "1",  # more of them wait for one another on a busy machine
        "OMP_NUM_THREADS": "1",
        "PYTHONWARNINGS": "ignore::DeprecationWarning",  # of forks
    }
    process = subprocess.Popen(
        [sys.executable, "-m", f"programs.{name}", *map(str, arguments)],
        cwd=HERE,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    first = process.stdout.readline()
    if first != READY:
        pytest.fail(f"{name} did not begin: {first}\n{process.communicate(timeout=COMPILED)[1]}")
    return process


def end_of(process):
    """The exit code of a program and what it reported."""
    try:
        output, errors = process.communicate(timeout=COMPILED)
    finally:
        process.kill()
    return process.returncode, [json.loads(line) for line in output.splitlines()], errors


def reports(name, *arguments):
    """What a program reported that ends by itself."""
    code, found, errors = end_of(program(name, *arguments))
    assert (code, errors) == (0, ""), "\n".join(map(told, found[-1:]))
    return found


def told(found):
    """A report in words, for failures."""
    rest = {key: value for key, value in found.items() if key not in ("traceback", "afterwards")}
    traceback = found.get("traceback", "")
    return f"{rest}\n{traceback}\nafterwards: {found.get('afterwards')}"


# Threads


def assert_same(first, second):
    assert first.coef.tolist() == second.coef.tolist()
    assert first.intercept == second.intercept
    assert first.status is second.status
    assert first.message == second.message
    assert first.trace.gaps == second.trace.gaps
    assert first.duals.tolist() == second.duals.tolist()
    assert first.certificate.primal_value == second.certificate.primal_value
    assert first.certificate.dual_value == second.certificate.dual_value


@pytest.mark.parametrize("intercept", [None, "free"])
def test_runs_in_threads_are_those_one_after_another(intercept):
    X, y = matrix(200, 20)
    shared = Problem(X, y, losses.Logistic(), 1e-3, intercept=intercept)
    others = [Problem(X, y, losses.Logistic(), lam, intercept=intercept) for lam in (1e-2, 1e-4)]
    tasks = [
        (task, method, seed)
        for task in (shared, shared, *others, shared.with_lam(1e-5))
        for method in (None, samplings.Importance(), methods.Newton())
        for seed in range(2)
    ]

    def run(task, method, seed):
        return solve(task, method, tol=1e-9, max_passes=200, seed=seed)

    alone = [run(*task) for task in tasks]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(run, *zip(*tasks, strict=True)))
    for first, second in zip(alone, together, strict=True):
        assert_same(first, second)


def test_fits_in_threads_are_those_one_after_another():
    def fit(n_jobs):
        return children.fitted(children.classifier().set_params(n_jobs=n_jobs))

    alone = fit(1)
    with ThreadPoolExecutor(3) as pool:
        for model in pool.map(fit, [1, 2, 3]):
            assert model.coef_.tolist() == alone.coef_.tolist()
            assert model.duality_gap_ == alone.duality_gap_


@pytest.mark.parametrize("kind", [ValueError, MemoryError, SystemExit])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_what_a_thread_of_an_estimator_raises_carries_the_best_pair(monkeypatch, n_jobs, kind):
    from quartz.estimators import training

    raised = []

    def failing(problem, method, **options):
        def callback(state, certificate):
            if certificate.gap < 1e-3 and not raised:
                raised.append(certificate)
                raise kind("mine")

        options |= {"callback": callback, "max_seconds": 60.0, "tol": 0.0, "max_passes": 1e15}
        return solve(problem, method, **options)

    monkeypatch.setattr(training, "solve", failing)
    began = time.perf_counter()
    with pytest.raises(kind, match="mine") as caught:
        children.fitted(children.classifier().set_params(n_jobs=n_jobs))
    assert time.perf_counter() - began < 60.0  # the other runs were ended
    assert caught.value.result.status is Status.FAILED
    assert caught.value.result.certificate.gap <= raised[0].gap


def test_threads_that_cannot_be_started_end_the_others(monkeypatch):
    start, started = threading.Thread.start, []

    def limited(thread):
        if len(started) == 1:
            raise RuntimeError("can't start new thread")
        started.append(thread)
        start(thread)

    model = children.classifier().set_params(tol=0.0, max_passes=1e15, max_seconds=8.0)
    monkeypatch.setattr(candidates, "SHORT", 0)  # so that threads are used
    monkeypatch.setattr(threading.Thread, "start", limited)
    began = time.perf_counter()
    with pytest.raises(RuntimeError, match="can't start new thread"):
        children.fitted(model)
    assert time.perf_counter() - began < 6.0


# Child processes


class _Pool:
    """A child process of multiprocessing."""

    def __init__(self, kind):
        self._pool = multiprocessing.get_context(kind).Pool(1)

    def __call__(self, function, *arguments):
        return self._pool.apply_async(function, arguments).get(COMPILED)

    def close(self):
        self._pool.close()
        self._pool.join()


class _Loky:
    """Child processes of joblib's default backend."""

    def __init__(self, max_nbytes="1M"):
        self._parallel = joblib.Parallel(2, backend="loky", timeout=COMPILED, max_nbytes=max_nbytes)

    def __call__(self, function, *arguments):
        found = self._parallel([joblib.delayed(function)(*arguments)] * 2)
        return found[1]

    def close(self):
        pass


CHILDREN = {
    "fork": lambda: _Pool("fork"),
    "spawn": lambda: _Pool("spawn"),
    "loky": _Loky,
    "loky, memory maps": lambda: _Loky(max_nbytes=100),  # of all arrays, read-only
}


@pytest.fixture(scope="module")
def parent():
    """What the parent process solved before it had children: a problem, its results, a model."""
    task = children.problem()
    return task, children.solved(task), children.fitted(children.classifier())


@pytest.fixture(
    params=["fork", "spawn", "loky", pytest.param("loky, memory maps", marks=pytest.mark.slow)],
    scope="module",
)
def child(request, parent):
    """Call a function in a child process."""
    if request.param == "fork" and not hasattr(os, "fork"):
        pytest.skip("this platform has no fork")
    call = CHILDREN[request.param]()
    yield call
    call.close()


def test_children_solve_what_the_parent_solved(child, parent):
    task, results, _ = parent
    for found, expected in zip(child(children.solved, None), results, strict=True):
        assert_same(found, expected)
    for found, expected in zip(child(children.solved, task), results, strict=True):
        assert found.converged
        assert found.coef == pytest.approx(expected.coef, abs=1e-4)


def test_results_travel_to_children_and_back(child, parent):
    for found in parent[1]:
        assert_same(child(children.returned, found), found)
        assert_same(child(children.continued, found), children.continued(found))


def test_estimators_travel_to_children_and_back(child, parent):
    model = parent[2]
    scores = children.predicted(model).tolist()
    unfitted = children.classifier().set_params(n_jobs=1)
    for found in (child(children.returned, model), child(children.fitted, unfitted)):
        assert found.coef_.tolist() == model.coef_.tolist()
        assert found.intercept_.tolist() == model.intercept_.tolist()
        assert found.dual_coef_.tolist() == model.dual_coef_.tolist()
        assert found.duality_gap_ == model.duality_gap_
        assert children.predicted(found).tolist() == scores
    assert child(children.predicted, model).tolist() == scores


def test_estimators_go_on_in_children(child, parent):
    model = parent[2]
    again = child(children.continued_fit, model)
    assert again.converged_
    assert again.n_iter_ <= model.n_iter_


@needs_fork
def test_estimators_have_threads_in_children(parent):
    pool = _Pool("fork")
    try:
        found = pool(children.fitted, children.classifier().set_params(n_jobs=2))
    finally:
        pool.close()
    assert found.coef_.tolist() == parent[2].coef_.tolist()


def test_a_fresh_process_may_begin_with_many_threads():
    pool, lams = _Pool("spawn"), [1e-2, 1e-3, 1e-4, 1e-5]
    try:
        results = pool(children.solved_at_once, lams)
    finally:
        pool.close()
    for found, lam in zip(results, lams, strict=True):
        assert_same(found, children.solved(children.problem(lam))[0])


def test_fits_at_once_leave_blas_its_threads():
    pool = _Pool("spawn")
    try:
        before, after = pool(children.threads_of_blas)
    finally:
        pool.close()
    assert after == before


def test_a_problem_that_was_pickled_is_solved_by_the_same_run():
    task = children.problem()
    again = pickle.loads(pickle.dumps(task))
    assert_same(solve(again, tol=1e-9), solve(task, tol=1e-9))


@needs_fork
def test_a_forked_child_has_blas_after_its_parent():
    task = Problem(*matrix(1000, 300), losses.Logistic(), 1e-3)
    expected = children.newton(task)
    pool = _Pool("fork")
    try:
        found = pool(children.newton, task)
    finally:
        pool.close()
    assert found.converged
    assert found.coef == pytest.approx(expected.coef, abs=1e-6)


# Ctrl-C


def assert_interrupted(found):
    """A run that a first SIGINT ended has returned, or had not begun."""
    if found.get("raised") == "KeyboardInterrupt" and not found["begun"]:
        return
    assert found.get("status") == "interrupted", told(found)
    assert math.isfinite(found["gap"]), told(found)
    assert found["seconds"] < found.get("delay", 0.0) + PROMPT, told(found)


def assert_nothing_is_lost(found):
    """A run that ends by itself has returned, or what was raised has its result."""
    if "raised" in found:
        assert found["raised"] == "KeyboardInterrupt", told(found)
        assert found["kept"] or not found["begun"], told(found)
    else:
        assert math.isfinite(found["gap"]), told(found)


def assert_healthy(found):
    """After that another run is possible, and nothing was ignored."""
    assert found["afterwards"].get("status") == "time limit", told(found)
    assert not found["stderr"], told(found)


@needs_signals
@pytest.mark.parametrize("kind", ["solve", "fit1", "fit2"])
def test_ctrl_c_at_50_random_moments(kind):
    found = reports("rounds", kind, 50, 0)
    for each in found:
        assert_interrupted(each)
    assert sum(each.get("begun", True) for each in found) == 50


@needs_signals
@pytest.mark.parametrize("kind", ["solve", "fit2"])
def test_ctrl_c_about_when_a_run_ends(kind):
    for found in reports("rounds", kind, 50, 1, "ending"):
        assert_nothing_is_lost(found)


@needs_signals
@pytest.mark.parametrize(
    ("kind", "rounds"),
    [
        ("solve", 8),
        pytest.param("solve", 50, marks=pytest.mark.slow),
        pytest.param("fit2", 50, marks=pytest.mark.slow),
    ],
)
def test_ctrl_c_at_random_moments_of_the_first_run(kind, rounds):
    """While Numba is imported, and kernels are loaded from the cache."""
    for found in reports("cold", kind, rounds, 0):
        assert_interrupted(found)
        assert_healthy(found)


@pytest.fixture(scope="module")
def at_moments():
    return {found["moment"]: found for found in reports("moments")}


@needs_signals
@pytest.mark.parametrize("name", [*moments.COLD, *moments.WARM])
def test_ctrl_c_at_a_moment(at_moments, name):
    found = at_moments[name]
    if not found["reached"]:
        pytest.skip("this version of the other library has no such function")
    if (moments.COLD | moments.WARM)[name][0].startswith("ending"):
        assert_nothing_is_lost(found)
    else:
        assert_interrupted(found)
    assert_healthy(found)


@needs_signals
def test_a_second_ctrl_c_leaves_a_loop_of_runs():
    process = program("ended", "loop")
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    first = json.loads(process.stdout.readline())
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    code, (second,), errors = end_of(process)
    assert code in (-signal.SIGINT, 128 + signal.SIGINT, 1)
    assert "KeyboardInterrupt" in errors
    assert "The best certified pair so far is this exception's `result`." in errors
    for found in (first, second):
        assert found["status"] == "interrupted"
        assert math.isfinite(found["gap"])


@needs_signals
def test_ctrl_c_raises_if_wanted():
    process = program("ended", "raising")
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    code, (found,), errors = end_of(process)
    assert code == 0, errors
    assert found["raised"] == "KeyboardInterrupt", told(found)
    assert found["kept"], told(found)
    assert found["seconds"] < PROMPT, told(found)


@needs_signals
@pytest.mark.parametrize("kind", ["solve", "fit2"])
def test_ctrl_c_that_another_thread_is_given(kind):
    (found,) = reports("ended", "elsewhere", kind)
    assert_interrupted(found)


# SIGTERM


@needs_signals
def test_sigterm_ends_a_process_inside_a_kernel():
    process = program("ended", "long_kernels")
    time.sleep(0.5)
    process.send_signal(signal.SIGTERM)
    began = time.perf_counter()
    assert process.wait(COMPILED) == -signal.SIGTERM
    assert time.perf_counter() - began < PROMPT
    assert end_of(process)[1] == []


def assert_ended(found, kind):
    assert found["raised"] == kind, told(found)
    assert found["seconds"] < 0.5 + PROMPT, told(found)


@needs_signals
def test_what_a_handler_raises_ends_a_run_and_carries_the_best_pair():
    process = program("ended", "handled")
    for kind in ("SystemExit", "EndedError"):
        time.sleep(0.5)
        process.send_signal(signal.SIGTERM)
        found = json.loads(process.stdout.readline())
        assert_ended(found, kind)
        assert found["kept"], told(found)
        if kind == "SystemExit":
            assert process.stdout.readline() == READY
    assert end_of(process)[0] == 0


@needs_signals
def test_what_a_handler_raises_ends_a_fit():
    process = program("ended", "handled_fit")
    time.sleep(0.5)
    process.send_signal(signal.SIGTERM)
    code, (found,), errors = end_of(process)
    assert code == 0, errors
    assert_ended(found, "SystemExit")


# Memory


@needs_memory_limits
def test_too_little_memory_is_told_and_loses_nothing():
    found = reports("ended", "memory")
    for each in found:
        assert each.get("raised") == "MemoryError" or math.isfinite(each["gap"]), told(each)
    first, second, third = found[:3]
    assert first["kept"], told(first)
    assert second["raised"] == "MemoryError", told(second)
    assert second["kept"], told(second)  # the start
    assert third["kept"], told(third)
    assert len(found) == 3 + 4 * 7
    for each in found[3:]:
        assert each["room"] > 0 or each["raised"] == "MemoryError", told(each)
    assert any(each.get("kept") for each in found[3:])


# Memory maps


def mapped(array, path):
    np.save(path, array)
    return np.load(path, mmap_mode="r")


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_memory_maps_of_dense_rows_are_not_copied(tmp_path, dtype):
    X, y = matrix(200, 20)
    rows = X.toarray().astype(dtype)
    maps = mapped(rows, tmp_path / "X.npy")
    found = Problem(maps, y, losses.Logistic(), 1e-3, intercept="free")
    assert np.shares_memory(found.data.storage.matrix, maps)
    assert np.shares_memory(found.data.storage.rows.values, maps)
    expected = Problem(rows, y, losses.Logistic(), 1e-3, intercept="free")
    for method in children.METHODS:
        assert_same(solve(found, method, tol=1e-9), solve(expected, method, tol=1e-9))
    model = QuartzClassifier("log_loss", alpha=1e-3, tol=1e-9, random_state=0)
    (task,) = model.training(maps, y).problems
    assert np.shares_memory(task.data.storage.matrix, maps)
    assert model.fit(maps, y).coef_.tolist() == model.fit(rows, y).coef_.tolist()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_memory_maps_of_sparse_rows_are_not_copied(tmp_path, dtype):
    X, y = matrix(200, 20)
    X = X.astype(dtype)
    X.sort_indices()
    parts = ("data", "indices", "indptr")
    maps = [mapped(getattr(X, name), tmp_path / f"{name}.npy") for name in parts]
    rows = sp.csr_array(tuple(maps), X.shape)
    found = Problem(rows, y, losses.Logistic(), 1e-3, intercept="free")
    for name, each in zip(parts, maps, strict=True):
        assert np.shares_memory(getattr(found.data.storage.matrix, name), each)
    for each, kernels in zip(maps, reversed(found.data.storage.rows), strict=True):
        assert np.shares_memory(kernels, each)
    expected = Problem(X, y, losses.Logistic(), 1e-3, intercept="free")
    for method in children.METHODS:
        assert_same(solve(found, method, tol=1e-9), solve(expected, method, tol=1e-9))
    model = QuartzClassifier("log_loss", alpha=1e-3, tol=1e-9, random_state=0)
    (task,) = model.training(rows, y).problems
    for name, each in zip(parts, maps, strict=True):
        assert np.shares_memory(getattr(task.data.storage.matrix, name), each)
    assert model.fit(rows, y).coef_.tolist() == model.fit(X, y).coef_.tolist()
