"""Release a column of a table in memory, whatever library the table is of.

A release is written once. What comes back holds the noise as values: evaluating it again, joining it or saving it
twice draws nothing anew. A lazy frame or a relation is therefore collected exactly once and an eager table of the same
library comes back; noise as an expression or a database function would be drawn again at every evaluation, or drawn
once for all rows, and both break the promise.

========================================  =======================================
given                                     comes back
========================================  =======================================
pandas, polars, pyarrow tables            the same, other columns untouched
polars ``LazyFrame``                      polars ``DataFrame``
DuckDB relation                           a relation over the released values
pyarrow ``RecordBatchReader``, dataset    the same, over the released values
any other with ``__arrow_c_stream__``     a pyarrow ``Table``
list, series or array of secrets          the same
========================================  =======================================
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from fractions import Fraction
from functools import partial
from typing import Any, Unpack

import narwhals as nw
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.arguments import integer
from sfumato.errors import InvalidInput, NotSupported, keyword, shown
from sfumato.fields import with_fields
from sfumato.release.batches import BATCH, LARGEST_BATCH, Added, BatchRelease, Progress, batch_release, tell
from sfumato.release.fields import TermFields
from sfumato.release.formats.geopandas import geo_frame, holds_shapes, pandas_layout, point_series, wkb_of_series
from sfumato.release.formats.layouts import released_field, schema_layout
from sfumato.release.formats.metadata import index_stays, pandas_anew, staying_field
from sfumato.release.geometry import (
    geo_anew,
    refuse_coordinates,
    refuse_geo,
    refuse_geometry_columns,
    refuse_geometry_schema,
    refuse_geometry_types,
    refuse_geometry_values,
    refuse_told,
    watched,
)
from sfumato.release.places import Geometry
from sfumato.release.rows import BadRow, TypedValues, kind_of, label_spelling
from sfumato.release.staying import filtered, staying, staying_index, staying_polars, staying_series, staying_type
from sfumato.release.terms import Column, Terms, terms_of


@with_fields(Terms)
def release_table(
    mechanism: Any,
    table: Any,
    column: Column | Terms | None = None,
    *,
    batch: int = BATCH,
    progress: Callable[[Progress], None] | None = None,
    **keywords: Unpack[TermFields],
) -> Any:
    """Replace the secrets of a column by outputs of a proved mechanism, drawn exactly.

    Parameters
    ----------
    mechanism
        A proved mechanism, or what draws from one: ``sampler(laplace, pixels=…, steps=…)``.
    table
        Of pandas, polars, pyarrow or DuckDB, lazy or not, or anything with the Arrow stream interface. Or secrets
        alone, one a row: a list, a series of pandas or polars, an array of pyarrow; the same comes back.
    column
        The column with the labels of the secrets, ``Position("x", "y")`` or ``Place("lat", "lon")``; or all
        :class:`~sfumato.release.terms.Terms` in one value. The other terms are described there. A mechanism for
        coordinates takes points as they are, and its promise is about all of them. Any other takes a point for its
        cell or its nearest secret, and promises something about these, not about every metre. None for secrets alone.
    batch
        Rows that are drawn at once.
    progress
        Called with a :class:`Progress` after each batch.

    Examples
    --------
    >>> import sfumato as sf
    >>> survey = sf.random_response(sf.PrivacyType(sf.discrete(["no", "yes"]), epsilon=1))
    >>> noisy = release_table(survey, pa.table({"id": [1, 2], "smokes": ["no", "yes"]}), "smokes")
    >>> noisy.column_names, set(noisy["smokes"].to_pylist()) <= {"no", "yes"}
    (['id', 'smokes'], True)
    >>> len(release_table(survey, ["yes", "no", "no"]))
    3
    """
    if column is None:
        within = partial(release_table, mechanism, column=_ALONE, batch=batch, progress=progress, **keywords)
        return _released_alone(table, within)
    batch = integer(batch, "batch, a number of rows,", 1, LARGEST_BATCH)
    return released_table(table, tell(batch_release(mechanism, terms_of(column, keywords), progress=progress)), batch)


_ALONE = "secret"
"""How the column of secrets is called that stand in no table."""


def _released_alone(secrets: Any, released: Callable[[Any], Any]) -> Any:
    """Secrets that stand in no table: they are put into one, and what comes back is of their own kind."""
    if isinstance(secrets, list | tuple):
        try:
            column = pa.array(secrets)
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise InvalidInput(f"secrets in a list are texts, or numbers of one kind: {error}") from None
        return type(secrets)(released(pa.table({_ALONE: column}))[_ALONE].to_pylist())
    if isinstance(secrets, pa.Array | pa.ChunkedArray):
        done = released(pa.table({_ALONE: secrets}))[_ALONE]
        return done if isinstance(secrets, pa.ChunkedArray) else done.combine_chunks()
    if nw.dependencies.is_pandas_series(secrets):
        return released(secrets.to_frame(_ALONE))[_ALONE].rename(secrets.name)
    if nw.dependencies.is_polars_series(secrets):
        return released(secrets.alias(_ALONE).to_frame())[_ALONE].alias(secrets.name)
    raise InvalidInput(f"name the column that is released, {keyword('column')}: {shown(secrets)} is no list of secrets")


def released_table(table: Any, work: BatchRelease, batch: int) -> Any:
    """A table of any library, released; it is charged when all outputs are drawn, before they are returned."""
    if isinstance(table, nw.DataFrame | nw.LazyFrame):
        return nw.from_native(released_table(table.to_native(), work, batch))
    if isinstance(table, pa.Table):
        return _released_arrow(table, work, batch)
    if isinstance(table, pa.RecordBatch):
        done = _released_arrow(pa.Table.from_batches([table]), work, batch).combine_chunks()
        return done.to_batches()[0] if len(done) else pa.RecordBatch.from_pylist([], schema=done.schema)
    if isinstance(table, pa.RecordBatchReader):
        return _released_arrow(table.read_all(), work, batch).to_reader()
    datasets = sys.modules.get("pyarrow.dataset")  # who has a dataset has loaded it, and pandas with it
    if datasets is not None and isinstance(table, datasets.Dataset):
        return datasets.dataset(_released_arrow(table.to_table(), work, batch))
    if nw.dependencies.is_pandas_dataframe(table):
        return _released_pandas(table, work, batch)
    if nw.dependencies.is_polars_lazyframe(table):
        table = table.collect()
    if nw.dependencies.is_polars_dataframe(table):
        return _released_polars(table, work, batch)
    duckdb = nw.dependencies.get_duckdb()
    if duckdb is not None and isinstance(table, duckdb.DuckDBPyRelation):
        return _relation_over(table, _released_arrow(table.to_arrow_table(), work, batch))
    if hasattr(table, "__arrow_c_stream__"):
        try:
            whole = pa.RecordBatchReader.from_stream(table).read_all()
        except pa.ArrowInvalid as error:
            raise InvalidInput(f"a table has columns with names; {type(table).__name__} has none: {error}") from error
        return _released_arrow(whole, work, batch)
    raise NotSupported(
        f"a table of type {type(table).__module__}.{type(table).__name__}",
        ["pandas", "polars", "pyarrow", "DuckDB relations", "anything with __arrow_c_stream__"],
    )


# ----------------------------------------------------------------- columns


def order_after(names: Sequence[str], work: BatchRelease) -> list[str | Added]:
    """The columns after a release, old ones by name: what is new stands where the secret stood, or at the end."""
    for name in (*work.taken, *work.terms.ids, *work.terms.drop):
        if names.count(name) != 1:
            raise InvalidInput(
                f"there {'are several columns' if name in names else 'is no column'} {shown(name)}{_hint(name, names)}"
            )
    for added in work.added:
        if added.name in names and (work.terms.keep or added.name not in work.replaced):
            raise InvalidInput(
                f"there is a column {shown(added.name)} already: name another one with {keyword('into')}"
            )
    names = [name for name in names if name not in work.terms.drop]
    if work.terms.keep:
        return [*names, *work.added]
    first = dict(zip(work.replaced, work.added, strict=False))
    return [first.get(name, name) for name in names if name not in work.taken or name in first]


def _columns_after(
    names: Sequence[str], work: BatchRelease, old: Callable[[str], Any], new: Callable[[Added, Any], Any],
    stay: Callable[[Any], Any],
) -> dict[str, Any]:  # fmt: skip
    """The columns after a release by name: ``old`` gives one that was there, ``stay`` makes of it what may stay, and
    ``new`` one that replaces it.
    """
    columns = {}
    for column in order_after(names, work):
        if isinstance(column, str):
            columns[column] = stay(old(column))
        else:
            columns[column.name] = new(column, old(work.replaced[work.added.index(column)]))
    return columns


def _check_names(names: Sequence[str], work: BatchRelease) -> None:
    """Refuse what :func:`order_after` refuses, and twins: columns are looked up by name."""
    order_after(names, work)
    for name, count in Counter(names).items():
        if count > 1:
            raise InvalidInput(f"there are several columns {shown(name)}: rename them first")


def _hint(name: str, names: Sequence[str]) -> str:
    if name in names:
        return ""
    close = get_close_matches(name, names, 1, 0.6)
    few = ", ".join(map(repr, names[:8])) + (", …" if len(names) > 8 else "")
    return f", did you mean {close[0]!r}?" if close else f": there are {few}"


def label_array(added: Added, like: Any = None) -> Any:
    """What stands for each output, as an Arrow array: of type ``like`` if that holds all of it without loss.

    Labels of one kind have the type of that kind; lists of several kinds are texts, as a CSV file would spell them.
    """
    if like is not None and pa.types.is_dictionary(like):
        like = like.value_type
    like = None if like is None else staying_type(like)
    if like not in added.arrays:
        made = added.made
        added.arrays[like] = _label_array(list(added.values or []), like) if made is None else made(like)
    return added.arrays[like]


def _label_array(values: list[Any], like: Any) -> Any:
    kinds = {kind_of(value) for value in values} - {"missing"}
    plain = values if len(kinds) == 1 and kinds.isdisjoint({"Fraction", "nan"}) else None
    if plain is None and values and all(isinstance(v, tuple) for v in values):
        plain = values  # lists of numbers; mixed ones are refused by Arrow below
    if plain is not None:
        for kind in (like, None):
            if kind is not None and not _same_family(kind, values):
                continue
            try:
                array = pa.array(plain, type=kind)
            except (pa.ArrowException, OverflowError, TypeError, ValueError):
                continue
            if array.to_pylist() == [list(v) if isinstance(v, tuple) else v for v in plain]:
                return array
    return pa.array([None if v is None else label_spelling(v) for v in values], pa.string())


def _same_family(kind: Any, values: Sequence[Any]) -> bool:
    """Whether a type is for such values at all: Arrow would store truth values as numbers and numbers as dates."""
    value = next((v for v in values if v is not None), None)
    if isinstance(value, bool):
        return bool(pa.types.is_boolean(kind))
    if isinstance(value, int | float):
        return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))
    if isinstance(value, str):
        return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))  # views cannot be taken from
    return bool(pa.types.is_nested(kind))


def new_array(added: Added, outputs: NDArray[np.int64], like: Any) -> Any:
    """The new column for some outputs, with the type of the column it replaces where that is possible."""
    outputs = added.of(outputs)
    if added.values is None:  # noise on the integers knows no bounds
        return pa.array(outputs, pa.int64())
    labels = label_array(added, like)
    if like is not None and pa.types.is_dictionary(like):
        return pa.DictionaryArray.from_arrays(outputs.astype(np.int32), labels)
    return labels.take(pa.array(outputs))


# ----------------------------------------------------------------- Arrow


def released_schema(schema: Any, work: BatchRelease) -> Any:
    """The schema after a release. What it told of the true columns beside their names and types is gone."""
    read_schema(schema, work)
    _check_names(schema.names, work)
    for name in work.taken if work.layout is None else ():
        _refuse_extension(schema.field(name))
    refuse_geometry_schema(schema, work)

    def field(added: Added, before: Any) -> Any:
        nullable = before.nullable or None in (added.values or ())
        if added.points is not None:
            return released_field(added.name, new_array(added, np.empty(0, dtype=np.int64), before.type).type, before)
        return pa.field(added.name, new_array(added, np.empty(0, dtype=np.int64), before.type).type, nullable=nullable)

    fields = list(_columns_after(schema.names, work, schema.field, field, staying_field).values())
    gone = (*work.terms.drop, *(() if work.terms.keep else work.replaced))
    said = pandas_anew(schema.metadata, [name for name in schema.names if name not in gone], gone)
    return pa.schema(fields, metadata=geo_anew(schema, work) | said or None)


def read_schema(schema: Any, work: BatchRelease) -> None:
    """Look at how an Arrow table holds the points of a column, if the release is about one."""
    if isinstance(work.terms.column, Geometry):
        work.read(schema_layout(schema, work.terms.column))


def _refuse_extension(field: Any) -> None:
    """Where nobody has registered an extension type, a file gives what is stored, and names the type beside."""
    name = (field.metadata or {}).get(b"ARROW:extension:name")
    if name is not None:
        raise InvalidInput(
            f"the column {shown(field.name)} holds {name.decode(errors='replace')}, stored as {field.type}: "
            "types are not guessed, convert the column first"
        )


def release_batch(batch: Any, work: BatchRelease, schema: Any, *, compact: bool = True) -> Any:
    """The next batch of a table, released; ``schema`` comes from :func:`released_schema`.

    Dictionaries of columns that stay list what stands in the batch; who puts batches together, and then makes them
    ``compact``, says so.
    """
    refuse_geometry_columns(batch, work)
    columns = ([TypedValues(batch.column(name)) for name in names] for names in (work.taken, work.terms.ids))
    drawn = work.draw(*columns)
    if drawn.kept is not None:
        batch = filtered(batch, drawn.kept)
    return pa.RecordBatch.from_arrays(_arrow_columns(batch, work, drawn.outputs, compact), schema=schema)


def staying_names(names: Sequence[str], work: BatchRelease) -> list[str]:
    """The columns that stay beside the released ones."""
    return [column for column in order_after(names, work) if isinstance(column, str)]


def _arrow_columns(table: Any, work: BatchRelease, outputs: NDArray[np.int64], compact: bool = True) -> list[Any]:
    """The columns of an Arrow table or batch after a release, rows that are left out being gone already."""

    def new(added: Added, before: Any) -> Any:
        return new_array(added, outputs, before.type)

    stay = partial(staying, compact=compact)
    return list(_columns_after(table.schema.names, work, table.column, new, stay).values())


def _drawn(columns: Callable[[str], Any], rows: int, work: BatchRelease, batch: int) -> tuple[Any, Any]:
    """Outputs for all rows, and which rows are kept (None: all); ``columns`` gives a column as Arrow has it."""
    work.total = rows
    wanted = pa.table({name: columns(name) for name in (*work.taken, *work.terms.ids)})
    outputs, kept, any_left_out = [], [], False
    for first in range(0, rows, batch):
        some = wanted.slice(first, batch)
        part = {name: TypedValues(some[name].combine_chunks()) for name in some.column_names}
        drawn = work.draw([part[name] for name in work.taken], [part[name] for name in work.terms.ids])
        outputs.append(drawn.outputs)
        kept.append(np.ones(min(batch, rows - first), dtype=bool) if drawn.kept is None else drawn.kept)
        any_left_out |= drawn.kept is not None
    together = np.concatenate(outputs) if outputs else np.empty(0, dtype=np.int64)
    return together, np.concatenate(kept) if any_left_out else None


def _released_arrow(table: Any, work: BatchRelease, batch: int) -> Any:
    schema = released_schema(table.schema, work)
    refuse_geometry_columns(table, work)
    outputs, kept = _drawn(table.column, len(table), work, batch)
    if kept is not None:
        table = filtered(table, kept)
    columns = _arrow_columns(table, work, outputs)
    work.finish()
    return pa.Table.from_arrays(columns, schema=schema)


# ----------------------------------------------------------------- pandas, polars, DuckDB


def _released_pandas(table: Any, work: BatchRelease, batch: int) -> Any:
    if not all(isinstance(name, str) for name in table.columns):
        raise InvalidInput("the names of the columns must be texts: rename the columns first")
    names = list(table.columns)
    if isinstance(work.terms.column, Geometry):
        work.read(pandas_layout(table, work.terms.column))
    _check_names(names, work)
    refuse_coordinates(names, work)
    for name in () if work.terms.keep else work.replaced:
        if name in table.index.names:
            raise index_stays(name, "its row names")
    refuse_geometry_types({name: str(kind) for name, kind in table.dtypes.items()}, work)
    refuse_geo(table.attrs.get("geo"), names, work)
    refuse_geometry_values(names, lambda name: _first_of_pandas(table[name]), work)
    refuse_told(names, lambda name: _texts_of_pandas(table[name]), work)
    frame = nw.from_native(table, eager_only=True)
    outputs, kept = _drawn(lambda name: _arrow_of_pandas(frame, name), len(table), work, batch)
    if kept is not None:
        table = table[kept]
    data = _columns_after(
        names, work, table.__getitem__, lambda c, before: _pandas_series(c, outputs, before), staying_series
    )
    work.finish()
    done = nw.get_native_namespace(frame).DataFrame(data, index=table.index)  # without attributes, which are notes
    done.index = staying_index(done.index)
    return geo_frame(done, table, work) if hasattr(table, "_geometry_column_name") else done


def _first_of_pandas(series: Any) -> Any:
    """The first value that is there, of a column that is not one of numbers."""
    place = None if getattr(series.dtype, "kind", "O") in "biufcmM" else series.first_valid_index()
    return None if place is None else series[series.notna()].iloc[0]


def _texts_of_pandas(series: Any) -> Any:
    """A column that may hold texts, as Arrow has it; of a mixture the texts alone."""
    if getattr(series.dtype, "kind", "O") in "biufcmM" or str(series.dtype) == "geometry":
        return pa.nulls(0)
    try:
        return pa.Array.from_pandas(series)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return pa.array([value for value in series if isinstance(value, str)], pa.large_string())


def _arrow_of_pandas(frame: Any, name: str) -> Any:
    series = frame[name].to_native()
    if str(series.dtype) == "geometry" or holds_shapes(series):
        return wkb_of_series(series)
    if str(series.dtype) == "object":
        _refuse_mixture(name, series.tolist())
    elif str(series.dtype) == "category" and str(series.cat.categories.dtype) == "object":
        _refuse_mixture(name, [series.cat.categories[code] if code >= 0 else None for code in series.cat.codes])
    try:
        return frame[name].to_arrow()
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise InvalidInput(f"the column {shown(name)} cannot be read: {str(error)[:100]}") from error


def _refuse_mixture(name: str, values: Sequence[Any]) -> None:
    """Arrow would take an enumeration for its numbers, and an integer among floats for a float."""
    first: type | None = None
    for kind in dict.fromkeys(map(type, values)):  # few, in the order in which they appear
        if kind.__name__ in _MISSING:
            continue
        row, value = next((i, value) for i, value in enumerate(values) if type(value) is kind)
        plain = _plain_kind(kind)
        if plain is float and all(value != value for value in values if type(value) is kind):
            continue  # NaN, which stands for what is missing
        if plain not in _BUILT_IN and issubclass(plain, _BUILT_IN):
            what = f"{kind.__name__}: types are not guessed, convert the column first"
            raise BadRow(f"{shown(name)} is {shown(value)}, {what}", row + 1, value)
        if first is not None and plain is not first:
            what = "of another type than the values before: a column has values of one type"
            raise BadRow(f"{shown(name)} is {shown(value)}, {what}", row + 1, value)
        first = plain


_BUILT_IN = (bool, int, float, str, bytes)
_MISSING = ("NoneType", "NAType", "NaTType")


def _plain_kind(kind: type) -> type:
    """Python's own type for a scalar of NumPy; any other type is what it is."""
    if issubclass(kind, np.timedelta64):  # which NumPy takes for an integer
        return kind
    families = ((bool, np.bool_), (int, np.integer), (float, np.floating), (str, np.str_), (bytes, np.bytes_))
    return next((plain for plain, family in families if issubclass(kind, family)), kind)


