"""The tables of a spec and their keys; a key that no table knows is refused.

Numbers are taken for what is written: ``0.7`` is 7/10, and ``"1/3"`` is a third.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from math import inf, isfinite
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator

from sfumato.errors import InvalidInput
from sfumato.numbers import as_written
from sfumato.privacy.promise import promise, rate
from sfumato.spaces.lengths import as_length


def _quantity(value: Any) -> Fraction:
    """A number, for what is written."""
    return as_written(value, "it")


def _length(value: Any) -> Fraction | str:
    """A number in the unit of the space, or a text with another unit of length, which is kept."""
    written = as_length(value, "it")
    return str(written) if written.unit else written.number


def _distance(value: Any) -> Fraction | float:
    """A quantity, or infinity where nothing is promised."""
    if isinstance(value, Decimal | float) and value == inf:
        return inf
    return _quantity(value)


def _label(value: Any) -> Any:
    """A name of a secret or an action: text, a number, or a list of them, which becomes a tuple."""
    if isinstance(value, list | tuple):
        return tuple(_label(part) for part in value)
    if isinstance(value, Decimal):
        value = float(value)
        if not isfinite(value):
            raise ValueError("a label that is a number must be finite and within the range of floats")
    if isinstance(value, str | int | float):
        return value
    raise ValueError("a label is a text, a number or a list of them")


def _column_or_list(value: Any) -> Any:
    """Numbers in order, a table of numbers by label, or the name of a column."""
    if isinstance(value, list):
        return [_quantity(part) for part in value]
    if isinstance(value, dict):
        return {name: _quantity(part) for name, part in value.items()}
    if isinstance(value, str) and value:
        return value
    raise ValueError("a list of numbers, a table of numbers by label, or the name of a column is needed")


Quantity = Annotated[Fraction, BeforeValidator(_quantity)]
Length = Annotated[Any, BeforeValidator(_length)]
Rate = Annotated[Fraction, BeforeValidator(rate)]
Distance = Annotated[Any, BeforeValidator(_distance)]
Label = Annotated[Any, BeforeValidator(_label)]
Amounts = Annotated[Any, BeforeValidator(_column_or_list)]
Count = Annotated[int, Field(ge=1)]
Metric = Literal["euclidean", "manhattan", "chebyshev"]


class TableSpec(BaseModel):
    """A table of a spec: keys it does not know are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, arbitrary_types_allowed=True)

    def _wrong(self) -> Iterator[str]:
        """What is wrong with the table as a whole, although each of its keys is fine."""
        yield from ()

    @model_validator(mode="after")
    def _as_a_whole(self) -> Self:
        if (complaint := next(self._wrong(), None)) is not None:
            raise ValueError(complaint)
        return self


class UnitSpec(TableSpec):
    """A space whose unit of distance can be named."""

    unit: str = ""


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


class FromFileSpec(TableSpec):
    """What is listed here or in a CSV file."""

    inline: ClassVar[str]  # the key that lists it here
    file: str | None = None

    def _wrong(self) -> Iterator[str]:
        if (self.file is None) == (getattr(self, self.inline) is None):
            yield f"give either file, a CSV, or {self.inline}"


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
        return [[x, z, *(str(_quantity(length)) for length in rest)] for x, z, *rest in value]


class PointsSpec(FromFileSpec):
    """Points with coordinates."""

    inline = "coordinates"
    kind: Literal["points"]
    unit: str = ""
    coordinates: list[list[Quantity]] | None = None
    labels: list[Label] | None = None
    columns: Annotated[list[str], Field(min_length=1)] = ["x", "y"]
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


class MatrixSpec(FromFileSpec):
    """A table of distances."""

    inline = "distances"
    kind: Literal["matrix"]
    unit: str = ""
    distances: list[list[Distance]] | None = None
    labels: list[Label] | None = None


SpaceSpec = Annotated[
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
    | MatrixSpec,
    Field(discriminator="kind"),
]
"""Every kind of space."""


class PrivacySpec(TableSpec):
    """The promise: ε for each unit of distance, or α = e^−ε.

    With ``delta`` it is (ε, δ)-privacy of neighbours instead: secrets at distance 1, or all.
    """

    epsilon: Rate | None = None
    alpha: Quantity | None = None
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
        if (self.epsilon is None) == (self.alpha is None):
            yield "give either epsilon or alpha = e^-epsilon"
        if self.epsilon is not None and self.epsilon <= 0:
            yield f"epsilon must be positive, found {_shown(self.epsilon)}"
        if self.alpha is not None and not 0 < self.alpha < 1:
            yield f"alpha lies strictly between 0 and 1, found {_shown(self.alpha)}"
        if self.delta is None and self.neighbours != "adjacent":
            yield "neighbours go with delta: epsilon alone is a promise for each unit of distance"
        if self.delta is not None and not 0 <= self.delta < 1:
            yield f"delta lies in [0, 1), found {_shown(self.delta)}"


class PriorSpec(TableSpec):
    """How likely the secrets are: all the same, or by weights that sum to 1, or by counts."""

    uniform: bool | None = None
    weights: Amounts | None = None
    counts: Amounts | None = None
    file: str | None = None
    label: str | None = None

    def _wrong(self) -> Iterator[str]:
        if self.uniform is False:
            yield "a prior that is not uniform has weights or counts: leave uniform out"
        given = [name for name in ("uniform", "weights", "counts") if getattr(self, name) is not None]
        if len(given) > 1:
            yield f"{' and '.join(given)} say different things: give one"
        values = self.weights if self.counts is None else self.counts
        if not isinstance(values, str) and (self.file or self.label):
            yield "file and label go with the name of a column, such as counts = 'population'"


class OutputsSpec(TableSpec):
    """Outputs that are listed in a column of a CSV file."""

    file: str
    column: str


def _outputs(value: Any) -> Any:
    if isinstance(value, list):
        return [_label(part) for part in value]
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


class ObjectiveSpec(TableSpec):
    """What is made small, under which limits, and what decides among equals."""

    kind: Literal["expected", "worst secret", "worst prior"] = "expected"
    priors: list[PriorSpec] | None = None
    worst_loss: Quantity | None = None
    displacement: DisplacementSpec | None = None
    then: Literal["worst secret", "entropy"] | None = None

    def _wrong(self) -> Iterator[str]:
        if (self.kind == "worst prior") != bool(self.priors):
            yield "priors, a list of tables like [prior], goes with kind = 'worst prior', and with no other"
        if self.then is not None and self.kind != "expected":
            yield "then goes with kind = 'expected'"


class SolveSpec(TableSpec):
    """How close to the optimum, how long at most, and by which solver."""

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
