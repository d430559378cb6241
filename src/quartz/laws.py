"""Reports of broken laws, shared by `check_loss` and `check_regularizer`."""

from collections.abc import Iterable


class LawError(AssertionError):
    """A loss or regularizer breaks a law that it must obey."""


def raise_if_broken(subject: object, violations: Iterable[str]) -> None:
    """Raise a LawError that lists the first violation of every law."""
    first: dict[str, str] = {}
    for violation in violations:
        first.setdefault(violation.split(":")[0], violation)
    if first:
        lines = "\n".join(f"  - {violation}" for violation in first.values())
        raise LawError(f"{subject!r} breaks {len(first)} law(s):\n{lines}")


def broken(law: str, amount: float, tolerance: float, where: str) -> list[str]:
    """A list of one message if `amount` exceeds `tolerance` or is NaN, otherwise an empty list.

    `amount` is 0 or negative where the law holds exactly.
    """
    if amount <= tolerance:
        return []
    return [f"{law}: off by {amount:.3g} (tolerance {tolerance:.1g}) at {where}"]
