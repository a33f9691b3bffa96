"""The table ``[release]`` of a spec: its keys are the keywords of ``hide`` that are said to be in specs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, create_model

from sfumato.fields import declared
from sfumato.release.fields import (
    OUTSIDE,
    ColumnFields,
    DroppedFields,
    KeptFields,
    PerPersonFields,
    PersonFields,
    PlacesFields,
    StrayFields,
    SystemFields,
)
from sfumato.specs.schema_base import Count, KeyWords, Quantity, TableSpec

_READ_AS: dict[str, Any] = {
    "Any": str | None,  # of a coordinate system: a file has its name
    "str | None": str | None,
    "int | None": Count | None,
    "Number | None": Quantity | None,
    "Sequence[str]": list[str],
    "bool": bool,
    "Mapping[str, tuple[str, str]] | None": Annotated[
        dict[str, Annotated[list[str], Field(min_length=2, max_length=2)]], Field(min_length=2)
    ]
    | None,
}
"""What a file says for a keyword of this type; lists are copied, since a table holds its own."""


def _keys() -> dict[str, Any]:
    """The declared fields that are in specs, as fields of a model."""
    shared = (
        ColumnFields, PlacesFields, SystemFields, StrayFields, PersonFields, PerPersonFields, DroppedFields, KeptFields,
    )  # fmt: skip
    keys: dict[str, Any] = {}
    for name, written, said in declared(*shared):
        if said.in_spec:
            kind = Literal[said.words] if said.words else _READ_AS[written]
            words = KeyWords(said.options["hide"].help, said.question, usual=said.usual)
            default = Field(default_factory=list) if said.default == () else said.default
            keys[name] = Annotated[kind, words], default
    return keys | {"on_unknown": (keys["on_unknown"][0], OUTSIDE)}


class ReleasedColumnsSpec(TableSpec):
    """The columns of coordinates, as people name them in a file."""

    latitude: Annotated[str | None, KeyWords("The column of the latitude, with longitude.")] = None
    longitude: Annotated[str | None, KeyWords("The column of the longitude.")] = None
    columns: Annotated[
        Annotated[list[str], Field(min_length=2, max_length=2)] | None,
        KeyWords("Two columns, to the east and to the north, instead of latitude and longitude."),
    ] = None


if TYPE_CHECKING:  # which cannot read what is made of declarations

    class _KeysSpec(ReleasedColumnsSpec):
        def __getattr__(self, name: str) -> Any: ...

else:
    _KeysSpec = create_model("_KeysSpec", __base__=ReleasedColumnsSpec, **_keys())


class ReleaseSpec(_KeysSpec):
    """The columns of a table whose points are released, and whose rows they are; `sfumato hide` writes and reads it."""

    mechanism: Annotated[str | None, KeyWords("Written by hide: the digest of the mechanism that was drawn from.")] = (
        None
    )
    question: Annotated[str | None, KeyWords("Written by hide: the digest of the question that it answers.")] = None

    def _wrong(self) -> Iterator[str]:
        if (self.latitude is None) != (self.longitude is None):
            yield "latitude and longitude go together"
        if [self.latitude, self.columns, self.geometry, self.places].count(None) != 3:
            yield "give latitude and longitude, or columns of x and y, or geometry, or places"
        if (self.person is None) != (self.most_rows is None):
            yield "person and most_rows go together"
        if self.per_person and self.person is None:
            yield "per_person says that all rows of a person together keep the promise: say whose, person"

    @property
    def parts(self) -> int:
        """How many draws keep the promise together: all places of the rows of a person with per_person, else each."""
        return int(self.most_rows) * len(self.places or [0]) if self.per_person else 1
