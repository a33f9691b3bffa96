"""The tables of a spec and their keys; a key that no table knows is refused.

Numbers are taken for what is written: ``0.7`` is 7/10, and ``"1/3"`` is a third.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from fractions import Fraction
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from sfumato.errors import InvalidInput
from sfumato.privacy.promise import promise
from sfumato.specs.schema_base import (
    KIND,
    OF_THE_SPACE,
    Amounts,
    CellSide,
    Count,
    Distance,
    DistanceNorm,
    EarthShape,
    FromFileSpec,
    KeyWords,
    Label,
    Length,
    Lengths,
    MapUnit,
    NamesColumn,
    PartOfEarthSpec,
    Quantity,
    Rate,
    TableSpec,
    UnitName,
    UnitSpec,
    number_words,
    quantity,
)
from sfumato.specs.schema_maps import AreasSpec, H3CellsSpec, RoadsSpec, SquareCellsSpec

SecretNames = Annotated[list[Label] | None, KeyWords("Their names, in the same order.")]


class SizedSpec(UnitSpec):
    """A space of a number of secrets, or of their names."""

    n: Annotated[
        Count | None, KeyWords("How many secrets there are.", asked="How many secrets", label="How many", usual="10")
    ] = None
    labels: Annotated[list[Label] | None, KeyWords("Their names, instead of n.", label="Names, if they have some")] = (
        None
    )

    def _wrong(self) -> Iterator[str]:
        if self.n is None and self.labels is None:
            yield "give n, the number of secrets, or labels, their names"
        if self.n is not None and self.labels is not None and self.n != len(self.labels):
            yield f"n is {self.n}, but there are {len(self.labels)} labels"

    @property
    def size(self) -> int:
        """How many secrets there are."""
        return len(self.labels) if self.labels is not None else self.n or 0


class LineSpec(SizedSpec):
    """Secrets in a row."""

    kind: Annotated[Literal["line"], KeyWords(KIND, options={"line": "answers in a row, such as a count or a scale"})]
    step: Annotated[Length, KeyWords("The distance of two beside each other.", unit=OF_THE_SPACE)] = Fraction(1)


class DiscreteSpec(SizedSpec):
    """Secrets that are all equally far apart."""

    kind: Annotated[Literal["discrete"], KeyWords(KIND, options={"discrete": "values, all equally far apart"})]
    distance: Annotated[Length, KeyWords("The distance of any two.", unit=OF_THE_SPACE)] = Fraction(1)


class CycleSpec(SizedSpec):
    """Secrets around a circle."""

    kind: Annotated[Literal["cycle"], KeyWords(KIND, options={"cycle": "places around a circle"})]


class GridSpec(UnitSpec):
    """Cells of a rectangle, or a box of any dimension."""

    kind: Annotated[Literal["grid"], KeyWords(KIND, options={"grid": "cells of a map"})]
    shape: Annotated[
        list[Count],
        Field(min_length=1),
        KeyWords("Cells along each side.", asked="Cells along each side, such as 8,8", label="Across, Up", usual="8,8"),
    ]
    metric: DistanceNorm = "euclidean"
    step: Annotated[
        Length,
        KeyWords("The side of a cell.", asked="Side of a cell in {unit}, such as 0.5", label="Side of a cell",
                 usual="1", unit=OF_THE_SPACE),
    ] = Fraction(1)  # fmt: skip


class HammingSpec(UnitSpec):
    """Words, as far apart as the letters in which they differ."""

    kind: Annotated[
        Literal["hamming"],
        KeyWords(KIND, options={"hamming": "words, as far apart as the letters in which they differ"}),
    ]
    length: Annotated[Count, KeyWords("Letters of a word.", label="Letters")]
    symbols: Annotated[Count, KeyWords("Letters of the alphabet.", label="Alphabet")] = 2


class StarSpec(UnitSpec):
    """A centre and leaves around it."""

    kind: Annotated[Literal["star"], KeyWords(KIND, options={"star": "a centre and leaves around it"})]
    leaves: Annotated[Count, KeyWords("How many leaves there are.", label="Leaves")]


class CompleteBipartiteSpec(UnitSpec):
    """Two groups, at distance 1 across and 2 within."""

    kind: Annotated[
        Literal["complete_bipartite"],
        KeyWords(KIND, options={"complete_bipartite": "two groups, at distance 1 across and 2 within"}),
    ]
    a: Annotated[Count, KeyWords("Secrets of one group.", label="One group")]
    b: Annotated[Count, KeyWords("Secrets of the other.", label="The other")]


class CountQuerySpec(UnitSpec):
    """Answers of a count."""

    kind: Annotated[Literal["count_query"], KeyWords(KIND, options={"count_query": "a count of people"})]
    individuals: Annotated[
        Count,
        KeyWords("How many people could be counted.", asked="How many people could be counted", label="People",
                 usual="100", unit="people"),
    ]  # fmt: skip


People = Annotated[
    Count,
    KeyWords("How many people there are.", asked="How many people are there", label="People", usual="20",
             unit="people"),
]  # fmt: skip


class SumQuerySpec(UnitSpec):
    """Answers of a sum."""

    kind: Annotated[
        Literal["sum_query"], KeyWords(KIND, options={"sum_query": "a sum over people, each with a value in a range"})
    ]
    individuals: People
    largest: Annotated[
        Count,
        KeyWords(
            "The largest value of one person; the least is 0.",
            asked="The value of one person goes from 0 to (whole numbers; a unit such as 1,000 makes them few)",
            label="Largest value", usual="5",
        ),
    ]  # fmt: skip


class KCountQuerySpec(UnitSpec):
    """Answers of k counts over the same individuals."""

    kind: Annotated[
        Literal["k_count_query"], KeyWords(KIND, options={"k_count_query": "several counts of the same people"})
    ]
    individuals: People
    k: Annotated[
        Count,
        KeyWords("How many counts there are.", asked="How many counts are there of the same people", label="Counts",
                 usual="2"),
    ]  # fmt: skip


class GraphSpec(FromFileSpec):
    """Shortest paths along edges."""

    inline = "edges"
    kind: Annotated[
        Literal["graph"], KeyWords(KIND, options={"graph": "nodes and roads from a CSV file with an edge a row"})
    ]
    unit: UnitName = ""
    edges: Annotated[
        list[list[Label]] | None,
        KeyWords("Edges, as two nodes and, unless it is 1, a length.", label="Edges, one a line: from to length",
                 unit=OF_THE_SPACE),
    ] = None  # fmt: skip
    nodes: Annotated[list[Label] | None, KeyWords("All nodes, where an order is wanted or some have no edge.")] = None
    first: Annotated[
        str, KeyWords("The column of one end of an edge.", asked="Column of one end of an edge ({columns})")
    ] = "from"
    second: Annotated[str, KeyWords("The column of the other end.", asked="Column of the other end")] = "to"
    length: Annotated[
        str | None,
        KeyWords("The column of lengths, which are 1 otherwise.", asked="Column of its length (none: all are 1)",
                 usual="none"),
    ] = None  # fmt: skip

    @field_validator("edges", mode="before")
    @classmethod
    def _lengths(cls, value: Any) -> Any:
        """An edge is [x, z] or [x, z, length]; lengths stay what is written."""
        if not isinstance(value, list):
            return value
        for edge in value:
            if not isinstance(edge, list) or len(edge) not in (2, 3):
                raise ValueError("an edge is ['a', 'b'] or ['a', 'b', length]")
        return [[x, z, *(str(quantity(length)) for length in rest)] for x, z, *rest in value]


class PointsSpec(FromFileSpec):
    """Points with coordinates."""

    inline = "coordinates"
    kind: Annotated[Literal["points"], KeyWords(KIND, options={"points": "points from a CSV file, with coordinates"})]
    unit: UnitName = ""
    coordinates: Annotated[list[list[Quantity]] | None, KeyWords("Coordinates of each point.")] = None
    labels: SecretNames = None
    columns: Annotated[
        list[str],
        Field(min_length=1),
        KeyWords("The columns of the coordinates.", asked="Columns of the coordinates", usual="x,y"),
    ] = Field(default_factory=lambda: ["x", "y"])
    label: NamesColumn = None
    metric: DistanceNorm = "euclidean"


Latitudes = Annotated[str | None, KeyWords("The column of the latitude.", asked="Column of the latitude{columns}")]
Longitudes = Annotated[str | None, KeyWords("The column of the longitude.", asked="Column of the longitude{columns}")]


class GeoSpec(FromFileSpec):
    """Places on the Earth, great-circle distances in km."""

    inline = "coordinates"
    kind: Annotated[
        Literal["geo"],
        KeyWords(KIND, options={"geo": "places on the Earth from a CSV file with latitude and longitude"}),
    ]
    coordinates: Annotated[
        list[Annotated[list[Quantity], Field(min_length=2, max_length=2)]] | None,
        KeyWords("Latitude and longitude of each place.", unit="degrees"),
    ] = None
    labels: SecretNames = None
    latitude: Latitudes = None
    longitude: Longitudes = None
    label: NamesColumn = None
    earth: EarthShape = "sphere"


class MatrixSpec(FromFileSpec):
    """A table of distances."""

    inline = "distances"
    kind: Annotated[Literal["matrix"], KeyWords(KIND, options={"matrix": "a table of distances"})]
    unit: UnitName = ""
    distances: Annotated[
        list[list[Distance]] | None,
        KeyWords("A row of distances for each secret; inf where nothing is promised.", unit=OF_THE_SPACE),
    ] = None
    labels: SecretNames = None


class BoxSpec(UnitSpec):
    """All points of an interval, a rectangle or a cuboid, and the cells on which a prior is constant."""

    kind: Annotated[Literal["box"], KeyWords(KIND, options={"box": "all points of a box"})]
    sides: Annotated[
        Lengths,
        KeyWords("One to three lengths; one alone is an interval.", label="Across, Up (empty: an interval)",
                 unit=OF_THE_SPACE),
    ]  # fmt: skip
    step: CellSide
    metric: DistanceNorm = "euclidean"
    origin: Annotated[
        list[Quantity] | None, KeyWords("The corner of least coordinates, 0 otherwise.", unit=OF_THE_SPACE)
    ] = None


class EarthBoxSpec(PartOfEarthSpec):
    """All places of a part of the Earth, from its south-western corner to the opposite one, or with two sides."""

    kind: Annotated[Literal["earth_box"], KeyWords(KIND, options={"earth_box": "all places in a part of the Earth"})]
    margin: Annotated[
        Length | None, KeyWords("How far outside points may lie, which count as the nearest of it.", unit=OF_THE_SPACE)
    ] = None
    unit: MapUnit = "km"


PlainSpace = (
    LineSpec
    | GridSpec
    | DiscreteSpec
    | HammingSpec
    | CycleSpec
    | StarSpec
    | CompleteBipartiteSpec
    | CountQuerySpec
    | SumQuerySpec
    | KCountQuerySpec
    | GraphSpec
    | PointsSpec
    | GeoSpec
    | MatrixSpec
    | H3CellsSpec
    | SquareCellsSpec
    | AreasSpec
    | RoadsSpec
    | BoxSpec
    | EarthBoxSpec
)
"""Every kind of space but those that are made of another one."""


class ElasticSpec(TableSpec):
    """Another space with distances that public weights stretch."""

    kind: Annotated[
        Literal["elastic"],
        KeyWords(KIND, options={"elastic": "another space, with distances that public weights stretch"}),
    ]
    of: Annotated[PlainSpace, Field(discriminator="kind"), KeyWords("The other space.")]
    weights: Annotated[Amounts, KeyWords("How much is at each place: counts as in [prior].")]
    file: Annotated[str | None, KeyWords("The file of weights, where they are the name of a column.")] = None
    label: Annotated[str | None, KeyWords("The column of it that names the places.")] = None
    within: Annotated[Length | None, KeyWords("How far around a place weights are added up.", unit=OF_THE_SPACE)] = None


SpaceSpec = Annotated[PlainSpace | ElasticSpec, Field(discriminator="kind")]
"""Every kind of space."""


class PrivacySpec(TableSpec):
    """The promise: ε for each unit of distance, or α = e^−ε, or the distance at which odds double at most.

    With ``delta`` it is (ε, δ)-privacy of neighbours instead: secrets at distance 1, or all.
    """

    epsilon: Annotated[
        Rate | None,
        KeyWords("The ε for each unit of distance: a number, or a logarithm such as ln 2.", asked="ε for each {unit}",
                 label="ε", usual="1", unit="per unit of the space"),
    ] = None  # fmt: skip
    alpha: Annotated[Quantity | None, KeyWords("Instead of epsilon: α = e^-ε, with which small designs are exact.")] = (
        None
    )
    double_at: Annotated[
        Length | None,
        KeyWords("Instead of epsilon: the distance at which odds double at most.",
                 asked="Hide within which distance? For two places so far apart odds double at most",
                 label="Odds double at", usual="500 m", unit=OF_THE_SPACE),
    ] = None  # fmt: skip
    per: Annotated[str | None, KeyWords("The unit of distance that ε is for, which has to be that of the space.")] = (
        None
    )
    delta: Annotated[Quantity | None, KeyWords("Makes it (ε, δ)-privacy of neighbours, in place of distances.")] = None
    neighbours: Annotated[
        Literal["adjacent", "all"],
        KeyWords("Who are neighbours under delta.", options={"adjacent": "secrets at distance 1", "all": "any two"}),
    ] = "adjacent"

    @model_validator(mode="before")
    @classmethod
    def _logarithms(cls, given: Any) -> Any:
        """``epsilon = "ln 2"`` is ``alpha = "1/2"``, exactly."""
        if isinstance(given, dict) and isinstance(given.get("epsilon"), str) and given.get("alpha") is None:
            with suppress(InvalidInput):  # the key itself complains, under its name
                return given | promise(given["epsilon"], None)._asdict()
        return given

    def _wrong(self) -> Iterator[str]:
        if [self.epsilon, self.alpha, self.double_at].count(None) != 2:
            yield "give either epsilon or alpha = e^-epsilon, or double_at, the distance at which odds double at most"
        if self.epsilon is not None and self.epsilon <= 0:
            yield f"epsilon must be positive, found {number_words(self.epsilon)}"
        if self.alpha is not None and not 0 < self.alpha < 1:
            yield f"alpha lies strictly between 0 and 1, found {number_words(self.alpha)}"
        if self.delta is None and self.neighbours != "adjacent":
            yield "neighbours go with delta: epsilon alone is a promise for each unit of distance"
        if self.delta is not None and not 0 <= self.delta < 1:
            yield f"delta lies in [0, 1), found {number_words(self.delta)}"


class CountedPointsSpec(TableSpec):
    """Points of a CSV file, to be counted on the cells of a box: latitude and longitude on the Earth.

    Without ``counts``, a column that is called like one says how often a point occurs; an empty text stands for none.
    """

    file: Annotated[
        str,
        KeyWords("The CSV file of points.",
                 asked="uniform, or a public CSV file of points such as towns with their people", usual="uniform"),
    ]  # fmt: skip
    columns: Annotated[
        Annotated[list[str], Field(min_length=1)] | None,
        KeyWords("The columns of the coordinates, where their names do not say it."),
    ] = None
    counts: Annotated[
        str | None,
        KeyWords("The column of how many each stands for.",
                 asked="Column of how many each stands for, none for one{columns}"),
    ] = None  # fmt: skip


class PriorSpec(TableSpec):
    """How likely the secrets are: all the same, or by weights that sum to 1, or by counts, or by points in cells."""

    uniform: Annotated[
        bool | None, KeyWords("All secrets are equally likely: true.", label="All the same")
    ] = None  # fmt: skip
    weights: Annotated[Amounts | None, KeyWords("Probabilities that sum to 1: a list, a table by name, a column.")] = (
        None
    )
    counts: Annotated[
        Amounts | None,
        KeyWords("Counts: a list in the order of the secrets, a table by name, or a column.",
                 asked="How likely are they: uniform, or {columns}", label="Counts, in the order of the secrets",
                 usual="uniform"),
    ] = None  # fmt: skip
    points: Annotated[CountedPointsSpec | None, KeyWords("Points of a file, counted on the cells of a box.")] = None
    file: Annotated[str | None, KeyWords("The file of a column, where it is not that of the space.")] = None
    label: Annotated[str | None, KeyWords("The column of that file that names the secrets.")] = None

    def _wrong(self) -> Iterator[str]:
        if self.uniform is False:
            yield "a prior that is not uniform has weights or counts: leave uniform out"
        given = [name for name in ("uniform", "weights", "counts", "points") if getattr(self, name) is not None]
        if len(given) > 1:
            yield f"{' and '.join(given)} say different things: give one"
        values = self.weights if self.counts is None else self.counts
        if not isinstance(values, str) and (self.file or self.label):
            yield "file and label go with the name of a column, such as counts = 'population'"


class SolveSpec(TableSpec):
    """How close to the optimum, how long at most, and by which solver; on a box the tolerance is 3 % unless said."""

    tolerance: Annotated[
        Quantity, KeyWords("The gap to reach between loss and bound, as a part of the loss.", label="Gap to reach")
    ] = Fraction(1, 10_000)
    time_limit: Annotated[Quantity | None, KeyWords("How long a search may take.", unit="seconds")] = None
    solver: Annotated[str, KeyWords("A solver by its name; auto chooses one.")] = "auto"

    def _wrong(self) -> Iterator[str]:
        for name in ("tolerance", "time_limit"):
            value = getattr(self, name)
            if value is not None and value <= 0:
                yield f"{name} must be positive, found {number_words(value)}"
