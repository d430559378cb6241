"""What an experiment gives."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from matplotlib.figure import Figure

Row = dict[str, Any]


@dataclass(frozen=True)
class Task:
    """One point of an experiment.

    Attributes
    ----------
    key : dict
        Which point it is; values are numbers and strings.
    run : callable
        Returns what was found there: numbers, strings, or lists of equal length for a curve.
    """

    key: Row
    run: Callable[[], Row]


class Experiment(ABC):
    """Tasks, and what to show of the rows ``key | result`` that they give.

    Attributes
    ----------
    name : str
        On the command line and in file names.
    title : str
    """

    name: str
    title: str

    @abstractmethod
    def tasks(self, quick: bool) -> Iterator[Task]:
        """Give all points; few and small ones if `quick`."""

    @abstractmethod
    def summary(self, rows: list[Row]) -> str:
        """Say in Markdown what the rows show of the paper's claims, with numbers."""

    def draw(self, rows: list[Row]) -> Figure | None:
        """Return the picture, if there is one."""
        return None


def where(rows: list[Row], **values: Any) -> list[Row]:
    """Select the rows with these values."""
    return [row for row in rows if all(row[name] == value for name, value in values.items())]


def distinct(rows: list[Row], name: str) -> list[Any]:
    """List the values of a column, in order of appearance."""
    return list(dict.fromkeys(row[name] for row in rows))


def markdown(rows: list[Row]) -> str:
    """Write rows of the same columns as a table."""
    columns = list(rows[0])
    lines = ["| " + " | ".join(columns) + " |", "|---" * len(columns) + "|"]
    lines += ["| " + " | ".join(_shown(row[name]) for name in columns) + " |" for row in rows]
    return "\n".join(lines)


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 999.5 else f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
