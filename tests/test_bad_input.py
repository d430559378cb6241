"""Bad input: each either works or raises an error with the argument, the value and the remedy."""

from typing import NamedTuple

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp

import registry
from quartz import (
    Plan,
    Problem,
    QuartzClassifier,
    certify,
    losses,
    methods,
    regularizers,
    samplings,
    solve,
    theory,
)
from quartz.data import KroneckerBlocks, RowBlocks, StackedBlocks, make_classification
from quartz.intercept.best import best_intercept
from quartz.losses.examples import ExampleLosses

X, Y = np.eye(4), np.array([1.0, -1.0, 1.0, -1.0])


def problem(X=X, y=Y, loss=None, lam=0.1, **options):
    return Problem(X, y, losses.SmoothedHinge() if loss is None else loss, lam, **options)


def with_entry(value, sparse):
    bad = X.copy()
    bad[2, 1] = value
    return sp.csr_array(bad) if sparse else bad


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: problem(with_entry(np.nan, True)), r"X\[2, 1\] is NaN.*Remove row 2"),
        (lambda: problem(with_entry(np.inf, False)), r"X\[2, 1\] is inf"),
        (lambda: problem(np.empty((0, 3)), []), r"X is empty: its shape is \(0, 3\)"),
        (lambda: problem(sp.csr_array((4, 0))), r"X is empty"),
        (lambda: problem(np.ones(4)), r"1 dimension.*reshape\(1, -1\)"),
        (lambda: problem(np.array([["a"]])), r"X must hold real numbers"),
        (lambda: problem(X * 1j), r"X must hold real numbers, got dtype complex"),
        (lambda: problem(y=[1, -1, 1]), r"y must have shape \(4,\), got \(3,\)"),
        (lambda: problem(y=[1, -1, 0, 1]), r"y\[2\] is 0, but SmoothedHinge needs.*2 \* y - 1"),
        (lambda: problem(y=[1, -1, np.nan, 1]), r"y\[2\] is nan"),
        (lambda: problem(y=["a", "b", "c", "d"]), r"y must hold numbers"),
        (lambda: problem(y=[0, 1, 2.5, 1], loss=losses.Softmax()), r"y\[2\] is 2.5.*class numbers"),
        (lambda: problem(y=[0, -1, 2, 1], loss=losses.Softmax()), r"y\[1\] is -1.*0, ..., 2"),
        (lambda: problem(RowBlocks(X), loss=losses.Softmax()), r"couples several outputs"),
        (lambda: problem(lam=0), r"lam must be a finite number above 0, got 0"),
        (lambda: problem(lam=-1.0), r"lam must be .* got -1.0"),
        (lambda: problem(lam=np.nan), r"lam must be"),
        (lambda: problem(lam="1"), r"lam must be"),
        (lambda: problem(loss=losses.SmoothedHinge(gamma=0)), r"gamma must be .* got 0.*Hinge\(\)"),
        (lambda: problem(loss=losses.SquaredHinge(-2.0)), r"gamma must be"),
        (lambda: problem(loss=losses.Huber(np.inf)), r"gamma must be"),
        (lambda: problem(loss=losses.EpsilonInsensitive(-0.1)), r"epsilon must be .* got -0.1"),
        (lambda: problem(loss=losses.Logistic), r"no value of its own.*such as Logistic\(\)"),
        (lambda: problem(loss="hinge"), r"The loss 'hinge' has no value"),
        (lambda: problem(regularizer="l1"), r"The regularizer 'l1' has no value"),
        (lambda: problem(regularizer=regularizers.ElasticNet(-1.0)), r"mu must be"),
        (lambda: problem(regularizer=regularizers.BoxL2(1.0, 0.0)), r"lower must not exceed upper"),
        (lambda: problem(regularizer=regularizers.GroupL2(np.array([0, 1]))), r"length d=4"),
        (
            lambda: problem(regularizer=regularizers.GroupL2(np.array([0, 2, 2, 2]))),
            r"group 1 empty",
        ),
        (lambda: problem(weights=[1, 1, -1, 1]), r"weights\[2\] is -1; weights cannot be negative"),
        (lambda: problem(weights=[0, 0, 0, 0]), r"All weights are 0"),
        (lambda: problem(weights=[1, 1]), r"weights must have shape \(4,\), got \(2,\)"),
        (lambda: problem(weights=[1, 1, np.inf, 1]), r"weights\[2\] is inf"),
        (lambda: KroneckerBlocks(X, 1), r"outputs must be a whole number at least 2"),
        (lambda: StackedBlocks(np.ones((5, 2)), 2), r"5 stacked rows do not divide"),
        (lambda: StackedBlocks(np.ones((4, 2))), r"outputs must be"),
        (lambda: samplings.Serial([0.5, 0.4]), r"probabilities must sum to 1, got 0.9.*Divide"),
        (lambda: samplings.Serial([0.5, 0.5, 0.0]), r"probabilities\[2\] is 0"),
        (lambda: samplings.Serial([1.5, -0.5]), r"probabilities\[1\] is -0.5"),
        (lambda: samplings.Serial([]), r"nonempty vector"),
        (lambda: samplings.Serial([0.5, np.nan]), r"probabilities\[1\] is nan"),
        (lambda: samplings.Independent([0.5, 0.0]), r"probabilities\[1\] is 0"),
        (lambda: samplings.Independent([0.5, 1.1]), r"probabilities\[1\] is 1.1"),
        (lambda: samplings.NiceSampling(4, 5), r"batch_size must be .* between 1 and 4, got 5"),
        (lambda: samplings.NiceSampling(4, 2.5), r"batch_size must be a whole number"),
        (lambda: samplings.DoublyUniform({9: 1.0}).bind(problem()), r"size must be .*got 9"),
        (lambda: samplings.DoublyUniform({0: 1.0}).bind(problem()), r"expected size"),
        (lambda: samplings.DistributedSampling([[0, 1], [3]], 1), r"cover all.*none holds 2"),
        (
            lambda: samplings.DistributedSampling([[0, 1], [1, 2]], 1),
            r"example 1 is in groups \[0, 1\]",
        ),
        (lambda: samplings.DistributedSampling([[0, 1], [2, 3]], [1, 3]), r"got 3. Part 1 owns 2"),
        (lambda: samplings.DistributedSampling([0, 0, 2], 1), r"leaves group 1 empty"),
        (lambda: samplings.DistributedSampling([0, -1], 1), r"parts\[1\] is -1"),
        (lambda: samplings.Distributed(5, 1).bind(problem()), r"nodes must be .* got 5"),
        (lambda: samplings.Product([[0, 1], [2]]).bind(problem()), r"none holds 3"),
        (lambda: samplings.Product([[0, 1], [2, 7]]).bind(problem()), r"names example 7"),
        (lambda: samplings.Bucket([0, 1]).bind(problem()), r"must cover all 4 examples, got 2"),
        (lambda: samplings.Bucket(9).bind(problem()), r"groups must be .* got 9"),
        (lambda: samplings.Bucket(2).bind(problem(loss=losses.Hinge())), r"smooth loss.*Uniform"),
        (lambda: samplings.BucketSampling([0, 0, 1], [0.5, 0.4, 1]), r"group 0 sum to 0.9"),
        (lambda: samplings.BucketSampling([0, 0, 1], [1, 0, 1]), r"probabilities\[1\] is 0"),
        (lambda: samplings.Explicit([[0], [2]], [0.5, 0.5]), r"Example 1 is in no set"),
        (lambda: samplings.Explicit([[0], [1]], [1.0]), r"2 sets need as many probabilities"),
        (lambda: samplings.Explicit([[0], [-1]], [0.5, 0.5]), r"sets\[1\] holds -1"),
        (
            lambda: samplings.Explicit([[0.7], [1]], [0.5, 0.5]),
            r"sets\[0\] must be a list of whole",
        ),
        (lambda: samplings.Product([[0, 1, 2, 3], []]).bind(problem()), r"leaves group 1 empty"),
        (lambda: samplings.Product({0: [1]}).bind(problem()), r"groups must be a vector"),
        (lambda: samplings.DistributedSampling([0, 1], [1, 1, 1]), r"one for each of the 2 parts"),
        (lambda: samplings.verify_eso(samplings.Nice(2), X), r"Nice\(2\).bind\(problem\)"),
        (lambda: samplings.verify_eso(samplings.Serial([1.0]), RowBlocks(X)), r"n = 1 .* data 4"),
        (lambda: solve(problem(), samplings.Uniform), r"method must be a sampling such as"),
        (lambda: solve(problem(), 0), r"method must be a sampling such as"),
        (
            lambda: solve(problem(), start=np.full(4, 3.0)),
            r"duals\[0\] of the start is 3.0, outside",
        ),
        (
            lambda: solve(problem(loss=losses.Hinge()), methods.Quartz(primal="own")),
            r"w never moves",
        ),
        (lambda: solve(problem(), max_passes="3"), r"max_passes must be"),
        (lambda: solve(problem(X * 1e200)), r"the squares of row 0 of X overflow. Scale X"),
        (lambda: problem().primal(np.zeros((4, 1))), r"w must have shape \(4,\), got \(4, 1\)"),
        (lambda: problem().dual(np.zeros(3)), r"alpha must have shape \(4,\), got \(3,\)"),
        (lambda: certify(problem(), np.full(4, np.nan)), r"duals\[0\] is nan"),
        (lambda: problem(y=Y[:, None]), r"Pass y.ravel\(\)"),
        (lambda: problem(y=list("abcd"), loss=losses.Softmax()), r"y must hold numbers"),
        (lambda: problem(y=[1, 2, 3, 1], loss=losses.Softmax()), r"none is 0.*np.unique"),
        (lambda: problem(y=[0, 1, 10**10, 1], loss=losses.Softmax()), r"none is 2"),
        (lambda: problem(sp.coo_array(np.ones(4))), r"1 dimension"),
        (lambda: StackedBlocks(np.ones((2, 3, 2)), 5), r"outputs is 5, but the blocks have 2"),
        (
            lambda: problem(regularizer=regularizers.GroupL2([[0, 1], [2, 3]])),
            r"groups must be an array",
        ),
        (lambda: problem(regularizer=regularizers.BoxL2(np.inf, np.inf)), r"lower must not exceed"),
        (lambda: theory.theta(np.ones(1), np.ones(1), -1.0, 1.0, 1), r"lam must be"),
        (
            lambda: theory.nice_speedup(4, 100, 0.1, 1.0, 2),
            r"tau must lie between 1 and 4, got 100",
        ),
        (
            lambda: theory.distributed_leading_bound(8, 2, 1, 0.1, 1.0, 2),
            r"tau must lie between 2 and 4",
        ),
        (lambda: Plan.of(problem(), samplings.Serial([0.5, 0.5])), r"is for n = 2 .* has 4"),
        (lambda: Plan.of(problem(), "uniform"), r"sampling must be a sampling such as"),
        (
            lambda: Plan.of(problem(), samplings.Uniform(), option=3),
            r"option must be 1 or 2, got 3",
        ),
        (
            lambda: Plan.of(problem(), samplings.Uniform(), primal_step_factor=0),
            r"primal_step_factor",
        ),
        (
            lambda: Plan.of(problem(loss=losses.Hinge()), samplings.Uniform(), 2),
            r"Option II.*smooth",
        ),
        (lambda: solve(problem(), tol=-1), r"tol must be"),
        (lambda: solve(problem(), max_passes=-1), r"max_passes must be 0 or more, got -1"),
        (lambda: solve(problem(), passes_per_check=0), r"passes_per_check must be"),
        (lambda: solve(problem(), start=np.ones(3)), r"duals of the start must have shape \(4,\)"),
        (lambda: certify(problem(), np.zeros(4), primal="w"), r"primal must be .* got 'w'"),
        (lambda: certify(problem(), np.zeros(4), primal="own"), r"w must be given"),
        (lambda: theory.omega_tilde(RowBlocks(X), 1), r"tau must be .* got 1"),
        (lambda: theory.iterations(0.1, 1.0, 0.0), r"eps must be"),
        (lambda: make_classification(10, 5, density=0.0), r"density must be .* got 0.0"),
    ],
)
def test_error_names_argument_value_and_remedy(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_separability_violation_names_feature_and_groups():
    shared = np.eye(4)
    shared[3, 1] = 1.0
    with pytest.raises(
        ValueError,
        match=r"feature 1 is in groups 0 and 2. Use Nice\(batch_size=3\) or Bucket",
    ):
        Plan.of(problem(shared), samplings.Product([[0, 1], [2], [3]]))


def malformed_csr(column):
    X = sp.csr_array(np.eye(4))
    X.indices[1] = column
    return X


@pytest.mark.parametrize("column", [-1, 4])
def test_malformed_csr_is_refused(column):
    with pytest.raises(ValueError, match=r"malformed: its column indices run from"):
        problem(malformed_csr(column))


class Falling(NamedTuple):
    """phi(a) = -a has no minimum."""

    gamma: float = 1.0

    def value(self, a, y):
        return -a

    def gradient(self, a, y):
        return np.full_like(a, -1.0)

    def conjugate(self, u, y):
        return losses.barrier(u, -1, -1)


def test_an_intercept_that_runs_away_names_the_argument_and_the_remedy():
    all_losses = ExampleLosses(Falling(), Y)
    message = (
        r'No finite optimum of intercept="free" was found: the predictions lie between 1 and 4, '
        r"the targets between -1 and 1, and no shift that was tried takes the slope of the mean "
        r"Falling loss to 0\. "
        r'Scale X and y to about 1, raise lam, or use intercept="penalized" or None'
    )
    with pytest.raises(ValueError, match=message):
        best_intercept(all_losses, np.arange(1.0, 5.0))


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (pl.DataFrame(X).lazy(), r"got an object of type LazyFrame\. Give X\.collect\(\)\."),
        ((row for row in X), r"got an object of type generator\. Give list\(X\)\."),
        ({"a": [1.0]}, r"got an object of type dict\. Make an array of it first\."),
        (None, r"got an object of type NoneType"),
    ],
    ids=["lazy frame", "generator", "dict", "none"],
)
def test_what_is_no_array_is_named(X, message):
    wanted = rf"X must be an array, a frame or a list, {message}"
    with pytest.raises(TypeError, match=wanted):
        problem(X)
    with pytest.raises(TypeError, match=wanted):
        QuartzClassifier().fit(X, Y)
    fitted = QuartzClassifier().fit(np.eye(4), Y)
    with pytest.raises(TypeError, match=wanted):
        fitted.predict(X)


