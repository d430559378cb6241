"""The accuracy of losses and penalties, against multiprecision arithmetic.

The bounds are those that `quartz.losses.base` and `quartz.regularizers.base` promise. Overflow may
be signalled only where the exact value is beyond all floats; any other warning is an error.
"""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import multiprecision as exact
import registry
from multiprecision import mpf
from quartz import losses, regularizers
from quartz.kernels import examples as kernels
from quartz.losses import base
from quartz.regularizers.base import abilities as abilities_of_penalty

UNIT = mpf(2) ** -53
C = 16
UNDERFLOW = mpf(10) ** -300
LARGEST = mpf(float(np.finfo(float).max))

# Parameters far from 1 come on top of the examples of the registry.
LOSSES = [
    *registry.LOSSES,
    losses.SmoothedHinge(gamma=1e-6),
    losses.SquaredHinge(gamma=1e6),
    losses.Huber(gamma=1e-9),
    losses.SmoothedEpsilonInsensitive(epsilon=1e5, gamma=1e-3),
    losses.SmoothedMulticlassHinge(gamma=1e-4),
    losses.SmoothedMulticlassHinge(gamma=1e4),
]
PENALTIES = [
    *registry.REGULARIZERS,
    regularizers.ElasticNet(mu=1e5),
    regularizers.BoxL2(lower=0.5, upper=2.0),
    regularizers.BoxL2(lower=-np.inf, upper=1e-3),
    regularizers.GroupL2(groups=np.array([0, 0, 0, 1, 1, 0]), mu=0.0),
]
over_losses = pytest.mark.parametrize("loss", LOSSES, ids=registry.label)
over_penalties = pytest.mark.parametrize("g", PENALTIES, ids=registry.label)
thorough = settings(max_examples=60, deadline=None)

# Floats


def scaled(mantissa, exponent):
    return mantissa * 10.0**exponent


AT_ONE = [1.0, np.nextafter(1, 0), np.nextafter(1, 2), 1 - 1e-15, 1 - 1e-8]
signs = st.sampled_from([-1.0, 1.0])
tiny = st.builds(scaled, st.floats(1, 9.99), st.integers(-300, -1))
sizes = st.one_of(
    tiny,
    st.builds(scaled, st.floats(1, 9.99), st.integers(-300, 299)),
    st.floats(0, 50),
    st.sampled_from([0.0, 5e-324, 1e-20, 0.5, *AT_ONE]),
)
numbers = st.builds(lambda sign, size: sign * size, signs, sizes)


def kinks(loss):
    """Margins and residuals at which the formulas of a loss change."""
    fields = [float(field) for field in loss]
    return [0.0, 1.0, *fields, sum(fields), *(1 - field for field in fields)]


def targets(loss):
    return signs if base.abilities(loss).targets == "sign" else numbers


@st.composite
def examples(draw, loss):
    """A prediction and a target."""
    if base.abilities(loss).vector:
        m = draw(st.integers(2, 6))
        return draw(scores(m)), draw(st.integers(0, m - 1))
    kink = draw(st.sampled_from(kinks(loss))) * draw(signs)
    y = draw(targets(loss))
    if base.abilities(loss).targets == "sign":
        near = y * (kink + draw(signs) * draw(tiny))
    else:
        y = draw(st.sampled_from([y, kink]))  # at the latter a tiny prediction is next to the kink
        near = y + kink + draw(signs) * draw(tiny)
    ulps = draw(st.integers(-3, 3))
    a = draw(st.one_of(numbers, st.just(near + ulps * np.spacing(near))))
    return np.float64(a), np.float64(y)


@st.composite
def scores(draw, m):
    """Predictions of m classes: of any sizes, or around one number, or some at a margin of 1."""
    centre, spread = draw(numbers), draw(sizes)
    units = draw(st.lists(st.floats(-3, 3), min_size=m, max_size=m))
    a = np.array(draw(st.lists(numbers, min_size=m, max_size=m)))
    if draw(st.booleans()):
        a = centre + spread * np.array(units)
    if draw(st.booleans()):
        few = draw(st.integers(1, m))
        a[:few] = a[-1] - draw(st.sampled_from([0.0, 1.0, 1 - 1e-9])) + draw(tiny) * np.arange(few)
    return a


