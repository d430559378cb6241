"""Runs an experiment: resumes, shows progress, writes data, picture and summary."""

import csv
import json
import sys
from pathlib import Path
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg

from experiments.base import Experiment, Row
from experiments.datasets import MissingDataError


def run(experiment: Experiment, folder: Path, quick: bool, progress: bool = True) -> str:
    """Do the tasks that the folder has no results of, write everything, return the summary.

    Results are kept in ``NAME.json``, or ``NAME-quick.json``, after each task: a run that was cut
    off goes on from there. Tasks whose data are missing are left out; if all are, MissingDataError
    is raised.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{experiment.name}{'-quick' if quick else ''}.json"
    done = {json.dumps(entry["key"]): entry for entry in _read(path)}
    tasks = list(experiment.tasks(quick))
    missing: dict[str, MissingDataError] = {}
    with _bar(experiment.name, len(tasks), progress) as bar:
        for task in tasks:
            key = json.dumps(task.key)
            if key not in done:
                bar.set_postfix_str(" ".join(map(str, task.key.values())))
                try:
                    done[key] = {"key": task.key, "result": task.run()}
                    _replace(path, json.dumps(list(done.values()), indent=1))
                except MissingDataError as error:
                    missing[str(error)] = error
            bar.update()
    for message in missing:
        print(f"{experiment.name}: points left out. {message}", file=sys.stderr)
    kept = [done[json.dumps(task.key)] for task in tasks if json.dumps(task.key) in done]
    if not kept:
        raise next(iter(missing.values()))
    rows = [entry["key"] | entry["result"] for entry in kept]
    _write_csv(path.with_suffix(".csv"), rows)
    figure = experiment.draw(rows)
    if figure is not None:
        FigureCanvasAgg(figure)
        figure.savefig(path.with_suffix(".png"), dpi=110)
    summary = experiment.summary(rows)
    path.with_suffix(".md").write_text(f"# {experiment.title}\n\n{summary}\n")
    return summary


def _read(path: Path) -> list[Row]:
    if not path.exists():
        return []
    try:
        return list(json.loads(path.read_text()))
    except json.JSONDecodeError as error:
        raise ValueError(f"{path} is damaged ({error}). Delete it to start anew.") from error


def _bar(name: str, total: int, shown: bool) -> Any:
    from tqdm.auto import tqdm

    return tqdm(total=total, desc=name, disable=not shown, unit="task")


def _replace(path: Path, text: str) -> None:
    """Write a file so that a crash leaves the old one or the new one."""
    new = path.with_suffix(".part")
    new.write_text(text)
    new.replace(path)


def _write_csv(path: Path, rows: list[Row]) -> None:
    """One line for each row, or for each point of its curve."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, columns)
        writer.writeheader()
        for row in rows:
            curves = {name: value for name, value in row.items() if isinstance(value, list)}
            if not curves:
                writer.writerow(row)
            for point in zip(*curves.values(), strict=True):
                writer.writerow(row | dict(zip(curves, point, strict=True)))