def test_targets_and_weights_that_are_no_arrays_are_named():
    with pytest.raises(TypeError, match=r"y must be an array.* type generator\. Give list\(y\)"):
        QuartzClassifier().fit(X, (label for label in Y))
    with pytest.raises(TypeError, match=r"sample_weight must be .* Give list\(sample_weight\)"):
        QuartzClassifier().fit(X, Y, (weight for weight in Y))


class Own(samplings.Sampling):
    """A user's sampling with sets and v as given."""

    def __init__(self, sets, v=None):
        self.probabilities = [0.5] * 4
        self.max_size, self.sets, self.v = 3, sets, v

    def draw(self, rng, k):
        return samplings.IndexSets.of_equal_size(np.array([self.sets] * k))

    def eso(self, data):
        return super().eso(data) if self.v is None else self.v


@pytest.mark.parametrize(
    ("sets", "v", "message"),
    [
        ([0, 1, 1], None, r"Own.draw gave a set that holds example 1 twice"),
        ([0, 1, -1], None, r"Own.draw gave example -1, but they are 0, ..., 3"),
        ([0, 1, 4], None, r"Own.draw gave example 4"),
        ([0, 1, 2], np.full(4, -0.2), r"gives example 0 v = -0.2, less than .* verify_eso"),
        ([0, 1, 2], np.full(4, np.nan), r"v, the ESO of the sampling\[0\] is nan"),
    ],
)
def test_sets_and_v_of_a_users_sampling_are_checked(sets, v, message):
    with pytest.raises(ValueError, match=message):
        solve(problem(), Own(sets, v))


