"""Noise that is the same everywhere in a box: for boxes so large that no table of rows fits.

A point is rounded at random to a lattice of equal steps (:class:`~sfumato.spaces.splines.Rounding`), an offset is added
whose chances do not depend on where the point is, and what leaves the box is moved to its border. Far offsets have a
small chance in common, the floor, so that an output beyond the reach of one point is not out of reach for all. One
column stands for all outputs, and that is what the kernel checks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from math import prod
from operator import le
from typing import Any, ClassVar, Literal, NoReturn

import numpy as np

from sfumato.arguments import integer
from sfumato.certify import kernel
from sfumato.certify.box_certificate import box_of, claim_header, claimed_loss, coordinates_certificate
from sfumato.certify.certificate import Certificate
from sfumato.certify.charge import Charge, points_charge
from sfumato.certify.coordinates import (
    CoordinateClaim,
    CoordinateMechanism,
    as_point,
    proved_mechanism,
    restored,
    rounding_axes,
)
from sfumato.certify.mechanism import Proof
from sfumato.certify.sections import laid, values_of
from sfumato.channels.prior import Prior
from sfumato.draws.alias import alias_tables
from sfumato.draws.plans import Tuples
from sfumato.draws.rounding import OffsetPlan
from sfumato.errors import InvalidInput, NotSupported, PrivacyViolation
from sfumato.losses.coordinates import CoordinateLoss
from sfumato.numbers import Array, object_array
from sfumato.privacy.rates import box_rate
from sfumato.privacy.type import PrivacyType, as_box_type
from sfumato.spaces.box import Box
from sfumato.spaces.splines import Rounding, rounding_of
from sfumato.verdict import Verdict

LARGEST_DENSITY = 1 << 17
"""Outputs of the largest density that is listed."""

Layer = tuple[tuple[int, ...], tuple[int, ...], int]
"""A box of cells, from its first cell to the one behind its last, and a count for each of its cells."""


@dataclass(frozen=True)
class LayerBound:
    """Why no mechanism on a box, with whatever outputs, loses less than ``value``.

    Where points are uniform in a box with sides a₁, …, a_k, no mechanism loses less than
    k ∫ e^{−ετ} Π (1 − 2τ/a_i) dτ, from 0 to half of the shortest side. ``layers`` are such boxes, one upon the other,
    that together lie below the counts of a prior.
    """

    value: Fraction
    layers: tuple[Layer, ...]


@dataclass(frozen=True, eq=False)
class NoiseClaim(CoordinateClaim):
    """What noise on a box is claimed to lose at most, and a bound that none goes below.

    ``parts`` is the even number of parts of a step to whose multiples a point inside a cell is rounded, at random, for
    a sum that is not below the loss.
    """

    bound: LayerBound | None = None


def noise_certificate(
    privacy: PrivacyType,
    rate: Fraction,
    rounding: Rounding,
    halvings: int,
    table: Array,
    floor: int,
    total: int,
    claim: NoiseClaim | None = None,
    provenance: dict[str, Any] | None = None,
) -> Certificate:
    """Lay out noise on a box for the kernel."""
    written = coordinates_certificate(privacy, rate, rounding.box, table, total, provenance)
    header, sections = written.header, written.sections
    header["noise"] = {
        "cells": [axis.cells for axis in rounding.axes], "reach": [side - 1 for side in table.shape],
        "floor": str(floor), "halvings": halvings,
    }  # fmt: skip
    if claim is not None:
        header["claims"] = claim_header(claim, sections)
        if claim.bound is not None:
            header["claims"]["bound"] = str(claim.bound.value)
            layers = claim.bound.layers
            ends = [place for low, high, _ in layers for place in (*low, *high)]
            sections |= laid(layer_counts=object_array([count for _, _, count in layers]), layer_ends=ends)
    return written


@dataclass(frozen=True, eq=False, repr=False)
class BoxNoise(CoordinateMechanism):
    """A proved mechanism for coordinates in a large box: smooth rounding to a lattice, then noise.

    Parameters
    ----------
    privacy, rate, rounding, halvings, total
        As of :class:`~sfumato.certify.coordinates.CoordinateMechanism`; the lattice has equal steps along an axis and
        degree 2.
    table
        Integers g(o) for offsets o ≥ 0 along all axes; the same for all signs of coordinates, 0 beyond.
    floor
        The integer that every extended output has in addition: those of the lattice and, along each axis, as many on
        either side as the table reaches. The total is Σ g over all offsets + floor · their number.
    """

    drawn_as: ClassVar[Literal["noise"]] = "noise"
    laid_out = staticmethod(noise_certificate)

    table: Array
    floor: int
    claim: NoiseClaim | None = field(default=None, kw_only=True)

    @property
    def integers(self) -> tuple[Array, int]:
        """The table of offsets, and its floor."""
        return self.table, self.floor

    def integers_at(self, number: int) -> Array:
        """The row of a lattice point, which is listed where it is not too long."""
        shape = self.rounding.shape
        if prod(shape) > LARGEST_DENSITY:
            raise NotSupported(f"a density on {prod(shape)} outputs", ["probability(point, output) for one of them"])
        return noise_row(self.table, self.floor, shape, number).ravel()

    @property
    def reach(self) -> tuple[int, ...]:
        """The largest offset along each axis."""
        return tuple(side - 1 for side in self.table.shape)

    @property
    def outputs(self) -> Sequence[Any]:
        """The points that are told: those of the lattice, moved into the box; never listed for several axes."""
        axes = [
            tuple(min(max(o + p, o), o + side) for p in axis.points)
            for axis, o, side in zip(self.rounding.axes, self.box.origin, self.box.sides, strict=True)
        ]
        return axes[0] if len(axes) == 1 else Tuples(axes)

    def as_plan(self) -> OffsetPlan:
        """Rounding along the axes, decided by random bits and rationals, and alias tables of offsets."""
        whole = whole_table(self.table).ravel()
        beyond = prod(n + 2 * r for n, r in zip(self.rounding.shape, self.reach, strict=True))
        tables = alias_tables(object_array([*whole, self.floor * beyond], (1, whole.size + 1)), self.total)
        return OffsetPlan(rounding_axes(self.rounding), tables, reach=self.reach)

    def as_charge(self) -> Charge:
        """What a ledger adds up: a promise about coordinates."""
        return points_charge(self, ["noise", list(self.reach), str(self.floor)], self.table.reshape(1, -1))

    @property
    def _integers_in_words(self) -> str:
        return f", {' × '.join(str(2 * reach + 1) for reach in self.reach)} offsets"

    def probability(self, point: Any, output: Any) -> Fraction:
        """The exact probability of one output at a coordinate."""
        number, shape = self.outputs.index(output), self.rounding.shape
        place = np.unravel_index(number, shape)
        along = [
            range(-r if y == 0 else int(y), (n - 1 + r if y == n - 1 else int(y)) + 1)
            for y, n, r in zip(place, shape, self.reach, strict=True)
        ]
        weight = Fraction(0)
        for v, share in self.rounding.weights(as_point(point, self.box)).items():
            start = [int(i) for i in np.unravel_index(v, shape)]
            offsets = (tuple(abs(y - s) for y, s in zip(where, start, strict=True)) for where in product(*along))
            weight += share * sum(
                self.floor + (int(self.table[o]) if all(map(le, o, self.reach)) else 0) for o in offsets
            )
        return weight / self.total


def noise_row(table: Array, floor: int, shape: tuple[int, ...], v: int) -> Array:
    """The weights of all outputs at lattice point number v: offsets added, what leaves the box moved to its border."""
    extended = np.full([n + 2 * side - 2 for n, side in zip(shape, table.shape, strict=True)], floor, dtype=object)
    starts = zip(np.unravel_index(v, shape), table.shape, strict=True)
    extended[tuple(slice(start, start + 2 * side - 1) for start, side in starts)] += whole_table(table)
    for axis, (n, side) in enumerate(zip(shape, table.shape, strict=True)):
        extended = np.add.reduceat(extended, [0, *range(side, side + n - 1)], axis=axis)
    return extended


def whole_table(table: Array) -> Array:
    """g for offsets of both signs."""
    for axis in range(table.ndim):
        back = np.flip(np.take(table, range(1, table.shape[axis]), axis=axis), axis=axis)
        table = np.concatenate([back, table], axis=axis)
    return table


def prove_noise(
    table: Any,
    floor: int,
    privacy: PrivacyType,
    rounding: Rounding,
    *,
    rate: Fraction | None = None,
    halvings: int = 1,
    claim: NoiseClaim | None = None,
    provenance: dict[str, Any] | None = None,
) -> BoxNoise:
    """Noise on a box from a table of integers, if the kernel accepts it.

    Parameters
    ----------
    table, floor
        As of :class:`BoxNoise`.
    rate
        What is checked; by default ε, or a rational just below it.
    claim
        A loss and perhaps a bound, to be proved with the promise.

    Raises
    ------
    PrivacyViolation
        If chances fall faster between neighbouring offsets than the promise allows.

    Examples
    --------
    >>> from sfumato.spaces.box import box
    >>> from sfumato.spaces.splines import rounding_of
    >>> privacy = PrivacyType(box((100,), step=1), epsilon=1)
    >>> prove_noise([4, 2, 1], 1, privacy, rounding_of(privacy.space))
    BoxNoise(102 lattice points, 5 offsets, PrivacyType(box(100, euclidean), epsilon=1), proved)
    """
    privacy, box = as_box_type(privacy)
    weights, floor = _integers(table, box.dimension), integer(floor, "the floor of noise", 1)
    _check_steps(rounding, box)
    total = noise_total(weights, floor, rounding)
    checked = box_rate(privacy) if rate is None else rate
    way_in = privacy, checked, rounding, integer(halvings, "the number of halvings", 0, 4)
    return proved_mechanism(BoxNoise, way_in, (weights, floor), total, claim, provenance, "kernel", _refuse)


def _refuse(verdict: Verdict) -> NoReturn:
    raise PrivacyViolation(verdict.reason)


def claimed(
    table: Array,
    floor: int,
    privacy: PrivacyType,
    rounding: Rounding,
    prior: Prior,
    loss: CoordinateLoss,
    layers: Sequence[Layer],
    parts: int = 2,
) -> NoiseClaim:
    """What noise can be claimed to lose, and what layers prove that no mechanism goes below: rationals of 64 digits."""
    draft = NoiseClaim(prior, loss, Fraction(0), parts, LayerBound(Fraction(0), tuple(layers)))
    total = noise_total(table, floor, rounding)
    written = noise_certificate(privacy, box_rate(privacy), rounding, 0, table, floor, total, draft)
    header, sections = written.interpreted()
    if not isinstance(header, kernel.CoordinatesHeader):
        raise AssertionError("noise is written as a file about coordinates")
    value, bound = kernel.noise_loss(header, sections), kernel.layers_bound(header, sections)
    unit = Fraction(2) ** (floor_log2(value) - 64)
    return NoiseClaim(prior, loss, -(-value // unit) * unit, parts, LayerBound(bound // unit * unit, tuple(layers)))


def floor_log2(value: Fraction) -> int:
    """About the binary logarithm of a positive number, one too large at most."""
    return int(value.numerator.bit_length() - value.denominator.bit_length())


def noise_total(table: Array, floor: int, rounding: Rounding) -> int:
    """Σ g over all offsets + floor · number of extended outputs."""
    outputs = prod(n + 2 * (int(side) - 1) for n, side in zip(rounding.shape, table.shape, strict=True))
    mass: Any = table.astype(object)  # the sum may be longer than a word
    for _ in table.shape:  # along one axis after the other, all offsets but 0 have two signs
        mass = mass[0] + 2 * mass[1:].sum(axis=0)
    return int(mass) + floor * outputs


def box_noise(header: kernel.CoordinatesHeader, sections: dict[str, bytes], proof: Proof) -> BoxNoise:
    """The noise that a file about coordinates describes, which has been proved."""
    noise, box = kernel.noise_of(header), box_of(header)
    rounding = rounding_of(box, [n // cells for n, cells in zip(noise.cells, box.shape, strict=True)])
    table = _integers(values_of("weights", header, sections).tolist(), box.dimension)
    stated = None if header.claims is None else _claim(header, sections, box)
    return restored(BoxNoise, header, proof, (rounding, noise.halvings), (table, noise.floor), stated)


def _claim(header: kernel.CoordinatesHeader, sections: dict[str, bytes], box: Box) -> NoiseClaim:
    claims, bound = kernel.distance_claim(header), None
    if claims.bound is not None:
        heights, pairs = (values_of(f"layer_{what}", header, sections).tolist() for what in ("counts", "ends"))
        layers = tuple((tuple(low), tuple(high), int(n)) for (low, high), n in zip(pairs, heights, strict=True))
        bound = LayerBound(claims.bound, layers)
    return NoiseClaim(*claimed_loss(header, sections, box), bound)


def _integers(table: Any, dimension: int) -> Array:
    weights = np.array(table, dtype=object)
    if weights.ndim != dimension or not weights.size:
        raise InvalidInput(f"a table of noise in {dimension} dimensions has as many axes, found shape {weights.shape}")
    if not all(isinstance(w, int | np.integer) and w >= 0 for w in weights.ravel()):
        raise InvalidInput("the table of noise holds non-negative integers")
    weights.flags.writeable = False
    return weights


def _check_steps(rounding: Rounding, box: Box) -> None:
    if rounding.box != box:
        raise InvalidInput(f"the lattice is one of {rounding.box.name}, the promise about {box.name}")
    if any(axis.degree != 2 or (axis.even is None and len({*axis.widths}) != 1) for axis in rounding.axes):
        raise InvalidInput("noise that is the same everywhere needs a lattice of equal steps and degree 2")
