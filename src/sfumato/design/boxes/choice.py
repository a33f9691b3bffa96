"""Which mechanism for a box: a table that a search finds; the same noise everywhere where that would be too large.

The same noise everywhere may be told as a table: moved into the box, and each output to where it loses least. In a box
that is not much larger than 1/ε that is far better than noise whose outputs stay where they are, and it takes a part of
a second: what there is where the time was not enough for a program, or where its lattice is coarse.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from math import ceil, inf, prod, sqrt
from typing import Any

import numpy as np

from sfumato.channels.prior import Prior
from sfumato.design.boxes.moments import density_moments
from sfumato.design.boxes.optimal import LARGEST_LATTICE, Aim, BoxSearch
from sfumato.design.boxes.patches import clamped_points, clamped_rows
from sfumato.design.boxes.question import box_question
from sfumato.design.boxes.table import PROOF_SECONDS, BoxTable, best_places, moved_outputs
from sfumato.design.result import SAME_NOISE, BoxDesign
from sfumato.errors import NotSupported, SolverError
from sfumato.losses.coordinates import CoordinateLoss
from sfumato.lp.cone.program import ColumnProgress
from sfumato.mechanisms.box_noise import laplace_noise, noise_on_box
from sfumato.numbers import exact
from sfumato.privacy.rates import box_rate
from sfumato.privacy.type import PrivacyType, as_box_type
from sfumato.spaces.box import Box
from sfumato.spaces.splines import rounding_of
from sfumato.watch import Watch

_COARSEST = 0.6  # ε times the side of a lattice cell: where a table of such cells does not fit, noise does better
_WORTH = 0.97  # of the loss of noise: a table that gains less is not worth its bytes and a bound that is farther
_BOUNDING = 10.0  # seconds, at most, for a bound beside noise that is told as a table
_LEAST_SECONDS = 0.5  # that noise is given: in no time at all it has steps so wide that it loses several times as much


def design_on_box(
    prior: Prior | None,
    loss: Any,
    privacy: PrivacyType,
    outputs: Any,
    tolerance: float,
    watch: Watch,
    progress: Callable[[Any], object] | None,
    aim: Aim | None = None,
) -> BoxDesign:
    """The best mechanism for coordinates, as :func:`sfumato.design.optimal.design` returns it.

    ``aim`` is for who needs less than both sides of it.
    """
    prior, loss, privacy, box, given = question = box_question(prior, loss, privacy, outputs)
    search = BoxSearch(*question, tolerance, watch, progress, aim or Aim())
    if given is not None or "lattice" not in search.aim.sides:
        return search.design()

    def clamped() -> BoxTable | None:
        try:
            return clamped_noise(prior, loss, privacy, watch)
        except (NotSupported, SolverError):
            return None

    # no noise that stays where it is loses less than k/ε, and where people are close together silence may
    blind = _blind(prior, loss, box)
    still = box.dimension / float(box_rate(privacy))
    if not too_large(privacy) or blind <= still:
        stopped = search.found(clamped)
        assert search.table is not None
        if stopped and search.table.value > still:
            with suppress(NotSupported, SolverError):
                noise = noise_design(
                    prior, loss, privacy, watch, progress, ", since the time was too short for a table"
                )
                if noise.loss < search.table.value:
                    return noise
        return search.proved(stopped)
    noise = noise_design(prior, loss, privacy, watch, progress, ", since the box is too large for a table")
    if noise.loss <= blind and search.patches is None:
        table = clamped()
        if table is None or table.value * search.safe >= _WORTH * noise.loss:
            return noise
        search = BoxSearch(*question, tolerance, _short(watch, _BOUNDING), progress, Aim(("bound",)))
        return min(noise, search.design(lambda: table), key=lambda design: design.loss)
    found = search.design_below(noise.loss, clamped)
    return noise if found is None else min(noise, found, key=lambda design: design.loss)


def _short(watch: Watch, seconds: float) -> Watch:
    """A watch that ends after so many seconds, or with another one."""
    left = watch.left
    return Watch(seconds if left is None else min(left, seconds), watch.clock, watch)


def _blind(prior: Prior, loss: CoordinateLoss, box: Box) -> float:
    """About what is lost by who tells nothing, and hardly more: people stand in the middles of their cells."""
    weights = prior.float_weights
    points = (box.centres - np.array([float(start) for start in box.origin]))[weights > 0]
    masses, middle = weights[weights > 0][:, None], np.array([[float(side) / 2 for side in box.sides]])
    place = best_places(middle, masses, points, loss)
    return float((masses * loss.at(points, place)).sum())


def too_large(privacy: PrivacyType) -> bool:
    """Whether a table for all points of the box would have too many rows to be better than the same noise everywhere.

    Examples
    --------
    >>> from sfumato.spaces.box import box
    >>> [too_large(PrivacyType(box((10, 10), step=1), epsilon=e)) for e in (1, 10)]
    [False, True]
    """
    privacy, box = as_box_type(privacy)
    rows = prod(ceil(privacy.rate * float(side) / _COARSEST) for side in box.sides)
    return rows > LARGEST_LATTICE[box.dimension]


def noise_design(
    prior: Prior,
    loss: CoordinateLoss,
    privacy: PrivacyType,
    watch: Watch,
    progress: Callable[[Any], object] | None,
    why: str = "",
) -> BoxDesign:
    """Noise that is the same everywhere, where a table would have too many rows: near to the best in a large box."""
    if progress is not None:
        progress(ColumnProgress.beginning("finding noise that is the same everywhere", watch.spent))
    enough = watch if watch.stopped or watch.allows(_LEAST_SECONDS) else Watch(_LEAST_SECONDS, watch.clock, watch)
    noise = noise_on_box(prior, loss, privacy, enough)
    assert noise.claim is not None
    bound = Fraction(0) if noise.claim.bound is None else noise.claim.bound.value
    method = f"{SAME_NOISE}{why}"
    seconds = {"solve": watch.spent, "bound": 0.0, "certify": 0.0, "total": watch.spent}
    return BoxDesign(noise, noise.claim.value, bound, method, 0, seconds, stopped=watch.over)


# ε times the side of a lattice cell, by dimension: half of it gains less than 1 % of the loss on an interval and 2 % in
# the plane, and takes a table that is 4^k times as large. In space 1.1 and 1.3 lose 2 and 6 % more.
_FINE = {1: 1 / 4, 2: 1 / 2, 3: 0.85}
_WIDER = 1.1  # times as wide are cells made, again and again, until there are few enough
_WIDEST = 3.0  # such a side beyond which rounding costs more than noise
_FEWEST_ROWS, _MOST_ROWS = {1: 200, 2: 700, 3: 700}, {1: 400, 2: 1_400, 3: 4_000}  # of a table
_PROVING = 0.5  # of the time that is left may be planned for a proof of more rows than the fewest
_SMALLEST = 1.0  # ε times a box below which noise, whatever is made of it, is hardly better than telling nothing
_PARTS = {1: 4, 2: 2, 3: 2}  # of a piece between breaks, for its loss
_MOST_LOSSES = 40_000_000  # of outputs at points: a box may have a million cells


def clamped_noise(prior: Prior, loss: CoordinateLoss, privacy: PrivacyType, watch: Watch) -> BoxTable | None:
    """Such a table in floats, on a lattice of a few hundred points; None where it is not worth it, or does not fit.

    Examples
    --------
    >>> from sfumato.losses import distance
    >>> from sfumato.spaces.box import box
    >>> square = box((3, 3), step=1)
    >>> found = clamped_noise(Prior.uniform(square), distance(square), PrivacyType(square, epsilon=1), Watch())
    >>> found.rounding.shape, round(found.value, 2)
    ((8, 8), 0.98)
    """
    (privacy, box), rate = as_box_type(privacy), privacy.rate
    cells = _cells(box, rate, _most_rows(box.dimension, watch))
    if rate * float(max(box.sides)) < _SMALLEST or cells is None:
        return None
    pieces = prod(many + there for many, there in zip(cells, box.shape, strict=True)) * prod(many + 2 for many in cells)
    parts = next((p for p in range(_PARTS[box.dimension], 0, -1) if pieces * p**box.dimension <= _MOST_LOSSES), None)
    if parts is None:
        return None
    steps = tuple(side / many for side, many in zip(box.sides, cells, strict=True))
    noise = laplace_noise(PrivacyType(Box(box.sides, steps, box.metric), epsilon=exact(rate)), parts=1)
    breaks = [[step * k for k in range(many + 1)] for step, many in zip(steps, cells, strict=True)]
    rounding = rounding_of(box, breaks=breaks)
    weighed = density_moments(rounding, prior.float_weights, parts)
    rows, told = clamped_rows(noise), clamped_points(rounding)
    table = BoxTable(rounding, noise.halvings, told, rows, 0.0, weighed.parts)
    return moved_outputs(table, weighed, loss)


def _most_rows(dimension: int, watch: Watch) -> int:
    """As many as are proved in time, with as many outputs."""
    left = inf if watch.left is None else watch.left
    in_time = sqrt(_PROVING * left / PROOF_SECONDS)
    return int(min(max(_FEWEST_ROWS[dimension], in_time), _MOST_ROWS[dimension], LARGEST_LATTICE[dimension]))


def _cells(box: Box, rate: float, most: int) -> tuple[int, ...] | None:
    """Cells of the lattice along each axis."""
    width = _FINE[box.dimension]
    while width <= _WIDEST:
        cells = tuple(max(1, ceil(rate * float(side) / width - 1e-9)) for side in box.sides)
        if prod(many + 2 for many in cells) <= most:
            return cells
        width *= _WIDER
    return None
