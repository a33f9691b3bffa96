"""What somebody wants to hide: how well, where, among whom, and in which columns. One value, checked once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from inspect import signature
from typing import TYPE_CHECKING, Any, Unpack

from sfumato.arguments import flag, integer, items, positive
from sfumato.errors import InvalidInput, keyword, shown
from sfumato.fields import fields_of
from sfumato.hide.fields import DistanceFields, WishFields
from sfumato.release.fields import OUTSIDE
from sfumato.release.terms import names_of
from sfumato.specs.complaints import nearest
from sfumato.watch import Watch


@dataclass(frozen=True, eq=False, kw_only=True)
@fields_of(DistanceFields, WishFields, on_unknown=OUTSIDE)
class Wish:
    """What is to be hidden; exactly one of ``hide``, ``epsilon`` and ``error`` says how well.

    Parameters
    ----------
    hide
        A distance such as ``"500 m"``: what is told changes the odds between two places so far apart by a factor of 2
        at most, and between others in proportion (a factor of 4 at twice the distance).
    epsilon
        The rate instead: ``"0.5 per km"``. Here as there a number without its unit is for columns of x and y alone,
        in their unit.
    error
        The expected distance instead, ``"300 m"``: the strictest promise with which no more is lost.
    box
        Where points lie. ``(south, west, north, east)`` in degrees, or ``(xmin, ymin, xmax, ymax)`` for columns of x
        and y; a city and half a side, ``"Paris, 20 km"``; a public file, whose extent it is; a box; or ``"data"``:
        quantiles of the data with noise, at the price of ``box_epsilon`` for each row.
    cell
        The side of the cells on which a prior is constant, ``"250 m"``. By default the largest length of two
        digits, in metres, that is at most 0.7/ε and an eighth of the shorter side of the box, or the next larger one
        with which there are at most 900 cells.
    prior
        ``"uniform"``; ``"population"``, the cities of GeoNames; a public file of points with weights; counts for each
        cell; or ``"data"``: counts of the data with integer noise, at the price of ``prior_epsilon`` for each row.
    prior_column
        Of a file: the column of weights, where none is called like that; ``"none"`` for one each row.
    h3, areas
        Instead of every point: the cells of H3 of this resolution that meet the box, or the areas of a public file of
        outlines. The promise is then about cells, and a point is taken for the one it lies in.
    lat, lon, x, y, geometry
        The columns, found by their usual names where none is named.
    places
        Instead of one place in each row several, such as both ends of a trip, by their names: ``{"start": ("start_lat",
        "start_lon"), "end": ("end_lat", "end_lon")}``. Each of them keeps the promise; all of a row cost so many times
        as much.
    crs
        The coordinate system of columns of x and y, or of geometries that do not say theirs.
    unit
        Of columns of x and y without a coordinate system, and of their box: ``"m"`` or ``"km"``.
    on_unknown, most_moved, most_dropped
        What to do about points outside of the box: ``"nearest"`` moves them to its border, which costs no privacy;
        ``"error"`` refuses them; ``"drop"`` leaves their rows out, which tells that they are outside. With
        ``"nearest"`` at most a share ``most_moved`` of the rows, with ``"drop"`` at most a share ``most_dropped``, 1/20
        by default.
    person, most_rows, beyond
        The column that names a person, and how many rows of each are released: all of them together cost so many times
        as much. Beyond that number rows are refused (``"error"``), or left out (``"drop"``), the first ones being kept.
        Without it the promise is about each row.
    per_person
        All ``most_rows`` rows of a person together, with all of their places, keep the promise that ``hide`` or
        ``epsilon`` names: the rate of each is so many times smaller.
    drop, keep
        Other columns that tell places, by their names or by what they hold: each is left out, or stays as it is
        because somebody says so. Without either a table with such columns is refused.
    ledger, dataset
        Where everything is charged, and the name of the data there.
    tolerance, time_limit
        How far from the best possible a table may be, and how long it is looked for; noise that is the same everywhere
        is taken where no table is found that loses less.
    """

    if TYPE_CHECKING:  # what the decorators make of the declaration

        def __init__(self, *, hide: Any = None, **wishes: Unpack[WishFields]) -> None: ...

        def __getattr__(self, name: str) -> Any: ...

    def __post_init__(self) -> None:
        given = [name for name in ("hide", "epsilon", "error") if getattr(self, name) is not None]
        if len(given) != 1:
            raise InvalidInput(
                f"say how well to hide by one of {keyword('hide', '500 m')}, {keyword('epsilon', '0.5 per km')} and "
                f"{keyword('error', '300 m')}" + (f", found {' and '.join(given)}" if given else "")
            )
        self._check_cells()
        if self.box is None and self.areas is None:
            raise InvalidInput(
                f"say where points lie with {keyword('box')}: south, west, north and east in degrees, a city such as "
                "'Paris, 20 km', or a public file; 'data' looks at the data, which is paid for"
            )
        for name in ("box", "prior"):
            self._check_paid(name)
        for pair in (("lat", "lon"), ("x", "y")):
            if (getattr(self, pair[0]) is None) != (getattr(self, pair[1]) is None):
                raise InvalidInput(f"{keyword(pair[0])} and {keyword(pair[1])} are given together, or neither")
        named = [name for name in ("lat", "x", "geometry", "places") if getattr(self, name) is not None]
        if len(named) > 1:
            raise InvalidInput(f"{' and '.join(map(keyword, named))} name different columns: give one")
        if self.prior_column is not None and (self.prior is None or is_data(self.prior)):
            raise InvalidInput(f"{keyword('prior_column')} is about a public file: name it with {keyword('prior')}")
        if self.places is not None:
            object.__setattr__(self, "places", _places_of(self.places))
            data = [name for name in ("box", "prior") if is_data(getattr(self, name))]
            if data:
                raise InvalidInput(
                    f"{keyword(data[0], 'data')} looks at one place in each row, and {keyword('places')} names "
                    f"several: give {keyword(data[0])} another value, which does not come from the data"
                )
        for name in ("prior_column", "lat", "lon", "x", "y", "geometry", "unit", "person", "dataset"):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, str) or not value):
                raise InvalidInput(f"{keyword(name)} is a text, found {shown(value)}")
        if self.most_rows is not None:
            integer(self.most_rows, "most_rows", 1)
        if self.person is not None and self.most_rows is None:
            raise InvalidInput(
                f"{keyword('person', self.person)} needs {keyword('most_rows', 1)}, or more: so many rows of each "
                "person are released, and what they cost is added up"
            )
        if self.person is None and self.most_rows is not None:
            raise InvalidInput(f"{keyword('most_rows')} is about the rows of a person: say whose, {keyword('person')}")
        if flag(self.per_person, "per_person"):
            self._check_per_person()
        for name in ("drop", "keep"):
            object.__setattr__(self, name, names_of(getattr(self, name), name))
        both = sorted({*self.drop} & {*self.keep})
        if both:
            raise InvalidInput(f"{shown(both[0])} is dropped and kept: say one of them")
        if self.crs is not None and not isinstance(self.crs, str | int | dict) and not hasattr(self.crs, "to_wkt"):
            raise InvalidInput(f"{keyword('crs')} is a coordinate system such as 'EPSG:2154', found {shown(self.crs)}")
        positive(self.tolerance, "tolerance")
        if self.time_limit is not None and not isinstance(self.time_limit, Watch):
            positive(self.time_limit, "time_limit", zero=True)

    @property
    def parts(self) -> int:
        """How many draws keep the promise together: all places of the rows of a person, or each one alone."""
        return self.most_rows * len(self.places or [0]) if self.per_person else 1

    def _check_per_person(self) -> None:
        if self.person is None:
            raise InvalidInput(
                f"{keyword('per_person', True)} makes a promise about all rows of a person together: say whose, "
                f"{keyword('person')}, and how many are released, {keyword('most_rows')}"
            )
        if self.error is not None:
            raise InvalidInput(
                f"{keyword('error')} chooses the rate of each row by what is lost, and {keyword('per_person', True)} "
                "by what all rows of a person cost: say one of them"
            )

    def _check_cells(self) -> None:
        """Cells instead of points: one kind of them, and nothing that is about points."""
        if self.h3 is None and self.areas is None:
            return
        given = [name for name in ("error", "cell", "prior_epsilon", "box_epsilon") if getattr(self, name) is not None]
        given += ["prior"] * is_data(self.prior)
        given += ["box"] * (self.box is not None and self.areas is not None)
        if self.h3 is not None and self.areas is not None:
            given = ["h3", "areas"]
        if given:
            cells = "areas" if self.h3 is None else "h3"
            raise InvalidInput(f"{' and '.join(map(keyword, given))} does not go with {keyword(cells)}: leave it out")
        if self.h3 is not None:
            integer(self.h3, "h3, a resolution,", 0, 15)

    def _check_paid(self, name: str) -> None:
        """``data`` has a price, and nothing else has."""
        price, of_data = getattr(self, f"{name}_epsilon"), is_data(getattr(self, name))
        if of_data and price is None:
            raise InvalidInput(
                f"{keyword(name, 'data')} tells something about the data: say what it may cost with "
                f"{keyword(f'{name}_epsilon', 1)}, ε for each row"
            )
        if price is not None and not of_data:
            raise InvalidInput(f"{keyword(f'{name}_epsilon')} is the price of {keyword(name, 'data')}: give both")


def _places_of(given: Any) -> dict[str, tuple[str, str]]:
    """Places by name, each with its two columns; a shell says them as texts, ``start=start_lat,start_lon``."""
    found: dict[str, tuple[str, str]] = {}
    said = given.items() if isinstance(given, Mapping) else [_read_place(text) for text in items(given, "places")]
    for name, pair in said:
        columns = (pair,) if isinstance(pair, str) else tuple(items(pair, "the columns of a place"))
        fine = isinstance(name, str) and len(columns) == 2 and all(isinstance(part, str) and part for part in columns)
        if not fine or not name or name in found:
            raise InvalidInput(
                f"a place has a name of its own and two columns, latitude and longitude, found {shown(name)} with "
                f"{shown(columns)}"
            )
        found[name] = (columns[0], columns[1])
    if len(found) < 2:
        raise InvalidInput(
            f"{keyword('places')} names several places of a row; one alone is named by {keyword('lat')} and "
            f"{keyword('lon')}"
        )
    return found


def _read_place(text: Any) -> tuple[str, tuple[str, ...]]:
    name, sign, columns = text.partition("=") if isinstance(text, str) else ("", "", "")
    if not sign:
        raise InvalidInput(f"a place is said as start=start_lat,start_lon, found {shown(text)}")
    return name.strip(), tuple(part.strip() for part in columns.split(","))


def is_data(value: Any) -> bool:
    """Whether a box or a prior is to come from the data."""
    return isinstance(value, str) and value.strip().lower() == "data"


def wish_of(hide: Any, wishes: dict[str, Any] | WishFields) -> Wish:
    """A wish of keywords; one that is none is said by its name, with the one that was probably meant.

    Examples
    --------
    >>> wish_of("1 km", {"bx": 1})
    Traceback (most recent call last):
        ...
    sfumato.errors.InvalidInput: hide has no argument bx=, did you mean 'box'?
    """
    known = list(signature(Wish).parameters)
    for name in wishes:
        if name not in known:
            raise InvalidInput(f"hide has no argument {keyword(name)}{nearest(name, known)}")
    return Wish(hide=hide, **wishes)
