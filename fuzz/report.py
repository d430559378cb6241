"""What a run has found, counted for people and kept for the next run."""

import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from fuzz.run import Outcome

MOST_EXAMPLES = 5  # reproducers of one broken law that are written down


class Tally:
    """Counts of outcomes.

    Attributes
    ----------
    done : dict
        For every combination begun, how many of its cases are done.
    finished : list of int
        The combinations of which no case is left.
    cases, certified, failures : int
        A case fails if it breaks a law.
    laws, refusals, statuses : Counter
        How often each law was broken, each refusal was given, and each status was reached.
    tables : dict
        For each kind of label and each label, a Counter of cases, certified, refused and failures.
    seconds, compiling : float
        Spent by all processes together, and in compilation among them.
    """

    def __init__(self) -> None:
        self.done: dict[int, int] = {}
        self.finished: list[int] = []
        self.cases = self.certified = self.failures = 0
        self.seconds = self.compiling = 0.0
        self.laws: Counter[str] = Counter()
        self.refusals: Counter[str] = Counter()
        self.statuses: Counter[str] = Counter()
        self.tables: dict[str, dict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))

    def add(self, outcome: Outcome) -> None:
        """Count an outcome, the next one of its combination."""
        failed = bool(outcome.violations)
        self.done[outcome.combination] = outcome.case + 1
        self.cases += 1
        self.certified += outcome.certified
        self.failures += failed
        self.statuses[outcome.status] += 1
        self.laws.update(violation.law for violation in outcome.violations)
        if outcome.refusal:
            self.refusals[outcome.refusal] += 1
        for kind, label in outcome.labels.items():
            row = self.tables[kind][label]
            row["cases"] += 1
            row["certified"] += outcome.certified
            row["refused"] += bool(outcome.refusal)
            row["failures"] += failed

    def progress(self, seconds: float) -> str:
        """One line."""
        return (
            f"{self.cases} cases of {len(self.done)} combinations, {self.certified} certified, "
            f"{self.failures} failures, {seconds:.0f} s"
        )

    def summary(self) -> str:
        """Tables in Markdown."""
        lines = []
        for kind, rows in self.tables.items():
            lines += [
                f"| {kind} | cases | certified | refused | failures |",
                "|---|---|---|---|---|",
            ]
            for label in sorted(rows):
                counts = rows[label]
                numbers = [counts[c] for c in ("cases", "certified", "refused", "failures")]
                lines.append(f"| {label} | {' | '.join(map(str, numbers))} |")
            lines.append("")
        for title, counter in (
            ("statuses", self.statuses),
            ("refusals", self.refusals),
            ("broken laws", self.laws),
        ):
            lines += [f"{title}:", *(f"  {n:6d}  {what}" for what, n in counter.most_common()), ""]
        share = 100 * self.compiling / max(self.seconds, 1e-9)
        lines.append(f"{share:.0f}% of {self.seconds:.0f} s in all processes were compilation.")
        return "\n".join(lines)

    def save(self, path: Path, seed: int) -> None:
        """Write everything as JSON; a crash leaves the old file or the new one."""
        fields = vars(self) | {"seed": seed}
        part = path.with_suffix(".part")
        part.write_text(json.dumps(fields, indent=1))
        part.replace(path)

    @classmethod
    def load(cls, path: Path, seed: int) -> "Tally":
        """Go on from a file, or begin if there is none."""
        tally = cls()
        if not path.exists():
            return tally
        fields: dict[str, Any] = json.loads(path.read_text())
        if fields.pop("seed") != seed:
            raise ValueError(f"{path} is of another seed. Give that one, or another file.")
        tally.done = {int(number): count for number, count in fields.pop("done").items()}
        for kind, rows in fields.pop("tables").items():
            for label, counts in rows.items():
                tally.tables[kind][label].update(counts)
        for name, value in fields.items():
            setattr(tally, name, Counter(value) if isinstance(value, dict) else value)
        return tally


class Findings:
    """The file of reproducers, to which new ones are appended.

    Parameters
    ----------
    path : Path
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: Counter[str] = Counter()

    def add(self, outcome: Outcome) -> str:
        """Write down a failure unless there are enough of its kind; return what is new to see."""
        shown = []
        for violation in outcome.violations:
            self._seen[violation.law] += 1
            text = f"## {violation.law}\n\n{violation.detail}\n\n```python\n{outcome.code}\n```\n"
            if self._seen[violation.law] <= MOST_EXAMPLES:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                with self._path.open("a") as file:
                    file.write(text + "\n")
            if self._seen[violation.law] == 1:
                shown.append(text)
        return "\n".join(shown)
