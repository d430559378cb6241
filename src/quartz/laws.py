"""Reports of broken laws, shared by `check_loss` and `check_regularizer`."""

from collections.abc import Iterable
from typing import Any


class LawError(AssertionError):
    """A loss or regularizer breaks a law it must obey."""


def raise_if_broken(subject: Any, violations: Iterable[str]) -> None:
    """Raise a LawError that lists the first violation of every law."""
    first: dict[str, str] = {}
    for violation in violations:
        first.setdefault(violation.split(":")[0], violation)
    if first:
        lines = "\n".join(f"  - {violation}" for violation in first.values())
        raise LawError(f"{subject!r} breaks {len(first)} law(s):\n{lines}")


def broken(law: str, amount: float, tolerance: float, where: str) -> list[str]:
    """One message if `amount`, which should not be positive, exceeds `tolerance` or is NaN."""
    if amount <= tolerance:
        return []
    return [f"{law}: off by {amount:.3g} (tolerance {tolerance:.1g}) at {where}"]
