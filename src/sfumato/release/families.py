"""How rows are read and outputs are written, by what is secret: releases ask a record, and test for no kind.

All points of a box are one kind. The other has labels: listed, by a rule, or as the cells of a grid, with or without
coordinates.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.certify.protocol import Domain
from sfumato.errors import InvalidInput, advice, keyword, shown
from sfumato.numbers import Floats
from sfumato.release.places import Place, Position, coordinates_of
from sfumato.release.points import output_points, points_of, rounding_words
from sfumato.release.rows import Integers, Labels, Secrets, line_position
from sfumato.release.sampler import Sampler
from sfumato.spaces.box import as_box
from sfumato.spaces.ground import EARTH_RADIUS_KM, sphere_radius
from sfumato.spaces.lengths import METRES

Corners = tuple[float, float, float, float]
"""Least first and second coordinate, then the largest ones; latitude comes first."""

_SAME_EARTH = 0.01  # radii that are called the Earth's differ by half of this


@dataclass(frozen=True, eq=False)
class ReleaseFamily:
    """What a release asks about a kind of secrets.

    Parameters
    ----------
    about_points
        Whether the secrets are all points, not a list that points are taken for.
    read, placed
        How one column or several become secrets, of what is drawn; how columns of coordinates do, of a domain.
    told, points
        The coordinates of outputs as they stand in the columns, None where labels do; the same as x and y.
    on_the_ground, corners
        Whether secrets are places on the Earth, known by degrees; where they lie in two dimensions.
    gaps
        How far points lie outside, 0 for those inside, in floats: for people.
    near
        Which points are inside or can be moved there, in floats: for people.
    example
        The labels of secrets, if they have any, and something that may be told.
    rows
        Secrets that somebody lists, as they are drawn for.
    rounded
        How coordinates that a mechanism releases are rounded, a sentence; empty where they are not.
    """

    about_points: bool
    read: Callable[[str | Position, Sampler, str, Any], Secrets]
    placed: Callable[[Position, Domain, str, Any], Secrets]
    told: Callable[[str | Position, Sampler, bool], Floats | None]
    points: Callable[[Sampler], tuple[Floats, Floats]]
    on_the_ground: Callable[[Domain], bool]
    corners: Callable[[Domain], Corners | None]
    gaps: Callable[[Domain, Floats, Floats], Floats]
    near: Callable[[Domain, Floats, Floats], NDArray[np.bool_]]
    example: Callable[[Domain], tuple[tuple[Any, ...] | None, Any]]
    rows: Callable[[Sampler, list[Any]], NDArray[Any]]
    rounded: Callable[[Any], str]


# ----------------------------------------------------------------- secrets with labels


def _read_list(column: str | Position, draws: Sampler, on_unknown: str, within: Any) -> Secrets:
    domain = draws.domain
    if not isinstance(column, str):
        return coordinates_of(column, domain, on_unknown=on_unknown, within=within)
    if within is not None:
        raise InvalidInput(
            f"{keyword('within')} is for coordinates, and {shown(column)} is one column of labels"
            + advice(("Place", "names latitude and longitude"), ("Position", "other coordinates"))
        )
    if draws.secrets is None:
        if on_unknown == "nearest":
            raise InvalidInput(f"{keyword('on_unknown', 'nearest')}: every integer is a secret of {domain.name}")
        return Integers(column, on_unknown)
    labels = tuple(draws.secrets)
    place = line_position(labels, domain.coordinates, domain.name) if on_unknown == "nearest" else None
    return Labels(column, labels, on_unknown, place, domain.name)


def _told_of_list(column: str | Position, draws: Sampler, renamed: bool) -> Floats | None:
    if isinstance(column, str) or renamed:
        return None
    where = _output_coordinates(draws)
    if where is None:
        raise InvalidInput(
            f"not every output of {draws.domain.name} has coordinates: say {keyword('into', '…')} for a column of "
            "labels"
        )
    return where[:, ::-1] if isinstance(column, Place) else where  # a place is latitude first


def _points_of_list(draws: Sampler) -> tuple[Floats, Floats]:
    found = _output_coordinates(draws)
    if found is None:
        raise InvalidInput(f"not every output of {draws.domain.name} has coordinates, so that there is no point to put")
    return found[:, 0], found[:, 1]


def _output_coordinates(draws: Sampler) -> Floats | None:
    outputs, domain = draws.outputs, draws.domain
    if outputs is None:
        return None
    if domain.grid is not None:
        return domain.grid.centres
    assert domain.space is not None and domain.coordinates is not None
    position = domain.space.position
    if not all(label in position for label in outputs):
        return None
    return domain.coordinates[[position[label] for label in outputs]]


def _list_on_the_ground(domain: Domain) -> bool:
    if domain.space is None or domain.dimension != 2:
        return False
    if domain.space.ground is not None:
        return True
    radius = sphere_radius(domain.space)
    metres = METRES.get(domain.unit)
    if radius is None or metres is None:
        return False
    return abs(radius * float(metres) / 1000 - EARTH_RADIUS_KM) < _SAME_EARTH * EARTH_RADIUS_KM


def _corners_of_list(domain: Domain) -> Corners | None:
    where = domain.coordinates
    if where is None or where.shape[1] != 2:
        return None
    (west, south), (east, north) = where.min(axis=0).tolist(), where.max(axis=0).tolist()
    return (south, west, north, east)


def _gaps_of_list(domain: Domain, first: Floats, second: Floats) -> Floats:
    column: Position = Place("lat", "lon") if _list_on_the_ground(domain) else Position("x", "y")
    finder = coordinates_of(column, domain, on_unknown="nearest")
    _, away, inside = finder.nearest(np.column_stack([first, second]))
    near = inside if finder.within is None else away <= finder.within
    return np.where(near, 0.0, away)


def _example_of_list(domain: Domain) -> tuple[tuple[Any, ...] | None, Any]:
    assert domain.space is not None
    return domain.space.labels, domain.space.labels[0]


def _rows_of_list(draws: Sampler, given: list[Any]) -> NDArray[Any]:
    secrets, space = draws.secrets, draws.domain.space
    if secrets is None or draws.outputs is None:
        return np.array([int(secret) for secret in given])
    index = secrets.index if space is None else space.index
    return np.array([index(x) for x in given])


# ----------------------------------------------------------------- points of a box


def _told_of_points(draws: Sampler) -> Floats:
    box, rate = as_box(draws.domain.box), getattr(draws.source, "rate", None)  # what stands in for a mechanism has none
    return output_points(draws.outputs or (), box, None if rate is None else box.surface.decimals(rate))


def _xy_of_points(draws: Sampler) -> tuple[Floats, Floats]:
    x, y = as_box(draws.domain.box).surface.turned(_told_of_points(draws).T)
    return x, y


def _corners_of_box(domain: Domain) -> Corners | None:
    ends = tuple(map(float, as_box(domain.box).surface.region))
    return (ends[0], ends[1], ends[2], ends[3]) if len(ends) == 4 else None


LISTED = ReleaseFamily(
    False,
    read=_read_list,
    placed=lambda column, domain, on_unknown, within: coordinates_of(
        column, domain, on_unknown=on_unknown, within=within
    ),
    told=_told_of_list,
    points=_points_of_list,
    on_the_ground=_list_on_the_ground,
    corners=_corners_of_list,
    gaps=_gaps_of_list,
    near=lambda domain, first, second: np.isfinite(first) & np.isfinite(second),
    example=_example_of_list,
    rows=_rows_of_list,
    rounded=lambda mechanism: "",
)
POINTS = ReleaseFamily(
    True,
    read=lambda column, draws, on_unknown, within: points_of(
        column, as_box(draws.domain.box), on_unknown=on_unknown, within=within
    ),
    placed=lambda column, domain, on_unknown, within: points_of(
        column, as_box(domain.box), on_unknown=on_unknown, within=within
    ),
    told=lambda column, draws, renamed: _told_of_points(draws),
    points=_xy_of_points,
    on_the_ground=lambda domain: as_box(domain.box).frame is not None,
    corners=_corners_of_box,
    gaps=lambda domain, first, second: as_box(domain.box).surface.gaps((first, second)),
    near=lambda domain, first, second: as_box(domain.box).surface.near((first, second)),
    example=lambda domain: (None, tuple(as_box(domain.box).origin)),
    rows=lambda draws, given: np.array(given, dtype=np.float64).reshape(len(given), -1),
    rounded=lambda mechanism: rounding_words(mechanism.box.surface.decimals(mechanism.rate)),
)


_FAMILIES = {"secrets": LISTED, "coordinates": POINTS}


def release_family(domain: Domain) -> ReleaseFamily:
    """The kind of secrets that lie in a domain."""
    return _FAMILIES[domain.about]


def rounded_told(mechanism: Any) -> str:
    """How coordinates that a mechanism releases are rounded, a sentence; empty where they are not."""
    return release_family(mechanism.domain).rounded(mechanism)