@st.composite
def duals(draw, loss):
    """A point u of the conjugate, mostly in its domain, and a target."""
    if not base.abilities(loss).vector:
        return np.float64(draw(st.one_of(tiny, st.floats(-1, 1), numbers))), draw(targets(loss))
    m = draw(st.integers(2, 6))
    y = draw(st.integers(0, m - 1))
    u = np.array(draw(st.lists(sizes.filter(lambda size: size < 60), min_size=m, max_size=m)))
    u[y] = 0.0
    total = u.sum()
    u *= draw(st.one_of(st.floats(0, 1), tiny, st.sampled_from(AT_ONE))) / max(total, 1.0)
    u[y] = -min(u.sum(), 1.0)
    return u, y


def assert_accurate(function, arguments, expected, slack):
    beyond = LARGEST < abs(expected) < exact.inf
    with np.errstate(over="ignore" if beyond else "warn"):
        found = float(function(*arguments))
    if beyond or abs(expected) == exact.inf:
        assert found == (np.inf if expected > 0 else -np.inf)
    else:
        assert abs(mpf(found) - expected) <= slack + UNDERFLOW, (found, float(expected))


# Losses


def size(vector):
    return exact.context.sqrt(exact.context.fsum(mpf(x) ** 2 for x in np.atleast_1d(vector)))


def slack_of_value(loss, a, y, expected):
    """What moving each a_k by C UNIT |a_k|, and then the value as much, can change at most."""
    if base.abilities(loss).vector:
        slopes = exact.gradient(loss, a, y)
        first = exact.context.fsum(abs(slope * mpf(x)) for slope, x in zip(slopes, a, strict=True))
        second = C * UNIT * size(a) ** 2 / (2 * mpf(loss.gamma))
        return C * UNIT * (abs(expected) + first + second)
    # A convex function changes most at an end of the interval.
    ends = [exact.value(loss, mpf(a) * (1 + side * C * UNIT), y) for side in (-1, 1)]
    return C * UNIT * abs(expected) + max(abs(end - expected) for end in ends)


@over_losses
@given(data=st.data())
@thorough
def test_value(loss, data):
    a, y = data.draw(examples(loss))
    expected = exact.value(loss, a, y)
    assert_accurate(loss.value, (a, y), expected, slack_of_value(loss, a, y, expected))


@pytest.mark.parametrize(
    ("loss", "a", "y"),
    [
        (losses.EpsilonInsensitive(0.1), 1e-17, -0.1),
        (losses.EpsilonInsensitive(0.1), -1e-30, 0.1),
        (losses.SmoothedEpsilonInsensitive(0.1), 1e-17, -0.1),
        (losses.SmoothedEpsilonInsensitive(0.1), 3e-18, np.nextafter(-0.1, 0)),
        (losses.Logistic(), 700.0, 1.0),
        (losses.Softmax(), [0.0, 1.0, 47.0], 2),
        (losses.Softmax(), [0.0, 1.0, 700.0], 2),
        (losses.Softmax(), [1e15, 1e15, 1e15 + 47], 2),
        *[
            (losses.SmoothedMulticlassHinge(gamma), [scale, scale + 1, scale - 0.1, scale], y)
            for gamma in (1e-3, 1.0, 1e3)
            for scale in (1e3, 1e5, 1e7, 1e15, 1e150)
            for y in (1, 2)
        ],
        (losses.SmoothedMulticlassHinge(), [-1e16, -0.1, -1e33], 2),
    ],
)
def test_value_where_digits_are_easily_lost(loss, a, y):
    a = np.array(a)[()]
    expected = exact.value(loss, a, y)
    assert_accurate(loss.value, (a, y), expected, slack_of_value(loss, a, y, expected))


@pytest.mark.parametrize("b", [1e-300, 1e-20, 1e-16, 1e-8, 0.5, 1 - 1e-8, np.nextafter(1, 0)])
def test_entropies_are_accurate_at_both_ends(b):
    expected = exact.conjugate(losses.Logistic(), -b, 1.0)
    assert_accurate(losses.Logistic().conjugate, (-b, 1.0), expected, 4 * UNIT * abs(expected))
    u = np.array([b, -b])
    expected = exact.conjugate(losses.Softmax(), u, 1)
    assert_accurate(losses.Softmax().conjugate, (u, 1), expected, 4 * UNIT * abs(expected))


@over_losses
@given(data=st.data())
@thorough
def test_conjugate(loss, data):
    u, y = data.draw(duals(loss))
    expected = exact.conjugate(loss, u, y)
    slack = C * UNIT * (abs(expected) + mpf(loss.gamma) * size(u) ** 2)
    assert_accurate(loss.conjugate, (u, y), expected, slack)


