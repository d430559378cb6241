"""The paper's theory: rates, sparsity averages, speedups, lemmas, bounds and regimes."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import registry
from quartz import Plan, Problem, losses, samplings, theory

n_strategy = st.integers(2, 10**6)
share = st.floats(0, 1)


def test_a_theta():
    """theta for unequal p, v and gamma, by hand."""
    p, v, gamma = np.array([0.5, 0.3, 0.2]), np.array([1.0, 4.0, 0.0]), np.array([1.0, 2.0, 1.0])
    expected = min(0.5 * 0.6 / 1.6, 0.3 * 1.2 / 5.2, 0.2)
    assert theory.theta(p, v, lam=0.2, gamma=gamma, n=3) == pytest.approx(expected)


def test_theta_of_special_gammas():
    p = np.full(2, 0.5)
    assert theory.theta(p, np.ones(2), 1.0, 0.0, 2) == 0
    assert theory.theta(p, np.zeros(2), 1.0, 0.0, 2) == 0
    assert theory.theta(p, np.ones(2), 1.0, np.inf, 2) == 0.5


@pytest.mark.parametrize("name", registry.SAMPLINGS)
def test_theta_over_p_is_at_most_one(name):
    """Option II is then a convex combination."""
    problem = registry.make_problem(
        losses.Squared(), np.random.default_rng(0), separable=name == "product"
    )
    plan = Plan.of(problem, registry.SAMPLINGS[name])
    assert 0 < plan.theta <= plan.sampling.probabilities.min()


def test_eq_complexity_intro2():
    """After T iterations the expected-gap curve [eq-con] is below eps."""
    steps = theory.iterations(0.01, 5.0, 1e-3)
    assert theory.expected_gap(0.01, 5.0, steps) <= 1e-3
    assert theory.expected_gap(0.01, 5.0, 0.9 * steps) > 1e-3
    assert theory.iterations(0.01, 1e-4, 1e-3) == 0
    assert theory.iterations(0.0, 1.0, 1e-3) == np.inf
    np.testing.assert_array_equal(theory.expected_gap(1.0, 5.0, np.array([0, 1, 2])), [5, 0, 0])


@pytest.mark.parametrize("kind", registry.KINDS)
@pytest.mark.parametrize("tau", [2, 4, 9])
def test_omega_tilde_is_defined_by_T_tau(kind, tau):
    """1/theta of the nice sampling is [a-Tgeqtaunice2xxx] with omega-tilde in place of omega_j."""
    problem = registry.make_problem(losses.Squared(), np.random.default_rng(0), kind=kind)
    omega = theory.omega_tilde(problem.data, tau)
    assert 1 - 1e-12 <= omega <= problem.n * (1 + 1e-12)
    norm = problem.data.squared_norms().max()
    T = theory.nice_leading_term(problem.n, tau, problem.lam, 1.0, omega, norm)
    assert 1 / Plan.of(problem, samplings.Nice(tau)).theta == pytest.approx(T)


def test_omega_tilde_with_gamma_per_example():
    """With weights 1/theta is T(tau) too, for the average that knows gamma_i."""
    rng = np.random.default_rng(0)
    problem = registry.make_problem(losses.Squared(), rng, weights=rng.random(9) + 0.05)
    gammas, norms = problem.gammas, problem.data.squared_norms()
    omega = theory.omega_tilde(problem.data, 4, gammas)
    T = theory.nice_leading_term(9, 4, problem.lam, gammas, omega, norms)
    plan = Plan.of(problem, samplings.Nice(4))
    assert 1 / plan.theta == pytest.approx(T)
    serial = theory.leading_term(np.full(9, 1 / 9), norms, problem.lam, gammas, 9)
    assert theory.nice_speedup(9, 4, problem.lam, gammas, omega, norms) == pytest.approx(serial / T)


def test_omega_of_extreme_data():
    sparse, dense = samplings_data(np.eye(6)), samplings_data(np.ones((6, 3)))
    assert theory.omega_tilde(sparse, 3) == pytest.approx(1)
    assert theory.omega_tilde(dense, 3) == pytest.approx(6)
    assert theory.omega_hat(sparse, 2, 3) == pytest.approx(1)
    assert theory.omega_hat(dense, 2, 3) == pytest.approx(6)


def samplings_data(X):
    return Problem(X, np.zeros(len(X)), losses.Squared(), lam=1.0).data


@given(n=n_strategy, t=share, o=share, lam=st.floats(1e-9, 10))
def test_a_spth_and_a_Twn(n, t, o, lam):
    """The speedup formula is T(1)/T(tau), and its lower bounds hold up to tau = 2 + lam gamma n."""
    tau, omega = 1 + t * (n - 1), 1 + o * (n - 1)
    speedup = theory.nice_speedup(n, tau, lam, 1.0, omega)
    direct = theory.nice_leading_term(n, 1, lam, 1.0, omega) / theory.nice_leading_term(
        n, tau, lam, 1.0, omega
    )
    assert speedup == pytest.approx(direct, rel=1e-9)
    tau = min(tau, 2 + lam * n)
    sparse_bound, half = theory.nice_speedup_bounds(n, tau, omega)
    assert theory.nice_speedup(n, tau, lam, 1.0, omega) >= sparse_bound * (1 - 1e-12)
    assert sparse_bound >= half * (1 - 1e-12)


def test_tab_comtauxxx():
    """Fully sparse data give perfect speedup; fully dense data leave the condition number alone."""
    n, lam = 1000, 1e-3
    for tau in (1, 10, 1000):
        serial = theory.sdca(n, lam, 1.0)
        assert theory.nice_leading_term(n, tau, lam, 1.0, omega=1) == pytest.approx(serial / tau)
        dense = theory.nice_leading_term(n, tau, lam, 1.0, omega=n)
        assert dense == pytest.approx(n / tau + 1 / lam)


@given(n=n_strategy, t=share, o=share)
def test_lem_inequalities(n, t, o):
    tau, omega = 1 + t * (n - 1), 1 + o * (n - 1)
    terms = theory.overlap_inequalities(omega, tau, n)
    assert all(low <= high * (1 + 1e-9) for low, high in pairwise(terms))


@given(
    owned=st.integers(2, 1000),
    nodes=st.integers(1, 1000),
    t=share,
    o=share,
    a=share,
)
def test_l_Hy2beta1beta2(owned, nodes, t, o, a):
    """The partition adds at most 1/(tau - 1) of the rest, for omega' <= min(c, omega)."""
    n = owned * nodes
    tau, omega = 2 + t * (owned - 2), 1 + o * (n - 1)
    active = 1 + a * (min(nodes, omega) - 1)
    left, right = theory.partition_effect(omega, active, n, nodes, tau)
    assert left <= right * (1 + 1e-9)
    # so the bound without the partition is above T(c, tau)
    arguments = (n, nodes, tau, 1e-3, 1.0, omega)
    assert theory.distributed_leading_term(*arguments, active) <= theory.distributed_leading_bound(
        *arguments
    ) * (1 + 1e-9)


