"""What must not bring a process down or warn without need: odd memory, odd scales, odd settings."""

import os
import re
import subprocess
import sys
import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from quartz import (
    Plan,
    Problem,
    QuartzClassifier,
    data,
    losses,
    methods,
    samplings,
    solve,
    theory,
)
from quartz.data import RowBlocks, StackedBlocks

# Matrices that point outside their own arrays


def sparse(kind="csr"):
    return sp.random_array((50, 20), density=0.3, rng=np.random.default_rng(0)).asformat(kind)


def changed(kind, part, position, value):
    X = sparse(kind)
    getattr(X, part)[position] = value
    return X


def replaced(kind, part, change):
    X = sparse(kind)
    setattr(X, part, change(getattr(X, part)))
    return X


def moved(axis, position):
    X = sparse("coo")
    X.coords[axis][3] = position
    return X


MALFORMED = {
    "indptr not monotone": (
        lambda: changed("csr", "indptr", 10, 10**7),
        r"its indptr must not fall, but goes from 10000000 at 10 to \d+\. Check how it was built",
    ),
    "indptr negative": (lambda: changed("csr", "indptr", 10, -5), r"must not fall.* to -5\."),
    "indptr begins late": (lambda: changed("csr", "indptr", 0, 2), r"begins with 2 in place of 0"),
    "indptr ends late": (lambda: changed("csr", "indptr", -1, 301), r"ends with 301.* 300 entries"),
    "indptr too short": (
        lambda: replaced("csr", "indptr", lambda old: old[:-3]),
        r"its indptr has length 48 in place of 51",
    ),
    "indptr of floats": (
        lambda: replaced("csr", "indptr", lambda old: old.astype(float)),
        r"its indptr must be a vector of whole numbers, got 1 dimension\(s\) of float64",
    ),
    "data too short": (
        lambda: replaced("csr", "data", lambda old: old[:-3]),
        r"its data have shape \(297,\) for 300 indices",
    ),
    "column too large": (
        lambda: changed("csr", "indices", 3, 10**8),
        r"column indices run from 0 to 100000000, but it has 20 columns",
    ),
    "csc indptr": (lambda: changed("csc", "indptr", 10, 10**7), r"its indptr must not fall"),
    "csc row": (
        lambda: changed("csc", "indices", 3, -(10**8)),
        r"its indices must lie between 0 and 49, but run from -100000000 to 49",
    ),
    "bsr indptr": (lambda: changed("bsr", "indptr", 10, 10**7), r"its indptr must not fall"),
    "bsr column": (lambda: changed("bsr", "indices", 3, 10**8), r"must lie between 0 and 19"),
    "coo row": (
        lambda: moved(0, 10**8),
        r"its coords\[0\] must lie between 0 and 49, but run from 0 to 100000000",
    ),
    "coo column": (lambda: moved(1, -1), r"its coords\[1\] must lie between 0 and 19"),
    "dia offsets": (
        lambda: replaced("dia", "offsets", lambda old: np.tile(old, 50)),
        r"it has 3150 offsets for 63 diagonals",
    ),
    "lil lists": (
        lambda: replaced("lil", "rows", lambda old: old[:4]),
        r"its rows and data must be lists of equal lengths",
    ),
}
LABELS = np.where(np.arange(50) % 2, 1.0, -1.0)


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_matrix_is_refused_before_scipy_reads_it(name):
    """Before, most of these ended the process; some gave a RuntimeError of C++."""
    make, message = MALFORMED[name]
    with pytest.raises(ValueError, match=f"X is malformed: .*{message}"):
        Problem(make(), LABELS, losses.Logistic(), 0.1)
    with pytest.raises(ValueError, match="X is malformed"):
        QuartzClassifier().fit(make(), LABELS)
    fitted = QuartzClassifier().fit(sparse(), LABELS)
    with pytest.raises(ValueError, match="X is malformed"):
        fitted.predict(make())


# Stored zeros


def with_stored_zeros(index=np.int32, dtype=np.float64, n=60, d=12):
    """A matrix with a third of its entries 0 but stored, and the same without them."""
    rng = np.random.default_rng(3)
    X = sp.random_array((n, d), density=0.2, format="csr", rng=rng, dtype=dtype)
    X.sort_indices()
    X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
    X.data[rng.random(X.nnz) < 0.4] = 0.0
    without = X.copy()
    without.eliminate_zeros()
    assert without.nnz < X.nnz
    return X, without


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [60, 20_000])  # by SciPy's check, and by the compiled one
def test_stored_zeros_cost_no_memory(index, dtype, n):
    X, _ = with_stored_zeros(index, dtype, n, d=60)
    matrix = RowBlocks(X).storage.matrix
    for part in ("data", "indices", "indptr"):
        assert np.shares_memory(getattr(matrix, part), getattr(X, part))
        assert getattr(matrix, part).dtype == getattr(X, part).dtype


