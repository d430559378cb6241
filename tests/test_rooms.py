"""The map of CONTRIBUTING.md holds: imports point upward, and each concern stays in its room."""

import ast
import re
from pathlib import Path

import pytest

import quartz

SOURCE = Path(quartz.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))
# Rooms in the order of the map; a room may import from its own line and from those above it.
ROOMS = [
    {"arrays"},
    {"checks", "domain", "grid", "laws", "parallel", "progress", "signals"},
    {"kernels"},
    {"losses", "regularizers"},
    {"data"},
    {"intercept"},
    {"rounding"},
    {"problem"},
    {"certificate"},
    {"samplings"},
    {"theory"},
    {"costs"},
    {"methods"},
    {"run"},
    {"estimators"},
    {"compat"},
]
FLOOR = {room: floor for floor, rooms in enumerate(ROOMS) for room in rooms}


def room_of(path):
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported_rooms(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module == "quartz":
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("quartz."):
            yield node.module.split(".")[1]
        elif isinstance(node, ast.Import):
            names = (alias.name.split(".") for alias in node.names)
            yield from (name[1] for name in names if name[0] == "quartz" and len(name) > 1)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_upward(path):
    if path == SOURCE / "__init__.py":
        return
    floor = FLOOR[room_of(path)]
    below = [room for room in imported_rooms(path) if FLOOR[room] > floor]
    assert not below, f"{room_of(path)} imports {below}"


def test_the_map_of_contributing_names_all_rooms():
    text = (SOURCE.parent.parent / "CONTRIBUTING.md").read_text()
    shown = text.split("## The map")[1].split("## The way of one fit")[0]
    for room in FLOOR:
        name = f"{room}/" if (SOURCE / room).is_dir() else f"{room}.py"
        assert f"`{name}`" in shown, name
    order = [
        shown.index(f"`{name}") for name in ("kernels/", "losses/", "data/", "methods/", "run/")
    ]
    assert order == sorted(order)


def outside(*rooms):
    return [path for path in FILES if room_of(path) not in rooms]


def test_the_kind_of_an_intercept_is_known_in_its_room_only():
    kind = re.compile(
        r"""(==|!=| is | in ).*["'](free|penalized)["']|InterceptBlocks|FreeIntercept"""
    )
    for path in outside("intercept"):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            allowed = (
                path.name == "names.py" and "fit_intercept" in line
            )  # where names become objects
            assert allowed or not kind.search(line), f"{path.name}:{number}: {line.strip()}"


def test_abilities_are_looked_up_in_one_place():
    """No other file asks by hasattr or getattr what a loss, a regularizer or a sampling has."""
    asks = re.compile(
        r"(has|get)attr\((loss|g|self\.loss|problem\.loss|regularizer|sampling|method)\b"
    )
    allowed = {SOURCE / "losses/base.py", SOURCE / "regularizers/base.py"}
    by_name = {
        SOURCE / "losses/check.py",
        SOURCE / "losses/examples.py",
    }  # functions by their names
    by_name |= {SOURCE / "regularizers/check.py"}
    for path in FILES:
        if path not in allowed | by_name:
            assert not asks.search(path.read_text()), path


def test_the_choice_of_a_method_asks_no_types():
    names = ("automatic", "candidates", "steps", "accelerated", "permuted")
    files = [SOURCE / f"methods/{name}.py" for name in names]
    for file in (*files, *(SOURCE / "methods/newton").glob("*.py")):
        assert "isinstance(" not in file.read_text(), file