def test_a_Tctau_is_the_plan_for_rows_of_equal_sparsity():
    """Dense data: omega_j = n and omega'_j = c."""
    rng = np.random.default_rng(0)
    X = np.sign(rng.normal(size=(12, 4))) / 2  # unit rows
    problem = Problem(X, np.zeros(12), losses.Squared(), lam=0.05)
    for nodes, tau in ((1, 3), (3, 2), (4, 3), (12, 1)):
        plan = Plan.of(problem, samplings.Distributed(nodes, tau))
        T = theory.distributed_leading_term(12, nodes, tau, 0.05, 1.0, omega=12)
        assert 1 / plan.theta == pytest.approx(T)


def test_T_c_tau_depends_on_c_tau_only():
    """eq:shs98shspp: the speedup is nearly constant along c tau, n = 10^6."""
    n, lam = 10**6, 1e-3
    for omega in (1e2, 1e4, 1e6):
        for product in (100, 10_000):
            speedups = [
                theory.distributed_speedup(n, c, product / c, lam, 1.0, omega)
                for c in (1, 10, product / 10)
            ]
            assert max(speedups) <= 1.12 * min(speedups)


@given(n=st.integers(4, 10**6), c=share, t=share, o=share, lam=st.floats(1e-8, 1.0))
def test_quartz_beats_disdca(n, c, t, o, lam):
    """The dominant term of [a-Tgeqtaunice] is below that of [a-TdisDCA]."""
    nodes = 1 + c * (n / 2 - 1)
    tau, omega = 1 + t * (n / nodes - 1), 1 + o * (n - 1)
    quartz = theory.distributed_leading_term(n, nodes, tau, lam, 1.0, omega)
    assert quartz <= theory.disdca(n, nodes, tau, lam, 1.0) * (1 + 1e-9)


def test_serial_bounds_are_quartz_bounds():
    """[eq:s89s8hs] and [eq:is789ddj] are 1/theta, with weights too."""
    rng = np.random.default_rng(0)
    problem = registry.make_problem(losses.SmoothedHinge(), rng, weights=rng.random(9) + 0.1)
    norms, n = problem.data.squared_norms(), problem.n
    uniform = 1 / Plan.of(problem, samplings.Uniform()).theta
    importance = 1 / Plan.of(problem, samplings.Importance()).theta
    assert uniform == pytest.approx(theory.sdca(n, problem.lam, problem.gammas, norms))
    assert importance == pytest.approx(theory.iprox_sdca(n, problem.lam, problem.gammas, norms))
    assert importance < uniform
    assert theory.sdca_iterations(uniform, 1.0, 1e-3) > theory.iterations(1 / uniform, 1.0, 1e-3)


@given(n=st.integers(100, 10**7), t=share, o=share, scale=st.floats(-6, 0))
def test_a_kgtng(n, t, o, scale):
    """Where the proposition holds, Quartz's bound is the smallest."""
    tau, omega = n**t, n**o
    lam = 10**scale / n
    if theory.quartz_beats_accelerated(n, tau, lam, 1.0, omega):
        bounds = theory.leading_terms(n, tau, lam, 1.0, omega)
        assert bounds["Quartz"] <= min(bounds["ASDCA"], bounds["SPDC"]) * (1 + 1e-9)


def test_a_kgtng_holds_somewhere_and_not_everywhere():
    n = 10**6
    assert theory.quartz_beats_accelerated(n, 1000, 1e-2 / n, 1.0, omega=1)
    assert not theory.quartz_beats_accelerated(n, 1000, 1e-2 / n, 1.0, omega=n)
    assert not theory.quartz_beats_accelerated(n, 1000, 10 / n, 1.0, omega=1)


@pytest.mark.parametrize("tau", [10, 300])
@pytest.mark.parametrize("omega", [1, 1e3, 1e6])
def test_tab_comtau987987_follows_from_tab_comtau(tau, omega):
    """Each entry is the bound at that lam gamma n, up to the constants that the table ignores."""
    n = 10**6
    levels = {"1/sqrt(n)": n**-0.5, "1/tau": 1 / tau, "1": 1.0, "tau": tau, "sqrt(n)": n**0.5}
    table = theory.regime_table(n, tau, omega)
    assert list(table) == list(levels)
    for regime, level in levels.items():
        bounds = theory.leading_terms(n, tau, level / n, 1.0, omega)
        for method, entry in table[regime].items():
            assert 1 / 5 <= entry / bounds[method] <= 5, (regime, method)
