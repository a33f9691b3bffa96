"""The form of the page as data, made of what the schema of a spec says of its kinds and keys.

A key has a field where the schema gives it a label. What is the studio's own stands here: which kinds it offers in
which order, what each begins with, and how large a number may be.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, get_type_hints

from pydantic import TypeAdapter

from sfumato.specs.families import family_of
from sfumato.specs.keys import kind_words, kinds_of
from sfumato.specs.schema import PriorSpec, SizedSpec, SolveSpec, SpaceSpec
from sfumato.specs.schema_base import OF_THE_SPACE, TableSpec
from sfumato.specs.schema_stakes import LossSpec, ObjectiveSpec
from sfumato.specs.spec import spec_from_values

_TOWN = json.loads((Path(__file__).parent / "static" / "start.json").read_text(encoding="utf-8"))["spec"]["space"]


@dataclass(frozen=True)
class Begin:
    """What a kind of space begins with.

    Parameters
    ----------
    fresh
        Its keys; none where the page makes it of something that is chosen first.
    most
        The largest whole number in a field of it.
    epsilon, loss
        What ε is, and the kind of the loss.
    words
        Instead of those of the schema, where these are about files.
    """

    fresh: dict[str, Any]
    most: int = 0
    epsilon: str = "1"
    loss: str = "distance"
    words: str = ""


_BEGIN = {
    "grid": Begin(_TOWN, 32, "2"),
    "line": Begin({"n": 6}, 400),
    "count_query": Begin({"individuals": 10}, 400, loss="default"),
    "sum_query": Begin({"individuals": 6, "largest": 3}, 400, loss="default"),
    "k_count_query": Begin({"individuals": 4, "k": 2}, 31, loss="default"),
    "hamming": Begin({"length": 3}, 9),
    "cycle": Begin({"n": 8}, 200),
    "discrete": Begin({"n": 5}, 100, "2"),
    "star": Begin({"leaves": 6}, 100),
    "complete_bipartite": Begin({"a": 3, "b": 4}, 100),
    "graph": Begin(
        {"edges": [["a", "b"], ["b", "c"], ["c", "d"], ["d", "a"], ["d", "e"]]}, words="a graph, drawn or pasted"
    ),
    "box": Begin({"sides": ["4", "3"], "step": "1", "unit": "km"}),
    "earth_box": Begin({"south": "40.70 N", "west": "74.02 W", "sides": ["4", "4"], "step": "1"}),
    "cities": Begin({}, words="cities of a country"),
    "points": Begin({}),
}
_LOSSES = ("distance", "default", "absolute", "squared", "bin", "nib", "threshold", "member")  # a table is for files
_SURVEY = "shares"  # an objective, for which there is no loss
_INSTEAD = {"n": "labels", "labels": "n"}  # of a space with so many secrets, or with these


@cache
def described() -> dict[str, Any]:
    """All that the page needs to show a form, and to begin with another space or loss."""
    asked = ObjectiveSpec.key("kind").options[_SURVEY]
    survey = {"name": f"none: {_SURVEY}", "words": f"none: {asked}", "begins": {"objective": _SURVEY, "loss": {}}}
    return {
        "spaces": {kind: _space(kind, begin) for kind, begin in _BEGIN.items()},
        "losses": {
            **{kind: _loss(kind) for kind in _LOSSES},
            _SURVEY: {**survey, "fields": []},
        },
        "priors": {key: PriorSpec.key(key).label for key in ("uniform", "counts")},
        "tolerance": form_field(SolveSpec, "tolerance"),
    }


def _space(kind: str, begin: Begin) -> dict[str, Any]:
    words = _named(begin.words or kind_words(SpaceSpec)[kind])
    if not begin.fresh:
        return {**words, "loss": begin.loss, "fields": []}
    fresh = {"kind": kind, **begin.fresh}
    family = family_of(spec_from_values({"space": fresh}))
    return {
        **words, "fresh": fresh, "epsilon": begin.epsilon, "loss": begin.loss, "family": family.name,
        "tolerance": str(family.tolerance), "fields": form_fields(kinds_of(SpaceSpec)[kind], begin.most),
    }  # fmt: skip


def _loss(kind: str) -> dict[str, Any]:
    model = kinds_of(LossSpec)[kind]
    usual = {key: model.key(key).usual for key, field in model.model_fields.items() if field.is_required()}
    begins = {"kind": kind} | {key: value for key, value in usual.items() if value}
    return {**_named(kind_words(LossSpec)[kind]), "begins": {"loss": begins}, "fields": form_fields(model)}


def _named(words: str) -> dict[str, str]:
    """A line on a kind, and the beginning of it, for a list that is narrow."""
    return {"name": re.split("[,:]", words)[0], "words": words}


def form_fields(model: type[TableSpec], most: int = 0) -> list[dict[str, Any]]:
    """A field for each key with a label; those that are as wide as the form come last, the unit before them."""
    fields = [form_field(model, key, most) for key in model.model_fields if model.key(key).label]
    return sorted(fields, key=lambda field: (field["input"] in ("choice", "names"), field["key"] == "unit"))


def form_field(model: type[TableSpec], key: str, most: int = 0) -> dict[str, Any]:
    """How a key is asked for: as a whole number, a text, a choice, names or edges; several where it lists them.

    Examples
    --------
    >>> from sfumato.specs.schema import GridSpec
    >>> field = form_field(GridSpec, "shape", 32)
    >>> field["input"], field["names"], field["low"], field["high"]
    ('whole', ['Across', 'Up'], 1, 32)
    """
    said, field = model.key(key), model.model_fields[key]
    written = TypeAdapter(get_type_hints(model, include_extras=True)[key]).json_schema()
    written = written.get("anyOf", [written])[0]
    part = written.get("items", written)
    asked = _input(written, part)
    names = said.label.split(", ") if asked in ("whole", "text") else [said.label]
    known = not field.is_required() and field.default is not None
    return {
        "key": key, "names": names, "help": said.help, "input": asked, "options": dict(said.options),
        "several": len(names) > 1, "required": field.is_required(), "usual": str(field.default) if known else "",
        "low": part.get("minimum", 0), "high": most, "in_unit": said.unit == OF_THE_SPACE,
        "instead": _INSTEAD.get(key, "") if issubclass(model, SizedSpec) else "",
    }  # fmt: skip


def _input(written: dict[str, Any], part: dict[str, Any]) -> str:
    """What is typed or chosen, by the JSON schema of a key and of what it lists."""
    if "enum" in written:
        return "choice"
    if part.get("type") == "integer":
        return "whole"
    if written.get("type") == "array":
        return "edges" if part.get("type") == "array" else "names"
    return "text"
