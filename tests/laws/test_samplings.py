"""The laws of samplings, over the registry: ESO, probabilities and draws."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2, chisquare

import registry
from quartz import Problem, losses, samplings
from quartz.data import RowBlocks
from quartz.samplings import estimate_eso, verify_eso
from quartz.samplings.draws import random_subsets

NAMES = list(registry.SAMPLINGS)


def bound(name, kind="rows, sparse", seed=0):
    """The named sampling bound to a random problem; product gets separable data."""
    rng = np.random.default_rng(seed)
    problem = registry.make_problem(
        losses.Squared(), rng, kind=kind, separable=name == "product", density=0.6
    )
    return registry.SAMPLINGS[name].bind(problem), problem.data


@pytest.mark.parametrize("kind", registry.KINDS)
@pytest.mark.parametrize("name", NAMES)
@given(seed=st.integers(0, 10**6))
@settings(max_examples=8, deadline=None)
def test_ass_ESO(name, kind, seed):
    """D(p v) - P o A'A is positive semidefinite [ass-ESO], for m = 1 and m > 1."""
    sampling, data = bound(name, kind, seed)
    report = verify_eso(sampling, data)
    assert report.holds, report


@pytest.mark.parametrize("name", NAMES)
def test_generic_bound_holds_for_every_sampling(name):
    sampling, data = bound(name)
    v = samplings.Sampling.eso(sampling, data)
    assert verify_eso(sampling, data, v).holds


@pytest.mark.parametrize("name", ["nice", "independent", "distributed", "bucket"])
def test_verify_eso_finds_violations(name):
    """Steps that are too long by a tenth are caught exactly, and by a half by Monte Carlo."""
    sampling, data = bound(name)
    v = sampling.eso(data)
    tight = v * verify_eso(sampling, data, v).tightness
    assert verify_eso(sampling, data, tight * (1 + 1e-6)).holds
    assert not verify_eso(sampling, data, tight * 0.9).holds
    assert estimate_eso(sampling, data, np.random.default_rng(0), v).holds
    report = estimate_eso(sampling, data, np.random.default_rng(0), tight * 0.5, draws=3000)
    assert not report.holds
    assert report.tightness > 1


def test_verify_eso_refuses_zero_v_for_a_nonzero_example():
    sampling, data = bound("uniform")
    assert not verify_eso(sampling, data, np.zeros(data.n)).holds
    assert not estimate_eso(sampling, data, np.random.default_rng(0), np.zeros(data.n)).holds


@pytest.mark.parametrize("name", NAMES)
def test_draws_match_probabilities_and_joint_matrix(name):
    """Chi-square test of every pair's frequency, Bonferroni-corrected, fixed seed."""
    sampling, _ = bound(name)
    k = 20_000
    sets = sampling.draw(np.random.default_rng(7), k)
    member = np.zeros((k, sampling.n))
    member[np.repeat(np.arange(k), sets.sizes), sets.indices] = 1
    assert member.sum() == sets.indices.size, "a set holds an example twice"
    joint = sampling.joint()
    np.testing.assert_allclose(joint.diagonal(), sampling.probabilities)
    frequency = member.T @ member / k
    certain = (joint <= 0) | (joint >= 1)
    np.testing.assert_array_equal(frequency[certain], joint[certain])
    spread = np.where(certain, 1, joint * (1 - joint) / k)
    p_values = chi2.sf((frequency - joint) ** 2 / spread, df=1)[~certain]
    assert p_values.size == 0 or p_values.min() * p_values.size > 1e-3
    assert sets.sizes.max() <= sampling.max_size
    assert sampling.expected_size == pytest.approx(joint.trace())


