"""One case from its numbers to its outcome, whatever happens on the way."""

import re
import traceback
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

import quartz
from fuzz import draw
from fuzz.case import Case, OnPurposeError
from fuzz.check import Violation, certified_pair, check, check_pair, check_reference
from fuzz.draw import Combination
from fuzz.storages import arrays
from quartz import Problem, Result

LIBRARY = str(Path(quartz.__file__).parent)
WITH_REFERENCE = 0.1  # share of the ordinary cases that another solver solves, too
MOST_ROWS = 200  # of those, since it is slow
WITH_ANOTHER_PAIR = 0.3  # share of the cases of which any other pair is certified, too


@dataclass(frozen=True)
class Outcome:
    """What became of a case.

    Attributes
    ----------
    combination, case : int
        Its numbers.
    labels : dict
        Kind of loss, penalty and so on.
    status : str
        The status of the result, "refused" or "failed".
    refusal : str
        The first words of the message of quartz's own error, if it refused the case.
    certified : int
        Number of results whose certificates were proved.
    violations : list of Violation
    code : str
        Source that makes the case again, if something is wrong.
    """

    combination: int
    case: int
    labels: Mapping[str, str]
    status: str
    refusal: str = ""
    certified: int = 0
    violations: list[Violation] = field(default_factory=list)
    code: str = ""


def run(of: Combination, number: int) -> Outcome:
    """Solve and check a case of a combination."""
    case = draw.case(of, number)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # none is called for: they belong to estimators
        status, refusal, certified, violations = _attempt(case)
    return Outcome(
        of.number,
        number,
        of.labels,
        status,
        refusal,
        certified,
        violations,
        case.code() if violations else "",
    )


def _attempt(case: Case) -> tuple[str, str, int, list[Violation]]:
    """Status, refusal, number of proved certificates, violations."""
    problem: Problem | None = None
    matrix = case.matrix()
    given = [*arrays(matrix), case.y, *([] if case.weights is None else [case.weights])]
    before = [array.copy() for array in given]
    try:
        problem = case.problem(matrix)
        result = case.solve(problem)
    except (OnPurposeError, KeyboardInterrupt) as error:
        assert problem is not None
        return _raised(case, problem, error)
    except Exception as error:
        if _is_refusal(error):
            return "refused", f"{_first_words(str(error))} ({_scales(case)} scales)", 0, []
        return "failed", "", 0, [_crash(error, case)]
    violations = _checked(case, problem, result)
    if not all(map(np.array_equal, given, before)):
        violations.append(Violation("arguments are left as they were", "an array has changed"))
    return result.status.value, "", 1, violations


def _raised(
    case: Case, problem: Problem, error: BaseException
) -> tuple[str, str, int, list[Violation]]:
    """A callback's exception carries what was certified before, and a callback sees that.

    KeyboardInterrupt is raised if it comes soon after another one; else it ends the run.
    """
    status, result = f"{type(error).__name__} of callback", getattr(error, "result", None)
    if result is None:
        law = f"the {type(error).__name__} of a callback carries the result"
        return status, "", 0, [Violation(law, "it has none")]
    return status, "", 1, check(case, problem, result)


def _checked(case: Case, problem: Problem, result: Result) -> list[Violation]:
    """The violations of a result, of a pair near it, and of what another solver found."""
    violations, rng, objective = check(case, problem, result), case.rng(3), case.objective(problem)
    if rng.random() < WITH_ANOTHER_PAIR:
        violations += _checked_pair(case, problem, result, rng)
    if case.ordinary and rng.random() < WITH_REFERENCE and case.X.shape[0] <= MOST_ROWS:
        from fuzz import reference

        point = reference.solved(objective)
        if point is not None:
            violations += check_reference(objective, result, point)
    return violations


def _checked_pair(
    case: Case, problem: Problem, result: Result, rng: np.random.Generator
) -> list[Violation]:
    """The violations of any other pair, which `certify` was given and not `solve`."""
    try:
        pair = certified_pair(problem, result, rng)
    except Exception as error:
        return [] if _is_refusal(error) else [_crash(error, case)]
    found = check_pair(case.objective(problem), pair)
    return [Violation(f"certify(): {each.law}", each.detail) for each in found]


def _is_refusal(error: Exception) -> bool:
    """Whether quartz itself raised it, as a sentence."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    own = frame.filename.startswith(LIBRARY) and type(error) is ValueError
    return own and str(error).rstrip().endswith(".") and " " in str(error)


def _scales(case: Case) -> str:
    return "ordinary" if case.ordinary else "extreme"


def _first_words(message: str) -> str:
    """A message without its numbers, as far as it says which one it is."""
    return " ".join(re.sub(r"\[[^\]]*\]|[-+]?\d[\d.e+-]*", "#", message).split()[:9])


def _crash(error: Exception, case: Case) -> Violation:
    """An error or a warning that quartz does not mean, and the way to where it happened."""
    frames = traceback.extract_tb(error.__traceback__)
    inside = [frame for frame in frames if frame.filename.startswith(LIBRARY)] or frames
    way = [f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in inside[-4:]]
    place = f"{Path(inside[-1].filename).name}:{inside[-1].name}"
    return Violation(
        f"{type(error).__name__} in {place} at {_scales(case)} scales",
        f"{str(error)[:300]}\n{' > '.join(way)}",
    )
