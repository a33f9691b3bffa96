"""What hide and releases can be asked is declared in one place, of which every door is made."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path
from typing import Literal, get_args, get_origin

from sfumato.fields import declared
from sfumato.hide.fields import DistanceFields, WishFields
from sfumato.release.fields import BEYOND, PersonFields, TermFields
from sfumato.release.rows import POLICIES
from sfumato.specs.keys import kinds_of
from sfumato.specs.schema_base import TableSpec
from sfumato.specs.schema_release import ReleaseSpec
from sfumato.specs.spec import Spec

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


def tables(model: type[TableSpec] = TableSpec) -> set[type[TableSpec]]:
    """Every table of a spec, and what tables are made of."""
    return {model}.union(*map(tables, model.__subclasses__()))


def test_every_key_of_a_spec_has_a_line_of_help() -> None:
    lines = {f"{model.__name__}.{name}": model.key(name).help for model in tables() for name in model.model_fields}
    assert len(lines) > 150
    assert {where: line for where, line in lines.items() if not (line[:1].isupper() and line.endswith("."))} == {}


def test_every_kind_has_words_and_every_word_that_a_key_may_be() -> None:
    for model in tables():
        for name, field in model.model_fields.items():
            given = [part for part in (field.annotation, *get_args(field.annotation)) if get_origin(part) is Literal]
            words = {word for part in given for word in get_args(part)}
            options = set(model.key(name).options)
            assert options in (words, set()), f"{model.__name__}.{name}"
            assert name != "kind" or options == words
    assert len(kinds_of(Spec.model_fields["space"].annotation)) == 21


def test_sentences_that_ask_stand_in_the_declarations_alone() -> None:
    """What init asks for a key is said beside the key; only what is asked for several keys together is said there."""
    sentences = {model.key(name).asked for model in tables() for name in model.model_fields} - {""}
    assert len(sentences) > 20
    doors = [path.read_text() for room in ("cli", "studio") for path in sorted((SOURCE / room).glob("*.py"))]
    starts = {sentence.split("{")[0] for sentence in sentences}
    assert {
        start for start in starts for text in doors if re.search(rf"\bask\(\s*f?\"{re.escape(start)}", text)
    } == set()