@pytest.mark.parametrize("name", NAMES)
def test_draws_are_reproducible(name):
    sampling, _ = bound(name)
    first, again = (sampling.draw(np.random.default_rng(3), 50) for _ in range(2))
    np.testing.assert_array_equal(first.indices, again.indices)
    np.testing.assert_array_equal(first.indptr, again.indptr)
    assert len(first) == 50
    assert len(sampling.draw(np.random.default_rng(3), 0)) == 0
    np.testing.assert_array_equal(first[7], first.indices[first.indptr[7] : first.indptr[8]])


@pytest.mark.parametrize("tau", [1, 2, 3, 4, 5])
def test_nice_draws_all_sets_alike(tau):
    """Chi-square over all subsets of size tau, on both sides of the complement trick."""
    sets = samplings.NiceSampling(5, tau).draw(np.random.default_rng(1), 30_000)
    keys = [tuple(sorted(members)) for members in sets.indices.reshape(-1, tau)]
    counts = [keys.count(subset) for subset in combinations(range(5), tau)]
    assert sum(counts) == 30_000
    assert len(counts) == 1 or chisquare(counts).pvalue > 1e-3


@given(
    sizes=st.lists(st.integers(0, 12), min_size=1, max_size=20),
    extra=st.integers(0, 5),
    seed=st.integers(0, 1000),
)
def test_random_subsets_are_subsets(sizes, extra, seed):
    population = np.array(sizes) + extra
    subsets = random_subsets(np.random.default_rng(seed), population, np.array(sizes))
    np.testing.assert_array_equal(subsets.sizes, sizes)
    for t, size in enumerate(sizes):
        assert len(set(subsets[t])) == size
        assert all(0 <= member < population[t] for member in subsets[t])


def test_large_draws_are_vectorized():
    """Shapes only; the times are in benchmarks/draws.py."""
    n = 100_000
    rng = np.random.default_rng(0)
    nice = samplings.NiceSampling(n, 100).draw(rng, 1000)
    assert nice.indices.size == 100_000
    assert nice.indices.min() >= 0
    assert nice.indices.max() < n
    serial = samplings.Serial(np.full(n, 1 / n)).draw(rng, n)
    assert serial.indices.size == n


def test_importance_minimizes_the_bound():
    """a-optimalp beats any other serial p, and all examples then bind alike."""
    rng = np.random.default_rng(0)
    problem = registry.make_problem(losses.SmoothedHinge(), rng)
    v = problem.data.squared_norms()
    best = problem.condition(v) / samplings.Importance().bind(problem).probabilities
    assert np.ptp(best) < 1e-9 * best[0]
    for _ in range(20):
        p = rng.dirichlet(np.ones(problem.n)) + 1e-9
        assert (problem.condition(v) / (p / p.sum())).max() >= best[0]


def test_bucket_beats_uniform_probabilities_on_uneven_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 40)) * (rng.random((60, 40)) < 0.1) * rng.pareto(1.5, size=(60, 1))
    problem = Problem(X, rng.normal(size=60), losses.Squared(), lam=0.01)
    bucket = samplings.Bucket(groups=4).bind(problem)
    uniform = samplings.BucketSampling(bucket.labels, 1 / np.bincount(bucket.labels)[bucket.labels])
    nice = samplings.Nice(batch_size=4).bind(problem)

    def rate(sampling):
        return np.min(sampling.probabilities / problem.condition(sampling.eso(problem.data)))

    assert rate(bucket) > 1.5 * rate(uniform)
    assert rate(bucket) > 1.5 * rate(nice)


def test_spectral_bound_is_at_most_the_sparsity_bound():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 30))  # n above the size where the eigenvalue comes from Lanczos
    problem = Problem(X, rng.normal(size=150), losses.Squared(), lam=0.01)
    for plain, spectral in (
        (samplings.Nice(20), samplings.Nice(20, spectral=True)),
        (
            samplings.Independent(np.full(150, 0.2)),
            samplings.Independent(np.full(150, 0.2), spectral=True),
        ),
        (samplings.Distributed(5, 4), samplings.Distributed(5, 4, spectral=True)),
    ):
        sampling = spectral.bind(problem)
        v, loose = sampling.eso(problem.data), plain.bind(problem).eso(problem.data)
        report = verify_eso(sampling, problem.data, v)
        assert report.holds
        assert report.tightness > 0.999
        assert v.max() < 0.5 * loose.max()


