"""Reports of broken laws, shared by `check_loss` and `check_regularizer`."""

from collections.abc import Iterable


class LawError(AssertionError):
    """A loss or regularizer breaks a law that it must obey."""


def blame(*subjects: object) -> str:
    """Who is at fault, and what to do: those that are not of this library, or else the library."""
    theirs = [one for one in subjects if not type(one).__module__.startswith("quartz.")]
    if not theirs:
        names = " and ".join(type(one).__name__ for one in subjects)
        return (
            f"{names} of this library should obey that law: please report it as a bug of Quartz, "
            "with the data."
        )
    names = " and ".join(repr(one) for one in theirs)
    return f"Run check_loss or check_regularizer on {names}, which is not part of Quartz."


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
