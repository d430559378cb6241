"""The laws of losses, over the registry, and check_loss catching each kind of mistake."""

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import registry
from quartz import losses
from quartz.laws import LawError
from quartz.losses import base, check_loss, examples
from quartz.losses.examples import ExampleLosses
from quartz.losses.multiclass import _wright_omega

SCALAR = [loss for loss in registry.LOSSES if not base.abilities(loss).vector]
reals = st.floats(-50, 50)


def test_registry_is_complete():
    assert {type(loss) for loss in registry.LOSSES} == set(losses.LOSSES)


@pytest.mark.parametrize("loss", registry.LOSSES, ids=registry.label)
@pytest.mark.parametrize("seed", [1, 2])
def test_laws(loss, seed):
    check_loss(loss, seed=seed)


@pytest.mark.parametrize("outputs", [2, 7])
def test_laws_of_vector_losses_for_other_m(outputs):
    check_loss(losses.Softmax(), outputs=outputs)
    check_loss(losses.SmoothedMulticlassHinge(), outputs=outputs)


@given(gamma=st.floats(0.01, 100), epsilon=st.floats(0, 10), seed=st.integers(0, 1000))
@settings(max_examples=30, deadline=None)
def test_laws_for_any_parameters(gamma, epsilon, seed):
    for loss in (
        losses.SmoothedHinge(gamma),
        losses.SquaredHinge(gamma),
        losses.Huber(gamma),
        losses.SmoothedEpsilonInsensitive(epsilon, gamma),
        losses.SmoothedMulticlassHinge(gamma),
        losses.EpsilonInsensitive(epsilon),
    ):
        check_loss(loss, trials=3, seed=seed)


@given(a=reals, u=st.floats(-3, 3), sign=st.booleans())
def test_fenchel_young_for_any_pair(a, u, sign):
    y = 1.0 if sign else -1.0
    for loss in SCALAR:
        value, conjugate = loss.value(a, y), loss.conjugate(u, y)
        rounding = 1e-14 * (1 + abs(value) + abs(a) + abs(a * u))
        assert value + conjugate >= a * u - rounding


@pytest.mark.parametrize("loss", SCALAR, ids=registry.label)
def test_scalar_functions_work_elementwise(loss):
    rng = np.random.default_rng(0)
    a, y = rng.normal(size=(2, 50))
    y = np.sign(y) if base.abilities(loss).targets == "sign" else y
    for function, x in ((loss.value, a), (loss.gradient, a), (loss.conjugate, -y * rng.random(50))):
        one_by_one = [function(*pair) for pair in zip(x, y, strict=True)]
        np.testing.assert_allclose(function(x, y), one_by_one, rtol=1e-15)


def test_d_1_smoothed_hinge_by_hand():
    """The three pieces of [d-1] for gamma = 1/2."""
    loss = losses.SmoothedHinge(gamma=0.5)
    np.testing.assert_allclose(
        loss.value(np.array([1.5, 1.0, 0.75, 0.5, -1.0]), 1.0),
        [0, 0, 0.25**2 / (2 * 0.5), 0.25, 1 + 1 - 0.25],
    )


def test_d_2_squared_hinge_by_hand():
    loss = losses.SquaredHinge(gamma=2.0)
    np.testing.assert_allclose(loss.value(np.array([2.0, 0.0, -1.0]), 1.0), [0, 0.25, 1.0])


@pytest.mark.parametrize(
    ("loss", "upper"), [(losses.SmoothedHinge(0.7), 1), (losses.SquaredHinge(0.7), np.inf)]
)
def test_steps_are_the_closed_forms_of_the_paper(loss, upper):
    """Delta below [g-app-1] and [g-app-2], for y = 1."""
    rng = np.random.default_rng(0)
    for alpha, a, q in zip(
        rng.random(30), rng.normal(size=30) * 3, rng.random(30) * 5, strict=True
    ):
        free = (1 - a - 0.7 * alpha) / (q + 0.7)
        delta = max(-alpha, min(upper - alpha, free))
        assert loss.step(alpha, a, 1.0, q) == pytest.approx(alpha + delta, abs=1e-14)


