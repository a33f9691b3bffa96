"""What a schema says beside the names and types of columns is made anew for what is released; the rest is not copied.

Metadata are free text: notes, an extent, how often a value occurs, the attributes of a dataframe. Of them stay what
readers need to know: the system, encoding and edges of geometries, the types that pandas gives columns, its index where
that is a column, and the name of an extension type. Each of these is one of a few words, or a coordinate system that is
written anew without its notes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import pyarrow as pa

from sfumato.errors import InvalidInput, shown
from sfumato.release.formats.layouts import ABOUT, EXTENSION, geoarrow_anew
from sfumato.release.staying import staying_type

PANDAS = b"pandas"
"""The key under which pandas says what a table was as a dataframe."""

_WORD = re.compile(
    r"(?:u?int|float|complex)(?:8|16|32|64|128)|(?:U?Int|Float)(?:8|16|32|64)|bool|boolean|object|str|string|bytes|"
    r"unicode|categorical|category|decimal|date|time|datetime|datetimetz|timedelta|empty|mixed|"
    r"string\[(?:python|pyarrow|pyarrow_numpy)\]|(?:datetime|timedelta)64\[(?:s|ms|us|ns)\]|"
    r"list\[\w{1,12}\]"
)  # fmt: skip
"""What types of columns are called by pandas and by numpy."""

_SIMPLE = ("arrow.uuid", "arrow.json", "arrow.bool8")
_OF_PANDAS = {"freq": r"[A-Za-z0-9\-]{1,12}", "subtype": r"[\w\[\], /+:\-]{1,40}", "closed": "left|right|both|neither"}


def staying_field(field: Any) -> Any:
    """The field of a column that stays: its name, type and nullability; of its metadata the name of an extension.

    Examples
    --------
    >>> staying_field(pa.field("age", pa.int64(), metadata={"note": "one is 103"})).metadata
    """
    return pa.field(field.name, staying_type(field.type), nullable=field.nullable, metadata=_extension_anew(field))


def _extension_anew(field: Any) -> dict[bytes, bytes] | None:
    """What says of which extension type a stored column is, where that is known; nothing of any other."""
    metadata = field.metadata or {}
    name = metadata.get(EXTENSION, b"").decode(errors="replace")
    if name in _SIMPLE:
        return {EXTENSION: name.encode(), ABOUT: b""}
    if name.startswith(("geoarrow.", "ogc.")):
        return {EXTENSION: metadata[EXTENSION], ABOUT: geoarrow_anew(metadata.get(ABOUT), field.name)}
    if name in ("pandas.period", "pandas.interval"):
        said = _object(metadata.get(ABOUT))
        known = {key: str(said[key]) for key, form in _OF_PANDAS.items() if re.fullmatch(form, str(said.get(key, "")))}
        return {EXTENSION: name.encode(), ABOUT: json.dumps(known).encode()}
    return None


def _object(text: Any) -> dict[str, Any]:
    """An object of JSON; an empty one where there is none that can be read."""
    try:
        found = json.loads(text)
    except (ValueError, TypeError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def pandas_anew(metadata: Mapping[Any, Any] | None, names: Collection[str], gone: Sequence[str]) -> dict[Any, Any]:
    """What pandas says of the columns that stay: their types, and which of them are its index.

    Examples
    --------
    >>> column = {"name": "age", "field_name": "age", "pandas_type": "int64", "numpy_type": "Int64", "metadata": "103!"}
    >>> about = {"columns": [column], "index_columns": [], "attributes": {"survey": "of Atlantis"}}
    >>> "Int64" in str(pandas_anew({PANDAS: json.dumps(about)}, ["age"], [])), "Atlantis" in str(about)
    (True, True)
    >>> pandas_anew({PANDAS: json.dumps(about)}, ["age"], [])
    {b'pandas': b'{"columns": [...], "index_columns": [], "column_indexes": []}'}
    """
    about = _object((metadata or {}).get(PANDAS))
    columns, index = about.get("columns"), about.get("index_columns")
    if not isinstance(columns, list) or not isinstance(index, list):
        return {}
    made = []
    for entry in (entry for entry in columns if isinstance(entry, dict)):
        name = entry.get("name")
        place = entry.get("field_name") or name
        if name in gone and place not in gone:
            raise index_stays(str(name), f"the column {shown(place)}")
        types = {key: entry.get(key) for key in ("pandas_type", "numpy_type")}
        if place in names and all(isinstance(word, str) and _WORD.fullmatch(word) for word in types.values()):
            called = name if name is None or name in names else place
            made.append({"name": called, "field_name": place, **types, "metadata": None})
    known = {entry["field_name"] for entry in made}
    stay = [name for name in index if isinstance(name, str) and name in known]
    return {PANDAS: json.dumps({"columns": made, "index_columns": stay, "column_indexes": []}).encode()}


def index_stays(name: str, where: str) -> InvalidInput:
    """What is said where the index of pandas has the name of a released column."""
    return InvalidInput(
        f"the index of pandas, {where}, is called {name!r} as well: it would stay beside the noise and may hold the "
        "same values; rename or reset the index first"
    )
