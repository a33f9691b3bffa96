"""Modules import what they need at their top; inside functions stands only what may not be installed."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "sfumato"
MOST = 25

# Which module a distribution brings where that has another name; torch brings triton.
MODULES = {"dp-accounting": ["dp_accounting"], "torch": ["torch", "triton"], "dask": ["dask", "distributed"]}

# Modules of our own that are loaded by their name, each for a reason.
BY_NAME = {
    "cli/commands.py": "the table of commands: a command's module is loaded when the command runs",
    "__init__.py": "the front door: public names are loaded on first use",
    "release/__init__.py": "names are loaded on first use, with the readers of tables they bring",
    "hide/__init__.py": "names are loaded on first use, with the designs and reports they bring",
    "report/__init__.py": "names are loaded on first use, with the figures they bring",
}


def files() -> Iterator[tuple[str, str]]:
    """Every file of the source."""
    for path in sorted(SOURCE.rglob("*.py")):
        yield path.relative_to(SOURCE).as_posix(), path.read_text()


def optional() -> set[str]:
    """The modules of what is optional and not needed by everybody."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

    def names(requirements: list[str]) -> set[str]:
        return {re.split(r"[^\w-]", requirement)[0] for requirement in requirements}

    extras = set().union(*map(names, project["optional-dependencies"].values())) - names(project["dependencies"])
    return {module for name in extras for module in MODULES.get(name, [name])}


def imported(node: ast.AST) -> list[str]:
    """The modules that a statement imports."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [node.module or ""]
    return []


def inside(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and module of every import inside a function."""
    waiting: list[tuple[ast.AST, bool]] = [(tree, False)]
    found = set()
    while waiting:
        node, within = waiting.pop()
        if within:
            found |= {(node.lineno, name) for name in imported(node)} if isinstance(node, ast.stmt) else set()
        within = within or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        waiting += [(part, within) for part in ast.iter_child_nodes(node) if not isinstance(part, ast.expr)]
    yield from sorted(found)


CALLED = ("import_module", "__import__", "resolve_name", "attach_stub")


def by_name(text: str) -> Iterator[tuple[int, str]]:
    """Line and name of every import that is a call, as far as the name stands there."""
    if not any(name in text for name in CALLED):
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call):
            called = getattr(node.func, "id", getattr(node.func, "attr", ""))
            if called in CALLED:
                yield node.lineno, ast.unparse(node.args[0]) if node.args else ""


def needs_an_extra(module: str, extras: set[str]) -> bool:
    """Whether a module of ours names an optional one."""
    path = SOURCE / f"{module.removeprefix('sfumato.').replace('.', '/')}.py"
    if not path.exists():
        return False
    text = path.read_text()
    named = [name for node in ast.walk(ast.parse(text)) for name in imported(node)]
    named += [name.strip("'\"") for _, name in by_name(text)]
    return any(name.partition(".")[0] in extras for name in named)


def test_imports_inside_functions_are_of_optional_packages() -> None:
    extras = optional()
    assert {"torch", "triton", "pandas", "dp_accounting", "pyspark"} <= extras and "numpy" not in extras
    allowed, wrong = [], []
    for file, text in files():
        for line, module in inside(ast.parse(text)):
            fine = module.partition(".")[0] in extras or needs_an_extra(module, extras)
            (allowed if fine else wrong).append((file, line, module))
    assert not wrong
    assert len(allowed) <= MOST


def test_no_room_of_ours_is_imported_by_its_name() -> None:
    extras = optional()
    assert list(by_name("import_module('sfumato.lp')")) == [(1, "'sfumato.lp'")]
    wrong = [
        (file, line, name)
        for file, text in files()
        for line, name in by_name(text)
        if name.strip("'\"").partition(".")[0] not in extras and file not in BY_NAME
    ]
    assert not wrong
    assert all(list(by_name((SOURCE / file).read_text())) for file in BY_NAME)