def test_only_what_must_change_is_copied():
    X, _ = with_stored_zeros()
    whole = X.astype(np.int8)
    assert np.shares_memory(RowBlocks(whole).storage.matrix.indices, whole.indices)
    reversed_columns = X.copy()
    for i in range(X.shape[0]):
        row = slice(X.indptr[i], X.indptr[i + 1])
        reversed_columns.indices[row] = X.indices[row][::-1]
        reversed_columns.data[row] = X.data[row][::-1]
    before = reversed_columns.indices.copy()
    sorted_again = RowBlocks(reversed_columns).storage.matrix
    assert not np.shares_memory(sorted_again.indices, reversed_columns.indices)
    np.testing.assert_array_equal(sorted_again.toarray(), X.toarray())
    np.testing.assert_array_equal(reversed_columns.indices, before)


SAMPLINGS = [
    samplings.Uniform(),
    samplings.Importance(),
    samplings.Nice(4),
    samplings.Nice(4, spectral=True),
    samplings.Bucket(4),
    samplings.Distributed(3, 2),
    samplings.DoublyUniform({1: 0.5, 3: 0.5}),
    samplings.FullBatch(),
]


@pytest.mark.parametrize("sampling", SAMPLINGS, ids=repr)
def test_theory_does_not_see_stored_zeros(sampling):
    y = np.where(np.arange(60) % 2, 1.0, -1.0)
    pair = [Problem(X, y, losses.SmoothedHinge(), 0.01) for X in with_stored_zeros()]
    stored, without = (Plan.of(problem, sampling) for problem in pair)
    np.testing.assert_allclose(stored.p, without.p, rtol=1e-12)
    np.testing.assert_allclose(stored.v, without.v, rtol=1e-12)
    assert stored.theta == pytest.approx(without.theta, rel=1e-12)
    results = [solve(problem, sampling, tol=1e-8, max_passes=300) for problem in pair]
    np.testing.assert_allclose(results[0].w, results[1].w, atol=1e-10)
    assert results[0].trace.passes == results[1].trace.passes


def test_patterns_do_not_see_stored_zeros():
    labels = np.arange(60) % 4
    for make in (RowBlocks, lambda X: StackedBlocks(X, 2), lambda X: data.KroneckerBlocks(X, 2)):
        stored, without = map(make, with_stored_zeros())
        groups = labels[: stored.n]
        np.testing.assert_array_equal(stored.row_sums(), without.row_sums())
        np.testing.assert_array_equal(stored.active_groups(groups), without.active_groups(groups))
        np.testing.assert_array_equal(stored.dense(), without.dense())
        assert theory.omega_tilde(stored, 2) == theory.omega_tilde(without, 2)
        penalized = Problem(stored.storage, np.ones(60), losses.Squared(), 0.1)
        np.testing.assert_array_equal(penalized.data.norms, RowBlocks(without.storage).norms)


def test_groups_may_share_stored_zeros():
    """Product sampling needs groups without a common feature, not without a common entry."""
    X = sp.csr_array(np.eye(4))
    shared = sp.csr_array(
        (np.ones(16), (np.repeat(range(4), 4), np.tile(range(4), 4))), shape=(4, 4)
    )
    shared.data[:] = X.toarray().ravel()
    assert shared.nnz == 16
    y = np.ones(4)
    for groups in (None, 4, [[0, 1], [2], [3]]):
        pair = [Problem(each, y, losses.Squared(), 0.1) for each in (shared, X)]
        stored, without = (Plan.of(problem, samplings.Product(groups)) for problem in pair)
        np.testing.assert_array_equal(stored.p, without.p)
        np.testing.assert_array_equal(stored.v, without.v)


@pytest.mark.parametrize(
    "method",
    [None, methods.Permuted(), methods.Newton(), methods.SPDC(), methods.SAGA(), methods.APCG()],
    ids=repr,
)
def test_methods_do_not_see_stored_zeros(method):
    y = np.where(np.arange(60) % 2, 1.0, -1.0)
    pair = [Problem(X, y, losses.Logistic(), 0.01) for X in with_stored_zeros()]
    stored, without = (solve(problem, method, tol=1e-9, max_passes=2000) for problem in pair)
    assert stored.converged
    np.testing.assert_allclose(stored.w, without.w, atol=1e-7)


# Without compilation