@pytest.mark.parametrize("a", [-1e4, -745.0, 0.0, 745.0, 1e4])
def test_logistic_survives_extreme_predictions(a):
    loss = losses.Logistic()
    assert loss.value(a, 1.0) == pytest.approx(max(-a, 0.0) + np.log1p(np.exp(-abs(a))))
    assert -1 <= loss.gradient(a, 1.0) <= 0
    for q in (0.0, 1e-8, 1.0, 1e8):
        assert 0 <= loss.step(0.5, a, 1.0, q) <= 1


def test_logistic_step_does_not_cycle():
    """Newton alone jumps between two points here."""
    assert losses.Logistic().step(1.0, 10.0, 1.0, 20.0) == pytest.approx(0.5, rel=1e-12)
    assert losses.Logistic().step(1.0, 6.0, 1.0, 12.0) == pytest.approx(0.5, rel=1e-12)


@pytest.mark.parametrize("q", [0.0, 1e-12, 1.0, 1e8])
@pytest.mark.parametrize("scale", [1.0, 1e3])
def test_softmax_step_survives_extreme_sizes(q, scale):
    rng = np.random.default_rng(0)
    loss = losses.Softmax()
    a = scale * rng.normal(size=5)
    old = -loss.gradient(rng.normal(size=5), 2)
    new = loss.step(old, a, 2, q)
    assert np.isfinite(loss.conjugate(-new, 2))
    p = -new
    p[2] += 1
    inside = (
        p > 1e-200
    )  # the optimality condition log p + q p = c - nu, where p has not underflowed
    c = np.log(p[inside]) + q * p[inside] - (a - q * old + q * (np.arange(5) == 2))[inside]
    assert np.ptp(c) <= 1e-9 * (1 + abs(c).max() + q)


@given(st.floats(-700, 700))
def test_wright_omega(x):
    omega = _wright_omega(x)
    assert omega > 0
    assert omega + np.log(omega) == pytest.approx(x, rel=1e-13, abs=1e-13)


@given(a=st.lists(reals, min_size=2, max_size=8), gamma=st.floats(0.01, 100))
def test_multiclass_hinge_projects_on_the_simplex(a, gamma):
    a, corner = np.array(a), np.arange(len(a)) == 1
    p = losses.SmoothedMulticlassHinge(gamma).gradient(a, 1) + corner
    assert p.min() >= 0
    assert p.sum() == pytest.approx(1)
    # p is the projection of x iff <x - p, e_k - p> <= 0 for all corners e_k
    x = (a + 1 - corner) / gamma + corner
    assert ((x - p) - (x - p) @ p).max() <= 1e-12 * (1 + np.abs(x).max())


class Sabotaged(NamedTuple):
    """Smoothed hinge with one mistake."""

    mistake: str
    gamma: float = 1.0

    @property
    def targets(self):
        return "sign"

    def value(self, a, y):
        if self.mistake == "if" and y * a > 1:
            return 0.0
        return losses.SmoothedHinge(1.0).value(a, y) - (
            0.1 * a**2 if self.mistake == "convex" else 0
        )

    def gradient(self, a, y):
        sign = -1 if self.mistake == "gradient" else 1
        return sign * losses.SmoothedHinge(1.0).gradient(a, y) - (
            0.2 * a if self.mistake == "convex" else 0
        )

    def conjugate(self, u, y):
        if self.mistake == "domain":
            return 0.5 * u**2 + u * y
        shift = 0.01 if self.mistake == "conjugate" else 0
        return losses.SmoothedHinge(1.0).conjugate(u, y) + shift

    def step(self, alpha, a, y, q):
        new = losses.SmoothedHinge(1.0).step(alpha, a, y, q)
        if self.mistake == "cycle" and q > 6:  # wrong only for long steps
            return y - new
        return 1.1 * new if self.mistake == "step" else new