def test_spectral_bound_of_empty_data():
    problem = Problem(np.zeros((80, 3)), np.zeros(80), losses.Squared(), lam=0.1)
    for recipe in (samplings.Nice(5, spectral=True), samplings.Explicit([range(80)], [1.0])):
        np.testing.assert_array_equal(recipe.bind(problem).eso(problem.data), 0)


def test_product_sampling_of_the_paper_by_hand():
    """The 5-example matrix of section [subsec-products]."""
    A = np.array([[0, 0, 6, 4, 9], [0, 3, 0, 0, 0], [0, 0, 3, 0, 1], [1, 8, 0, 0, 0]])
    problem = Problem(A.T, np.zeros(5), losses.Squared(), lam=1.0)
    sampling = samplings.Product(groups=[[0, 1], [2, 3, 4]]).bind(problem)
    np.testing.assert_allclose(sampling.probabilities, [1 / 2, 1 / 2, 1 / 3, 1 / 3, 1 / 3])
    np.testing.assert_allclose(sampling.eso(problem.data), [1, 73, 45, 16, 82])  # [l-pips]
    assert verify_eso(sampling, problem.data).holds
    sets = sampling.draw(np.random.default_rng(0), 3000).indices.reshape(-1, 2)
    assert set(map(tuple, sets)) == {(i, j) for i in (0, 1) for j in (2, 3, 4)}
    counts = np.unique(sets, axis=0, return_counts=True)[1]
    assert chisquare(counts).pvalue > 1e-3
    # found automatically, the groups are the same two
    found = samplings.Product().bind(problem)
    assert {tuple(np.flatnonzero(found.labels == g)) for g in (0, 1)} == {(0, 1), (2, 3, 4)}
    # theta of [coro-ps]: max_i |X_i| (1 + v_i / (lam gamma n)) is at the last example
    from quartz.theory import theta

    rate = theta(sampling.probabilities, sampling.eso(problem.data), 1.0, 1.0, 5)
    assert rate == pytest.approx(1 / (3 * (1 + 82 / 5)))


def test_components_are_packed_in_balance():
    X = np.zeros((12, 12))
    X[np.arange(12), [0, 0, 0, 0, 1, 1, 1, 2, 2, 3, 3, 4]] = 1  # components of 4, 3, 2, 2, 1
    problem = Problem(X, np.zeros(12), losses.Squared(), lam=1.0)
    assert samplings.separable_components(problem.data).max() + 1 == 5
    sampling = samplings.Product(groups=3).bind(problem)
    np.testing.assert_array_equal(np.sort(np.bincount(sampling.labels)), [4, 4, 4])
    with pytest.raises(ValueError, match=r"groups must be a whole number between 1 and 5, got 6"):
        samplings.Product(groups=6).bind(problem)


def test_user_defined_sampling_in_a_few_lines():
    class Halves(samplings.Sampling):
        """The first or the second half."""

        def __init__(self, n):
            self.probabilities = np.full(n, 0.5)
            self.max_size = n // 2

        def draw(self, rng, k):
            starts = rng.integers(2, size=k) * self.max_size
            return samplings.IndexSets.of_equal_size(starts[:, None] + np.arange(self.max_size))

    rng = np.random.default_rng(0)
    data = RowBlocks(rng.normal(size=(8, 5)) * (rng.random((8, 5)) < 0.5))
    twin = samplings.Explicit([range(4), range(4, 8)], [0.5, 0.5])
    v = Halves(8).eso(data)
    assert verify_eso(twin, data, v).holds
    assert estimate_eso(Halves(8), data, rng).holds
    with pytest.raises(NotImplementedError, match="estimate_eso"):
        Halves(8).joint()
