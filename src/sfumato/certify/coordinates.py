"""Mechanisms for coordinates: random rounding to a lattice, then a row of a table; the promise is about all points.

M̃(x)(y) = Σ_v B_v(x) N[v][y] / T, with the probabilities B_v(x) of :class:`~sfumato.spaces.splines.Rounding`. It keeps
ε‖x − x′‖ for all points of a box if in every column the Bernstein coefficients F of M̃(·)(y), and G of its gradient,
have ‖G‖* ≤ ε F on every cell: ``docs/theory/coordinates.md`` has the proof, the kernel checks it in integers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from fractions import Fraction
from math import lcm
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NoReturn, TypeVar

import numpy as np

from sfumato.arguments import integer, items
from sfumato.certify import kernel
from sfumato.certify.box_certificate import box_certificate, claimed_loss, rounding_in
from sfumato.certify.certificate import Certificate
from sfumato.certify.charge import Charge, points_charge
from sfumato.certify.decide import Checker, decide, raise_refusal
from sfumato.certify.file import dual_of, to_be_checked, with_file
from sfumato.certify.label_json import label_from_json, label_to_json
from sfumato.certify.mechanism import Dual, Mechanism, Proof, compact
from sfumato.certify.protocol import Domain, no_table
from sfumato.certify.sections import values_of
from sfumato.channels.prior import Prior
from sfumato.draws.alias import alias_tables
from sfumato.draws.rounding import Reach, RoundingAxis, RoundingPlan, rounding_axis
from sfumato.errors import InvalidChannel, InvalidInput, Mismatch, expect, shown
from sfumato.losses.coordinates import CoordinateLoss
from sfumato.numbers import Array, Number, as_written, exact, object_array
from sfumato.privacy.rates import box_rate
from sfumato.privacy.type import PrivacyType, as_box_type
from sfumato.rooms import at_front_door
from sfumato.spaces.box import Box
from sfumato.spaces.splines import Rounding
from sfumato.verdict import Verdict


@dataclass(frozen=True, eq=False)
class BoxBound:
    """Why no mechanism on a box, with whatever outputs, loses less than ``value``.

    Secrets are cut to the lower corners of cells, ``parts`` along each axis in a cell of the box: shifted by any one
    vector they get the same masses, so that averages over shifts are mechanisms on them. Outputs are rounded at
    random to the corners of cubes that cover these secrets, which costs at most what a convex loss bends in a cube.

    Parameters
    ----------
    parts
        Secrets of the finite problem in a cell, along each axis.
    strides
        Secrets whose places differ by multiples of these are a class; each has a finite problem of its own, and what
        they prove is added up. By default all secrets are one class.
    splits
        For each cube between neighbouring secrets, the last axis first, and depth first for its parts: 1 if the cube
        is halved along all axes, 0 if it is used as it is.
    dual
        Numbers Z ≥ 0 between secrets, for each corner of a cube that is used, the corners in the order of their
        coordinates.
    """

    value: Fraction
    parts: tuple[int, ...]
    splits: bytes
    dual: Dual
    strides: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class CoordinateClaim:
    """What a mechanism for coordinates is claimed to lose at most; ``parts`` says how finely that is summed up."""

    kind: ClassVar[Literal["loss"]] = "loss"

    prior: Prior
    loss: CoordinateLoss
    value: Fraction
    parts: int


@dataclass(frozen=True, eq=False)
class BoxClaim(CoordinateClaim):
    """What a mechanism on a box is claimed to lose at most, and a bound that none goes below.

    ``parts`` says into how many equal parts each piece on which density and rounding are polynomials is cut along an
    axis: on each of the parts a convex loss lies below what is interpolated between its corners.
    """

    bound: BoxBound | None = None


@dataclass(frozen=True, eq=False, repr=False)
class CoordinateMechanism:
    """A proved mechanism whose secrets are all points of a box.

    The way in is common: a point is rounded to a lattice, smoothly and at random. Integers follow, which are a row of
    a table (:class:`BoxMechanism`) or noise that is the same everywhere (:class:`~sfumato.certify.noise.BoxNoise`); the
    way out are ``outputs``, which are points.

    Parameters
    ----------
    privacy
        The promise about all points of the box.
    rate
        The rational ε that is proved: that of the promise, or one just below where it is irrational.
    rounding
        The lattice, and with which probability a point is rounded to each of its points.
    halvings
        How often cells are halved before coefficients are compared.
    total
        What the integers of a lattice point sum to.
    """

    about: ClassVar[Literal["coordinates"]] = "coordinates"
    events: ClassVar[tuple[()]] = ()
    bounds_ratios: ClassVar[Literal[True]] = True
    drawn_as: ClassVar[Literal["table", "noise"]]
    laid_out: ClassVar[Callable[..., Certificate]]
    """What lays out a mechanism for the kernel: the way in, its integers, their total, a claim, a provenance."""

    privacy: PrivacyType
    rate: Fraction
    rounding: Rounding
    halvings: int
    _: KW_ONLY
    total: int
    proof: Proof
    claim: CoordinateClaim | None = None
    provenance: dict[str, Any] = field(default_factory=dict)

    @property
    def integers(self) -> tuple[Any, Any]:
        """What the kernel gets of a table, or of noise."""
        raise NotImplementedError

    def integers_at(self, number: int) -> Array:
        """The integers of all outputs for a point of the lattice."""
        raise NotImplementedError

    if TYPE_CHECKING:  # a field of tables, and a rule of noise

        @property
        def outputs(self) -> Sequence[Any]:
            """The points that are told."""

    @property
    def box(self) -> Box:
        """Where the secrets lie."""
        return self.rounding.box

    @property
    def domain(self) -> Domain:
        """Where the secrets lie."""
        return Domain.of(self.box)

    @property
    def axes(self) -> list[tuple[Fraction, tuple[Fraction, ...], int]]:
        """Origin, breaks and degree along each axis: all that rounding depends on.

        On the Earth they are in degrees: an affine map changes no B-spline, so that nothing is computed for a place.
        """
        return axes_of(self.rounding)

    @property
    def secrets(self) -> None:
        """All points are secrets, and none is listed."""
        return None

    @property
    def _integers_in_words(self) -> str:
        raise NotImplementedError

    def __repr__(self) -> str:
        lattice = " × ".join(map(str, self.rounding.shape))
        return f"{type(self).__name__}({lattice} lattice points{self._integers_in_words}, {self.privacy!r}, proved)"

    def density(self, point: Any) -> Prior:
        """The exact probability of every output at a coordinate; outside of the box at its nearest point.

        On the Earth a coordinate is one of the map, by :func:`sfumato.spaces.earth.to_box` from degrees.
        """
        rows = self.rounding.weights(as_point(point, self.box))
        parts = lcm(*(share.denominator for share in rows.values()))
        several = [self.integers_at(v).astype(object) * int(share * parts) for v, share in rows.items()]
        weights = np.sum(several, axis=0)
        return Prior(tuple(self.outputs), object_array([Fraction(int(w), parts * self.total) for w in weights]))

    def as_certificate(self) -> Certificate:
        """Header and sections for the kernel, claim and provenance included."""
        way_in = self.privacy, self.rate, self.rounding, self.halvings
        return type(self).laid_out(*way_in, *self.integers, self.total, self.claim, self.provenance)

    def as_table(self) -> Mechanism:
        """Refused: its rows are not secrets, and no list of points has the promise about all of them."""
        raise no_table(self, "density(point), the exact distribution at a coordinate")

    def release(self, table: Any, column: Any = None, **terms: Any) -> Any:
        """The table with drawn outputs for the points of some columns: :func:`sfumato.release_table`."""
        return at_front_door("release_table")(self, table, column, **terms)


@dataclass(frozen=True, eq=False, repr=False)
class BoxMechanism(CoordinateMechanism):
    """A proved mechanism for coordinates: a point is rounded to a lattice, smoothly and at random, and its row drawn.

    Parameters
    ----------
    privacy, rate, rounding, halvings, total
        As of :class:`CoordinateMechanism`.
    outputs
        Points, exactly; numbers on an interval.
    weights
        A row of integers for each lattice point (the last axis first), with sum ``total``.
    """

    drawn_as: ClassVar[Literal["table"]] = "table"
    laid_out = staticmethod(box_certificate)

    outputs: tuple[Any, ...]
    weights: Array
    claim: BoxClaim | None = field(default=None, kw_only=True)

    @property
    def integers(self) -> tuple[tuple[Any, ...], Array]:
        """Outputs and the table of their weights."""
        return self.outputs, self.weights

    def integers_at(self, number: int) -> Array:
        """A row of the table."""
        return np.asarray(self.weights[number])

    def as_plan(self) -> RoundingPlan:
        """Rounding along the axes, decided by random bits and rationals, and alias tables of the weights."""
        return RoundingPlan(rounding_axes(self.rounding), alias_tables(self.weights, self.total))

    def as_charge(self) -> Charge:
        """What a ledger adds up: a promise about coordinates."""
        return points_charge(self, [label_to_json(y) for y in self.outputs], self.weights)

    @property
    def _integers_in_words(self) -> str:
        return f" → {len(self.outputs)} outputs"


_Kind = TypeVar("_Kind", bound=CoordinateMechanism)


def prove_on_box(
    weights: Any,
    privacy: PrivacyType,
    rounding: Rounding,
    outputs: Any,
    *,
    rate: Number | None = None,
    halvings: int = 1,
    claim: BoxClaim | None = None,
    provenance: dict[str, Any] | None = None,
    checker: Checker = "auto",
) -> BoxMechanism:
    """A mechanism for coordinates from integer weights at the points of a lattice, if the kernel accepts it.

    Parameters
    ----------
    weights
        A table of integers, one row a lattice point (the last axis first), whose rows have one common sum.
    privacy
        The promise about all points of a box.
    rounding
        The lattice on that box.
    outputs
        The points that columns stand for; numbers on an interval.
    rate
        The rational that is checked, at most ε; by default ε, or a rational just below where it is irrational. On the
        Earth it is for a unit of the map, and at most ε over the largest stretch.
    halvings
        How often cells are halved before values and gradients are compared: the condition becomes weaker, and it takes
        longer to check.
    claim
        A loss and perhaps a bound, to be proved with the promise.

    Raises
    ------
    PrivacyViolation
        If an output becomes likelier too fast somewhere; it names the corners of the cell, and the output.

    Examples
    --------
    >>> from sfumato.spaces.box import box
    >>> from sfumato.spaces.splines import rounding_of
    >>> unit = box((1,), step="1/2")
    >>> prove_on_box([[3, 1], [2, 2], [2, 2], [1, 3]], PrivacyType(unit, epsilon=2), rounding_of(unit), [0, 1])
    BoxMechanism(4 lattice points → 2 outputs, PrivacyType(box(1, euclidean), epsilon=2), proved)
    """
    privacy, box = as_box_type(privacy)
    rounding = expect(rounding, Rounding, "a rounding", "rounding_of(box) makes one")
    if rounding.box != box:
        raise Mismatch("boxes of promise and lattice", (box.name, box.step), (rounding.box.name, rounding.box.step))
    table = _weights(weights, len(rounding))
    labels = tuple(_as_label(output, box) for output in items(outputs, "the outputs"))
    if len(labels) != table.shape[1]:
        raise InvalidChannel(f"{table.shape[1]} columns for {len(labels)} outputs")
    if claim is not None:
        expect(claim, BoxClaim, "a claim about a box")
        check_prior(claim.prior, claim.loss, box)
    checked = box_rate(privacy) if rate is None else as_written(rate, "the rate that is checked")
    total, halvings = sum(map(int, table[0])), integer(halvings, "the number of halvings")
    way_in = privacy, checked, rounding, halvings
    return proved_mechanism(BoxMechanism, way_in, (labels, table), total, claim, provenance, checker)


def proved_mechanism(
    kind: type[_Kind],
    way_in: tuple[PrivacyType, Fraction, Rounding, int],
    integers: tuple[Any, Any],
    total: int,
    claim: CoordinateClaim | None,
    provenance: dict[str, Any] | None,
    checker: Checker,
    refuse: Callable[[Verdict], NoReturn] = raise_refusal,
) -> _Kind:
    """A mechanism for coordinates, if a checker accepts its way in with these integers and what is claimed of them."""
    make: Callable[..., _Kind] = kind
    asked = to_be_checked(kind.laid_out(*way_in, *integers, total, claim, provenance))
    verdict = decide(*asked[:3], checker)
    if not verdict:
        refuse(verdict)
    made = make(*way_in, *integers, total=total, proof=verdict.witness, claim=claim, provenance=provenance or {})
    return with_file(made, asked.data)


def restored(
    kind: type[_Kind],
    header: kernel.CoordinatesHeader,
    proof: Proof,
    way_in: tuple[Rounding, int],
    integers: tuple[Any, Any],
    claim: CoordinateClaim | None,
) -> _Kind:
    """A mechanism for coordinates that a file describes, which has been proved."""
    make: Callable[..., _Kind] = kind
    promise, (rounding, halvings) = header.promise, way_in
    privacy = PrivacyType(rounding.box, promise.epsilon, promise.alpha)
    return make(
        privacy, promise.rate, rounding, halvings, *integers, total=header.total, proof=proof, claim=claim,
        provenance=header.provenance or {},
    )  # fmt: skip


def _weights(weights: Any, rows: int) -> Array:
    try:
        table = np.asarray(weights)
    except ValueError as error:
        raise InvalidChannel(f"weights must be a table of integers: {error}") from error
    if table.dtype.kind not in "iuO" or table.ndim != 2 or len(table) != rows or not table.size:
        raise InvalidChannel(
            f"weights must be a table of integers with {rows} rows, one for each lattice point, found {table.dtype} "
            f"of shape {table.shape}"
        )
    if table.dtype == object and not all(isinstance(weight, int | np.integer) for weight in table.ravel()):
        raise InvalidChannel("weights must be non-negative integers")
    if (table < 0).any() or not int(table.max()):
        raise InvalidChannel("weights must be non-negative integers, and not all of them 0")
    return compact(table)


def _as_label(output: Any, box: Box) -> Any:
    """An output as a point whose coordinates are integers, floats or fractions."""
    parts = [output] if isinstance(output, str) or not hasattr(output, "__iter__") else list(output)
    kept = tuple(
        part if type(part) in (int, float, Fraction) else value
        for part, value in zip(parts, as_point(output, box), strict=True)
    )
    return kept if box.dimension > 1 else kept[0]


def box_mechanism(header: kernel.CoordinatesHeader, sections: dict[str, bytes], proof: Proof) -> BoxMechanism:
    """The mechanism that a file about coordinates describes, which has been proved."""
    rounding = rounding_in(header)
    weights = _weights(values_of("weights", header, sections), len(header.secrets))
    outputs = tuple(label_from_json(label) for label in header.outputs)
    stated = _claim(header, sections, rounding.box) if header.claims else None
    return restored(BoxMechanism, header, proof, (rounding, header.lattice.halvings), (outputs, weights), stated)


def _claim(header: kernel.CoordinatesHeader, sections: dict[str, bytes], box: Box) -> BoxClaim:
    claims, bound = kernel.distance_claim(header), None
    if claims.bound is not None:
        dual, splits = dual_of(claims.dual_unit, header, sections), bytes(sections["splits"])
        bound = BoxBound(claims.bound, claims.bound_parts, splits, dual, claims.bound_strides)
    return BoxClaim(*claimed_loss(header, sections, box), bound)


def axes_of(rounding: Rounding) -> list[tuple[Fraction, tuple[Fraction, ...], int]]:
    """Origin, breaks and degree along each axis, on the Earth in degrees."""
    along = zip(rounding.box.surface.scales, rounding.axes, strict=True)
    return [(corner, tuple(unit * at for at in axis.breaks), axis.degree) for (corner, unit), axis in along]


def rounding_axes(rounding: Rounding) -> tuple[RoundingAxis, ...]:
    """The axes of a lattice, ready to round doubles."""
    reaches = [None if reach is None else Reach(*reach) for reach in rounding.box.surface.reaches]
    return tuple(rounding_axis(*axis, reach) for axis, reach in zip(axes_of(rounding), reaches, strict=True))


def as_point(point: Any, box: Box) -> tuple[Fraction, ...]:
    """A point of a box as exact coordinates: a float is the dyadic number it stores, a text what it says."""
    parts: Sequence[Any] = [point] if isinstance(point, str) or not hasattr(point, "__iter__") else list(point)
    if len(parts) != box.dimension:
        raise InvalidInput(f"a point of {box.name} has {box.dimension} coordinates, found {shown(point)}")
    if any(isinstance(part, bool | np.bool_) for part in parts):
        raise InvalidInput(f"a coordinate is a number, and no truth value: {shown(point)}")
    return box.surface.accepted(tuple(map(exact, parts)), shown(point))


def check_prior(prior: Prior, loss: CoordinateLoss, box: Box) -> None:
    """Prior and loss are those of the cells of a box."""
    if prior.secrets != box.labels:
        raise Mismatch(
            "prior and box", box.labels, prior.secrets,
            f"the prior is about {shown(prior.secrets)}, not about the cells of {box.name}: Prior.uniform(box) and "
            "Prior.on_cells(counts, box) are",
        )  # fmt: skip
    if loss.box != box:
        raise Mismatch(
            "loss and box", (box.name,), (loss.box.name,),
            f"the loss is one of {shown(loss.box)}, the promise is about {shown(box)}",
        )  # fmt: skip
