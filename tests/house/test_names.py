"""Names: what is public stands on a page of the reference, and names of classes and functions exist once."""

from __future__ import annotations

import ast
import importlib
import re
from collections import defaultdict
from functools import cache
from itertools import pairwise
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import pytest

import sfumato as sf
from sfumato.cli.commands import COMMANDS

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = {path.name: path.read_text() for path in sorted((ROOT / "docs" / "reference").glob("*.md"))}
ROOMS = [name for name in sf.__all__ if isinstance(getattr(sf, name), ModuleType)]


def shown_modules() -> set[str]:
    """Modules whose members a page shows."""
    pages = "\n".join(REFERENCE.values())
    blocks = re.findall(r"^\.\. automodule:: ([\w.]+)\n((?:[ \t]+:.*\n)*)", pages, re.MULTILINE)
    return {module for module, options in blocks if ":no-members:" not in options}


SHOWN = [importlib.import_module(name) for name in shown_modules()]


@cache
def defined(module: ModuleType) -> set[str]:
    """What autodoc shows of a module without a list of names: what it defines, and says something about."""
    body = ast.parse(Path(module.__file__ or "").read_text()).body
    names = {node.name for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node)}
    for node, after in pairwise(body):
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(after, ast.Expr):
            names.add(ast.unparse(node.targets[0] if isinstance(node, ast.Assign) else node.target))
    return names


def is_shown(module: ModuleType, name: str, value: Any) -> bool:
    """Whether autodoc shows the value with the module."""
    return name in getattr(module, "__all__", defined(module)) and getattr(module, name) is value


def undocumented(room: ModuleType) -> list[str]:
    """Public names of a room that are in no module that a page shows, or that say nothing about themselves."""
    missing = []
    for name in room.__all__:
        value: Any = getattr(room, name)
        if isinstance(value, ModuleType):
            continue
        shown = any(is_shown(module, name, value) for module in SHOWN)
        shown |= any(f"autodata:: {room.__name__}.{name}\n" in page for page in REFERENCE.values())
        if not shown or not value.__doc__:
            missing.append(name)
    return missing


@pytest.mark.parametrize("room", ["sfumato", *ROOMS])
def test_a_page_documents_every_public_name(room: str) -> None:
    assert undocumented(sf if room == "sfumato" else getattr(sf, room)) == []


def test_every_page_is_in_the_index_and_every_room_has_one() -> None:
    index = REFERENCE["index.md"]
    pages = {name.removesuffix(".md") for name in REFERENCE} - {"index"}
    assert {page for page in pages if not re.search(rf"^{page}$", index, re.MULTILINE)} == set()
    assert {name for name in sf.__all__ if not re.search(rf"\b{name}\b", index)} == set()


def class_places() -> dict[str, list[str]]:
    places: dict[str, list[str]] = defaultdict(list)
    for path in sorted((ROOT / "src").rglob("*.py")):
        for name in re.findall(r"^ *class (\w+)[(:]", path.read_text(), re.MULTILINE):
            places[name].append(path.relative_to(ROOT).as_posix())
    return places


def test_a_class_name_exists_once() -> None:
    twice = {name: where for name, where in class_places().items() if len(where) > 1}
    assert twice == {}


COMMAND_FUNCTIONS = {f"cli/{entry.module}.py:{name.replace('-', '_')}" for name, entry in COMMANDS.items()}
"""A command is named as what it calls."""

SHARED_NAMES = {
    # the kernel is one file that stands alone, and what does the same for arrays is found by the same name
    "kernel": r"certify/(kernel/\w+|twin\w*|box_bounds|box_certificate)\.py:\w+|spaces/axioms\.py:chain_fits",
    # an iterate is handed the one module of passes or the other
    "passes": r"lp/cone/(near|lanes)_passes\.py:\w+",
    # the same formulas for numbers, and compiled for cones
    "cones": r"lp/cone/(products|second_order_compiled)\.py:(predicted|aimed)",
    # each makes the one file of its room
    "bundles": r"(certify|client)/bundle\.py:bundle",
    # a figure is called by its number, and every paper counts from one
    "papers": r"papers/paper_\w+\.py:figure_\w+",
    # users say them with the namespace before them: sf.predicates.laplace, sf.continuous.laplace
    "namespaces": r"(mechanisms|measures|privacy|theory)/.*:(exponential|laplace|posterior_loss|ball)",
}
"""Functions that may share a name with others of their kind, as path and name."""


def function_places() -> dict[str, list[str]]:
    """Where public functions are defined that are no commands; those that may share a name stand in one place."""
    package = ROOT / "src" / "sfumato"
    places: dict[str, list[str]] = defaultdict(list)
    for path in sorted(package.rglob("*.py")):
        for node in ast.parse(path.read_text()).body:
            if not isinstance(node, ast.FunctionDef) or node.name.startswith("_"):
                continue
            where = f"{path.relative_to(package).as_posix()}:{node.name}"
            kind = next((kind for kind, pattern in SHARED_NAMES.items() if re.fullmatch(pattern, where)), where)
            if where not in COMMAND_FUNCTIONS and kind not in places[node.name]:
                places[node.name].append(kind)
    return places


def test_a_public_function_name_exists_once() -> None:
    twice = {name: where for name, where in function_places().items() if len(where) > 1}
    assert twice == {}


def lists_names(path: Path) -> bool:
    return bool(re.search(r"^__all__\b", path.read_text(), re.MULTILINE))


def test_a_list_of_public_names_stands_where_a_room_is_entered() -> None:
    """Elsewhere an underscore says what is private, and a second list would only repeat it."""
    source = ROOT / "src"
    starred = {name for path in source.rglob("*.py") for name in re.findall(r"from (\S+) import \*", path.read_text())}
    rooms = {getattr(sf, name).__name__ for name in ROOMS}
    listing = {path for path in source.rglob("*.py") if path.name != "__init__.py" and lists_names(path)}
    names = {".".join(path.relative_to(source).with_suffix("").parts) for path in listing}
    assert names - starred - rooms == set()


def second_names() -> list[str]:
    """Classes and functions of ours that a module calls by another name as well."""
    found = []
    for path in sorted((ROOT / "src" / "sfumato").rglob("*.py")):
        values = [node for node in ast.parse(path.read_text()).body if isinstance(node, ast.Assign)]
        renaming = [node for node in values if isinstance(node.value, ast.Name | ast.Attribute)]
        if not renaming:
            continue
        module = importlib.import_module(".".join(path.relative_to(ROOT / "src").with_suffix("").parts))
        for node in renaming:
            names = [target.id for target in node.targets if isinstance(target, ast.Name)]
            given = [getattr(module, name) for name in names]
            if any(isinstance(one, type | FunctionType) and one.__module__.startswith("sfumato") for one in given):
                found.append(f"{path.name}: {ast.unparse(node)}")
    return found


def test_no_class_or_function_has_a_second_name() -> None:
    assert second_names() == []