def _pandas_series(added: Added, outputs: NDArray[np.int64], before: Any) -> Any:
    """A series in the type of the one it replaces, if that holds every label without loss."""
    series, kind, outputs = type(before), before.dtype, added.of(outputs)
    if added.made is not None:
        return point_series(added, outputs, before, new_array)
    if added.values is None:
        return series(outputs, index=before.index, name=added.name)
    labels = list(added.values)
    if str(kind) == "category" and None not in labels:
        native = nw.get_native_namespace(before)
        return series(native.Categorical.from_codes(outputs, categories=labels), index=before.index, name=added.name)
    listed = [label_spelling(v) if isinstance(v, Fraction) else v for v in labels]
    fresh = series(listed)
    if _same_pandas_family(kind, fresh.dtype):
        try:
            cast = fresh.astype(kind)
        except (TypeError, ValueError, OverflowError):
            cast = fresh
        fresh = cast if cast.tolist() == fresh.tolist() else fresh
    taken = fresh.take(outputs)
    taken.index = before.index
    taken.name = added.name
    return taken


def _same_pandas_family(kind: Any, other: Any) -> bool:
    """Whether a column of one type may hold values of the other: numbers for numbers, objects and texts for texts."""
    families = ({"i", "u", "f"}, {"O", "U", "T"}, {"b"})
    return any({getattr(kind, "kind", "O"), getattr(other, "kind", "O")} <= family for family in families)


