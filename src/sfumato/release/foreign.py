"""Values that a table stores as something else: ordinals of periods, ends of intervals, fields of records.

What is stored is not what is meant, so that it is no label, however much it looks like one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa


@dataclass(frozen=True)
class Foreign:
    """A value that a table stores as something else; ``kind`` says what it is."""

    kind: str
    value: Any

    def __repr__(self) -> str:
        return repr(self.value)


_SELF_EXPLAINING = ("arrow.bool8", "arrow.uuid", "arrow.json")
"""Extension types whose values come out as what they are, not as what is stored for them."""


def foreign_kind(kind: Any) -> str | None:
    """The name of a type whose stored values are not what they stand for, or None.

    The fields of a record have names and no order, those of a label the other way round: a record is a label only where
    no two of its fields could change places.

    Examples
    --------
    >>> foreign_kind(pa.struct([("x", pa.int64()), ("y", pa.int64())])), foreign_kind(pa.list_(pa.int64()))
    ('a record', None)
    """
    if isinstance(kind, pa.BaseExtensionType):
        return None if kind.extension_name in _SELF_EXPLAINING else str(kind.extension_name)
    if pa.types.is_struct(kind):
        kinds = [field.type for field in kind]
        distinct = len({_family(field) for field in kinds}) == len(kinds)
        return next(filter(None, map(foreign_kind, kinds)), None) if distinct else "a record"
    if pa.types.is_map(kind) or pa.types.is_union(kind) or pa.types.is_interval(kind):
        return str(kind)
    inner = getattr(kind, "value_type", None)  # of lists, dictionaries and runs
    return None if inner is None else foreign_kind(inner)


def _family(kind: Any) -> str:
    """Types whose values are of one kind."""
    families = {"int": pa.types.is_integer, "float": pa.types.is_floating, "text": is_text, "bytes": is_bytes}
    return next((name for name, belongs in families.items() if belongs(kind)), str(kind))


def is_text(kind: Any) -> bool:
    """Whether values of a type are texts."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or kind == pa.string_view())


def is_bytes(kind: Any) -> bool:
    """Whether values of a type are bytes."""
    simple = pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind)
    return bool(simple or kind == pa.binary_view())
