"""What is looked at before a mechanism is looked for, and before anything is paid.

Points where nobody expects them (axes in another order, degrees taken for metres), columns that would tell them all the
same, an account without room: each is said at once, with what to do about it. Then the first rows, or all where
something will be paid for, go through a release that tells nothing (:mod:`sfumato.release.rehearsal`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import cos, hypot, radians
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.certify.amounts import Amount
from sfumato.certify.protocol import Domain
from sfumato.errors import BudgetExceeded, InvalidInput, NotSupported, keyword, shown
from sfumato.files import PartialFile, refuse_spreadsheet, writable
from sfumato.hide.others import refuse_places
from sfumato.hide.outlook import outlook_of
from sfumato.hide.sources import Source
from sfumato.numbers import Floats
from sfumato.release.conversion import on_the_ground
from sfumato.release.families import Corners, release_family
from sfumato.release.places import Geometry, Place, Position
from sfumato.release.rehearsal import rehearse_file, rehearse_table
from sfumato.release.rows import BadRow, ManyStrays
from sfumato.release.streams import FORMATS, format_of_file
from sfumato.release.terms import Terms
from sfumato.spaces.axes import called_swapped, look_swapped, swap_box, swapped_axes
from sfumato.specs.cities import all_cities

_NEAR = 1.0  # degrees: a city so near makes a place one where people are
_ANGLE = 360.0
_RIGHT_ANGLE = 90.0


@dataclass(frozen=True, eq=False)
class Checked:
    """The rows that will be released, and where they will be written (None: a table); ``said`` is the box as given."""

    source: Source
    column: Position
    target: Path | None = None
    said: Corners | None = None

    def look(self, space: Any, terms: Terms, *, whole: bool = False) -> None:
        """Refuse whatever a release of these rows on a space would refuse; ``whole``: of all of them."""
        domain = Domain.of(space)
        corners = release_family(domain).corners(domain)
        earth = on_the_ground(domain)
        self.look_at_axes(domain)
        refuse_places(self.source, self.column, terms.drop, terms.stay, earth, corners)
        try:
            self.rehearse(domain, terms, whole=whole)
        except (BadRow, ManyStrays) as error:  # how many rows there are, and how far, says what to do about them
            found = replace(outlook_of(self.source, self.column, space), policy=terms.on_unknown, share=terms.share)
            error.args = (f"{error}. In all, {'; '.join([found.words, *found.answers[:2]])}",)
            raise

    def look_at_axes(self, domain: Domain) -> None:
        """Refuse units and an order of the axes that are not those of the box."""
        corners = release_family(domain).corners(domain)
        for place in self.column.each:
            refuse_degrees(self.source, place)
            if corners is not None and on_the_ground(domain):
                _refuse_other_axes(self.source, place, corners, self.said)

    def rehearse(self, domain: Domain, terms: Terms, *, whole: bool) -> None:
        """Let the first rows, or all, go through a release that tells nothing."""
        if self.target is None:
            work = rehearse_table(self.source.table, domain, terms, whole=whole)
        else:
            assert self.source.file is not None
            work = rehearse_file(
                self.source.file, self.target, domain, terms, layer=self.source.layer,
                decimal=self.source.decimal, whole=whole,
            )  # fmt: skip
        if not whole and work.rows and work.unknown == work.rows and terms.share < 1:
            raise InvalidInput(
                f"all of the first {work.rows:,} rows would be left out; the first of them is {work.first_unknown}"
            )
        most = max(work.strays, default=0)
        if not whole and work.rows and most == work.rows and terms.share < 1:
            place = self.column.each[work.strays.index(most)]
            x, y, _ = next(iter(self.source.batches(place, [])))
            raise BadRow(
                f"not one of the first {work.rows:,} rows lies in {domain.name}", 1, (float(x[0]), float(y[0]))
            )


# ----------------------------------------------------------------- files and accounts


def check_formats(source: Path, target: Path) -> None:
    """Refuse an output of another format than the source, by the endings that would do."""
    kind = _format(source, "the source")
    ending = ", ".join(FORMATS[kind])
    if _format(target, "the output") != kind:
        raise NotSupported(
            f"hiding {source.name} in {target.name}: the output has the format of the source",
            [f"an output that ends in {ending}"],
        )


def _format(path: Path, what: str) -> str:
    refuse_spreadsheet(path)
    try:
        return format_of_file(path)
    except NotSupported:
        known = [ending for endings in FORMATS.values() for ending in endings]
        raise NotSupported(
            f"the format of {what}, {shown(path.name)}", [*known, "with .gz, .bz2, .zst or .lz4 after text"]
        ) from None


def check_place(target: Path) -> None:
    """Refuse a place where nothing can be written: a file is begun there, and goes at once."""
    writable(target)
    try:
        with PartialFile(target):
            return
    except OSError as error:
        raise InvalidInput(f"{target} cannot be written: {error.strerror or error}") from error


def check_position(source: Source, column: Position, person: str | None) -> None:
    """Refuse names that no column has, or several have, and those that say the opposite of what is meant."""
    twice = next((name for name in source.columns if source.columns.count(name) > 1), None)
    if twice is not None:
        raise InvalidInput(f"there are several columns {shown(twice)}: rename them first")
    for place in (place for place in column.each if isinstance(place, Place)):
        latitude, longitude = place.columns
        if called_swapped(latitude, longitude):
            raise InvalidInput(
                f"{shown(latitude)} is called like a longitude and {shown(longitude)} like a latitude: name them with "
                f"{keyword('lat', longitude)} and {keyword('lon', latitude)}"
            )
    wanted = [] if isinstance(column, Geometry) else list(column.columns)
    source.require([*wanted, *([] if person is None else [person])])


def check_room(ledger: Any, dataset: str | None, costs: Sequence[tuple[str, tuple[str, ...], Amount]]) -> None:
    """Refuse a release that would go past a limit with any of its parts, before the first of them is paid."""
    if ledger is None or dataset is None:
        return
    for name, columns, cost in costs:
        left = ledger.left(dataset, name)
        if left is not None and cost > left:
            raise BudgetExceeded(
                f"the release of {name} costs {cost}, and {left} are left of {shown(dataset)}: nothing was charged",
                dataset, columns, None, cost, left,
            )  # fmt: skip


# ----------------------------------------------------------------- points that are not where they should be


def refuse_degrees(source: Source, column: Position) -> None:
    """Refuse degrees in a system of lengths, and lengths where degrees are expected, wherever they would lie."""
    x, y, system = source.first_points(column)
    known = np.isfinite(x) & np.isfinite(y)
    if not known.any():
        return
    east, north = x[known], y[known]
    one = (float(east[0]), float(north[0]))
    angles = bool((np.abs(east) <= _ANGLE).all() and (np.abs(north) <= _RIGHT_ANGLE).all())
    if system is not None and not system.geographic and angles:
        raise InvalidInput(
            f"the coordinates look like degrees, such as {one}, although they are said to be in {system}, whose unit "
            f"is {system.unit}: were they given the wrong system? 'EPSG:4326' stands for degrees"
        )
    degrees = isinstance(column, Place) if system is None else system.geographic
    if degrees and bool((np.abs(np.concatenate([east, north])) > _ANGLE).any()):
        raise InvalidInput(
            f"the first rows of {source.name} have numbers beyond 360, such as {one}, which are no degrees: are these "
            f"metres? Name the columns with {keyword('x')} and {keyword('y')}, and their coordinate system with "
            f"{keyword('crs')}"
        )


def _refuse_other_axes(source: Source, column: Position, corners: Corners, said: Corners | None) -> None:
    """Refuse points that lie nowhere near, and would with latitude and longitude swapped; say whose they are."""
    latitude, longitude = source.first_degrees(column)
    if not look_swapped(lambda north, east: _inside(north, east, corners), latitude, longitude):
        return
    here = (float(np.nanmedian(latitude)), float(np.nanmedian(longitude)))
    points_fit, box_fits = _inhabited(here), _inhabited((here[1], here[0]))
    box = swap_box(corners if said is None else said)
    names = column.columns
    columns = "swap the axes of the points first"
    if len(names) == 2:
        columns = f"name the columns in the other order, {keyword('lat', names[1])} and {keyword('lon', names[0])}"
    what = (
        f"no point lies in the box, they lie around {_place(here)}, and the box around {_place((here[1], here[0]))}: "
        "nearly all would"
    )
    raise swapped_axes(
        what, *([] if box_fits and not points_fit else [box]), *([] if points_fit and not box_fits else [columns])
    )


def _inside(latitude: Floats, longitude: Floats, corners: Corners) -> Any:
    south, west, north, east = corners
    turns = np.asarray((longitude - west) % _ANGLE)
    return (latitude >= south) & (latitude <= north) & (turns <= (east - west))


def _place(place: tuple[float, float]) -> str:
    return f"latitude {place[0]:.5g}, longitude {place[1]:.5g}"


def _inhabited(place: tuple[float, float]) -> bool:
    """Whether a city of GeoNames is near: points of people lie there, and hardly elsewhere."""
    latitude, longitude = place
    if abs(latitude) > _RIGHT_ANGLE:
        return False
    shrunk = cos(radians(latitude))
    return any(
        hypot(city.place[0] - latitude, ((city.place[1] - longitude + 180) % 360 - 180) * shrunk) <= _NEAR
        for city in all_cities()
    )
