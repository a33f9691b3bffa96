"""What a report says of noise that is the same everywhere in a box, as numbers: its density, and what clamping does.

Outputs are not listed, there are too many: what is told at a point is measured in floats on the part of the lattice
that noise reaches from there. Inside of the box every point and every output is like any other; near the border what
would leave the box is moved to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from itertools import product
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.arguments import optional_function
from sfumato.certify.noise import BoxNoise, whole_table
from sfumato.channels.prior import Prior
from sfumato.errors import InvalidInput, shown
from sfumato.losses.coordinates import CoordinateLoss
from sfumato.numbers import Floats
from sfumato.report.box_facts import (
    CoordinateFacts,
    Used,
    believed_in,
    blind_loss,
    drawn_point,
    raster_of,
    slopes_of,
    smooth_basis,
    times_released,
    used_on,
)
from sfumato.spaces.box import NORMS, Box
from sfumato.spaces.splines import Axis

_TAIL = 5e-4  # Of what is told at a point, so much may be left out of a drawing at either end of an axis.
_FAR_PLACES = {1: 4096, 2: 64, 3: 24}  # Places along an axis that stand for all that the floor may draw, by dimension.


@dataclass(frozen=True, eq=False)
class Cloud:
    """What is told at one point of a box.

    Parameters
    ----------
    part
        The part of the box where nearly all of it lies; its cells are those of the lattice, an output in each.
    shares
        The probability of each of these outputs; those on the border of the box count for the cells there.
    border
        The probability that an output on the border is told.
    away
        The mean distance of what is told.
    """

    point: tuple[Fraction, ...]
    part: Box
    shares: Floats
    border: float
    away: float


@dataclass(frozen=True, eq=False)
class NoiseFacts(CoordinateFacts):
    """Everything that a report shows of noise that is the same everywhere.

    Parameters
    ----------
    cloud
        What is told at the secret.
    near_border
        The same in the middle of the box and towards its border, with words for the places.
    far
        The probability that an output is drawn without regard to the secret, all of them alike.
    released
        Outputs that were released, one row each, and how often, if somebody did.
    """

    changing = "the chance of {}"
    averaged = "the raster"
    slopes = (
        " around one output y: ‖∇ ln M(x)(y)‖ beside ε. Outputs inside of the box are all alike, and those on its "
        "border, sums of others, use no more."
    )

    mechanism: BoxNoise
    cloud: Cloud
    near_border: tuple[tuple[str, Cloud], ...]
    far: float
    released: tuple[Floats, NDArray[np.int64]] | None = None


def noise_facts(
    mechanism: BoxNoise,
    *,
    prior: Prior | None = None,
    loss: CoordinateLoss | None = None,
    secret: Any = None,
    released: Iterable[Any] | Mapping[Any, int] | None = None,
    progress: Callable[[str], Any] | None = None,
) -> NoiseFacts:
    """Measure noise on a box; arguments as for :func:`sfumato.report.page.report`.

    The loss that is proved holds for every prior that is constant on cells: another one changes the bound alone.
    """
    say = optional_function(progress, "progress") or (lambda _: None)
    believed, proved = believed_in(mechanism, prior, loss)
    box, claim = mechanism.box, mechanism.claim
    chances = noise_chances(mechanism)
    say("what is told at one point")
    point = drawn_point(secret, box, believed)
    cloud = cloud_at(mechanism, chances, point)
    places = tuple((words, cloud_at(mechanism, chances, place)) for words, place in _towards_the_border(mechanism))
    say("how much privacy is used where")
    used = _used_around(mechanism, chances, cloud)
    value = None if claim is None or believed is None else claim.value
    return NoiseFacts(
        mechanism, believed, value, claim.bound.value if proved and claim and claim.bound else None,
        places[0][1].away if value is None and believed is not None else None,
        None if believed is None else blind_loss(box, np.asarray(believed.float_weights)),
        point, used, cloud, places, far_share(mechanism),
        None if released is None else _counted(mechanism, released),
    )  # fmt: skip


def noise_chances(mechanism: BoxNoise) -> Floats:
    """The probability of each offset, of both signs, without what the floor adds."""
    return np.asarray((whole_table(mechanism.table) / mechanism.total).astype(np.float64))


def far_share(mechanism: BoxNoise) -> float:
    """The probability that an output is drawn without regard to the secret, all of them alike."""
    return _floor_share(mechanism) * prod(_extended(mechanism))


def _floor_share(mechanism: BoxNoise) -> float:
    return mechanism.floor / mechanism.total


def _extended(mechanism: BoxNoise) -> list[int]:
    """How many outputs the floor reaches along each axis, before they are moved into the box."""
    return [n + 2 * r for n, r in zip(mechanism.rounding.shape, mechanism.reach, strict=True)]


# ----------------------------------------------------------------- at one point


def cloud_at(mechanism: BoxNoise, chances: Floats, point: Sequence[Fraction]) -> Cloud:
    """What is told at a point; ``chances`` are those of offsets.

    Examples
    --------
    >>> from sfumato.mechanisms.box_noise import laplace_noise
    >>> from sfumato.privacy.type import PrivacyType
    >>> from sfumato.spaces.box import box
    >>> noise = laplace_noise(PrivacyType(box((1000,), step=1), epsilon="1/2"))
    >>> inside, end = (cloud_at(noise, noise_chances(noise), [Fraction(x)]) for x in (500, 0))
    >>> round(inside.away, 2), round(end.away, 2), round(end.border, 2)
    (2.0, 1.0, 0.5)
    """
    rounding, box = mechanism.rounding, mechanism.box
    places = rounding.clamped(point)
    along = [axis.rounding(place) for axis, place in zip(rounding.axes, places, strict=True)]
    least = [min(row) for row in along]
    spread = np.zeros([side + max(row) - low for side, row, low in zip(chances.shape, along, least, strict=True)])
    for chosen in product(*(row.items() for row in along)):
        where = tuple(
            slice(v - low, v - low + side) for (v, _), low, side in zip(chosen, least, chances.shape, strict=True)
        )
        spread[where] += float(prod(share for _, share in chosen)) * chances
    first = [low - reach for low, reach in zip(least, mechanism.reach, strict=True)]
    ends = _drawn_cells(spread, first, rounding.axes)
    shares = spread
    for axis, (start, (low, high)) in enumerate(zip(first, ends, strict=True)):
        cells = np.clip(np.arange(spread.shape[axis]) + start - 1, 0, rounding.axes[axis].cells - 1)
        kept = (cells >= low) & (cells <= high)
        moved = np.zeros((high - low + 1, *np.moveaxis(shares, axis, 0).shape[1:]))
        np.add.at(moved, cells[kept] - low, np.moveaxis(shares, axis, 0)[kept])
        shares = np.moveaxis(moved, 0, axis)
    inside = tuple(
        slice(max(1 - start, 0), max(axis.cells + 1 - start, 0))
        for start, axis in zip(first, rounding.axes, strict=True)
    )
    floor, many = _floor_share(mechanism), _extended(mechanism)
    border = float(spread.sum() - spread[inside].sum()) + floor * (
        prod(many) - prod(axis.cells for axis in rounding.axes)
    )
    reached = [start + np.arange(side) for start, side in zip(first, spread.shape, strict=True)]
    away = float((spread * _lengths(mechanism, reached, places)).sum())
    thin = [
        np.linspace(-reach, n - 1 + reach, min(n + 2 * reach, _FAR_PLACES[box.dimension]))
        for n, reach in zip(rounding.shape, mechanism.reach, strict=True)
    ]
    away += far_share(mechanism) * float(_lengths(mechanism, thin, places).mean())
    return Cloud(tuple(point), _part_of(mechanism, ends), shares, border, away)


def _drawn_cells(spread: Floats, first: Sequence[int], axes: Sequence[Axis]) -> list[tuple[int, int]]:
    """The first and the last cell along each axis that is drawn."""
    ends = []
    for i, (start, axis) in enumerate(zip(first, axes, strict=True)):
        upto = np.cumsum(spread.sum(axis=tuple(j for j in range(spread.ndim) if j != i)))
        low, high = np.searchsorted(upto, [_TAIL * upto[-1], (1 - _TAIL) * upto[-1]]) + start - 1
        ends.append((int(np.clip(low, 0, axis.cells - 1)), int(np.clip(high, 0, axis.cells - 1))))
    return ends


def _part_of(mechanism: BoxNoise, ends: Sequence[tuple[int, int]]) -> Box:
    """The part of the box from the first to the last cell of the lattice, along each axis."""
    steps = tuple(axis.widths[0] for axis in mechanism.rounding.axes)
    return replace(
        mechanism.box, step=steps, frame=None,
        sides=tuple(step * (high - low + 1) for step, (low, high) in zip(steps, ends, strict=True)),
        origin=tuple(o + step * low for o, step, (low, _) in zip(mechanism.box.origin, steps, ends, strict=True)),
    )  # fmt: skip


def _lengths(mechanism: BoxNoise, reached: Sequence[Any], places: Sequence[Fraction]) -> Floats:
    """How far outputs are from a place, moved into the box; they go by their numbers along each axis."""
    box = mechanism.box
    away = [
        np.clip((where - 0.5) * float(axis.widths[0]), 0.0, float(side)) - float(place)
        for where, axis, side, place in zip(reached, mechanism.rounding.axes, box.sides, places, strict=True)
    ]
    return np.asarray(np.linalg.norm(np.stack(np.meshgrid(*away, indexing="ij")), ord=NORMS[box.metric], axis=0))


# ----------------------------------------------------------------- towards the border, and around one output


def _towards_the_border(mechanism: BoxNoise) -> list[tuple[str, tuple[Fraction, ...]]]:
    """Places from the middle of the box to its corner, with words; the first is the middle."""
    box = mechanism.box
    middle = tuple(o + side / 2 for o, side in zip(box.origin, box.sides, strict=True))
    end = "an end" if box.dimension == 1 else "a side"
    found = [("in the middle of the box", middle)]
    within = 1 / mechanism.rate
    if within < box.sides[0] / 2:
        found.append((f"1/ε from {end}", (box.origin[0] + within, *middle[1:])))
    found.append((f"at {end}", (box.origin[0], *middle[1:])))
    if box.dimension > 1:
        found.append(("in a corner", box.origin))
    return found


def _used_around(mechanism: BoxNoise, chances: Floats, cloud: Cloud) -> Used:
    """The share of ε that is used for one output inside of the box, by where one is, on a raster around it."""
    box, part = mechanism.box, cloud.part
    places = mechanism.rounding.clamped(cloud.point)
    columns, axes, output, at = chances, [], [], []
    for i, (axis, place) in enumerate(zip(mechanism.rounding.axes, places, strict=True)):
        step = axis.widths[0]
        low = ((part.origin[i] - box.origin[i]) / step).numerator
        number = min(max(axis.cell_of(place) + 1, 1), axis.cells)
        points = np.arange(low, low + part.shape[i] + 2)  # lattice points whose B-splines reach into the part
        offsets = points - number + mechanism.reach[i]
        known = (offsets >= 0) & (offsets < chances.shape[i])
        taken = np.zeros((len(points), *np.moveaxis(columns, i, 0).shape[1:]))
        taken[known] = np.moveaxis(columns, i, 0)[offsets[known]]
        columns = np.moveaxis(taken, 0, i)
        axes.append(Axis(tuple(step * k for k in range(part.shape[i] + 1))))
        output.append(number)
        at.append(box.origin[i] + step * (2 * number - 1) / 2)
    marks = raster_of(part, tuple(at))
    bases = [smooth_basis(axis, where) for axis, where in zip(axes, marks, strict=True)]
    steep = slopes_of(bases, columns[..., None] + _floor_share(mechanism), box.metric)[1][..., 0]
    which = np.full(steep.shape, np.ravel_multi_index(output, mechanism.rounding.shape))
    return used_on(part, marks, steep / float(mechanism.rate), which)


# ----------------------------------------------------------------- summed up in cells


def noise_on_cells(mechanism: BoxNoise) -> Floats:
    """What is told at the centre of each cell of the box, one row each, summed up in the cells.

    Centres lie alike on the lattice, so that one table of sums from the first offset on serves all of them.
    """
    rounding, box = mechanism.rounding, mechanism.box
    sums = noise_chances(mechanism)
    for i, axis in enumerate(rounding.axes):
        shares = axis.rounding(box.step[i] / 2)  # the centre of the first cell
        moved = np.zeros((sums.shape[i] + len(shares), *np.moveaxis(sums, i, 0).shape[1:]))
        for k, share in enumerate(shares[v] for v in sorted(shares)):
            moved[1 + k : 1 + k + sums.shape[i]] += float(share) * np.moveaxis(sums, i, 0)
        sums = np.moveaxis(np.cumsum(moved, axis=0), 0, i)
    ends, counts = [], []
    for i, axis in enumerate(rounding.axes):
        parts, cells = axis.cells // box.shape[i], np.arange(box.shape[i])
        start = min(axis.rounding(box.step[i] / 2)) - mechanism.reach[i]
        # the first output of each cell, and of the one behind the last, as numbers of offsets from each centre
        first = np.concatenate([[-np.inf], parts * cells[1:] + 1, [np.inf]])
        number = first[None, :] - (start + parts * cells)[:, None]
        ends.append(np.clip(number, 0, sums.shape[i] - 1).astype(np.int64))
        count = np.full(box.shape[i], float(parts))
        count[0] += 1 + mechanism.reach[i]
        count[-1] += 1 + mechanism.reach[i]
        counts.append(count)
    k = box.dimension
    # the ends of each axis lie along its own two of the axes of the table, and are the same along all others
    shapes = (np.where(np.arange(2 * k) % k == i, np.repeat(end.shape, k), 1) for i, end in enumerate(ends))
    table = sums[tuple(end.reshape(shape) for end, shape in zip(ends, shapes, strict=True))]
    for i in range(k):
        table = np.diff(table, axis=k + i)
    alike = reduce(np.multiply.outer, counts).ravel()
    return np.asarray(table.reshape(len(box), len(box)) + _floor_share(mechanism) * alike)


# ----------------------------------------------------------------- what was released


def _counted(mechanism: BoxNoise, released: Iterable[Any] | Mapping[Any, int]) -> tuple[Floats, NDArray[np.int64]]:
    """Outputs that were released, and how often each came."""
    listed = mechanism.outputs
    along = [{float(place) for place in axis} for axis in (listed.axes if hasattr(listed, "axes") else [listed])]
    found = times_released(released)
    for key, (output, _) in found.items():
        if len(key) != len(along) or not all(part in known for part, known in zip(key, along, strict=True)):
            raise InvalidInput(f"{shown(output)} was released and is no output of the mechanism")
    return np.array(list(found)), np.array([times for _, times in found.values()], dtype=np.int64)