@over_losses
@given(data=st.data())
@thorough
def test_gradient(loss, data):
    a, y = data.draw(examples(loss))
    expected = exact.gradient(loss, a, y)
    assume(size(expected) < LARGEST)
    found = loss.gradient(a, y)
    assert_in_domain(loss, -found, y)
    if loss.gamma > 0:
        slack = C * UNIT * (size(expected) + size(a) / mpf(loss.gamma)) + UNDERFLOW
        pairs = zip(np.atleast_1d(found), np.atleast_1d(expected), strict=True)
        assert all(abs(mpf(one) - other) <= slack for one, other in pairs), (found, expected)


def assert_in_domain(loss, alpha, y):
    """Exactly, but for the sum over classes, whose rounding is relative to the largest number."""
    assert np.isfinite(alpha).all()
    assert exact.conjugate(loss, -alpha, y) < exact.inf
    if base.abilities(loss).vector:
        m = alpha.size
        assert abs(exact.context.fsum(map(mpf, alpha))) <= 4 * m * UNIT * max(map(abs, alpha))


@over_losses
@given(data=st.data())
@thorough
def test_steps_stay_in_the_domain(loss, data):
    (a, y), can = data.draw(examples(loss)), base.abilities(loss)
    other = data.draw(scores(a.size) if can.vector else numbers)
    assume(max(np.abs(a).max(), np.abs(other).max(), np.abs(y)) < 1e250)  # products may overflow
    alpha = -loss.gradient(other if can.vector else np.float64(other), y)
    q = data.draw(st.sampled_from([0.0, 1e-300, 1e-20, 1e-3, 1.0, 30.0, 1e8, 1e20]))
    for step in (can.step, can.quick_step):
        assert_in_domain(loss, step(loss, alpha, a, y, q), y)


@pytest.mark.parametrize("loss", [losses.Softmax(), losses.SmoothedMulticlassHinge(0.7)])
@pytest.mark.parametrize("q", [0.0, 0.3, 40.0])
def test_steps_depend_on_differences_of_scores_only(loss, q):
    rng = np.random.default_rng(0)
    a = rng.integers(-(2**21), 2**21, size=(20, 5)) * 2.0**-20  # sums with 2^30 are exact
    alpha = [-loss.gradient(2 * rng.normal(size=5), 2) for _ in a]
    pairs = list(zip(alpha, a, strict=True))
    near = [loss.step(old, scores, 2, q) for old, scores in pairs]
    far = [loss.step(old, scores + 2.0**30, 2, q) for old, scores in pairs]
    np.testing.assert_allclose(near, far, atol=1e-6 * (q > 0) + 1e-14)  # a - q alpha is rounded


@pytest.mark.parametrize("loss", [losses.Softmax(), losses.SmoothedMulticlassHinge()])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 30.0])
def test_many_classes(loss, scale):
    """With and without compilation."""
    rng = np.random.default_rng(0)
    a, y = scale * rng.normal(size=1000), 3
    for top in (0.0, 3 * scale, 40.0):
        a[y] = top
        expected, u = exact.value(loss, a, y), loss.gradient(a, y)
        slack = slack_of_value(loss, a, y, expected)
        for function in (loss.value, compiled(loss, "value")):
            assert_accurate(function, (a, y), expected, slack)
        assert_in_domain(loss, -u, y)
        expected = exact.conjugate(loss, u, y)
        slack = C * UNIT * (abs(expected) + mpf(loss.gamma) * size(u) ** 2)
        for function in (loss.conjugate, compiled(loss, "conjugate")):
            assert_accurate(function, (u, y), expected, slack)


def compiled(loss, method):
    """A method of a loss over classes as kernels have it."""
    return lambda x, y: kernels.evaluate(
        loss, x[None], np.array([y]), None, np.empty(1), method=method
    ).item()


@pytest.mark.parametrize("loss", registry.LOSSES, ids=registry.label)
def test_compiled_functions_agree(loss):
    """In a kernel the same formulas are as accurate."""
    rng, n, m = np.random.default_rng(0), 300, 4
    can = base.abilities(loss)
    y = rng.integers(m, size=n) if can.targets == "class" else rng.normal(size=n)
    y = np.sign(y) if can.targets == "sign" else y
    a = (10.0 ** rng.integers(-20, 100, size=n) * rng.normal(size=(m, n))).T
    a[::3] = rng.choice([0.0, 1.0, *kinks(loss)], size=a[::3].shape)
    a = np.ascontiguousarray(a if can.vector else a[:, 0])
    u = np.array([loss.gradient(*pair) for pair in zip(a, y, strict=True)])
    for method, x in (("value", a), ("gradient", a), ("conjugate", u)):
        one_by_one = [getattr(loss, method)(*pair) for pair in zip(x, y, strict=True)]
        out = np.empty(a.shape if method == "gradient" else n)
        found = kernels.evaluate(loss, x, y, None, out, method=method)
        np.testing.assert_allclose(found, one_by_one, rtol=1e-14, atol=1e-300)