def _released_polars(table: Any, work: BatchRelease, batch: int) -> Any:
    frame = nw.from_native(table, eager_only=True)
    native = nw.get_native_namespace(frame)
    if isinstance(work.terms.column, Geometry):
        known = [name for name in table.columns if table[name].dtype != native.Object]
        read_schema(table.select(known).head(0).to_arrow().schema, work)
    order_after(table.columns, work)
    for name in (*work.taken, *work.terms.ids):
        if table[name].dtype == native.Object:
            raise InvalidInput(
                f"the column {shown(name)} holds Python objects: types are not guessed, convert it first"
            )
    if watched(work):
        known = [name for name in table.columns if table[name].dtype != native.Object]
        refuse_geometry_schema(table.select(known).head(0).to_arrow().schema, work)
    refuse_geometry_values(table.columns, lambda name: next(iter(table[name].drop_nulls().head(1)), None), work)
    plain = [name for name in table.columns if table[name].dtype != native.Object]
    refuse_told(plain, lambda name: table[name].to_arrow(), work)
    outputs, kept = _drawn(lambda name: frame[name].to_arrow(), len(table), work, batch)
    if kept is not None:
        table = table.filter(kept)

    def new(added: Added, before: Any) -> Any:
        coded = before.dtype in (native.Categorical, native.Enum)
        like = None if coded else before[:0].to_arrow().type
        fresh = native.Series(added.name, new_array(added, outputs, like))
        return fresh.cast(_coded(added, before.dtype, native)) if coded else fresh

    columns = _columns_after(table.columns, work, table.__getitem__, new, staying_polars)
    work.finish()
    return native.DataFrame(list(columns.values()))


def _coded(added: Added, kind: Any, native: Any) -> Any:
    """The type of a categorical column; that of an enumeration if it lists the outputs, drawn or not, and no others.

    Categories that are no outputs may be what was seen in the true column.
    """
    if kind == native.Categorical:
        return kind
    outputs = label_array(added).to_pylist()
    same = set(kind.categories.to_list()) == set(outputs)
    return kind if same else native.Enum(outputs) if all(isinstance(y, str) for y in outputs) else native.Categorical


def _relation_over(relation: Any, released: Any) -> Any:
    """A relation over a table in memory, on the connection of another relation.

    The table of this query exists only as a variable of this function; DuckDB finds it there and holds it. A table of
    the database comes first, so the variable has a name that none will have.
    """
    released_by_sfumato_2f9d41c6b7 = released  # noqa: F841
    return relation.query("unused", "SELECT * FROM released_by_sfumato_2f9d41c6b7")
