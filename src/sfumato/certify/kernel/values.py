"""What a header says, as values: a space, a promise, a box, claims, and which sections follow, each read once."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Literal, NamedTuple


class WrittenSpace(NamedTuple):
    """What a file says of a space for people; coordinates and ground are for releases: no check reads them."""

    name: str
    unit: str
    coordinates: Any
    ground: Any


class SectionShape(NamedTuple):
    """How many bytes each of its numbers has, how many numbers there are, and how many bytes these take in the file."""

    name: str
    width: int
    numbers: int
    size: int


class Grid(NamedTuple):
    """Secrets of a finite problem below a box: steps along the axes, in units, how many there are, and classes."""

    norm: str
    steps: tuple[int, ...]
    shape: tuple[int, ...]
    strides: tuple[int, ...]


class Metric(NamedTuple):
    """The form of distances, their unit, and where they come from; those of a finite problem are those of a grid."""

    form: str
    unit: Fraction
    source: str = "table"
    norm: str | None = None
    grid: Grid | None = None


class Promise(NamedTuple):
    """Epsilon or alpha for each unit of distance, and perhaps the power of alpha that one unit of the table is."""

    kind: str
    epsilon: Fraction | None
    alpha: Fraction | None
    step: Fraction | None = None


class CoordinatesPromise(NamedTuple):
    """The same for all points of a box, and the rate that is checked."""

    kind: str
    epsilon: Fraction | None
    alpha: Fraction | None
    rate: Fraction


class Event(NamedTuple):
    """A promise about events: a factor, or epsilon in its place, a delta, and its number of ordered pairs."""

    factor: Fraction | None
    epsilon: Fraction | None
    delta: Fraction
    pairs: int


class WrittenLimit(NamedTuple):
    """A table of losses, by its name and unit, that no secret has more of than a level."""

    name: str
    unit: Fraction
    level: Fraction


class LossClaim(NamedTuple):
    """A loss with the remap in the file, limits that are kept, and perhaps a bound with the unit of dual numbers."""

    kind: str
    loss: Fraction
    loss_unit: Fraction
    loss_name: str
    actions: Sequence[Any]
    criterion: Literal["expected", "worst secret", "worst prior"]
    ceilings: tuple[WrittenLimit, ...]
    bound: Fraction | None
    dual_unit: Fraction


class VarianceClaim(NamedTuple):
    """The total variance of estimates of shares, and perhaps a bound."""

    kind: str
    loss: Fraction
    bound: Fraction | None
    criterion: str
    workload_name: str
    workload_unit: Fraction


class DistanceClaim(NamedTuple):
    """The expected distance of outputs on a box, and perhaps a bound: by a finite problem, or by layers for noise."""

    kind: str
    loss: Fraction
    loss_name: str
    parts: int
    bound: Fraction | None = None
    bound_parts: tuple[int, ...] = ()
    bound_strides: tuple[int, ...] = ()
    dual_unit: Fraction = Fraction(1)


class WrittenFrame(NamedTuple):
    """Where a box lies on the Earth, and how many degrees of longitude and latitude its units are."""

    south: Fraction
    west: Fraction
    degrees: tuple[Fraction, Fraction]
    radius: Fraction
    margin: Fraction


class WrittenBox(NamedTuple):
    """Sides from an origin, a number of cells along each, a norm, and the frame of a box that lies on the Earth."""

    sides: tuple[Fraction, ...]
    cells: tuple[int, ...]
    metric: str
    origin: tuple[Fraction, ...] = ()
    frame: WrittenFrame | None = None


class Lattice(NamedTuple):
    """Its points along each axis, of which there are ``shape``, and how often cells are halved for gradients."""

    degree: int
    halvings: int
    breaks: tuple[tuple[Fraction, ...], ...]
    shape: tuple[int, ...]


class WrittenNoise(NamedTuple):
    """Noise that is the same everywhere on a lattice of equal steps, and how many outputs there are with its reach."""

    cells: tuple[int, ...]
    reach: tuple[int, ...]
    floor: int
    halvings: int
    steps: tuple[Fraction, ...]
    outputs: int


class Header(NamedTuple):
    """What a file says of a table, one row a secret."""

    secrets: Sequence[Any]
    outputs: Sequence[Any]
    total: int
    space: WrittenSpace
    metric: Metric
    promise: Promise
    events: tuple[Event, ...]
    claims: LossClaim | VarianceClaim | None
    provenance: Any
    widths: dict[str, int]
    sections: tuple[SectionShape, ...] = ()


class CoordinatesHeader(NamedTuple):
    """What a file says of a box, one row a lattice point; outputs are points, or the lattice points if it has noise."""

    secrets: Sequence[Any]
    outputs: Sequence[Any]
    points: tuple[tuple[Fraction, ...], ...]
    total: int
    space: WrittenSpace
    box: WrittenBox
    lattice: Lattice
    noise: WrittenNoise | None
    promise: CoordinatesPromise
    claims: DistanceClaim | None
    provenance: Any
    widths: dict[str, int]
    sections: tuple[SectionShape, ...] = ()


AnyHeader = Header | CoordinatesHeader
Claims = LossClaim | VarianceClaim | DistanceClaim
Proved = dict[str, Any]  # what was proved, by name


def loss_claim(header: Header) -> LossClaim:
    """The claim about a loss of a header that has one."""
    if not isinstance(header.claims, LossClaim):
        raise TypeError("the file claims no loss")
    return header.claims


def variance_claim(header: Header) -> VarianceClaim:
    """The claim about shares of a header that has one."""
    if not isinstance(header.claims, VarianceClaim):
        raise TypeError("the file claims nothing about shares")
    return header.claims


def distance_claim(header: CoordinatesHeader) -> DistanceClaim:
    """The claim about a box of a header that has one."""
    if header.claims is None:
        raise TypeError("the file claims no distance")
    return header.claims


def noise_of(header: CoordinatesHeader) -> WrittenNoise:
    """The noise of a header that has some."""
    if header.noise is None:
        raise TypeError("the file has no noise")
    return header.noise


def bound_of(claims: Claims) -> Fraction:
    """The bound of a claim that has one."""
    if claims.bound is None:
        raise TypeError("the file claims no bound")
    return claims.bound