@pytest.mark.parametrize(
    ("mistake", "law"),
    [
        ("gradient", "gradient is the derivative of value"),
        ("convex", "value lies above its tangents"),
        ("conjugate", "conjugate is the supremum"),
        ("conjugate", "value \\+ conjugate = product at the gradient"),
        ("domain", "Fenchel-Young"),
        ("step", "step maximizes its objective|step stays in the domain"),
        ("cycle", "step solves its optimality condition"),
        ("if", "value works elementwise on arrays: .* Use np.where"),
    ],
)
def test_check_loss_names_the_broken_law(mistake, law):
    check_loss(Sabotaged("none"))
    with pytest.raises(LawError, match=law) as error:
        check_loss(Sabotaged(mistake))
    assert "off by" in str(error.value) or mistake == "if"
    assert " at " in str(error.value) or mistake == "if"


def test_check_loss_finds_a_loss_that_is_not_of_the_simplex():
    class Promising(registry.SquaredToClass):
        simplex = True

    with pytest.raises(LawError, match="gradients are p - e_y, p in the simplex"):
        check_loss(Promising())


def test_check_loss_finds_an_overstated_gamma():
    class TooSmooth(Sabotaged):
        @property
        def gamma(self):
            return 1.5

    with pytest.raises(LawError, match=r"gradient is \(1/gamma\)-Lipschitz: off by 0.333"):
        check_loss(TooSmooth("none"))


class Opaque(losses.Huber):
    """Cannot be compiled."""

    def value(self, a, y):
        return np.asarray([float(str(value)) for value in super().value(a, y)])


class Plain:
    """Not a tuple."""

    gamma = 1.0

    @staticmethod
    def value(a, y):
        return 0.5 * (a - y) ** 2

    def gradient(self, a, y):
        return a - y

    def conjugate(self, u, y):
        return 0.5 * u * u + u * y


MANY = [losses.Logistic(), losses.Hinge(), Opaque(0.5), Plain()]


@pytest.mark.parametrize("loss", MANY, ids=lambda loss: type(loss).__name__)
def test_many_examples_are_evaluated_by_the_same_formulas(loss):
    """In a compiled loop, if that is possible."""
    rng = np.random.default_rng(0)
    n = examples.MANY + 1
    a, y = 3 * rng.normal(size=n), np.where(rng.random(n) < 0.5, 1.0, -1.0)
    u, weights = loss.gradient(a, y), rng.integers(3, size=n) / 2.0
    kept = weights > 0
    duals = np.where(kept, weights * u, 0.0)
    conjugates = np.where(kept, weights * loss.conjugate(u, y), 0.0)
    np.testing.assert_allclose(ExampleLosses(loss, y).values(a), loss.value(a, y), rtol=1e-13)
    np.testing.assert_allclose(ExampleLosses(loss, y).gradients(a), u, rtol=1e-13)
    np.testing.assert_allclose(
        ExampleLosses(loss, y, weights).gradients(a), weights * u, rtol=1e-13
    )
    np.testing.assert_allclose(
        ExampleLosses(loss, y).conjugates(-u), loss.conjugate(u, y), atol=1e-13
    )
    np.testing.assert_allclose(
        ExampleLosses(loss, y, weights).conjugates(-duals), conjugates, atol=1e-13
    )
    for each in (None, weights):
        dual = -u if each is None else -duals
        gaps, *means = ExampleLosses(loss, y, each).fenchel_young(a, dual)
        losses_, minus = (
            ExampleLosses(loss, y, each).values(a),
            ExampleLosses(loss, y, each).conjugates(dual),
        )
        np.testing.assert_allclose(gaps, losses_ + minus + a * dual, atol=1e-12)
        bent = loss.gamma * np.mean((1 if each is None else weights) * u[:n] ** 2)
        expected = losses_.mean(), minus.mean(), losses_.mean(), np.abs(minus).mean() + bent
        np.testing.assert_allclose(means, expected, rtol=1e-13, atol=1e-15)
    duals[np.flatnonzero(~kept)[0]] = 0.5
    assert np.isinf(ExampleLosses(loss, y, weights).conjugates(-duals)).sum() == 1


