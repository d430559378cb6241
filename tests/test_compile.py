"""The compiler of kernels and its cache on disk: no stale, foreign or mixed-up code."""

import os
import subprocess
import sys

import numpy as np
import pytest

from quartz.kernels.compile import Specialized, specialize
from quartz.kernels.placeholder import placeholder as placeholder_mark

LOSS = """
from typing import NamedTuple
import numpy as np

def half_square(r):
    return {factor} * r * r

class {name}(NamedTuple):
    @property
    def gamma(self):
        return 1.0 / (2 * {factor})

    def value(self, a, y):
        return half_square(a - y)

    def gradient(self, a, y):
        return 2 * {factor} * (a - y)

    def conjugate(self, u, y):
        return u * y + u * u / (4 * {factor})

    def step(self, alpha, a, y, q):
        return (y - a + q * alpha) / (q + 1 / (2 * {factor}))
"""

SCRIPT = """
import numpy as np
from quartz import Problem, methods, solve
from quartz.samplings import Uniform
from {module} import {name}
result = solve(Problem(np.eye(3), np.ones(3), {name}(), lam=0.1), Uniform(), tol=1e-12)
print("result", result.converged, round(float(result.w[0]), 6))
"""


def run(folder, cache, module="mylosses", name="Mine", factor=None):
    """Write the loss if asked to, solve in a new process: converged, w_0, kernel from the cache."""
    folder.mkdir(exist_ok=True)
    if factor is not None:
        (folder / f"{module}.py").write_text(LOSS.format(name=name, factor=factor))
    environment = os.environ | {
        "NUMBA_CACHE_DIR": str(cache),
        "NUMBA_DEBUG_CACHE": "1",
        "PYTHONPATH": str(folder),
    }
    shown = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(module=module, name=name)],
        capture_output=True,
        text=True,
        env=environment,
        cwd=folder,
    )
    assert shown.returncode == 0, shown.stderr
    converged, w = shown.stdout.split("result")[-1].split()
    loaded = [line for line in shown.stdout.splitlines() if "data loaded from" in line]
    return converged == "True", float(w), any("advance_rows" in line for line in loaded)


def optimum(factor):
    """argmin of factor (w - 1)^2 / 3 + 0.05 w^2, coordinate by coordinate."""
    return round(2 * factor / 3 / (2 * factor / 3 + 0.1), 6)


def test_cache_is_used_and_never_stale(tmp_path):
    """A second process loads the kernel; one after an edit of the loss compiles it anew."""
    cache, folder = tmp_path / "cache", tmp_path / "one"
    assert run(folder, cache, factor=0.5) == (True, optimum(0.5), False)
    assert run(folder, cache) == (True, optimum(0.5), True)
    # the edit is in a helper that the loss's methods call
    assert run(folder, cache, factor=0.25) == (True, optimum(0.25), False)
    assert run(folder, cache, factor=0.5) == (True, optimum(0.5), True)


def test_a_class_of_another_program_does_not_break_the_cache(tmp_path):
    """Numba would unpickle the other program's loss, which is not to be imported here."""
    cache = tmp_path / "cache"
    assert run(tmp_path / "one", cache, "first_losses", "First", 0.5) == (True, optimum(0.5), False)
    assert run(tmp_path / "two", cache, "second_losses", "Second", 0.5) == (
        True,
        optimum(0.5),
        False,
    )
    assert run(tmp_path / "two", cache, "second_losses", "Second") == (True, optimum(0.5), True)


def outer(x):
    return helper(x) + placeholder(x)


def helper(x):
    return inner(x) * 2


def inner(x):
    return x + 1


@placeholder_mark
def placeholder(x):
    raise NotImplementedError


def square(x):
    return x * x


def cube(x):
    return x * x * x


def test_placeholders_and_helpers_are_linked():
    assert specialize(outer, {"placeholder": square})(3.0) == 8 + 9
    assert specialize(outer, {"placeholder": cube})(3.0) == 8 + 27
    assert outer.__globals__["helper"] is helper  # the original is untouched


def test_each_signature_is_compiled_by_itself():
    kernel = specialize(outer, {"placeholder": square})
    kernel(3.0)
    kernel(np.float32(3.0))
    names = {compiled.py_func.__qualname__ for compiled in kernel._compiled.values()}
    assert len(names) == len(kernel._compiled) >= 2


