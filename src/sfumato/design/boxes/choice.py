"""Which mechanism for a box: a table that a search finds; the same noise everywhere where that would be too large."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import ceil, prod
from typing import Any

import numpy as np

from sfumato.channels.prior import Prior
from sfumato.design.boxes.clamped import clamped_noise
from sfumato.design.boxes.optimal import LARGEST_LATTICE, Aim, BoxSearch
from sfumato.design.boxes.question import box_question
from sfumato.design.boxes.table import BoxTable, best_places
from sfumato.design.result import BoxDesign
from sfumato.errors import NotSupported, SolverError
from sfumato.losses.coordinates import CoordinateLoss
from sfumato.lp.cone.program import ColumnProgress
from sfumato.mechanisms.box_noise import noise_on_box
from sfumato.privacy.rates import box_rate
from sfumato.privacy.type import PrivacyType, as_box_type
from sfumato.spaces.box import Box
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
    if not too_large(privacy) or blind <= box.dimension / float(box_rate(privacy)):
        return search.design(clamped)
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
    method = f"the same noise everywhere{why}"
    seconds = {"solve": watch.spent, "bound": 0.0, "certify": 0.0, "total": watch.spent}
    return BoxDesign(noise, noise.claim.value, bound, method, 0, seconds, stopped=watch.over)
