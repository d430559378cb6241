"""Intercepts: none, penalized or free; `base` says what one does, and nobody asks which it is."""

from typing import Literal

from quartz.data import Blocks
from quartz.intercept.base import Intercept, NoIntercept
from quartz.intercept.free import FreeIntercept
from quartz.intercept.penalized import PenalizedIntercept
from quartz.losses.examples import ExampleLosses
from quartz.regularizers.base import Regularizer

__all__ = ["Intercept", "InterceptName", "intercept_of", "may_run_away", "penalized_columns"]

InterceptName = Literal["free", "penalized"]


def penalized_columns(name: InterceptName | None) -> int:
    """How many penalized coordinates the intercept of that name adds, for each output."""
    return int(name == "penalized")


def may_run_away(name: InterceptName | None) -> bool:
    """Whether the intercept of that name has no optimum without examples of a class."""
    return name == "free"


def intercept_of(
    name: InterceptName | None,
    rows: Blocks,
    losses: ExampleLosses,
    lam: float,
    regularizer: Regularizer,
) -> Intercept:
    """The intercept of that name for these examples."""
    if rows.has_free_columns:
        raise ValueError(
            "These data belong to a problem with a free intercept. Use problem.with_lam(lam) for "
            "another lam, or give the rows themselves."
        )
    if name is None:
        return NoIntercept(rows)
    if name not in ("free", "penalized"):
        raise ValueError(f'intercept must be None, "free" or "penalized", got {name!r}.')
    if not rows.has_plain_rows:
        raise ValueError(
            "An intercept needs plain rows of features. Leave it out, and give the blocks rows "
            "for it."
        )
    if name == "penalized":
        return PenalizedIntercept(rows)
    return FreeIntercept(rows, losses, lam, regularizer)
