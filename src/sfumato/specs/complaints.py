"""What is wrong with a spec, in one line that names the table and the key."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from sfumato.errors import SfumatoError

_LONGEST = 60  # letters of a value that are shown
_NEEDS_PYTHON = {
    "query": "a Python function: sf.query() takes one; count_query, sum_query and k_count_query need none",
    "induced": "a Python function: sf.spaces.induced() takes one; graph needs none",
    "function": "a Python function: sf.losses.function() takes one; matrix needs none",
}


def complaint(error: ValidationError, schema: type[BaseModel]) -> str:
    """The first thing that is wrong, and how many more there are."""
    errors = error.errors(include_url=False)
    first = next((e for e in errors if e["type"] == "extra_forbidden"), errors[0])  # a typo explains what is missing
    more = f" ({len(errors) - 1} more)" if len(errors) > 1 else ""
    path, models = _walk(first["loc"], schema)
    return f"{_words(first, path, models)}{more}"


def nearest(word: str, known: Iterable[str]) -> str:
    """``, did you mean 'epsilon'?`` where something is close, else the list of what is known."""
    listed = list(known)
    close = get_close_matches(word.lower(), listed, 1, 0.6)
    return f", did you mean {close[0]!r}?" if close else f": one of {', '.join(listed)}" if listed else ""


def _walk(location: tuple[int | str, ...], schema: type[BaseModel]) -> tuple[list[int | str], list[type[BaseModel]]]:
    """The keys on the way to an error, without the tags of unions, and the models that may hold the last of them."""
    path: list[int | str] = []
    models: list[type[BaseModel]] = [schema]
    for step in location:
        tagged = [m for m in models if step in _kinds(m)]
        if len(models) > 1 and tagged:
            models = tagged
            continue
        path.append(step)
        if isinstance(step, str):
            below = [x for m in models if step in m.model_fields for x in _models(m.model_fields[step].annotation)]
            models = below or models
    return path, models


def _models(annotation: Any) -> list[type[BaseModel]]:
    """The models that a type is made of."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    if get_origin(annotation) in (Annotated, Union, UnionType, list):
        return [m for part in get_args(annotation) for m in _models(part)]
    return []


def _kinds(model: type[BaseModel]) -> tuple[Any, ...]:
    field = model.model_fields.get("kind")
    return get_args(field.annotation) if field is not None else ()


def _words(error: Any, path: list[int | str], models: list[type[BaseModel]]) -> str:
    kind, value = error["type"], error["input"]
    parent, key = path[:-1], path[-1] if path else ""
    if kind == "extra_forbidden":
        if not parent:
            return f"unknown table [{key}]{nearest(str(key), models[0].model_fields)}"
        keys = [name for name in models[0].model_fields if name != "kind"]
        of = f" of kind {error['loc'][1]!r}" if len(parent) == 1 and error["loc"][1] in _kinds(models[0]) else ""
        return f"unknown key {key!r} in {_place(parent)}{of}{nearest(str(key), keys)}"
    if kind == "missing":
        return f"key {key!r} is missing in {_place(parent)}" if parent else f"table [{key}] is missing"
    if kind == "union_tag_not_found":
        return f"key 'kind' is missing in {_place(path)}{nearest('', _all_kinds(models))}"
    if kind == "union_tag_invalid":
        tag = str(value.get("kind"))
        if tag in _NEEDS_PYTHON:
            return f"kind {tag!r} in {_place(path)} needs {_NEEDS_PYTHON[tag]}"
        return f"unknown kind {tag!r} in {_place(path)}{nearest(tag, _all_kinds(models))}"
    if kind in ("model_type", "model_attributes_type", "dict_type"):
        return f"{_place(path)} must be a table of keys, found {_shown(value)}"
    what = _key(path)
    if kind == "literal_error":
        known = error["ctx"]["expected"].replace(" or ", ", ").replace("'", "").split(", ")
        return f"{what}: unknown word {_shown(value)}{nearest(str(value), known)}"
    if kind == "value_error":
        message = str(error["ctx"]["error"])
        if isinstance(value, dict | BaseModel):  # of the table as a whole
            return f"{_place(path)}: {message}"
        if isinstance(error["ctx"]["error"], SfumatoError):  # which says what was found
            return f"{what}: {message}"
        return f"{what}: {message}, found {_shown(value)}"
    return f"{what}: {_plain(error)}, found {_shown(value)}"


def _all_kinds(models: list[type[BaseModel]]) -> list[str]:
    return [str(kind) for model in models for kind in _kinds(model)]


def _key(path: list[int | str]) -> str:
    """``key 'shape' in [space], item 2`` for a path of keys and positions."""
    last = max((i for i, step in enumerate(path) if isinstance(step, str)), default=0)
    if last == 0:
        return _place(path)
    items = "".join(f", item {int(step) + 1}" for step in path[last + 1 :])
    return f"key {path[last]!r} in {_place(path[:last])}{items}"


def _place(path: list[int | str]) -> str:
    """``[objective.priors, item 2]`` for a path of keys and positions."""
    text = ""
    for step in path:
        text += f", item {step + 1}" if isinstance(step, int) else f"{'.' if text else ''}{step}"
    return f"[{text}]"


_PLAIN = {
    "int_type": "a whole number is needed",
    "string_type": "a text in quotes is needed",
    "list_type": "a list is needed",
    "bool_type": "true or false is needed",
}


def _plain(error: Any) -> str:
    """What pydantic says, in the words of a spec."""
    context = error.get("ctx", {})
    if error["type"] == "greater_than_equal":
        return f"at least {context['ge']} is needed"
    if error["type"] in ("too_short", "too_long"):
        limit = context.get("min_length", context.get("max_length"))
        return f"a list of {'at least' if error['type'] == 'too_short' else 'at most'} {limit} is needed"
    return _PLAIN.get(error["type"], str(error["msg"]).lower())


def _shown(value: Any) -> str:
    text = repr(value) if isinstance(value, str | list | dict) else str(value).lower()
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
