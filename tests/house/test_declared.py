"""What hide and releases can be asked is declared in one place, of which every door is made."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

from sfumato.fields import declared
from sfumato.hide.fields import DistanceFields, WishFields
from sfumato.release.fields import BEYOND, PersonFields, TermFields
from sfumato.release.rows import POLICIES
from sfumato.specs.schema_release import ReleaseSpec

SOURCE = Path(__file__).resolve().parents[2] / "src" / "sfumato"
DECLARATIONS = {SOURCE / "hide" / "fields.py", SOURCE / "release" / "fields.py"}
EVERY = {name: said for name, _, said in declared(DistanceFields, WishFields, TermFields)}
A_LIST = 5  # of names that are the same: fewer are arguments of something else, such as a space and a prior
TWO_MEANINGS = {"keep"}  # other columns for hide; for a release, which says ``stay`` of these, the true ones


def listed(node: ast.AST) -> set[str]:
    """The names that a class or a function says a type for."""
    if isinstance(node, ast.ClassDef):
        fields = [part.target for part in node.body if isinstance(part, ast.AnnAssign)]
        return {target.id for target in fields if isinstance(target, ast.Name)}
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        given = node.args
        return {each.arg for each in (*given.posonlyargs, *given.args, *given.kwonlyargs) if each.annotation}
    return set()


def test_nobody_else_lists_the_fields_that_hide_and_releases_can_be_asked() -> None:
    others = [path for path in sorted(SOURCE.rglob("*.py")) if path not in DECLARATIONS]
    found = [
        f"{path.relative_to(SOURCE)}: {getattr(node, 'name', '')} lists {sorted(again)}"
        for path in others
        for node in ast.walk(ast.parse(path.read_text()))
        if len(again := listed(node) & set(EVERY)) >= A_LIST
    ]
    assert found == []


def test_a_field_is_declared_once() -> None:
    trees = [ast.parse(path.read_text()) for path in sorted(DECLARATIONS)]
    counts = Counter(name for tree in trees for node in ast.walk(tree) for name in listed(node))
    assert {name for name, times in counts.items() if times > 1} == TWO_MEANINGS
    assert set(EVERY) <= set(counts)


def test_every_field_has_its_option_and_a_line_of_help() -> None:
    wishes = {name: said.options for name, _, said in declared(DistanceFields, WishFields)}
    assert [name for name, options in wishes.items() if not options["hide"].help.endswith(".")] == []
    terms = {name for name, _, said in declared(TermFields) if "release" not in said.options}
    assert terms == {name for name, _, _ in declared(PersonFields)}  # of which a release speaks in Python alone


def test_words_are_those_that_are_taken_and_keys_of_specs_are_there() -> None:
    assert set(EVERY["on_unknown"].words) == set(POLICIES)
    assert EVERY["beyond"].words == BEYOND
    assert {name for name, said in EVERY.items() if said.in_spec} <= set(ReleaseSpec.model_fields)
