"""What tables of a spec are made of: numbers, lengths, labels, and keys that are known.

Numbers are taken for what is written: ``0.7`` is 7/10, and ``"1/3"`` is a third.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from math import inf, isfinite
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from sfumato.numbers import as_written
from sfumato.privacy.promise import rate
from sfumato.spaces.lengths import as_length


def quantity(value: Any) -> Fraction:
    """A number, for what is written."""
    return as_written(value, "it")


def _length(value: Any) -> Fraction | str:
    """A number in the unit of the space, or a text with another unit of length, which is kept."""
    written = as_length(value, "it")
    return str(written) if written.unit else written.number


def _lengths(value: Any) -> Any:
    """A length, or one for each axis."""
    return [_length(part) for part in value] if isinstance(value, list) else _length(value)


def _angle(value: Any) -> Fraction | str:
    """Degrees, or a text such as ``"74.02 W"``, which is kept."""
    return value if isinstance(value, str) else quantity(value)


def _distance(value: Any) -> Fraction | float:
    """A quantity, or infinity where nothing is promised."""
    if isinstance(value, Decimal | float) and value == inf:
        return inf
    return quantity(value)


def as_label(value: Any) -> Any:
    """A name of a secret or an action: text, a number, or a list of them, which becomes a tuple."""
    if isinstance(value, list | tuple):
        return tuple(as_label(part) for part in value)
    if isinstance(value, Decimal):
        value = float(value)
        if not isfinite(value):
            raise ValueError("a label that is a number must be finite and within the range of floats")
    if isinstance(value, str | int | float):
        return value
    raise ValueError("a label is a text, a number or a list of them")


def _column_or_list(value: Any) -> Any:
    """Numbers in order, rows of them, a table of numbers by label, or the name of a column."""
    if isinstance(value, list):
        return [_column_or_list(part) if isinstance(part, list) else quantity(part) for part in value]
    if isinstance(value, dict):
        return {name: quantity(part) for name, part in value.items()}
    if isinstance(value, str) and value:
        return value
    raise ValueError("a list of numbers, a table of numbers by label, or the name of a column is needed")


Quantity = Annotated[Fraction, BeforeValidator(quantity)]
Length = Annotated[Any, BeforeValidator(_length)]
Lengths = Annotated[Any, BeforeValidator(_lengths)]
Angle = Annotated[Any, BeforeValidator(_angle)]
Rate = Annotated[Fraction, BeforeValidator(rate)]
Distance = Annotated[Any, BeforeValidator(_distance)]
Label = Annotated[Any, BeforeValidator(as_label)]
Amounts = Annotated[Any, BeforeValidator(_column_or_list)]
Count = Annotated[int, Field(ge=1)]
Metric = Literal["euclidean", "manhattan", "chebyshev"]
Earth = Literal["sphere", "WGS84"]
Parts = Literal["refuse", "largest"]


@dataclass(frozen=True)
class KeyWords:
    """What stands beside a key of a spec, for every door that names it or asks for it.

    Parameters
    ----------
    help
        A line on it.
    asked
        The sentence of a dialogue, none where nobody is asked; ``{unit}`` stands for the unit of the space.
    label
        Its name in a form.
    usual
        The answer that is offered.
    unit
        What a number of it counts; those of the space, or a unit of its own.
    options
        What each of the words that it may be stands for.
    """

    help: str
    asked: str = ""
    label: str = ""
    usual: str | None = None
    unit: str = ""
    options: Mapping[str, str] = field(default_factory=dict)


OF_THE_SPACE = "units of the space"
KIND = "The kind."


class TableSpec(BaseModel):
    """A table of a spec: keys it does not know are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, arbitrary_types_allowed=True)

    @classmethod
    def key(cls, name: str) -> KeyWords:
        """What is said of a key."""
        return next(part for part in cls.model_fields[name].metadata if isinstance(part, KeyWords))

    def _wrong(self) -> Iterator[str]:
        """What is wrong with the table as a whole, although each of its keys is fine."""
        yield from ()

    @property
    def parameters(self) -> dict[str, Any]:
        """What the table says beside its kind and unit, as a constructor with parameters of the same names takes it."""
        return {name: value for name, value in self if name not in ("kind", "unit")}

    @model_validator(mode="after")
    def _as_a_whole(self) -> Self:
        if (complaint := next(self._wrong(), None)) is not None:
            raise ValueError(complaint)
        return self


# Keys that several tables have.
CellSide = Annotated[
    Lengths,
    KeyWords("The side of a cell, or one for each axis; a prior is constant on each cell.", label="Side of a cell",
             usual="1", unit=OF_THE_SPACE),
]  # fmt: skip
UnitName = Annotated[
    str,
    KeyWords("The unit of distance, such as km or m.", asked="Unit of distance, such as km (none: no name)",
             label="Unit", usual="none"),
]  # fmt: skip
SourceFile = Annotated[
    str | None, KeyWords("A file instead of what would be listed here, beside the spec.", asked="CSV file")
]
NamesColumn = Annotated[
    str | None,
    KeyWords("The column of their names.", asked="Column with their names, none for numbers ({columns})", usual="none"),
]
DistanceNorm = Annotated[
    Metric,
    KeyWords("How distances are measured.", label="Distances", options={
        "euclidean": "as the crow flies", "manhattan": "along streets", "chebyshev": "the larger of both",
    }),
]  # fmt: skip
EarthShape = Annotated[
    Earth,
    KeyWords("The shape on which distances are measured.", options={
        "sphere": "great circles on a sphere", "WGS84": "geodesics of the ellipsoid",
    }),
]  # fmt: skip
MapUnit = Annotated[str, KeyWords("The unit of distance on the ground.", label="Unit")]


class PartOfEarthSpec(TableSpec):
    """A part of the Earth in cells, from its south-western corner to the opposite one, or with two sides."""

    south: Annotated[Angle, KeyWords("The southern end: 40.70, or '40.70 N'.", label="Southern end", unit="degrees")]
    west: Annotated[Angle, KeyWords("The western end: -74.02, or '74.02 W'.", label="Western end", unit="degrees")]
    north: Annotated[Angle | None, KeyWords("The northern end, with east.", unit="degrees")] = None
    east: Annotated[Angle | None, KeyWords("The eastern end, with north.", unit="degrees")] = None
    sides: Annotated[
        Lengths | None,
        KeyWords("Instead of north and east: how far to the east and to the north.", label="To the east, To the north",
                 unit=OF_THE_SPACE),
    ] = None  # fmt: skip
    step: CellSide


class UnitSpec(TableSpec):
    """A space whose unit of distance can be named."""

    unit: UnitName = ""


class FromFileSpec(TableSpec):
    """What is listed here or in a CSV file."""

    inline: ClassVar[str]  # the key that lists it here
    file: SourceFile = None

    def _wrong(self) -> Iterator[str]:
        if (self.file is None) == (getattr(self, self.inline) is None):
            yield f"give either file, a CSV, or {self.inline}"


def number_words(value: Fraction) -> str:
    """A number of a complaint, short where that loses nothing."""
    return str(value) if value.denominator > 10**6 or len(str(value)) > 12 else f"{float(value):g}"