def through(x):
    return twice(x) + helper(x)


def twice(x):
    return 2 * placeholder(x)


def test_helpers_are_shared_where_they_are_the_same():
    """And have names of their own elsewhere: the linker tells those in cached kernels by names."""
    twices, helpers = set(), set()
    for part in (square, cube):
        kernel = specialize(through, {"placeholder": part})
        assert kernel(3.0) == 2 * part(3.0) + 8
        (compiled, *_) = kernel._compiled.values()
        twices.add(compiled.py_func.__globals__["twice"].py_func.__qualname__)
        helpers.add(compiled.py_func.__globals__["helper"])
    assert len(twices) == 2
    assert len(helpers) == 1


SHIFT, TABLE, SCALAR = 1.0, np.arange(3.0), np.float32(0.0)


def shifted(x):
    return x + SHIFT + TABLE[1] + SCALAR


CONSTANTS = [("SHIFT", 2.0), ("TABLE", np.arange(3.0) * 2), ("SCALAR", np.float32(1.0))]


@pytest.mark.parametrize(("name", "value"), CONSTANTS)
def test_an_edited_constant_makes_a_new_kernel(monkeypatch, name, value):
    """Numba freezes globals into the code that it caches."""
    before = Specialized(shifted, {})
    monkeypatch.setitem(shifted.__globals__, name, value)
    after = Specialized(shifted, {})
    assert before._fingerprint != after._fingerprint
    assert after(1.0) == 4.0


def test_a_constant_that_changed_since_is_seen(monkeypatch):
    assert specialize(shifted, {})(1.0) == 3.0
    monkeypatch.setitem(shifted.__globals__, "SHIFT", 2.0)
    assert specialize(shifted, {})(1.0) == 4.0


def test_defaults_are_told_apart():
    fingerprints = set()
    for number in (1.0, 2.0):

        def shifted_by(x, shift=number):
            return x + shift

        fingerprints.add(Specialized(shifted_by, {})._fingerprint)
    assert len(fingerprints) == 2


def reads_a_module(x):
    return x + sys.maxsize


def test_values_that_cannot_be_hashed_are_not_cached():
    assert Specialized(reads_a_module, {})._fingerprint is None


def product(x):
    """Not the placeholder of this name that the kernels have."""
    return 2 * x


def calls_its_own_product(x):
    return product(x)


def test_a_users_helper_keeps_its_name():
    assert specialize(calls_its_own_product, {"product": square})(3.0) == 6.0


def log(x):
    return np.log(x)


def test_a_helper_may_have_the_name_of_a_numpy_function():
    assert specialize(log, {})(1.0) == 0.0


def factorial(x):
    return 1.0 if x < 2 else x * factorial(x - 1)


def test_recursion_is_refused():
    with pytest.raises(TypeError, match="factorial calls itself"):
        specialize(factorial, {})(3.0)


def test_function_without_a_file_is_told_apart_by_its_code():
    kernels = []
    for number in (40, 50):
        namespace = {}
        exec(f"def made_up(x):\n    return x + {number}", namespace)
        kernels.append(specialize(outer, {"placeholder": namespace["made_up"]}))
        assert kernels[-1](1.0) == 4 + 1 + number
    assert kernels[0]._fingerprint != kernels[1]._fingerprint


def test_closures_are_told_apart():
    def adding(number):
        return lambda x: x + number

    assert specialize(outer, {"placeholder": adding(1.0)})(1.0) == 4 + 2
    assert specialize(outer, {"placeholder": adding(2.0)})(1.0) == 4 + 3


def test_loss_that_cannot_be_compiled_says_what_to_do():
    from quartz import Problem, losses, methods, solve

    class Opaque(losses.Squared):
        def step(self, alpha, a, y, q):
            return float(str(super().step(alpha, a, y, q)))

    problem = Problem(np.eye(3), np.ones(3), Opaque(), lam=0.1)
    with pytest.raises(TypeError, match=r'cannot be compiled.*engine="reference"'):
        solve(problem, methods.Permuted())
    assert solve(problem, methods.Quartz(engine="reference")).converged
    assert solve(problem).converged  # Newton steps need no kernel
