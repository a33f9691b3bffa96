"""Other columns that tell where points are, by the rule book of :mod:`sfumato.release.telling`.

A release replaces the columns that it is told about. What stays beside them is copied, and a second pair of
coordinates, a cell of H3, a geohash or a text of WKT would tell what was hidden. Such a column is refused until
somebody says of it that it goes, or that it stays.

Names are looked at for all columns, contents in the first rows; texts are looked at again, all of them, as they are
released. What somebody keeps on purpose is not looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.errors import InvalidInput, few, keyword, shown
from sfumato.hide.sources import Source
from sfumato.numbers import Floats
from sfumato.release.formats.layouts import schema_layout
from sfumato.release.formats.reading import BATCH, MEMBER
from sfumato.release.places import Geometry, Position
from sfumato.release.telling import all_different, region_of, telling_columns
from sfumato.specs.complaints import nearest


def refuse_places(
    source: Source, column: Position, drop: Sequence[str], keep: Sequence[str], earth: bool, corners: Any = None
) -> None:
    """Refuse columns that tell places and of which nobody has said whether they go or stay.

    ``corners`` are those of the box, least and largest first and second coordinate, where it is known.
    """
    sure = not source.is_json or len(source.head()) < BATCH  # rows of JSON that come later may have other keys
    for option, names in (("drop", drop), ("keep", keep)):
        for name in names:
            if name not in source.columns and sure:
                known = nearest(name, source.columns)
                raise InvalidInput(f"{keyword(option, name)}: {source.name} has no such column{known}")
    found = {name: why for name, why in telling(source, column, earth, corners).items() if name not in (*drop, *keep)}
    if not found:
        return
    words = "; ".join(f"{shown(name)} ({why})" for name, why in found.items())
    one = next(iter(found))
    of_index = [name for name in found if name not in source.columns]
    if of_index:
        raise InvalidInput(f"the row names of the table tell where points are: {words}; reset the index first")
    each = "it" if len(found) == 1 else "each of them"
    raise InvalidInput(
        f"beside the released {few(list(column.columns))}, places would stay as they are and tell what is hidden: "
        f"{words}; say of {each} whether it goes, {keyword('drop', one)}, or stays, {keyword('keep', one)}"
    )


def telling(source: Source, column: Position, earth: bool, corners: Any = None) -> dict[str, str]:
    """The columns beside the points that tell places, and why that is thought."""
    head = source.head()
    own = released_columns(source, column)
    names = [name for name in dict.fromkeys([*source.columns, *head.column_names]) if name not in own]
    known = {field.name: "a member beside the properties" for field in head.schema if MEMBER in (field.metadata or {})}
    found: dict[str, str] = {}
    for place in column.each:
        points = _points(source, place, len(head))
        found |= telling_columns(names, head, points, region_of(points, earth, corners), known)
    return {name: found[name] for name in names if name in found}


def looked_up(source: Source, names: Sequence[str]) -> tuple[str, ...]:
    """Those of some columns in whose first rows no value occurs twice: each is a name, of a row, a person or a place.

    What is missing or empty is no value.

    Examples
    --------
    >>> looked_up(Source(pa.table({"osm_id": [42, 7, None], "kind": ["stop", "stop", "stop"]})), ["osm_id", "kind"])
    ('osm_id',)
    """
    head = source.head()
    return tuple(name for name in names if name in head.column_names and all_different(head.column(name)))


def released_columns(source: Source, column: Position) -> tuple[str, ...]:
    """What is released with points: their columns, and boxes around each point."""
    if not isinstance(column, Geometry):
        return column.columns
    if source.file is None and hasattr(source.table, "_geometry_column_name"):
        active = source.table._geometry_column_name
        return column.columns if column.columns[0] in source.columns or active is None else (active,)
    if source.format in ("parquet", "arrow") or (source.file is None and isinstance(source.table, pa.Table)):
        layout = schema_layout(source.schema, column)
        return (layout.name, *(name for name, _ in layout.boxes))
    return (*column.columns, *(source.reference.geometries[:1] if source.file is not None else ()))


def _points(source: Source, column: Position, most: int) -> tuple[Floats, Floats]:
    """The points of the first rows, NaN where there is none."""
    first, second = [np.empty(0)], [np.empty(0)]
    many = 0
    for x, y, _ in source.batches(column, []):
        first.append(np.asarray(x, dtype=float))
        second.append(np.asarray(y, dtype=float))
        many += len(x)
        if many >= most:
            break
    return np.concatenate(first)[:most], np.concatenate(second)[:most]
