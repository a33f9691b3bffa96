"""How likely cells of a box, of H3 or others are: all the same, by public figures, or by counts that are paid for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.channels.prior import Prior
from sfumato.errors import InvalidInput, counted, few, keyword, shown
from sfumato.hide.extents import file_places, refuse_data
from sfumato.labels import text_of
from sfumato.numbers import Floats, Integers
from sfumato.spaces.box import Box
from sfumato.spaces.earth import cells_at
from sfumato.spaces.finite import FiniteSpace
from sfumato.spaces.foreign import COUNTS, named_column, place_names
from sfumato.specs.cities import all_cities
from sfumato.specs.complaints import nearest
from sfumato.specs.tables import Columns, numbers_of

_ROW_NUMBERS = ("id", "fid", "index", "row", "")  # names of columns that number their rows
_SCALE = 10**9  # what weights that are no whole numbers are rounded to parts of
_FEWEST_CITIES = 2

EACH_ROW = "none"
"""Stands in the place of a column of weights where every row counts the same."""


@dataclass(frozen=True, eq=False)
class Counter:
    """Cells that points are counted on.

    Parameters
    ----------
    locate
        From latitudes and longitudes, or other coordinates, to the index of the cell of each point, −1 outside.
    earth
        Whether they are cells on the Earth.
    cities
        What a number of them is called that cities lie in.
    """

    name: str
    shape: tuple[int, ...]
    locate: Callable[[Any, Any], Integers]
    earth: bool
    cities: str
    by_name: bool = False

    def sums(self, cells: Integers, weights: Integers) -> Integers:
        """The weights of each cell together."""
        sums = np.zeros(prod(self.shape), dtype=weights.dtype)
        np.add.at(sums, cells[cells >= 0], weights[cells >= 0])
        return sums.reshape(self.shape)


def box_counter(box: Box) -> Counter:
    """The cells of a box."""
    earth = box.frame is not None
    return Counter(box.name, box.shape, lambda *point: cells_at(box, point), earth, "cells of this box")


def cells_counter(space: FiniteSpace) -> Counter:
    """The cells of a list, such as those of H3, or areas."""
    assert space.ground is not None and space.ground.cells is not None
    found = space.ground.cells.locate

    def locate(latitude: Any, longitude: Any) -> Integers:
        known = np.abs(latitude) <= 90
        return np.where(known, found(np.where(known, latitude, 0.0), longitude), -1)

    return Counter(space.name, (len(space),), locate, True, f"of the {space.name}", by_name=True)


def prior_table(
    given: Any, on: Counter, data: Path | None, column: str | None = None,
    say: Callable[[str], object] = lambda _: None,
) -> dict[str, Any]:  # fmt: skip
    """The table ``[prior]`` of a spec for public figures; empty where all cells are equally likely.

    ``column`` names the weights of a file;
    without it they are known by their name. How many of its points lie outside is told to ``say``.
    """
    if given is None or (isinstance(given, str) and given.strip().lower() == "uniform"):
        return {}
    if isinstance(given, str) and given.strip().lower() == "population":
        return {"counts": _listed(_cities(on))}
    if isinstance(given, str | PathLike):
        file = Path(given)
        if not file.is_file():
            raise InvalidInput(
                f"{keyword('prior')} is uniform, population, data, or a public file; there is no file {file}"
            )
        refuse_data(file, data, "prior")
        return {"counts": _listed(_of_file(file, on, column, say))}
    if isinstance(given, Prior):
        if not on.by_name:
            return {"weights": list(given.weights)}
        return {"weights": dict(zip(map(text_of, given.secrets), given.weights.tolist(), strict=True))}
    counts = np.array(given, dtype=object)
    if counts.shape != on.shape:
        raise InvalidInput(f"a prior for {on.name} has counts of shape {on.shape}, found {shown(given)}")
    return {"counts": _listed(counts)}


def counts_table(counts: Integers) -> dict[str, Any]:
    """The table for counts with noise; where none is left, all cells are equally likely."""
    return {"counts": _listed(counts)} if counts.any() else {}


def _listed(counts: Any) -> list[Any]:
    return list(np.asarray(counts).tolist())


def _cities(on: Counter) -> Integers:
    if not on.earth:
        raise InvalidInput(f"{keyword('prior', 'population')} is about places on the Earth: name a file of points")
    cities = all_cities()
    places = np.array([city.place for city in cities])
    counts = on.sums(on.locate(*places.T), np.array([city.people for city in cities]))
    if np.count_nonzero(counts) < _FEWEST_CITIES:
        raise InvalidInput(
            f"GeoNames has cities in {np.count_nonzero(counts)} {on.cities}: name a public file of population "
            f"with {keyword('prior')}, or leave it out for a uniform prior"
        )
    return counts


def _of_file(file: Path, on: Counter, column: str | None, say: Callable[[str], object]) -> Any:
    first, second, table = file_places(file)
    if isinstance(table, Columns):
        numeric = [name for name in table.header if _are_numbers(table, name)]
        name = _weight_column(table.header, numeric, str(file), column)
        weights = np.array([float(value) for value in numbers_of(table, name)] if name else [1.0] * len(table))
    else:
        middle = table.geometry.representative_point()
        first, second = middle.y.to_numpy(dtype=float), middle.x.to_numpy(dtype=float)
        numeric = [str(name) for name, kind in table.dtypes.items() if getattr(kind, "kind", "O") in "iuf"]
        name = _weight_column([str(name) for name in table.columns], numeric, str(file), column)
        weights = table[name].to_numpy(dtype=float) if name else np.ones(len(table))
    if not (np.isfinite(weights).all() and (weights >= 0).all()):
        raise InvalidInput(f"{file}: weights are finite and not negative")
    if not (np.isfinite(first).all() and np.isfinite(second).all()):
        raise InvalidInput(f"{file}: a latitude or longitude is not finite")
    cells = on.locate(first, second)
    counts = on.sums(cells, _whole(weights))
    if not counts.any():
        raise InvalidInput(f"no point of {file} with a weight lies in {on.name}")
    if (cells < 0).any():
        outside = f"{np.count_nonzero(cells < 0):,} of {counted(len(cells), 'point')}"
        say(f"{outside} of {file.name} lie outside of {on.name} and do not count")
    return counts


def _are_numbers(table: Columns, name: str) -> bool:
    try:
        return bool(numbers_of(table, name))
    except InvalidInput:
        return False


def _weight_column(names: Sequence[str], numeric: Sequence[str], file: str, given: str | None) -> str:
    """The column that somebody names, or that is called like weights; refused where numbers would go unused."""
    if given is not None:
        if given in names:
            return given
        if given == EACH_ROW:
            return ""
        raise InvalidInput(f"{keyword('prior_column', given)}: {file} has no such column{nearest(given, names)}")
    name = str(named_column(names, COUNTS, f"the weights of {file}", f"say which with {keyword('prior_column')}"))
    places = place_names(numeric)
    unused = [other for other in numeric if other not in places and other.strip().lower() not in _ROW_NUMBERS]
    if not name and unused:
        raise InvalidInput(
            f"nothing in {file} is called like weights, and {few(unused)} would not be used: say which it is, "
            f"{keyword('prior_column', unused[0])}, or {keyword('prior_column', EACH_ROW)} for one each row"
        )
    return name


def _whole(weights: Floats) -> Integers:
    """Whole numbers in proportion: as they are, or rounded to parts of their sum."""
    if (weights == np.floor(weights)).all() and weights.max(initial=0.0) < 2.0**53:
        return weights.astype(np.int64)
    total = Fraction(float(weights.sum()))
    return np.rint(weights / float(total) * _SCALE).astype(np.int64)
