"""The question of ``init`` what a wrong answer costs: every loss that a spec knows."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sfumato.cli.dialogue import Dialogue
from sfumato.errors import InvalidInput
from sfumato.labels import text_of
from sfumato.numbers import as_written
from sfumato.spaces import FiniteSpace
from sfumato.spaces.lengths import in_unit
from sfumato.specs.keys import kind_words
from sfumato.specs.lists import loss_of
from sfumato.specs.schema_stakes import LossMatrixSpec, LossSpec, MemberSpec, ThresholdSpec
from sfumato.specs.spec import Spec, spec_from_values
from sfumato.specs.tables import spelled_labels

LOSSES = kind_words(LossSpec)
"""Every loss of a spec, with a line on it."""

_OF_A_QUERY = {
    "absolute": "the absolute error of the answer, in its own unit",
    "squared": "the squared error of the answer",
    "distance": "the number of people who must change to get from one answer to the other",
}


def ask_loss(talk: Dialogue, tables: Mapping[str, Any], folder: Path, space: FiniteSpace) -> dict[str, Any]:
    """The table of the loss; the answers of a query are judged in their own unit unless something else is asked for."""
    known = LOSSES | _OF_A_QUERY if space.answers else LOSSES
    needs_more: dict[str, dict[str, Any]] = {"threshold": {"radius": 1}, "member": {"members": [space.labels[0]]},
                  "matrix": {"table": [[0] * len(space)], "actions": ["any"]}}  # fmt: skip

    def fitting(name: str) -> str:
        loss_of(spec_from_values({**tables, "loss": {"kind": name, **needs_more.get(name, {})}}, folder), space)
        return name

    def whole(table: dict[str, Any]) -> dict[str, Any]:
        loss_of(spec_from_values({**tables, "loss": table}, folder), space)
        return table

    kind = talk.choose(Spec.key("loss").asked, known, "absolute" if space.answers else "distance", fitting)
    if kind == "threshold":
        unit = "people who must change" if space.answers else space.unit or "units of distance"
        radius = talk.ask_for(ThresholdSpec.key("radius"), lambda text: positive_length(text, space.unit), unit=unit)
        return {"kind": kind, "radius": radius}
    if kind == "member":
        names = [text_of(label) for label in space.labels]
        some = ", ".join(names if len(names) <= 8 else [*names[:7], "…", names[-1]])
        key = MemberSpec.key("members")
        return dict(
            talk.ask_for(key, lambda text: whole({"kind": kind, "members": _members(text, space)}), secrets=some)
        )
    if kind == "matrix":
        talk.say(
            "A CSV file has answers in its first column and secrets in its header; or type rows such as 0,1,2; 1,0,1."
        )
        return dict(talk.ask_for(LossMatrixSpec.key("table"), lambda text: whole(_table(text, folder, len(space)))))
    return {"kind": kind}


def positive_length(text: str, unit: str) -> Any:
    """A length in the unit of a space, above 0."""
    value = in_unit(text, unit, "it")
    if value <= 0:
        raise ValueError(f"a positive length is needed, found {text!r}")
    return value


def _members(text: str, space: FiniteSpace) -> list[Any]:
    """Secrets by their names, those of a grid in brackets such as (0,1); ``3-5`` are all between two in their order."""
    known = {text_of(label): i for i, label in enumerate(space.labels)}
    found: list[Any] = []
    for part in _parts(text):
        first, dash, last = (end.strip() for end in part.partition("-"))
        if part not in known and dash and first in known and last in known:
            found += space.labels[known[first] : known[last] + 1]
        else:
            found += spelled_labels([part], space.labels, "secret of the space")
    if not found:
        raise InvalidInput("name at least one of them")
    return found


def _parts(text: str) -> list[str]:
    """What stands between commas that are in no brackets; brackets are taken off."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and not depth:
            parts.append("")
        elif letter not in "()":
            parts[-1] += letter
    return [part.strip() for part in parts if part.strip()]


def _table(text: str, folder: Path, secrets: int) -> dict[str, Any]:
    """A file, or a row for each answer with a number for each secret."""
    if (folder / text).is_file():
        return {"kind": "matrix", "file": text}
    if not any(letter.isdigit() for letter in text) or text.lower().endswith(".csv"):
        raise InvalidInput(f"there is no file {text!r}: name a CSV file, or type rows such as 0,1,2; 1,0,1")
    rows = [[as_written(cell, "a loss") for cell in row.split(",")] for row in text.split(";") if row.strip()]
    for number, row in enumerate(rows, 1):
        if len(row) != secrets:
            raise InvalidInput(f"row {number} has {len(row)} numbers, but there are {secrets} secrets")
    return {"kind": "matrix", "table": rows}
