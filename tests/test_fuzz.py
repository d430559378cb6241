"""The fuzz harness: a short run of it, and its checker catches what it is there to catch."""

from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from fuzz import draw, exact, reference, registry
from fuzz.check import check_dual, check_primal, check_reference
from fuzz.parameters import Choice
from fuzz.report import Tally
from fuzz.run import Outcome, run
from fuzz.storages import KINDS, stored

NEWTON = Choice(registry.METHODS["Newton"])
REFERENCE = Choice(
    registry.METHODS["Quartz"],
    {
        "option": 1,
        "primal": "best",
        "engine": "reference",
        "sampling": Choice(registry.SAMPLINGS["Nice"]),
    },
)
PLAIN = draw.Combination(0, 0, "Logistic", "L2", KINDS[4], None, "rows", False, False, NEWTON)
COMBINATIONS = [
    PLAIN,
    replace(PLAIN, loss="Huber", storage=KINDS[0], weighted=True, method=REFERENCE),
    replace(PLAIN, loss="Hinge", regularizer="BoxL2", intercept="penalized", method=REFERENCE),
]


@pytest.mark.parametrize("of", COMBINATIONS, ids=lambda of: of.loss)
def test_a_short_run(of):
    tally = Tally()
    for number in range(12):
        tally.add(run(of, number))
    assert tally.cases == 12
    assert tally.certified >= 6
    assert not tally.laws


def test_numbers_make_a_case_again():
    first, again = (draw.case(COMBINATIONS[1], 7) for _ in range(2))
    assert first.code() == again.code()
    assert np.array_equal(first.X, again.X)
    assert first.code() != draw.case(COMBINATIONS[1], 8).code()


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_forms_hold_the_same_matrix(kind):
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(6, 4)) * (rng.random((6, 4)) < 0.5)).astype(kind.values)
    for form in kind.forms:
        matrix = stored(X, kind, form, rng)
        dense = matrix.toarray() if kind.sparse else np.asarray(matrix)
        assert np.array_equal(dense, X)
        assert matrix.dtype == X.dtype


# The checker


def an_objective(loss="Squared", y=(1.0, -1.0, 1.0), intercept=None, weights=None, m=1, **fields):
    X = np.array([[1.0, 0.1], [0.3, -2.0], [0.7, 0.7]])
    return exact.Objective(
        X, np.array(y), m, False, weights, 0.1, loss, fields, "L2", {}, intercept
    )


def a_result(objective, duals, coef=None):
    """A true certificate, with ends that are the nearest floats."""
    coef = np.full((2, objective.outputs), 0.3) if coef is None else coef
    upper = np.nextafter(float(exact.primal(objective, coef, 0.0)), np.inf)
    lower = np.nextafter(-float(exact.minus_dual(objective, duals)), -np.inf)
    certificate = SimpleNamespace(primal_value=upper, dual_value=lower, duals=np.array(duals))
    return SimpleNamespace(coef=coef, intercept=0.0, certificate=certificate)


def laws(objective, result):
    return [v.law for v in (*check_primal(objective, result), *check_dual(objective, result))]


SIGNS, CLASSES = [0.5, -0.25, 1.0], [[0.5, -0.5], [0.25, -0.25], [-0.5, 0.5]]
EXAMPLES = {
    "Absolute": (SIGNS, {}),
    "EpsilonInsensitive": (SIGNS, {"epsilon": 0.1}),
    "Hinge": (SIGNS, {}),
    "Huber": (SIGNS, {"gamma": 0.7}),
    "Logistic": (SIGNS, {}),
    "SmoothedEpsilonInsensitive": (SIGNS, {"epsilon": 0.1, "gamma": 0.7}),
    "SmoothedHinge": (SIGNS, {"gamma": 0.7}),
    "SmoothedMulticlassHinge": (CLASSES, {"gamma": 0.7}),
    "Softmax": (CLASSES, {}),
    "Squared": (SIGNS, {}),
    "SquaredHinge": (SIGNS, {"gamma": 0.7}),
}


def example_of(loss):
    duals, fields = EXAMPLES[loss]
    classes = loss in exact.OVER_CLASSES
    y, m = ((0, 0, 1), 2) if classes else ((1.0, -1.0, 1.0), 1)
    objective = an_objective(loss, y, weights=np.array([1.0, 0.5, 1.5]), m=m, **fields)
    return objective, a_result(objective, duals)


