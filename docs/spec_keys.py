"""The page of the reference on the keys of a spec: what the schema says of itself, table by table."""

from __future__ import annotations

from collections.abc import Mapping
from types import NoneType
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from sfumato.specs import schema_base as base
from sfumato.specs.keys import tables_of
from sfumato.specs.spec import Spec

WORDS = {
    base.Quantity: "number",
    base.Length: "length",
    base.Lengths: "length, or one an axis",
    base.Angle: "number or text",
    base.Rate: "number or ln",
    base.Distance: "length or inf",
    base.Label: "name",
    base.Count: "whole number",
    base.Amounts: "list, table or column",
    str: "text",
    bool: "true or false",
    int: "whole number",
    Any: "any",
}
"""What a value of a type is called."""


def page() -> str:
    """The whole page."""
    lines = ["# Keys of a spec", "", "Made from the schema, [Specs](../../guides/specs.md) says what they are for."]
    for name, field in Spec.model_fields.items():
        lines += ["", f"## {name}", "", Spec.key(name).help]
        for model in tables_of(field.annotation):
            kinds = model.key("kind").options if "kind" in model.model_fields else {}
            lines += [f"\n### {', '.join(kinds)}\n" if kinds else "", *kind_lines(kinds)]
            lines += ["", *rows_of(model)]
    return "\n".join(lines) + "\n"


def kind_lines(kinds: Mapping[str, str]) -> list[str]:
    """A sentence on one kind, a line on each of several."""
    if len(kinds) > 1:
        return [f"- `{kind}`: {words}" for kind, words in kinds.items()]
    return [f"{words[0].upper()}{words[1:]}".rstrip("?") + "." for words in kinds.values()]


def rows_of(model: type[base.TableSpec]) -> list[str]:
    """The keys of a table as a table."""
    hints = get_type_hints(model, include_extras=True)
    rows = []
    for name, field in model.model_fields.items():
        if name == "kind":
            continue
        key = model.key(name)
        options = [f"`{word}`: {words}" for word, words in key.options.items()]
        value = "; ".join(options) or value_words(hints[name])
        unit = f", {'' if key.unit.startswith('per ') else 'in '}{key.unit}" if key.unit else ""
        default = field.get_default(call_default_factory=True)
        usual = "needed" if field.is_required() else "" if default in (None, "", []) else f"`{default}`"
        rows.append(f"| `{name}` | {value}{unit} | {key.help} | {usual} |")
    return ["| key | value | | unless said |", "|---|---|---|---|", *rows] if rows else []


def value_words(hint: Any) -> str:
    """What a value of a type hint is."""
    if get_origin(hint) is Annotated:
        bare, *said = get_args(hint)
        kept = tuple(part for part in said if not isinstance(part, base.KeyWords))
        for many in range(len(kept), -1, -1):  # beside lengths of lists, which nobody needs to read
            plain = Annotated[(bare, *kept[:many])] if many else bare
            if plain in WORDS:
                return WORDS[plain]
        return value_words(bare)
    if isinstance(hint, type) and issubclass(hint, base.TableSpec):
        return "table"
    if get_origin(hint) is list:
        first, *rest = value_words(get_args(hint)[0]).split(" ", 1) if get_args(hint) else ("value",)
        plural = first if first.endswith("s") else f"{first}s"
        return " ".join(["list of", plural, *rest]) if first != "whole" else f"list of whole {rest[0]}s"
    parts = [value_words(part) for part in get_args(hint) if part is not NoneType]
    return WORDS.get(hint) or " or ".join(dict.fromkeys(parts)) or "text"