UNCOMPILED = """
import warnings
warnings.simplefilter("error")
import numpy as np
from quartz import Problem, data, losses, methods, samplings, solve
X, y = data.make_classification(30, 6, density=0.5, seed=0)
for rows in (X, X.toarray()):
    for intercept in (None, "free"):
        problem = Problem(rows, y, losses.Logistic(), 0.1, intercept=intercept)
        for method in (None, samplings.Nice(4), methods.Permuted()):
            result = solve(problem, method, tol=1e-6, max_passes=500)
            assert result.converged, result.message
            print(*result.w)
classes = np.arange(30) % 3
assert solve(Problem(X, classes, losses.Softmax(), 0.1, intercept="free")).converged
"""


def test_kernels_run_uncompiled():
    """NUMBA_DISABLE_JIT=1 is for debuggers and for measuring coverage."""
    shown = [
        subprocess.run(
            [sys.executable, "-c", UNCOMPILED],
            env=os.environ | {"NUMBA_DISABLE_JIT": disabled},
            capture_output=True,
            text=True,
            check=False,
        )
        for disabled in ("1", "0")
    ]
    for each in shown:
        assert each.returncode == 0, each.stderr
    found, expected = (np.array(each.stdout.split(), dtype=float) for each in shown)
    np.testing.assert_allclose(found, expected, atol=1e-12)


# Extreme scales

EXTREME = {
    "newton": (losses.SmoothedHinge(), methods.Newton(), 1e18, 1.0, 1e-187),
    "newton, large y": (losses.Squared(), methods.Newton(), 1e-120, 1e150, 1e-3),
    "default": (losses.Squared(), None, 1e120, 1e140, 1e-8),
    "condition": (losses.Logistic(), samplings.FullBatch(), 1e81, 1.0, 1e-153),
    "theta": (losses.Logistic(), samplings.Uniform(), 3e63, 1.0, 2e-182),
    "promise": (losses.Logistic(), samplings.Importance(), 1e148, 1.0, 1e-11),
    "small": (losses.SquaredHinge(), methods.ASDCA(), 1e-131, 1.0, 1e3),
    "tiny": (losses.SquaredHinge(), methods.SPDC(), 1e-150, 1.0, 1e-100),
    "reference": (losses.Squared(), methods.Quartz(engine="reference"), 1e148, 1e80, 1e-163),
    "accelerated": (losses.Squared(), methods.Accelerated(), 1e120, 1e126, 1e-11),
}


def ending(problem, method):
    """How a run ended in words, and those of an error if there was one."""
    try:
        result = solve(problem, method, max_passes=10)
    except ValueError as error:
        return str(error)
    return repr(result)


@pytest.mark.parametrize("name", EXTREME)
@pytest.mark.parametrize("intercept", [None, "free", "penalized"])
def test_extreme_scales_end_without_a_warning(name, intercept):
    loss, method, of_x, of_y, lam = EXTREME[name]
    rng = np.random.default_rng(0)
    X, signs = rng.normal(size=(8, 3)) * of_x, np.array([1.0, -1.0] * 4)
    y = rng.normal(size=8) * of_y if isinstance(loss, losses.Squared) else signs
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        words = ending(Problem(X, y, loss, lam, intercept=intercept), method)
    expected = r"Result: |No finite optimum of intercept=.*Scale X|.*has no free intercept"
    assert re.match(expected, words), words


@pytest.mark.parametrize("sampling", [samplings.Importance(), samplings.Bucket(2)], ids=repr)
def test_probabilities_that_overflow_are_refused_with_a_remedy(sampling):
    X = np.random.default_rng(0).normal(size=(8, 3)) * 1e130
    problem = Problem(X, [1.0, -1.0] * 4, losses.Logistic(), 1e-60)
    wanted = (
        rf"{type(sampling).__name__} sampling follows v_i / \(lam gamma_i n\), which overflows for "
        r"row 0 of X with v = .* and lam = 1e-60\. Scale X, or raise lam\."
    )
    with pytest.raises(ValueError, match=wanted):
        solve(problem, sampling)


def test_steps_that_overflow_are_refused_with_a_remedy():
    X = np.random.default_rng(0).normal(size=(8, 3)) * 1e140
    problem = Problem(X, np.ones(8), losses.Huber(1e-100), 1e-3)
    with pytest.raises(ValueError, match=r"SAGA steps by max_i .* which overflows\. Scale X, or"):
        solve(problem, methods.SAGA())
    with pytest.raises(ValueError, match=r"squares of row 0 of X overflow\. Scale X"):
        solve(Problem(X * 1e20, np.ones(8), losses.Huber(), 1e-3), methods.SPDC())


def test_spectral_steps_of_numbers_that_overflow_are_refused_with_a_remedy():
    X = 4e156 * (1 + 1e-7 * np.random.default_rng(0).normal(size=(32, 7)))
    problem = Problem(X, np.ones(32), losses.Squared(), lam=1.0, intercept="free")
    with pytest.raises(ValueError, match="Scale X"):
        solve(problem, samplings.FullBatch(spectral=True))
