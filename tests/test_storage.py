"""The seam for data: a storage of one's own passes sweeps, certificates and epochs."""

from typing import NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp

from quartz import (
    Problem,
    QuartzClassifier,
    certify,
    data,
    losses,
    methods,
    regularizers,
    samplings,
    solve,
)


class TwoParts(data.Storage):
    """Rows in two separate CSR matrices, the first ones above the others."""

    class Rows(NamedTuple):
        top: object  # arrays of a CsrStorage
        bottom: object
        split: np.uint64  # rows of the top
        end: np.uint64  # its entries

    def __init__(self, top, bottom):
        above, below = data.as_storage(top), data.as_storage(bottom)
        self.shape = (above.shape[0] + below.shape[0], above.shape[1])
        sizes = np.uint64(above.shape[0]), np.uint64(above.nonzeros)
        self.rows = self.Rows(above.rows, below.rows, *sizes)
        self.parts = {"row_start": _start, "column": _column, "value": _value}


def _start(rows, i):
    if i < rows.split:
        return np.uint64(rows.top.starts[i])
    return np.uint64(rows.bottom.starts[i - rows.split]) + rows.end


def _column(rows, k, start):
    if k < rows.end:
        return np.uint64(rows.top.columns[k])
    return np.uint64(rows.bottom.columns[k - rows.end])


def _value(rows, k):
    return rows.top.values[k] if k < rows.end else rows.bottom.values[k - rows.end]


def both(n=300, cut=110):
    X, y = data.make_classification(n, 30, density=0.3, seed=3)
    return X, TwoParts(X[:cut], X[cut:]), y


def test_products_are_those_of_one_matrix():
    X, parts, _ = both()
    rng = np.random.default_rng(0)
    w, alpha = rng.normal(size=30), rng.normal(size=300)
    one, two = data.RowBlocks(X), data.RowBlocks(parts)
    np.testing.assert_allclose(two.predictions(w), one.predictions(w), atol=1e-13)
    np.testing.assert_allclose(two.combination(alpha), one.combination(alpha), atol=1e-13)
    np.testing.assert_allclose(two.norms, one.norms, atol=1e-13)
    np.testing.assert_array_equal(two.row_sums(), one.row_sums())
    np.testing.assert_array_equal(two.dense(), one.dense())
    for i in (0, 109, 110, 299):
        np.testing.assert_allclose(two.predict_one(i, w), one.predict_one(i, w), atol=1e-13)
    grams = [np.zeros((30, 30)), np.zeros((30, 30))]
    for blocks, gram in zip((one, two), grams, strict=True):
        blocks.storage.add_gram(np.arange(300), alpha, gram)
    np.testing.assert_allclose(np.tril(grams[0]), np.tril(grams[1]), atol=1e-12)


@pytest.mark.parametrize("intercept", [None, "penalized", "free"])
@pytest.mark.parametrize(
    "method",
    [methods.Permuted(), methods.Accelerated(), None, samplings.Nice(4)],
    ids=["epochs", "accelerated", "default", "nice"],
)
def test_runs_and_certificates_are_those_of_one_matrix(method, intercept):
    X, parts, y = both()
    one, two = (
        Problem(rows, y, losses.Logistic(), 1e-3, intercept=intercept) for rows in (X, parts)
    )
    left, right = (solve(problem, method, tol=1e-6, max_passes=500) for problem in (one, two))
    assert right.converged
    # The centre of a free intercept differs in the last digit, and BLAS forms a matrix anew where
    # kernels update it.
    if intercept == "free" or method is None:
        assert right.trace.passes[-1] == pytest.approx(left.trace.passes[-1], rel=0.25)
        np.testing.assert_allclose(left.w, right.w, atol=0.02)
    else:
        assert left.trace.passes == right.trace.passes
        np.testing.assert_allclose(left.duals, right.duals, atol=1e-9)
    again = certify(one, right.duals, right.w, primal="own")
    expected = right.certificate.gap - right.certificate.rounding  # whose bound sees d, not rows
    if method is None:  # Newton steps leave a free intercept where it is
        assert again.gap - again.rounding <= expected + 1e-14
    else:
        assert again.gap - again.rounding == pytest.approx(expected, abs=1e-14)


def test_several_outputs_and_other_regularizers():
    X, parts, y = both()
    classes = (y > 0).astype(int) + (np.arange(300) % 3 == 0)
    g = regularizers.ElasticNet(0.1)
    one, two = (
        Problem(rows, classes, losses.Softmax(), 1e-2, g)
        for rows in (data.KroneckerBlocks(X, 3), data.KroneckerBlocks(parts, 3))
    )
    left, right = (solve(problem, tol=1e-7) for problem in (one, two))
    np.testing.assert_allclose(left.w, right.w, atol=1e-9)
    assert right.coef.shape == (30, 3)


def test_several_targets_become_outputs():
    _, parts, y = both()
    targets = np.column_stack([y, -y])
    found = solve(Problem(parts, targets, losses.Squared(), 0.1, intercept="free"), tol=1e-9)
    assert found.coef.shape == (30, 2)
    assert found.intercept.shape == (2,)


class Unsorted(data.Storage):
    """The columns of each row in falling order."""

    def __init__(self, X):
        inner = data.as_storage(X)
        matrix = inner.matrix.copy()
        for i in range(matrix.shape[0]):
            row = slice(matrix.indptr[i], matrix.indptr[i + 1])
            matrix.indices[row] = matrix.indices[row][::-1].copy()
            matrix.data[row] = matrix.data[row][::-1].copy()
        rows = type(inner.rows)(inner.rows.starts, matrix.indices.view(np.uint32), matrix.data)
        self.shape, self.rows, self.parts = inner.shape, rows, inner.parts


def test_columns_may_be_in_any_order():
    X, _, y = both()
    sorted_columns, others = (
        solve(Problem(rows, y, losses.Logistic(), 1e-4), methods.Newton(), tol=1e-10)
        for rows in (X, Unsorted(X))
    )
    assert abs(others.trace.iterations[-1] - sorted_columns.trace.iterations[-1]) <= 1
    np.testing.assert_allclose(others.w, sorted_columns.w, rtol=1e-4)


def test_estimators_say_what_to_do_with_a_storage():
    _, parts, y = both()
    with pytest.raises(TypeError, match=r"got TwoParts\. Solve it with quartz\.solve"):
        QuartzClassifier().fit(parts, y)


def test_a_part_may_be_in_float32():
    X, _, y = both()
    parts = TwoParts(X[:110].astype(np.float32), sp.csr_array(X[110:]))
    assert solve(Problem(parts, y, losses.SquaredHinge(), 1e-3)).converged
