"""Rows in several threads: same digits, BLAS gets its threads back, warnings stay quiet."""

import threading

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController, threadpool_limits

from quartz import Problem, losses, solve
from quartz.arrays import quiet
from quartz.parallel import in_parts, one_blas_thread, several_threads


def blas_threads():
    found = ThreadpoolController().select(user_api="blas").lib_controllers
    return [library.num_threads for library in found]


def in_another_thread(function):
    found = []
    thread = threading.Thread(target=lambda: found.append(function()))
    thread.start()
    thread.join()
    return found[0]


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60_000, 40))
    y = np.sign(X[:, 0] + rng.normal(size=60_000))
    return Problem(X, y, losses.Logistic(), 1e-4, intercept="free")


def test_results_are_the_same_for_any_number_of_threads(problem):
    found = []
    for count in (1, 2, 3):
        with several_threads(count):
            found.append(solve(problem, tol=1e-6))
    for other in found[1:]:
        np.testing.assert_array_equal(other.w, found[0].w)
        np.testing.assert_array_equal(other.duals, found[0].duals)


def test_limits_of_other_threads_work_after_a_run(problem):
    solve(problem, tol=1e-2)

    def limited():
        with threadpool_limits(1, user_api="blas"):
            return blas_threads()

    assert set(in_another_thread(limited)) == {1}


def test_blas_gets_its_threads_back_when_the_last_run_ends():
    before = blas_threads()
    first, second = one_blas_thread(), one_blas_thread()
    first.__enter__()
    in_another_thread(second.__enter__)
    assert set(blas_threads()) == {1}
    first.__exit__(None, None, None)
    assert set(blas_threads()) == {1}
    in_another_thread(lambda: second.__exit__(None, None, None))
    assert blas_threads() == before


def test_parts_in_other_threads_are_quiet_where_the_caller_is():
    with quiet(), several_threads(2):
        found = in_parts(lambda part: np.full(2, 1e308) * 10, range(4), 1e9)
    assert np.isinf(found).all()
    with several_threads(2), pytest.warns(RuntimeWarning, match="overflow"):
        in_parts(lambda part: np.full(2, 1e308) * 10, range(4), 1e9)


def test_an_exception_in_a_part_is_raised():
    def function(part):
        if part == 3:
            raise ValueError("mine")
        return part

    with several_threads(2), pytest.raises(ValueError, match="mine"):
        in_parts(function, range(4), 1e9)
