"""The tables of a spec and their keys; a key that no table knows is refused.

Numbers are taken for what is written: ``0.7`` is 7/10, and ``"1/3"`` is a third.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from fractions import Fraction
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BeforeValidator, Field, field_validator, model_validator

from sfumato.errors import InvalidInput
from sfumato.privacy.promise import promise
from sfumato.specs.schema_base import (
    Amounts,
    Count,
    Distance,
    Earth,
    FromFileSpec,
    Label,
    Length,
    Lengths,
    Metric,
    PartOfEarthSpec,
    Quantity,
    Rate,
    TableSpec,
    UnitSpec,
    as_label,
    quantity,
)
from sfumato.specs.schema_maps import AreasSpec, H3CellsSpec, RoadsSpec, SquareCellsSpec


class SizedSpec(UnitSpec):
    """A space of a number of secrets, or of their names."""

    n: Count | None = None
    labels: list[Label] | None = None

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

    kind: Literal["line"]
    step: Length = Fraction(1)


class DiscreteSpec(SizedSpec):
    """Secrets that are all equally far apart."""

    kind: Literal["discrete"]
    distance: Length = Fraction(1)


class CycleSpec(SizedSpec):
    """Secrets around a circle."""

    kind: Literal["cycle"]


class GridSpec(UnitSpec):
    """Cells of a rectangle, or a box of any dimension."""

    kind: Literal["grid"]
    shape: Annotated[list[Count], Field(min_length=1)]
    metric: Metric = "euclidean"
    step: Length = Fraction(1)


class HammingSpec(UnitSpec):
    """Words, as far apart as the letters in which they differ."""

    kind: Literal["hamming"]
    length: Count
    symbols: Count = 2


class StarSpec(UnitSpec):
    """A centre and leaves around it."""

    kind: Literal["star"]
    leaves: Count


class CompleteBipartiteSpec(UnitSpec):
    """Two groups, at distance 1 across and 2 within."""

    kind: Literal["complete_bipartite"]
    a: Count
    b: Count


class CountQuerySpec(UnitSpec):
    """Answers of a count."""

    kind: Literal["count_query"]
    individuals: Count


class SumQuerySpec(UnitSpec):
    """Answers of a sum."""

    kind: Literal["sum_query"]
    individuals: Count
    largest: Count


class KCountQuerySpec(UnitSpec):
    """Answers of k counts over the same individuals."""

    kind: Literal["k_count_query"]
    individuals: Count
    k: Count


class GraphSpec(FromFileSpec):
    """Shortest paths along edges."""

    inline = "edges"
    kind: Literal["graph"]
    unit: str = ""
    edges: list[list[Label]] | None = None
    nodes: list[Label] | None = None
    first: str = "from"
    second: str = "to"
    length: str | None = None

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
    kind: Literal["points"]
    unit: str = ""
    coordinates: list[list[Quantity]] | None = None
    labels: list[Label] | None = None
    columns: Annotated[list[str], Field(min_length=1)] = Field(default_factory=lambda: ["x", "y"])
    label: str | None = None
    metric: Metric = "euclidean"


class GeoSpec(FromFileSpec):
    """Places on the Earth, great-circle distances in km."""

    inline = "coordinates"
    kind: Literal["geo"]
    coordinates: list[Annotated[list[Quantity], Field(min_length=2, max_length=2)]] | None = None
    labels: list[Label] | None = None
    latitude: str | None = None
    longitude: str | None = None
    label: str | None = None
    earth: Earth = "sphere"


class MatrixSpec(FromFileSpec):
    """A table of distances."""

    inline = "distances"
    kind: Literal["matrix"]
    unit: str = ""
    distances: list[list[Distance]] | None = None
    labels: list[Label] | None = None


class BoxSpec(UnitSpec):
    """All points of an interval, a rectangle or a cuboid, and the cells on which a prior is constant."""

    kind: Literal["box"]
    sides: Lengths
    step: Lengths
    metric: Metric = "euclidean"
    origin: list[Quantity] | None = None


class EarthBoxSpec(PartOfEarthSpec):
    """All places of a part of the Earth, from its south-western corner to the opposite one, or with two sides."""

    kind: Literal["earth_box"]
    margin: Length | None = None
    unit: str = "km"


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

    kind: Literal["elastic"]
    of: Annotated[PlainSpace, Field(discriminator="kind")]
    weights: Amounts
    file: str | None = None
    label: str | None = None
    within: Length | None = None


SpaceSpec = Annotated[PlainSpace | ElasticSpec, Field(discriminator="kind")]
"""Every kind of space."""


class PrivacySpec(TableSpec):
    """The promise: ε for each unit of distance, or α = e^−ε, or the distance at which odds double at most.

    With ``delta`` it is (ε, δ)-privacy of neighbours instead: secrets at distance 1, or all.
    """

    epsilon: Rate | None = None
    alpha: Quantity | None = None
    double_at: Length | None = None
    per: str | None = None
    delta: Quantity | None = None
    neighbours: Literal["adjacent", "all"] = "adjacent"

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
            yield f"epsilon must be positive, found {_shown(self.epsilon)}"
        if self.alpha is not None and not 0 < self.alpha < 1:
            yield f"alpha lies strictly between 0 and 1, found {_shown(self.alpha)}"
        if self.delta is None and self.neighbours != "adjacent":
            yield "neighbours go with delta: epsilon alone is a promise for each unit of distance"
        if self.delta is not None and not 0 <= self.delta < 1:
            yield f"delta lies in [0, 1), found {_shown(self.delta)}"


class CountedPointsSpec(TableSpec):
    """Points of a CSV file, to be counted on the cells of a box: latitude and longitude on the Earth.

    Without ``counts``, a column that is called like one says how often a point occurs; an empty text stands for none.
    """

    file: str
    columns: Annotated[list[str], Field(min_length=1)] | None = None
    counts: str | None = None


class PriorSpec(TableSpec):
    """How likely the secrets are: all the same, or by weights that sum to 1, or by counts, or by points in cells."""

    uniform: bool | None = None
    weights: Amounts | None = None
    counts: Amounts | None = None
    points: CountedPointsSpec | None = None
    file: str | None = None
    label: str | None = None

    def _wrong(self) -> Iterator[str]:
        if self.uniform is False:
            yield "a prior that is not uniform has weights or counts: leave uniform out"
        given = [name for name in ("uniform", "weights", "counts", "points") if getattr(self, name) is not None]
        if len(given) > 1:
            yield f"{' and '.join(given)} say different things: give one"
        values = self.weights if self.counts is None else self.counts
        if not isinstance(values, str) and (self.file or self.label):
            yield "file and label go with the name of a column, such as counts = 'population'"


class OutputsSpec(TableSpec):
    """Outputs that are listed in a column of a CSV file, points of a box in several."""

    file: str
    column: str | None = None
    columns: list[str] | None = None

    def _wrong(self) -> Iterator[str]:
        if (self.column is None) == (self.columns is None):
            yield "give column, where the outputs stand, or columns, where the coordinates of points stand"


def _outputs(value: Any) -> Any:
    if isinstance(value, list):
        return [as_label(part) for part in value]
    if isinstance(value, dict):
        return OutputsSpec.model_validate(value)
    if isinstance(value, OutputsSpec):
        return value
    raise ValueError("a list of actions, or {file = 'some.csv', column = 'name'}, is needed")


class StakeSpec(TableSpec):
    """Any loss; ``outputs`` are the actions that the mechanism may suggest, all by default."""

    outputs: Annotated[Any, BeforeValidator(_outputs)] = None


class NamedLossSpec(StakeSpec):
    """A loss that needs nothing but the space; by default that of :func:`sfumato.losses.default`."""

    kind: Literal["default", "bin", "nib", "distance", "absolute", "squared"] = "default"


class ThresholdSpec(StakeSpec):
    """0 within a radius, 1 beyond."""

    kind: Literal["threshold"]
    radius: Length


class MemberSpec(StakeSpec):
    """Whether the secret is one of these."""

    kind: Literal["member"]
    members: Annotated[list[Label], Field(min_length=1)]


class LossMatrixSpec(FromFileSpec, StakeSpec):
    """Any table, one row an action, one column a secret."""

    inline = "table"
    kind: Literal["matrix"]
    table: list[list[Quantity]] | None = None
    actions: list[Label] | None = None

    def _wrong(self) -> Iterator[str]:
        yield from super()._wrong()
        if self.file is not None and self.actions is not None:
            yield "the first column of the file names the actions: leave actions out"


LossSpec = Annotated[
    NamedLossSpec | ThresholdSpec | MemberSpec | LossMatrixSpec,
    Field(discriminator="kind"),
]
"""Every kind of loss."""


class DisplacementSpec(TableSpec):
    """At most this probability that the action is farther than ``radius`` from the secret."""

    radius: Length
    probability: Quantity

    def _wrong(self) -> Iterator[str]:
        if not 0 <= self.probability < 1:
            yield f"probability lies between 0 and 1, found {_shown(self.probability)}"


class _Beside(NamedTuple):
    """What stands beside a kind of objective: whether there are priors, a workload, limits on a loss."""

    priors: tuple[bool, ...] = (False,)
    workload: bool = False
    limits: bool = True


_BESIDE = {
    "expected": _Beside(), "worst secret": _Beside(), "worst prior": _Beside((True,)),
    "shares": _Beside((True, False), workload=True, limits=False),
}  # fmt: skip


class ObjectiveSpec(TableSpec):
    """What is made small, under which limits, and what decides among equals."""

    kind: Literal["expected", "worst secret", "worst prior", "shares"] = "expected"
    priors: list[PriorSpec] | None = None
    workload: str | list[list[Quantity]] | None = None
    values: list[Quantity] | None = None
    worst_loss: Quantity | None = None
    displacement: DisplacementSpec | None = None
    then: Literal["worst secret", "entropy"] | None = None

    def _wrong(self) -> Iterator[str]:
        beside = _BESIDE[self.kind]
        if bool(self.priors) not in beside.priors:
            yield "priors, a list of tables like [prior], goes with kind = 'worst prior' or 'shares', and with no other"
        if self.workload is not None and not beside.workload:
            yield "workload goes with kind = 'shares'"
        if self.values is not None and self.workload != "mean":
            yield "values, a number for each secret, goes with workload = 'mean'"
        if (self.worst_loss is not None or self.displacement is not None) and not beside.limits:
            yield "limits on a loss do not go with kind = 'shares'"
        if self.then is not None and self.kind != "expected":
            yield "then goes with kind = 'expected'"


class SolveSpec(TableSpec):
    """How close to the optimum, how long at most, and by which solver; on a box the tolerance is 3 % unless said."""

    tolerance: Quantity = Fraction(1, 10_000)
    time_limit: Quantity | None = None
    solver: str = "auto"

    def _wrong(self) -> Iterator[str]:
        for name in ("tolerance", "time_limit"):
            value = getattr(self, name)
            if value is not None and value <= 0:
                yield f"{name} must be positive, found {_shown(value)}"


def _shown(value: Fraction) -> str:
    return str(value) if value.denominator > 10**6 or len(str(value)) > 12 else f"{float(value):g}"
