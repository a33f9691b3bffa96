"""Columns that stay: their values, and nothing of rows that were left out or of other tables.

A dictionary lists the values of all rows that there ever were, a view points into the text of all of them, and the
fields of a record have notes of their own. What stays beside released values is therefore built anew where its type
has such places: dictionaries list what stands in the rows that are released, in their old order. Dictionaries inside
of lists and records, and views there, become plain values, list views become lists.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.errors import NotSupported

_PLAIN_EXTENSIONS = ("arrow.uuid", "arrow.json", "arrow.bool8", "arrow.fixed_shape_tensor", "pandas.period",
                     "pandas.interval", "geoarrow.", "ogc.")  # fmt: skip
_VIEWS = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}

# ----------------------------------------------------------------- Arrow


def staying_type(kind: Any, *, inside: bool = False) -> Any:
    """The type of a column that stays: fields have no metadata; ``inside`` of others there are plain values alone, no
    dictionaries and views.

    Examples
    --------
    >>> noted = pa.field("town", pa.dictionary(pa.int32(), pa.string()), metadata={"most": "Atlantis"})
    >>> staying_type(pa.struct([noted])).field(0).metadata, str(staying_type(pa.list_(noted)))
    (None, 'list<town: string>')
    """
    types = pa.types
    if inside and kind in _VIEWS:
        return _VIEWS[kind]
    if isinstance(kind, pa.BaseExtensionType):
        known = str(kind.extension_name).startswith(_PLAIN_EXTENSIONS)
        return kind if known else staying_type(kind.storage_type, inside=inside)
    if types.is_dictionary(kind):
        value = staying_type(kind.value_type, inside=True)
        return value if inside else pa.dictionary(kind.index_type, value, kind.ordered)
    if types.is_struct(kind):
        return pa.struct([_staying_field(field) for field in kind])
    if types.is_map(kind):
        return pa.map_(_staying_field(kind.key_field), _staying_field(kind.item_field), kind.keys_sorted)
    if types.is_fixed_size_list(kind):
        return pa.list_(_staying_field(kind.value_field), kind.list_size)
    if types.is_large_list(kind) or types.is_large_list_view(kind):
        return pa.large_list(_staying_field(kind.value_field))
    if types.is_list(kind) or types.is_list_view(kind):
        return pa.list_(_staying_field(kind.value_field))
    if types.is_run_end_encoded(kind):
        value = staying_type(kind.value_type, inside=True)
        return kind if value.equals(kind.value_type, check_metadata=True) else value
    if types.is_union(kind) and any(_changes(field) for field in kind):
        raise NotSupported(
            f"a column of type {kind}, with dictionaries or notes inside", ["records", "dropping the column first"]
        )
    return kind


def _staying_field(field: Any) -> Any:
    return pa.field(field.name, staying_type(field.type, inside=True), nullable=field.nullable)


def _changes(field: Any) -> bool:
    return not field.equals(_staying_field(field), check_metadata=True)


def staying(column: Any, *, compact: bool = True) -> Any:
    """A column that stays, an array or a chunked one, with the type that :func:`staying_type` says.

    Without ``compact`` its own dictionary is left for :func:`compacted`, which looks at many batches at once.

    Examples
    --------
    >>> towns = pa.DictionaryArray.from_arrays(pa.array([2, 0]), pa.array(["Rome", "Atlantis", "Oslo"]))
    >>> staying(towns).dictionary.to_pylist(), staying(towns).to_pylist()
    (['Rome', 'Oslo'], ['Oslo', 'Rome'])
    """
    kind = staying_type(column.type)
    if not isinstance(column, pa.ChunkedArray):
        return _rebuilt(column, kind, compact)
    if pa.types.is_dictionary(kind) and compact:
        return _compacted(pa.chunked_array([_rebuilt(part, kind, False) for part in column.chunks], type=kind))
    return pa.chunked_array([_rebuilt(part, kind, compact) for part in column.chunks], type=kind)


def _rebuilt(array: Any, kind: Any, compact: bool) -> Any:
    """An array as one of a type that :func:`staying_type` made of its own."""
    types = pa.types
    if isinstance(array, pa.ExtensionArray) and not isinstance(kind, pa.BaseExtensionType):
        return _rebuilt(array.storage, kind, compact)
    if array.type in _VIEWS:
        return array.cast(_VIEWS[array.type]).cast(kind)
    if types.is_dictionary(array.type):
        if not types.is_dictionary(kind):
            return _rebuilt(array.dictionary_decode(), kind, compact)
        values = _rebuilt(array.dictionary, kind.value_type, compact)
        coded = pa.DictionaryArray.from_arrays(array.indices, values, ordered=kind.ordered)
        return _compacted(pa.chunked_array([coded])).chunk(0) if compact else coded
    if not types.is_nested(array.type) or array.type.equals(kind, check_metadata=True):
        return array
    if types.is_run_end_encoded(array.type):
        runs = np.asarray(array.run_ends)
        where = np.searchsorted(runs, array.offset + np.arange(len(array)), side="right")
        return _rebuilt(array.values.take(pa.array(where)), kind, compact)
    gone = array.is_null()
    if types.is_struct(kind):
        parts = [_rebuilt(array.field(k), kind.field(k).type, compact) for k in range(kind.num_fields)]
        return pa.StructArray.from_arrays(parts, fields=list(kind), mask=gone)
    if types.is_fixed_size_list(kind):
        inner = array.values.slice(array.offset * kind.list_size, len(array) * kind.list_size)
        return pa.FixedSizeListArray.from_arrays(_rebuilt(inner, kind.value_type, compact), type=kind, mask=gone)
    if types.is_list_view(array.type) or types.is_large_list_view(array.type):
        ends, places = _of_view(array)
        return _lists(kind).from_arrays(ends, _rebuilt(array.values, kind.value_type, compact).take(places), type=kind,
                                        mask=gone)  # fmt: skip
    offsets = array.offsets.to_numpy().astype(np.int64)
    first, many = int(offsets[0]), int(offsets[-1] - offsets[0])
    ends = pa.array(offsets - first, array.offsets.type)
    if types.is_map(kind):
        parts = [_rebuilt(part.slice(first, many), inner, compact)
                 for part, inner in ((array.keys, kind.key_type), (array.items, kind.item_type))]  # fmt: skip
        return pa.MapArray.from_arrays(ends, *parts, type=kind, mask=gone)
    values = _rebuilt(array.values.slice(first, many), kind.value_type, compact)
    return _lists(kind).from_arrays(ends, values, type=kind, mask=gone)


def _lists(kind: Any) -> Any:
    return pa.LargeListArray if pa.types.is_large_list(kind) else pa.ListArray


def _of_view(array: Any) -> tuple[Any, Any]:
    """Where lists behind a view end when they stand one after the other, and where their values come from."""
    sizes = np.where(array.is_valid().to_numpy(zero_copy_only=False), array.sizes.to_numpy(), 0).astype(np.int64)
    ends = np.concatenate([[0], np.cumsum(sizes)])
    places = np.repeat(array.offsets.to_numpy().astype(np.int64) - ends[:-1], sizes) + np.arange(ends[-1])
    return pa.array(ends, array.offsets.type), pa.array(places)


def compacted(table: Any, names: Iterable[str]) -> Any:
    """A table whose columns of these names have dictionaries of what stands in them, the same in all chunks."""
    for name in names:
        column = table.column(name)
        if pa.types.is_dictionary(column.type):
            place = table.schema.get_field_index(name)
            table = table.set_column(place, table.schema.field(place), _compacted(column))
    return table


def _compacted(column: Any) -> Any:
    """A chunked column whose dictionary lists what stands there, in the order that it had."""
    column = pa.chunked_array([_named(part) for part in column.chunks], type=column.type)
    try:
        chunks = column.unify_dictionaries().chunks
    except pa.ArrowNotImplementedError:  # of values that Arrow cannot compare, each chunk has its own
        chunks = column.chunks
        if len(chunks) > 1:
            return pa.chunked_array([_compacted(pa.chunked_array([part])).chunk(0) for part in chunks])
    there = [part.indices.is_valid().to_numpy(zero_copy_only=False) for part in chunks]
    codes = [pc.fill_null(part.indices, 0).to_numpy(zero_copy_only=False).astype(np.int64) for part in chunks]
    used = np.unique(np.concatenate([np.empty(0, dtype=np.int64), *(c[t] for c, t in zip(codes, there, strict=True))]))
    made = []
    for part, code, known in zip(chunks, codes, there, strict=True):
        places = pa.array(np.searchsorted(used, code), mask=~known).cast(part.type.index_type, safe=False)
        values = part.dictionary.take(pa.array(used))
        made.append(pa.DictionaryArray.from_arrays(places, values, ordered=part.type.ordered))
    return pa.chunked_array(made, type=column.type)


def _named(array: Any) -> Any:
    """The same values, where a missing one is missing and no entry of the dictionary."""
    if not array.dictionary.null_count:
        return array
    gone = array.dictionary.is_null().take(array.indices).fill_null(True)
    codes = pc.if_else(gone, pa.scalar(None, array.type.index_type), array.indices)
    fine = array.dictionary.is_valid()
    places = pa.array(np.cumsum(fine.to_numpy(zero_copy_only=False)) - 1).take(codes).cast(array.type.index_type)
    return pa.DictionaryArray.from_arrays(places, array.dictionary.filter(fine), ordered=array.type.ordered)


def filtered(table: Any, kept: NDArray[np.bool_]) -> Any:
    """The rows of an Arrow table or batch that are kept; views are read first, which Arrow cannot filter.

    Examples
    --------
    >>> filtered(pa.table({"a": pa.array(["x", "y"], pa.string_view())}), np.array([False, True]))["a"].to_pylist()
    ['y']
    """
    for place, field in enumerate(table.schema):
        kind = staying_type(field.type, inside=field.type in _VIEWS)
        if not kind.equals(field.type):
            column = staying(table.column(place), compact=False).cast(kind)
            table = table.set_column(place, field.with_type(kind), column)
    return table.filter(pa.array(kept))


def unordered_schema(schema: Any) -> Any:
    """The schema of a file of several parts: each has values of its own, so that no order of all of them is known."""
    fields = []
    for field in schema:
        kind = field.type
        ordered = pa.types.is_dictionary(kind) and kind.ordered
        fields.append(field.with_type(pa.dictionary(kind.index_type, kind.value_type)) if ordered else field)
    return pa.schema(fields, metadata=schema.metadata)


def unordered(table: Any) -> Any:
    """A table for such a file."""
    schema = unordered_schema(table.schema)
    columns = []
    for field, column in zip(schema, table.columns, strict=True):
        parts = column.chunks
        if not field.type.equals(column.type):
            parts = [pa.DictionaryArray.from_arrays(part.indices, part.dictionary) for part in parts]
        columns.append(pa.chunked_array(parts, type=field.type))
    return pa.Table.from_arrays(columns, schema=schema)


class GrownDictionaries:
    """The dictionaries of a file, which can only grow: each batch adds what stands in it for the first time.

    Examples
    --------
    >>> grown = GrownDictionaries()
    >>> for towns in (["Rome"], ["Oslo", "Rome"]):
    ...     batch = grown.of(pa.record_batch({"town": pa.array(towns).dictionary_encode()}))
    >>> batch.column("town").dictionary.to_pylist(), batch.column("town").to_pylist()
    (['Rome', 'Oslo'], ['Oslo', 'Rome'])
    """

    def __init__(self) -> None:
        self._known: dict[int, Any] = {}

    def of(self, batch: Any) -> Any:
        """The batch, with the dictionaries of all batches until now."""
        columns = [
            self._column(place, column) if pa.types.is_dictionary(column.type) else column
            for place, column in enumerate(batch.columns)
        ]
        return pa.RecordBatch.from_arrays(columns, schema=unordered_schema(batch.schema))

    def _column(self, place: int, column: Any) -> Any:
        known, values = self._known.get(place), column.dictionary
        if known is None:
            known = values
        elif pa.types.is_nested(values.type):  # which Arrow cannot look up: equal ones stand there twice
            known = pa.concat_arrays([known, values])
        else:
            known = pa.concat_arrays([known, values.filter(pc.is_null(pc.index_in(values, value_set=known)))])
        self._known[place] = known
        where = np.arange(len(known) - len(values), len(known))
        if not pa.types.is_nested(values.type):
            where = pc.index_in(values, value_set=known).to_numpy(zero_copy_only=False)
        codes = pa.array(where, pa.int64()).take(column.indices).cast(column.type.index_type)
        return pa.DictionaryArray.from_arrays(codes, known)


# ----------------------------------------------------------------- pandas and polars


def staying_series(series: Any) -> Any:
    """A column of pandas: its categories are those that stand there, in their order."""
    if str(series.dtype) == "category":
        return series.cat.remove_unused_categories()
    if type(series.dtype).__name__ != "ArrowDtype":
        return series
    made = type(series.array)(staying(pa.chunked_array(pa.table({"column": pa.array(series.array)})["column"].chunks)))
    return type(series)(made, index=series.index, name=series.name)


def staying_index(index: Any) -> Any:
    """The row names of pandas, with levels and categories that stand there."""
    if hasattr(index, "remove_unused_levels"):
        index = index.remove_unused_levels()
        return index.set_levels([staying_index(level) for level in index.levels]) if index.nlevels else index
    return index.remove_unused_categories() if hasattr(index, "remove_unused_categories") else index


def staying_polars(series: Any) -> Any:
    """A column of polars: an enumeration lists what stands there, in its order; inside of others it is text."""
    native: Any = nw.get_native_namespace(nw.from_native(series, series_only=True))
    kind = series.dtype
    if kind == native.Enum:
        there = set(series.drop_nulls().unique().to_list())
        return series.cast(native.String).cast(native.Enum([name for name in kind.categories if name in there]))
    if kind == native.Categorical:
        return series.cast(native.String).cast(kind)
    plain = _plain_polars(kind, native)
    return series if plain == kind else series.cast(plain)


def _plain_polars(kind: Any, native: Any) -> Any:
    """The same type with texts for categories, at any depth."""
    if kind in (native.Enum, native.Categorical):
        return native.String
    if kind == native.List:
        return native.List(_plain_polars(kind.inner, native))
    if kind == native.Array:
        inner = _plain_polars(kind.inner, native)  # of the next dimension, where there are several
        return native.Array(inner, kind.size)
    if kind == native.Struct:
        return native.Struct({field.name: _plain_polars(field.dtype, native) for field in kind.fields})
    return kind