def test_there_is_an_example_of_each_loss():
    assert set(EXAMPLES) == set(exact.LOSSES)


@pytest.mark.parametrize("loss", EXAMPLES)
def test_a_true_certificate_passes_and_false_ones_do_not(loss):
    objective, result = example_of(loss)
    assert laws(objective, result) == []
    values = result.certificate
    values.primal_value *= 1 - 1e-9
    assert laws(objective, result) == ["P is at most the upper end (FAR)"]
    values.primal_value, values.dual_value = np.inf, values.dual_value + 1e-9
    assert laws(objective, result) == ["D is at least the lower end (FAR)"]
    values.dual_value = np.nan
    assert laws(objective, result) == ["D is at least the lower end"]


@pytest.mark.parametrize("loss", EXAMPLES)
def test_another_solver_agrees_with_the_formulas(loss):
    objective, result = example_of(loss)
    coef, intercept = reference.solved(objective)
    least = exact.primal(objective, coef, intercept)
    assert least <= exact.primal(objective, result.coef, 0.0)
    assert least >= -exact.minus_dual(objective, result.certificate.duals)
    result.certificate.dual_value = float(least) * (1 + 1e-9)
    assert check_reference(objective, result, (coef, intercept))


@pytest.mark.parametrize(
    ("loss", "inside", "outside"),
    [
        ("Hinge", 1.0, np.nextafter(1, 2)),
        ("Logistic", 0.0, -5e-324),
        ("Absolute", -1.0, np.nextafter(-1, -2)),
        ("SquaredHinge", 0.0, -5e-324),
    ],
)
def test_a_dual_outside_by_one_ulp_is_caught(loss, inside, outside):
    objective = an_objective(loss, **EXAMPLES[loss][1])
    result = a_result(objective, [inside, 0.0, 0.0])
    assert laws(objective, result) == []
    result.certificate.duals[0] = outside
    assert laws(objective, result) == ["duals are in the domain"]


def test_sums_are_exactly_zero():
    objective = an_objective("Squared", intercept="free")
    result = a_result(objective, [0.5, 0.25, -0.75])
    assert laws(objective, result) == []
    result.certificate.duals[:] = 0.1, 0.2, -(0.1 + 0.2)  # whose sum is 0 in floats
    assert laws(objective, result) == ["duals are in the domain"]


def test_sums_over_classes_are_exactly_zero():
    objective, result = example_of("Softmax")
    result.certificate.duals[0, 0] = np.nextafter(0.5, 1)
    assert laws(objective, result) == ["duals are in the domain"]


def test_an_example_of_weight_zero_has_no_dual():
    objective = an_objective("Squared", weights=np.array([0.0, 1.5, 1.5]))
    result = a_result(objective, [0.0, 0.5, 0.5])
    result.certificate.duals[0] = 1e-300
    assert laws(objective, result) == ["duals are in the domain"]


def test_w_outside_of_a_box_is_caught():
    objective = an_objective()._replace(
        regularizer="BoxL2", regularizer_fields={"lower": -0.3, "upper": 0.3}
    )
    result = a_result(objective, [0.0, 0.0, 0.0])
    assert laws(objective, result) == []
    result.coef[0] = np.nextafter(0.3, 1)
    assert laws(objective, result) == ["w is in the domain of g"]


def test_functions_that_are_rounded_are_lower_bounds():
    for x in (Fraction(1, 3), Fraction(2), Fraction(1, 10**300), 1 - Fraction(1, 10**40)):
        assert exact.sqrt(x) ** 2 <= x
        assert abs(exact.sqrt(x) ** 2 - x) <= x / 10**55
        assert abs(exact.log(x) + exact.log(1 / x)) <= abs(exact.log(x)) / 10**55


def test_what_has_no_exact_formula_is_an_error():
    with pytest.raises(NotImplementedError, match=r"Cubic has no .* fuzz/exact\.py"):
        registry._with_formulas(iter([type("Cubic", (), {})]), exact.LOSSES, "LOSSES")


# The report


def test_a_tally_goes_on_from_its_file(tmp_path):
    tally, path = Tally(), tmp_path / "state.json"
    tally.add(Outcome(3, 0, {"loss": "Hinge"}, "converged", certified=1))
    tally.save(path, seed=0)
    again = Tally.load(path, seed=0)
    assert vars(again) == vars(tally)
    assert again.done == {3: 1}
    with pytest.raises(ValueError, match="another seed"):
        Tally.load(path, seed=1)