def test_too_few_sets_are_noticed():
    class Short(Own):
        def draw(self, rng, k):
            return super().draw(rng, k - 1)

    with pytest.raises(ValueError, match=r"Short.draw was asked for 2 sets and gave 1"):
        solve(problem(), Short([0, 1, 2]))


def test_huge_weights_do_not_overflow():
    assert problem(weights=[1e308] * 4).weights == pytest.approx(1)


def test_a_scalar_loss_without_a_step_works_everywhere():
    """A numeric step does Option I."""

    class NoStep(NamedTuple):
        @property
        def gamma(self):
            return 1.0

        def value(self, a, y):
            return 0.5 * (a - y) ** 2

        def gradient(self, a, y):
            return a - y

        def conjugate(self, u, y):
            return u * (0.5 * u + y)

    own = problem(loss=NoStep())
    exact = solve(problem(loss=losses.Squared()), tol=1e-9)
    for method in (None, samplings.Uniform(), methods.Quartz(option=2), methods.Permuted()):
        found = solve(own, method, tol=1e-9, max_passes=3000)
        assert found.converged
        np.testing.assert_allclose(found.w, exact.w, rtol=1e-3, atol=1e-6)


def test_a_vector_loss_without_a_step_means_option_2_only():
    X, y = np.eye(4), [0, 1, 2, 1]
    own = Problem(X, y, registry.SquaredToClass(), lam=0.1)
    with pytest.raises(ValueError, match=r"Option I needs SquaredToClass.step.*option=2"):
        solve(own)
    assert solve(own, methods.Quartz(option=2)).converged


