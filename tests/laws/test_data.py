"""Blocks of every kind against dense linear algebra."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import registry
from quartz.data import KroneckerBlocks, RowBlocks, StackedBlocks, as_blocks, make_classification
from quartz.data.synthetic import make_regression


@pytest.mark.parametrize("kind", registry.KINDS)
@given(seed=st.integers(0, 10**6))
@settings(max_examples=15, deadline=None)
def test_interface_against_dense_blocks(kind, seed):
    rng = np.random.default_rng(seed)
    data = registry.make_data(kind, rng)
    A = data.dense()
    assert A.shape == (data.n, data.d, data.m)
    w, alpha = rng.normal(size=data.d), rng.normal(size=data.dual_shape)
    blocks = alpha.reshape(data.n, data.m)
    predictions = np.einsum("ijk,j->ik", A, w).reshape(data.dual_shape)
    np.testing.assert_allclose(data.predictions(w), predictions, atol=1e-12)
    np.testing.assert_allclose(
        data.combination(alpha), np.einsum("ijk,ik->j", A, blocks), atol=1e-12
    )
    grams = np.einsum("ijk,ijl->ikl", A, A)
    products = np.einsum("ikl,il->ik", grams, blocks).reshape(data.dual_shape)
    np.testing.assert_allclose(data.gram_products(alpha), products, atol=1e-12)
    i = int(rng.integers(data.n))
    np.testing.assert_allclose(data.predict_one(i, w), predictions[i], atol=1e-12)
    out = w.copy()
    data.accumulate(i, alpha[i], out)
    np.testing.assert_allclose(out, w + A[i] @ blocks[i], atol=1e-12)
    part = np.array([4, 1, 7])
    np.testing.assert_array_equal(data.take(part).dense(), A[part])


@pytest.mark.parametrize("kind", registry.KINDS)
def test_squared_norms_are_weighted_block_eigenvalues(kind):
    rng = np.random.default_rng(3)
    data = registry.make_data(kind, rng)
    c, offsets = rng.random(data.d), rng.random(data.n)
    A = data.dense()
    for weights, shift in ((None, 0.0), (c, 0.0), (c, offsets), (None, offsets)):
        total = (np.ones(data.d) if weights is None else weights) + np.broadcast_to(shift, data.n)[
            :, None
        ]
        expected = [
            np.linalg.eigvalsh(A[i].T @ (total[i][:, None] * A[i]))[-1] for i in range(data.n)
        ]
        np.testing.assert_allclose(data.squared_norms(weights, shift), expected, atol=1e-12)


@pytest.mark.parametrize("kind", registry.KINDS)
def test_a_omegaj_and_a_wjprime(kind):
    """omega_j of [a-omegaj] and omega'_j of [a-wjprime] by counting."""
    rng = np.random.default_rng(4)
    data = registry.make_data(kind, rng, density=0.3)
    present = np.any(data.dense() != 0, axis=2)  # (n, d)
    p, labels = rng.random(data.n), rng.integers(3, size=data.n)
    np.testing.assert_array_equal(data.row_sums(), present.sum(axis=0))
    np.testing.assert_allclose(data.row_sums(p), p @ present)
    active = sum(present[labels == group].any(axis=0).astype(int) for group in range(3))
    np.testing.assert_array_equal(data.active_groups(labels), active)


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_canonical_csr_is_not_copied(index, dtype):
    X = sp.random_array(
        (20, 10), density=0.3, format="csr", rng=np.random.default_rng(0), dtype=dtype
    )
    X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
    for given_matrix in (X, sp.csr_matrix(X)):
        data = RowBlocks(given_matrix)
        assert np.shares_memory(data.storage.matrix.data, given_matrix.data)
        assert np.shares_memory(data.storage.matrix.indices, given_matrix.indices)
        assert data.storage.matrix.indices.dtype == index
        assert data.storage.matrix.dtype == dtype


def test_dense_is_not_copied():
    for dtype in (np.float32, np.float64):
        X = np.ones((4, 3), dtype=dtype)
        assert np.shares_memory(RowBlocks(X).storage.matrix, X)


def test_duplicates_are_summed_and_zeros_ignored_without_touching_the_input():
    duplicated = sp.csr_array(
        (np.array([1.0, 2.0, 3.0, 0.0]), np.array([1, 1, 0, 2]), np.array([0, 3, 4])), shape=(2, 3)
    )
    data = RowBlocks(duplicated)
    np.testing.assert_array_equal(data.dense()[:, :, 0], [[3, 3, 0], [0, 0, 0]])
    np.testing.assert_array_equal(data.squared_norms(), [18, 0])
    np.testing.assert_array_equal(data.row_sums(), [1, 1, 0])
    assert duplicated.nnz == 4
    np.testing.assert_array_equal(duplicated.data, [1, 2, 3, 0])


@pytest.mark.parametrize("convert", [sp.csc_array, sp.coo_array, sp.csr_matrix, np.asarray])
def test_any_format_and_number_type(convert):
    X = np.array([[1, 0, 2], [0, 3, 0]])
    data = RowBlocks(convert(X))
    assert data.storage.matrix.dtype == np.float64
    np.testing.assert_array_equal(data.predictions(np.array([1.0, 1.0, 1.0])), [3, 3])


def test_kronecker_norm_is_that_of_the_example():
    X = np.array([[3.0, 4.0], [1.0, 0.0]])
    np.testing.assert_array_equal(KroneckerBlocks(X, 5).squared_norms(), [25, 1])


def test_stacked_accepts_three_dimensions():
    A = np.random.default_rng(0).normal(size=(4, 5, 2))
    np.testing.assert_array_equal(StackedBlocks(A).dense(), A)


def test_as_blocks_keeps_blocks_and_chooses_by_outputs():
    data = RowBlocks(np.eye(2))
    assert as_blocks(data) is data
    assert isinstance(as_blocks(np.eye(2), 3), KroneckerBlocks)
    with pytest.raises(ValueError, match="blocks of 1 columns, but 3"):
        as_blocks(data, 3)


def test_generators_are_reproducible_with_unit_rows():
    for make in (make_classification, make_regression):
        X, y = make(40, 12, density=0.3, seed=5)
        again, y_again = make(40, 12, density=0.3, seed=5)
        np.testing.assert_array_equal(X.toarray(), again.toarray())
        np.testing.assert_array_equal(y, y_again)
        norms = RowBlocks(X).squared_norms()
        np.testing.assert_allclose(norms[norms > 0], 1)
    _, labels = make_classification(60, 12, density=0.5, classes=3)
    assert set(labels) == {0.0, 1.0, 2.0}
