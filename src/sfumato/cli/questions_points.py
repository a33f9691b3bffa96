"""The questions of ``init`` about a file of points: columns, the distance that hides, a box, cells, a public prior.

Nothing of the data goes into the spec but the names of its columns. What is found in the first rows is said to whoever
answers, and written nowhere.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

import numpy as np

from sfumato.arguments import quoted
from sfumato.cli.dialogue import Dialogue, known_name
from sfumato.errors import InvalidInput, counted, few, shown
from sfumato.hide.extents import Extent, cell_side, extent_of
from sfumato.hide.fields import TIME_LIMIT, TOLERANCE
from sfumato.hide.promises import rate_of_table
from sfumato.numbers import Floats, as_written
from sfumato.privacy.type import PrivacyType
from sfumato.report.sections_words import odds_at
from sfumato.spaces.axes import look_swapped, swapped_axes
from sfumato.spaces.box import Box
from sfumato.spaces.earth import cells_at
from sfumato.spaces.foreign import ACROSS, COUNTS, LATITUDES, LONGITUDES, UP, columns_named
from sfumato.spaces.lengths import METRES, as_length, in_unit
from sfumato.specs.boxes import prior_on, spec_box
from sfumato.specs.cities import City, city_of
from sfumato.specs.complaints import nearest
from sfumato.specs.heads import first_rows, like, numbers_in
from sfumato.specs.question import privacy_of
from sfumato.specs.schema import CountedPointsSpec, PrivacySpec
from sfumato.specs.schema_release import ReleaseSpec
from sfumato.specs.spec import Spec, spec_from_values
from sfumato.specs.tables import Columns, read_columns

_AXES = (("first", ACROSS), ("second", UP))
_SEVERAL = {"person": "people", "answer": "answers"}
_DEGREES = (("latitude", LATITUDES), ("longitude", LONGITUDES))


@dataclass(frozen=True)
class PointsQuestion:
    """A spec with a box and the columns of a file, and the file whose points are to be hidden."""

    spec: Spec
    file: Path

    def command(self, spec: Path) -> str:
        """The command that designs, proves and releases."""
        return f"sfumato hide {shlex.join([str(self.file), '-o', f'hidden{self.file.suffix}', '--spec', str(spec)])}"


def ask_points(talk: Dialogue, folder: Path) -> PointsQuestion:
    """Everything that hiding points needs."""
    table = talk.ask("File of points, .csv or .parquet", lambda text: first_rows(folder / text))
    talk.say(f"Its columns: {', '.join(table.header)}.")
    earth = _in_degrees(talk, table)
    columns = _ask_columns(talk, table, _DEGREES if earth else _AXES)
    left = [name for name in table.header if name not in columns]
    if left:
        talk.say(f"Hidden: {', '.join(columns)}. A release copies {few(left)} as they are: leave out what tells.")
    release = {"latitude": columns[0], "longitude": columns[1]} if earth else {"columns": list(columns)}
    release |= _ask_person(talk, left)
    unit = "km" if earth else talk.ask("Unit of the coordinates, such as m (none: no name)", unit_of, "m")
    extent = _ask_box(talk, table.file) if earth else _ask_corners(talk, unit)
    hidden = _ask_hidden(talk, unit)
    privacy = {"double_at": hidden}
    tables: dict[str, Any] = {
        "space": extent.table(cell_side(rate_of_table(privacy, unit), extent.sides, unit)),
        "privacy": privacy,
    }
    space = spec_box(spec_from_values(tables, folder))
    talk.say(_box_words(space))
    _say_where(talk, table, columns, space)
    for words in _promise_words(privacy_of(spec_from_values(tables, folder), space), in_unit(hidden, unit), space):
        talk.say(words)
    tables["prior"] = _ask_prior(talk, tables, folder, space, table)
    talk.say("What a wrong answer costs is its distance from the truth.")
    tables["loss"] = {"kind": "distance"}
    tables["solve"] = {"tolerance": as_written(TOLERANCE), "time_limit": as_written(TIME_LIMIT)}
    return PointsQuestion(spec_from_values(tables | {"release": release}, folder), table.file)


def _in_degrees(talk: Dialogue, table: Columns) -> bool:
    found = [all(columns_named(table.header, usual) for _, usual in kind) for kind in (_DEGREES, _AXES)]
    if found == [True, False]:
        return True
    return talk.confirm("Are they latitudes and longitudes in degrees", default=found[0] or not found[1])


def _ask_columns(talk: Dialogue, table: Columns, wanted: Sequence[tuple[str, Sequence[str]]]) -> tuple[str, ...]:
    """One column for each coordinate: found by its name and confirmed, or picked where several could be meant."""
    chosen: list[str] = []
    for what, usual in wanted:
        could_be = [name for name in columns_named(table.header, usual) if name not in chosen]
        only = could_be[0] if len(could_be) == 1 else None
        listed = "" if only else f" ({', '.join(could_be or [name for name in table.header if name not in chosen])})"
        noun = f"{what} coordinate" if wanted is _AXES else what

        def check(text: str, noun: str = noun) -> str:
            if text in chosen:
                raise InvalidInput(f"{text!r} is the other coordinate already")
            numbers = numbers_in(table, text)
            if noun == "latitude" and any(abs(number) > 90 for number in numbers):
                raise InvalidInput(f"{text!r} has numbers beyond 90, which is no latitude: is it the longitude?")
            return text

        chosen.append(talk.ask(f"Column of the {noun}{listed}", check, only))
    return tuple(chosen)


def _ask_hidden(talk: Dialogue, unit: str) -> str:
    """The distance at which odds double at most, with its unit."""

    def check(text: str) -> str:
        length = as_length(text, "it")
        if not length.unit and unit:
            raise InvalidInput(
                f"{text} what? Write {text} m or {text} km" if unit in METRES else f"write {text} {unit}"
            )
        if length.into(unit, "it") <= 0:
            raise InvalidInput(f"a positive distance is needed, found {text!r}")
        return str(length)

    key = PrivacySpec.key("double_at")
    return str(talk.ask_for(key, check, key.usual if unit in METRES else f"1 {unit}".strip()))


def _ask_person(talk: Dialogue, left: list[str]) -> dict[str, Any]:
    """The column that says whose row it is, and how many of each are released."""
    if not left:
        talk.say("The promise is about each row: who has several is told about by all of them.")
        return {}

    def column(text: str) -> str:
        return known_name(text, dict.fromkeys([*left, "none"])).replace("none", "")

    person = talk.ask_for(ReleaseSpec.key("person"), column, columns=", ".join(left))
    if not person:
        return {}
    most = talk.ask_for(ReleaseSpec.key("most_rows"), whole)
    return {"person": person, "most_rows": most, "beyond": "drop"}


def whole(text: str) -> int:
    """A number of things, at least one."""
    if not text.isdecimal() or len(text) > 18 or int(text) < 1:
        raise ValueError(f"a whole number such as 8 is needed, found {shown(text)}")
    return int(text)


def _ask_box(talk: Dialogue, data: Path) -> Extent:
    """Four numbers, or a city and how far around it: never where the data end."""

    def extent(text: str) -> Extent:
        return extent_of(text, earth=True, unit="km", data=data)

    def box_or_city(text: str) -> Extent | City:
        name, _, country = text.partition(",")
        return extent(text) if any(letter.isdigit() for letter in text) or "." in text else city_of(name, country)

    talk.say("The box is public: take a city, not where your points happen to end.")
    found = talk.ask("Box: south,west,north,east in degrees, or a city such as Paris", box_or_city)
    if isinstance(found, Extent):
        return found
    city = found
    talk.say(f"{city.name}, {city.country}: {city.people:,} people, {city.place[0]:.3f}, {city.place[1]:.3f}.")
    return cast("Extent", talk.ask(
        f"How far around {city.name}", lambda text: extent(f"{city.name}, {city.country}, {_with_unit(text)}"), "10 km"
    ))  # fmt: skip


def _with_unit(text: str) -> str:
    length = as_length(text, "the distance")
    if not length.unit:
        raise InvalidInput(f"{text} what? Write {text} km or {text} m")
    if length.number <= 0:
        raise InvalidInput(f"a positive distance is needed, found {text!r}")
    return text


def _ask_corners(talk: Dialogue, unit: str) -> Extent:
    talk.say("The box is public: take round numbers, not where your points happen to end.")
    question = f"Box: least x, least y, largest x, largest y{f' in {unit}' if unit else ''}"
    return cast("Extent", talk.ask(question, lambda text: extent_of(text.split(","), earth=False, unit=unit)))


def unit_of(text: str) -> str:
    """A unit; one that is nearly a length is questioned."""
    if text == "none":
        return ""
    hint = nearest(text, METRES)
    if text not in METRES and "did you mean" in hint and len(text) > 1:
        raise InvalidInput(f"{text!r} is no unit of length{hint}")
    return text


def _box_words(space: Box) -> str:
    """Sides and cells in round numbers."""
    sides = " × ".join(f"{float(side):.3g}" for side in space.sides)
    cells = length_words(space.step[0], space.unit)
    rule = "chosen by a rule that looks at the promise and the box alone"
    return f"A box of {sides} {space.unit}".rstrip() + f", with cells of {cells}: {rule}."


def length_words(value: Fraction, unit: str) -> str:
    """A length of a round number: 250 m, and not 0.25 km.

    Examples
    --------
    >>> length_words(Fraction(1, 4), "km"), length_words(Fraction(1443), "m"), length_words(Fraction(3), "minutes")
    ('250 m', '1.4 km', '3 minutes')
    """
    if unit not in METRES:
        return f"{float(f'{float(value):.2g}'):g} {unit if value == 1 else _SEVERAL.get(unit, unit)}".strip()
    metres = float(value * METRES[unit])
    whole = float(f"{metres / 1000:.3g}") if metres < 1000 else float(f"{metres / 1000:.2g}")
    return f"{whole * 1000:g} m" if metres < 1000 else f"{whole:,g} km"


def _promise_words(privacy: PrivacyType, hidden: Fraction, space: Box) -> list[str]:
    apart = [hidden * k for k in (Fraction(1, 5), 1, 2)]
    times = [f"{odds_at(privacy, far)[0]} at {length_words(far, space.unit)}" for far in apart]
    about = length_words(Fraction(space.dimension / privacy.rate), space.unit)
    return [
        f"Whatever is told, the odds between two places change at most by a factor of {', '.join(times)}.",
        f"Plain noise with this promise would move a point by about {about} on average; the best one moves it less.",
    ]


def _say_where(talk: Dialogue, table: Columns, columns: tuple[str, ...], space: Box) -> None:
    """How many of the first points lie in the box: on the screen, and nowhere else."""
    points = [
        (float(row[i]), float(row[j]))
        for i, j in [[table.header.index(name) for name in columns]]
        for row in table.rows
        if row[i] and row[j]
    ]

    def inside(first: Floats, second: Floats) -> Any:
        return cells_at(space, (first, second)) >= 0

    axes = np.array(points, dtype=float).reshape(-1, 2).T
    many = int(inside(*axes).sum())
    talk.say(f"Of the first {counted(len(points), 'point')} {many} lie in the box (said to you only, and not kept).")
    if look_swapped(inside, *axes):
        names = " and ".join(columns)
        talk.say(f"{swapped_axes('Nearly all would', f'are {names} the wrong way round?', axes=names)}")


def _ask_prior(
    talk: Dialogue, tables: dict[str, Any], folder: Path, space: Box, data: Columns
) -> dict[str, Any]:  # fmt: skip
    """Uniform, or points of a public file with their weights."""

    def public(text: str) -> Columns | None:
        if text == "uniform":
            return None
        table = read_existing(folder / text)
        if table.file.resolve() == data.file.resolve():
            raise InvalidInput("a prior counted from the data gives them away in the mechanism: take public figures")
        return table

    talk.say("How likely are places? Public figures make the noise smaller where people are.")
    table = talk.ask_for(CountedPointsSpec.key("file"), public)
    if table is None:
        return {"uniform": True}
    columns = _ask_columns(talk, table, _DEGREES if space.frame is not None else _AXES)
    left = [name for name in table.header if name not in columns]
    found = [name for name in columns_named(table.header, COUNTS) if name in left]
    listed = f" ({', '.join(found if len(found) > 1 else left)})" if left else ""
    usual = found[0] if len(found) == 1 else None if found else "none"

    def counted_on_cells(text: str) -> dict[str, Any]:
        if text != "none":
            numbers_in(table, text)
        points = {"file": relative(table.file, folder), "columns": list(columns)}
        prior = {"points": points | {"counts": "" if text == "none" else text}}
        spec = spec_from_values({**tables, "prior": prior}, folder)
        note = prior_on(spec.prior, spec, space)[1]
        if note:
            talk.say(f"{note[0].upper()}{note[1:]}.")
        return prior

    weight = talk.ask_for(CountedPointsSpec.key("counts"), counted_on_cells, usual, columns=listed)
    unused = [name for name in left if name != weight["points"].get("counts")]
    if unused:
        talk.say(f"Not used: {few(unused)}.")
    return dict(weight)


def read_existing(file: Path) -> Columns:
    """A CSV file, or what may have been meant where there is none."""
    if not file.exists():
        raise InvalidInput(f"there is no file {quoted(file)}{like(file)}")
    return read_columns(file)


def relative(file: Path, folder: Path) -> str:
    """A file as a spec in a folder names it."""
    return str(file.relative_to(folder) if file.is_relative_to(folder) else file)