# What looks odd but works


@pytest.mark.parametrize(
    "sampling", [samplings.Uniform(), samplings.FullBatch(), samplings.Product()]
)
@pytest.mark.parametrize("loss", [losses.Squared(), losses.Logistic(), losses.Hinge()])
def test_one_example(sampling, loss):
    result = solve(Problem([[2.0, 1.0]], [1.0], loss, 0.5), sampling)
    assert result.converged, result.message


@pytest.mark.parametrize(
    "loss",
    [
        losses.Squared(),
        losses.Logistic(),
        losses.Hinge(),
        losses.Absolute(),
        losses.EpsilonInsensitive(),
    ],
)
@pytest.mark.parametrize(
    "sampling", [samplings.Uniform(), samplings.Nice(2), samplings.Nice(2, spectral=True)]
)
def test_all_zero_rows(loss, sampling):
    """v_i = 0 is fine: such an example moves its own dual variable only."""
    rows = np.array([[1.0, 0.0], [0.0, 0.0], [0.5, 1.0], [0.0, 0.0]])
    result = solve(Problem(rows, Y, loss, 0.1), sampling, tol=1e-5, max_passes=5000)
    assert result.converged, result.message
    assert result.plan.v[1] == 0


def test_all_rows_zero():
    result = solve(problem(np.zeros((4, 3))), samplings.Nice(2))
    assert result.converged
    np.testing.assert_array_equal(result.w, 0)


