"""The form is a projection of the schema: its fields are keys, and what it begins with are questions."""

from __future__ import annotations

from typing import Annotated

import pytest
from fastapi.testclient import TestClient

from sfumato.specs.families import as_question
from sfumato.specs.keys import kind_words, kinds_of
from sfumato.specs.schema import SpaceSpec
from sfumato.specs.schema_base import Count, KeyWords, TableSpec
from sfumato.specs.schema_stakes import LossSpec
from sfumato.specs.spec import spec_from_values
from sfumato.studio.form import described, form_fields
from sfumato.studio.requests import checked_spec
from studio_client import START

FORM = described()
SPACES = {kind: said for kind, said in FORM["spaces"].items() if "fresh" in said}
MODELS = {**kinds_of(SpaceSpec), **{f"loss {kind}": model for kind, model in kinds_of(LossSpec).items()}}
ASKED = {**SPACES, **{f"loss {kind}": said for kind, said in FORM["losses"].items() if kind != "shares"}}


def test_the_form_is_served(client: TestClient) -> None:
    assert client.get("/api/form").json() == FORM
    assert FORM["spaces"].keys() - SPACES.keys() == {"cities", "points"}  # which the page makes of what is chosen
    assert SPACES["grid"]["fresh"] == START["spec"]["space"]  # a town, whose prior comes with it


def test_every_kind_has_a_form_or_is_one_of_files_and_tables() -> None:
    of_files = {"geo", "matrix", "h3_cells", "square_cells", "areas", "roads", "elastic"}
    assert FORM["spaces"].keys() - {"cities"} == kinds_of(SpaceSpec).keys() - of_files
    assert FORM["losses"].keys() - {"shares"} == kinds_of(LossSpec).keys() - {"matrix"}


@pytest.mark.parametrize("kind", ASKED)
def test_fields_are_keys_of_the_model(kind: str) -> None:
    model, said = MODELS[kind], ASKED[kind]
    fields = {field["key"]: field for field in said["fields"]}
    assert set(fields) == {key for key in model.model_fields if model.key(key).label}
    begun = said.get("fresh") or said["begins"]["loss"]
    needed = {key for key, field in model.model_fields.items() if field.is_required()}
    assert needed <= fields.keys() | begun.keys()
    assert set(begun) <= set(model.model_fields)
    for key, field in fields.items():
        assert field["help"] == model.key(key).help and ", ".join(field["names"]) == model.key(key).label
        assert field["options"].keys() == model.key(key).options.keys() and bool(field["options"]) == (
            field["input"] == "choice"
        )
        numbers = [begun[key]] if isinstance(begun.get(key), int) else begun.get(key, [])
        assert field["input"] != "whole" or all(field["low"] <= number <= field["high"] for number in numbers)


@pytest.mark.parametrize("kind", SPACES)
def test_what_a_space_begins_with_is_a_question(kind: str) -> None:
    said = SPACES[kind]
    values = {"space": said["fresh"], "privacy": {"epsilon": said["epsilon"]}, "loss": {"kind": said["loss"]}}
    assert as_question(checked_spec(values, "design")).family.name == said["family"]


@pytest.mark.parametrize("kind", FORM["losses"])
def test_what_a_loss_begins_with_is_a_question(kind: str) -> None:
    """Names of secrets are the one thing that the page adds: the marked one."""
    begins, fields = FORM["losses"][kind]["begins"], FORM["losses"][kind]["fields"]
    marked = {field["key"]: ["3"] for field in fields if field["input"] == "names"}
    assert marked.keys() & begins["loss"].keys() == set()
    values = {"space": {"kind": "line", "n": 4}, "privacy": {"epsilon": "1"}}
    as_question(spec_from_values({**values, **begins, "loss": {**begins["loss"], **marked}}))


def test_a_key_has_a_field_where_the_schema_gives_it_a_label() -> None:
    class PairSpec(TableSpec):
        """Two keys."""

        silent: Annotated[Count, KeyWords("Nobody is asked for it.")] = 1
        asked: Annotated[Count, KeyWords("How many.", label="How many")] = 2

    (field,) = form_fields(PairSpec, 7)
    assert (field["key"], field["input"], field["usual"], field["high"]) == ("asked", "whole", "2", 7)


def test_words_are_those_of_the_schema() -> None:
    own = {"graph", "cities"}  # whose words in the schema are about files
    words = {kind: said["words"] for kind, said in FORM["spaces"].items() if kind not in own}
    assert words == {kind: kind_words(SpaceSpec)[kind] for kind in words}
    losses = {kind: said["words"] for kind, said in FORM["losses"].items() if kind != "shares"}
    assert losses == {kind: kind_words(LossSpec)[kind] for kind in losses}
