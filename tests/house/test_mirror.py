"""Source, tests and reference mirror each other: who knows one path knows three.

- A test file below ``tests/ROOM`` is named after a module or a folder of that room, with what it is about behind the
  name: ``tests/theory/test_universal_regret.py`` and ``tests/theory/universal/test_regret.py`` are both about
  ``theory/universal/regret.py``. What concerns a room as a whole has a name in ``THEMES``.
- A module has such a test, or is a part of a module of its room that has one (it is imported by it, or has its name
  and a word more), or defines nothing and only collects names.
- A module from which its room takes public names stands on the reference page of the room.

The other folders of tests are kinds of tests, not rooms: ``KINDS`` lists them.
"""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE, TESTS, REFERENCE = ROOT / "src" / "sfumato", ROOT / "tests", ROOT / "docs" / "reference"

KINDS = {"laws", "golden", "conformance", "house", "doors", "peers", "engines", "browser", "vectors"}
FROM_OUTSIDE = {"cli"}  # the command line is tried as a whole, by the tests of doors
THEMES = {
    "certify": {"attacks", "forgeries", "vectors"},
    "client": {"javascript"},
    "draws": {"fit"},
    "design": {"events", "random_problems", "time_limits", "too_large"},
    "release": {"attacks", "fit"},
}
IN_MOTION: set[str] = set()

Words = tuple[str, ...]
ROOMS = sorted(p.name for p in SOURCE.iterdir() if p.is_dir() and p.name != "__pycache__")
MODULES = sorted(p for p in SOURCE.rglob("*.py") if p.name not in ("__init__.py", "__main__.py"))


def words_of(path: Path, top: Path) -> Words:
    """The words of a path below a room, folders included."""
    return tuple("_".join(path.relative_to(top).with_suffix("").parts).removeprefix("test_").split("_"))


def room_of(path: Path, top: Path) -> str:
    """The folder below the top that a file stands in; empty for a file beside the rooms."""
    parts = path.relative_to(top).parts
    return parts[0] if len(parts) > 1 else ""


@cache
def names_of_tests(room: str) -> frozenset[Words]:
    """What the test files of a room are called, without their prefix."""
    top = TESTS / room
    files = top.rglob("test_*.py") if room else top.glob("test_*.py")
    return frozenset(words_of(path.with_name(path.name.removeprefix("test_")), top) for path in files)


def begins(words: Words, start: Words) -> bool:
    return words[: len(start)] == start


def has_test(module: Path) -> bool:
    """Whether a test file is named after the module, or after the folder whose ``__init__`` it is."""
    room = room_of(module, SOURCE)
    name = words_of(module.parent if module.name == "__init__.py" else module, SOURCE / room)
    return any(begins(words, name) for words in names_of_tests(room))


@cache
def imported_by(module: Path) -> frozenset[str]:
    """The modules that a module imports, as dotted names."""
    names = set()
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.Constant) and re.fullmatch(r"sfumato[\w.]*:\w+", str(node.value)):
            names.add(str(node.value).split(":")[0])  # where another process begins
    return frozenset(names)


def defines(module: Path) -> bool:
    """Whether a module has anything of its own."""
    return any(isinstance(node, ast.FunctionDef | ast.ClassDef) for node in ast.parse(module.read_text()).body)


def is_part(part: Path, whole: Path) -> bool:
    """Whether a module is imported by another one, or has its name and a word more."""
    same_folder = part.parent == whole.parent and begins(words_of(part, SOURCE), words_of(whole, SOURCE))
    return same_folder or dotted(part) in imported_by(whole)


def dotted(module: Path) -> str:
    """How a module is imported."""
    return ".".join(("sfumato", *module.relative_to(SOURCE).with_suffix("").parts)).removesuffix(".__init__")


@pytest.mark.parametrize("room", ["", *(room for room in ROOMS if room not in IN_MOTION | FROM_OUTSIDE)])
def test_a_module_has_a_test_or_is_a_part_of_one_that_has(room: str) -> None:
    inside = [path for path in SOURCE.rglob("*.py") if room_of(path, SOURCE) == room]
    waiting = [path for path in inside if path.parent != SOURCE / room or path.name != "__init__.py"]
    reached = [path for path in waiting if has_test(path)]
    for path in reached:  # grows: parts of parts are parts
        reached += [part for part in waiting if part not in reached and is_part(part, path)]
    missing = [path for path in MODULES if path in waiting and path not in reached and defines(path)]
    assert [str(path.relative_to(SOURCE)) for path in missing] == []


@pytest.mark.parametrize("room", [room for room in ROOMS if room not in IN_MOTION | FROM_OUTSIDE])
def test_a_test_is_named_after_what_it_tests(room: str) -> None:
    top = SOURCE / room
    paths = [path for path in top.rglob("*") if path.suffix == ".py" or path.is_dir()]
    names = {words_of(path, top) for path in paths} | {tuple(theme.split("_")) for theme in THEMES.get(room, ())}
    assert ["_".join(words) for words in names_of_tests(room) if not any(begins(words, name) for name in names)] == []


def test_folders_of_tests_are_rooms_or_kinds() -> None:
    folders = {path.name for path in TESTS.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert folders - KINDS <= set(ROOMS)


def public_modules(room: str) -> set[str]:
    """The modules from which a room takes the names it offers."""
    return {name for name in imported_by(SOURCE / room / "__init__.py") if name.startswith(f"sfumato.{room}.")}


def documented() -> set[str]:
    """The modules that stand on a page of the reference."""
    pages = "\n".join(path.read_text() for path in REFERENCE.glob("*.md"))
    return set(re.findall(r"automodule:: (sfumato[\w.]*)", pages))


@pytest.mark.parametrize("room", [room for room in ROOMS if room not in IN_MOTION])
def test_what_a_room_offers_stands_on_its_reference_page(room: str) -> None:
    modules = {dotted(module) for module in MODULES}
    assert sorted((public_modules(room) & modules) - documented()) == []


def test_the_reference_names_modules_that_exist() -> None:
    assert documented() <= {dotted(path) for path in SOURCE.rglob("*.py")}