def test_zero_weight_example_takes_no_part():
    result = solve(problem(weights=[1, 1, 0, 1]), samplings.Importance(), tol=1e-9)
    assert result.converged
    assert result.duals[2] == result.w[2] == 0
    for option in (1, 2):
        method = methods.Quartz(option=option)
        assert solve(problem(weights=[1, 1, 0, 1]), method).converged


def test_single_class_and_single_feature():
    assert solve(problem(np.ones((4, 1)), np.ones(4), losses.Logistic())).converged


@pytest.mark.parametrize("dtype", [np.float32, np.int8, bool])
def test_other_number_types(dtype):
    assert solve(problem(X.astype(dtype))).converged
    assert solve(problem(sp.csr_array(X.astype(dtype)))).converged


@pytest.mark.parametrize("sampling", [samplings.Uniform(), methods.Permuted()], ids=str)
def test_labels_in_any_memory(sampling):
    """A column of a table, or a read-only array."""
    table = np.stack([Y, Y], axis=1)
    fixed = Y.copy()
    fixed.flags.writeable = False
    for labels in (table[:, 0], fixed):
        assert solve(problem(y=labels), sampling).converged


@pytest.mark.parametrize("kind", [np.array, sp.csr_array])
def test_read_only_matrices_are_shared_and_left_alone(kind):
    """They have the type of others, for which kernels may be compiled already."""
    fixed = kind(X)
    parts = [fixed] if kind is np.array else [fixed.data, fixed.indices, fixed.indptr]
    for part in parts:
        part.flags.writeable = False
    before = problem(fixed)
    assert solve(before, methods.Permuted()).converged
    matrix = before.data.storage.matrix
    shared = [matrix] if kind is np.array else [matrix.data, matrix.indices, matrix.indptr]
    for part, other in zip(parts, shared, strict=True):
        assert np.shares_memory(part, other)
        assert other.flags.writeable
        assert not part.flags.writeable
    np.testing.assert_array_equal(fixed if kind is np.array else fixed.toarray(), X)


@pytest.mark.filterwarnings("ignore:indices array has non-integer dtype")
@pytest.mark.parametrize("dtype", [np.int16, np.uint16, np.uint32])
def test_other_index_types(dtype):
    """SciPy lets them be set, and the kernels know 32 and 64 bits with a sign only."""
    sparse = sp.csr_array(X)
    sparse.indices = sparse.indices.astype(dtype)
    expected = solve(problem(sp.csr_array(X)), methods.Permuted()).w
    np.testing.assert_array_equal(solve(problem(sparse), methods.Permuted()).w, expected)
    large = sp.csr_array(np.ones((3000, 100)))  # large enough for the compiled check
    large.indices = large.indices.astype(dtype)
    assert problem(large, np.ones(3000)).data.storage.matrix.indices.dtype == np.int64
