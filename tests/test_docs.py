"""The documents say what is true: names exist, examples run."""

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import quartz

ROOT = Path(__file__).parent.parent
TABLE_ROW = re.compile(
    r"^\| ([^|]+) \| [^|]+ \| `([\w.]+)` \| `([\w./]+)::(\w+)` \|$", re.MULTILINE
)
ROWS = TABLE_ROW.findall((ROOT / "docs/equations.md").read_text())
MODULES = [module.name for module in pkgutil.walk_packages(quartz.__path__, "quartz.")]


def resolve(path):
    """Import the object at a dotted path."""
    parts = path.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for name in parts[cut:]:
            found = getattr(found, name)
        return found
    raise AssertionError(path)


def test_equations_table_was_read():
    assert len(ROWS) > 30


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_equations_name_code_and_tests_that_exist(row):
    _, code, file, test = row
    assert resolve(code) is not None
    assert f"def {test}(" in (ROOT / file).read_text()


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples(name):
    failures, _ = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert failures == 0


def test_readme_and_contributing_code_runs():
    """All Python blocks of each document, in order, in one namespace."""
    for document in ("README.md", "CONTRIBUTING.md", "docs/scikit-learn.md"):
        blocks = re.findall(r"```python\n(.*?)```", (ROOT / document).read_text(), re.DOTALL)
        assert blocks, document
        namespace = {}
        for block in blocks:
            exec(compile(block, document, "exec"), namespace)


def test_version_is_the_same_everywhere():
    assert f"version: {quartz.__version__}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"## {quartz.__version__}" in (ROOT / "CHANGELOG.md").read_text()