def test_several_outputs_of_many_weighted_examples():
    """By NumPy; and one output is still compiled afterwards."""
    rng = np.random.default_rng(0)
    loss, n = losses.Huber(), examples.MANY + 1
    a, y = rng.normal(size=(2, n, 2))
    weights = rng.integers(3, size=n).astype(float)
    alpha = -ExampleLosses(loss, y, weights).gradients(a)
    found = ExampleLosses(loss, y, weights).fenchel_young(a, alpha)
    columns = [
        ExampleLosses(loss, np.ascontiguousarray(y[:, k]), weights).fenchel_young(
            *(np.ascontiguousarray(x[:, k]) for x in (a, alpha))
        )
        for k in range(2)
    ]
    np.testing.assert_allclose(found.gaps, sum(column.gaps for column in columns), atol=1e-12)
    assert found.conjugate == pytest.approx(sum(column.conjugate for column in columns))
    assert not any(key[0] is losses.Huber for key in examples._not_compilable)


def test_tiny_weights():
    u, y, weights = np.array([0.0, -0.5]), np.ones(2), np.array([1e-310, 1.0])
    assert np.isfinite(ExampleLosses(losses.Logistic(), y, weights).conjugates(-u)).all()


@pytest.mark.parametrize("loss", MANY, ids=lambda loss: type(loss).__name__)
@pytest.mark.parametrize("n", [100, examples.MANY + 1])
def test_the_best_shift_of_all_predictions(loss, n):
    """The sum of slopes changes its sign there: from the left to the right by a jump, perhaps."""
    rng = np.random.default_rng(1)
    a, y = 3 * rng.normal(size=n), np.where(rng.random(n) < 0.3, 1.0, -1.0)
    weights = rng.integers(3, size=n) / 2.0
    shift = ExampleLosses(loss, y, weights).shifted_root(a, y, 10.0)
    below, above = (weights @ loss.gradient(a + shift + e, y) for e in (-1e-12, 1e-12))
    assert below <= 1e-9 * n
    assert above >= -1e-9 * n
    if hasattr(loss, "curvature"):
        slopes = weights * loss.gradient(a + 0.5, y)
        expected = slopes.sum(), np.abs(slopes).sum(), weights @ loss.curvature(a + 0.5, y)
        found = ExampleLosses(loss, y, weights).shifted_slope(a, y, 0.5)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_functions_of_several_examples_are_those_of_one():
    rng = np.random.default_rng(0)
    for loss in (loss for loss in registry.LOSSES if base.abilities(loss).plural):
        a, y = 30 * rng.normal(size=(50, 4)), rng.integers(4, size=50)
        alpha = np.array([-loss.gradient(x.copy(), k) for x, k in zip(a + 1, y, strict=True)])
        alpha[0] += 1.0  # outside the domain
        for function, points in (("value", a), ("gradient", a), ("conjugate", -alpha)):
            one, several = getattr(loss, function), getattr(loss, f"{function}s")
            expected = [one(x.copy(), k) for x, k in zip(points, y, strict=True)]
            before = points.copy()
            np.testing.assert_allclose(several(points, y), expected, rtol=1e-14, atol=1e-300)
            several(points[:1], y[:1])
            np.testing.assert_array_equal(points, before)


def test_slopes_are_gradient_and_curvature():
    rng = np.random.default_rng(0)
    for loss in (loss for loss in registry.LOSSES if base.abilities(loss).slopes is not None):
        a, y = (
            np.append(100 * rng.normal(size=50), [0.0, 800.0, -800.0]),
            rng.choice([-1.0, 1.0], 53),
        )
        gradient, curvature = loss.slopes(a, y)
        np.testing.assert_allclose(gradient, loss.gradient(a, y), rtol=1e-14)
        np.testing.assert_allclose(curvature, loss.curvature(a, y), rtol=1e-14, atol=1e-300)


def test_steps_are_slopes_of_the_moreau_envelope():
    rng = np.random.default_rng(0)
    envelopes = [loss for loss in registry.LOSSES if base.abilities(loss).smoothed is not None]
    assert len(envelopes) >= 3
    for loss in envelopes:
        for q in (0.01, 1.0, 30.0):
            a, y = 2 * rng.normal(size=50), rng.choice([-1.0, 1.0], 50)
            alpha = rng.uniform(0, 1, 50) * y  # inside the domain of all of them
            expected = [loss.step(*one, q) for one in zip(alpha, a, y, strict=True)]
            envelope = loss.smoothed(q)
            np.testing.assert_allclose(
                -envelope.gradient(a - q * alpha, y), expected, rtol=1e-12, atol=1e-13
            )