def test_domains_end_exactly():
    beyond = np.nextafter(1, 2)
    for loss in (losses.Hinge(), losses.SmoothedHinge(), losses.Logistic()):
        assert np.isfinite(loss.conjugate(np.array([0.0, -5e-324, -1.0]), 1.0)).all()
        assert np.isinf(loss.conjugate(np.array([5e-324, -beyond]), 1.0)).all()
    for loss in (losses.Absolute(), losses.Huber(), losses.SmoothedEpsilonInsensitive()):
        assert np.isfinite(loss.conjugate(np.array([-1.0, 0.0, 1.0]), 3.0)).all()
        assert np.isinf(loss.conjugate(np.array([-beyond, beyond]), 3.0)).all()
    for loss in (losses.Softmax(), losses.SmoothedMulticlassHinge()):
        for inside in ([0.0, 0.0, 0.0], [1.0, 0.0, -1.0], [5e-324, 0.0, -5e-324]):
            assert np.isfinite(loss.conjugate(np.array(inside), 2))
        for outside in ([-5e-324, 0.0, 0.0], [beyond, 0.0, -beyond], [1e-3, 0.0, 0.0]):
            assert np.isinf(loss.conjugate(np.array(outside), 2))
    for value in (np.nextafter(-0.4, -1), np.nextafter(0.2, 1)):
        assert np.isinf(regularizers.BoxL2(lower=-0.4, upper=0.2).value(value))
    assert np.isinf(regularizers.NonnegativeL2().value(-5e-324))


# Penalties


@st.composite
def vectors(draw, g):
    """Vectors of any sizes, of one size, or next to the parameters of g."""
    w = np.array(draw(st.lists(numbers, min_size=registry.D, max_size=registry.D)))
    if draw(st.booleans()):
        units = draw(st.lists(st.floats(-3, 3), min_size=registry.D, max_size=registry.D))
        w = draw(sizes) * np.array(units)
    field = draw(st.sampled_from([field for field in g if np.isscalar(field)] or [0.0]))
    if np.isfinite(field) and draw(st.booleans()):
        w[::2] = draw(signs) * field + draw(st.integers(-3, 3)) * np.spacing(field)
    return w


def assert_terms_accurate(g, function, formula, w, moved):
    """Up to rounding of the result, and if `moved` up to what rounding of w changes."""
    if abilities_of_penalty(g).separable:
        near, parts = C * UNIT, [np.array([x]) for x in w]
    else:
        near, parts = C * (registry.D + 1) * UNIT, [w]
    for part in parts:
        expected, *ends = (
            exact.context.fsum(np.atleast_1d(formula(g, [mpf(x) * factor for x in part])))
            for factor in ([1, 1 - near, 1 + near] if moved else [1])
        )
        slack = near * abs(expected) + max([abs(end - expected) for end in ends], default=0)
        assert_accurate(lambda x: np.sum(function(x)), (part,), expected, slack)


@over_penalties
@given(data=st.data())
@thorough
def test_penalty(g, data):
    w = data.draw(vectors(g))
    assert_terms_accurate(g, g.value, exact.penalty, w, moved=False)


@over_penalties
@given(data=st.data())
@thorough
def test_penalty_conjugate(g, data):
    u = data.draw(vectors(g))
    assert_terms_accurate(g, g.conjugate, exact.penalty_conjugate, u, moved=True)


@over_penalties
@given(data=st.data())
@thorough
def test_points_inside_the_domain(g, data):
    """Conjugate gradients lie there, and so does the nearest point, which moves no point inside."""
    w = data.draw(vectors(g))
    assume(np.abs(w).max() < 1e150)  # beyond, penalties overflow
    assert np.isfinite(np.sum(g.value(g.conjugate_gradient(w))))
    nearest = abilities_of_penalty(g).nearest
    if nearest is None:
        assert np.isfinite(np.sum(g.value(w)))
    else:
        inside = nearest(w)
        assert np.isfinite(np.sum(g.value(inside)))
        np.testing.assert_array_equal(inside != w, np.isinf(g.value(w)))
