"""The laws of regularizers, over the registry, and check_regularizer catching mistakes."""

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import registry
from quartz import regularizers
from quartz.laws import LawError
from quartz.regularizers import base, check_regularizer


def test_registry_is_complete():
    assert {type(g) for g in registry.REGULARIZERS} == set(regularizers.REGULARIZERS)


@pytest.mark.parametrize("g", registry.REGULARIZERS, ids=registry.label)
@pytest.mark.parametrize("seed", [1, 2])
def test_laws(g, seed):
    check_regularizer(g, d=registry.D, seed=seed)


@given(mu=st.floats(0, 10), low=st.floats(-5, 5), width=st.floats(0, 5), seed=st.integers(0, 1000))
@settings(max_examples=50, deadline=None)
def test_laws_for_any_parameters(mu, low, width, seed):
    for g in (
        regularizers.ElasticNet(mu),
        regularizers.BoxL2(low, low + width),
        regularizers.GroupL2(np.array([0, 0, 1, 2, 2, 2]), mu),
    ):
        check_regularizer(g, d=6, trials=3, seed=seed)


@pytest.mark.parametrize("g", registry.REGULARIZERS, ids=registry.label)
def test_conjugate_is_the_numeric_supremum(g):
    """g*(u) against a brute-force search over w."""
    from scipy.optimize import minimize

    rng = np.random.default_rng(0)
    bounds = {"NonnegativeL2": (0, None), "BoxL2": (-0.4, 0.2)}.get(type(g).__name__)
    for _ in range(10):
        u = rng.normal(size=registry.D)
        found = minimize(
            lambda w, u=u: base.value(g, w) - u @ w,
            np.zeros(registry.D) if bounds else 0.1 * u,
            bounds=[bounds] * registry.D if bounds else None,
            method="Powell" if not bounds else "L-BFGS-B",
            tol=1e-12,
        )
        assert base.conjugate(g, u) == pytest.approx(-found.fun, abs=1e-6)


class Weak(NamedTuple):
    """Not 1-strongly convex: ||w||^2 / 4."""

    def value(self, w):
        return 0.25 * w @ w

    def conjugate(self, u):
        return u @ u

    def conjugate_gradient(self, u):
        return 2 * u


class Wrong(NamedTuple):
    """The gradient of another conjugate."""

    def value(self, w):
        return 0.5 * w @ w

    def conjugate(self, u):
        return 0.5 * u @ u

    def conjugate_gradient(self, u):
        return 0.9 * u


class NoBarrier(NamedTuple):
    """Nonnegative L2 that forgot its domain."""

    def value(self, w):
        return 0.5 * w @ w

    def conjugate(self, u):
        return 0.5 * np.maximum(u, 0) @ u

    def conjugate_gradient(self, u):
        return np.maximum(u, 0)


class SumsUp(NamedTuple):
    """Separable, but value is not elementwise."""

    @property
    def separable(self):
        return True

    def value(self, w):
        return 0.5 * np.sum(w * w)

    def conjugate(self, u):
        return 0.5 * u * u

    def conjugate_gradient(self, u):
        return u


def test_check_regularizer_names_the_broken_law():
    with pytest.raises(LawError, match="1-strongly convex") as error:
        check_regularizer(Weak())
    assert "1-Lipschitz" in str(error.value)
    with pytest.raises(LawError, match="conjugate_gradient is the gradient of conjugate: off by"):
        check_regularizer(Wrong())
    with pytest.raises(LawError, match="Fenchel-Young"):
        check_regularizer(NoBarrier())
    with pytest.raises(LawError, match="value of a separable regularizer works elementwise"):
        check_regularizer(SumsUp())
