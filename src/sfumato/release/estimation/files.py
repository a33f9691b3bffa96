"""Released files as counts: how often each output occurs in some columns, in all rows or by group, with weights.

The file is read batch after batch by the readers that released it, so that a cell means the same to both. What is no
output of the mechanism, or missing, is an error that names the row; rows are left out only if that is asked for, and
then they are counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from os import PathLike
from os.path import exists, isfile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.arguments import file_path, items, one_of, quoted, text
from sfumato.errors import InvalidInput, NotSupported, few, keyword, shown
from sfumato.numbers import Floats
from sfumato.release.estimation.counts import WeightedCounts, counts_of_sums, row_sums, weights_of
from sfumato.release.formats.reading import check_decimal, file_cells, file_decimal, told_with_file
from sfumato.release.rows import (
    MISSING,
    NOT_A_NUMBER,
    OTHER_KIND,
    BadRow,
    Labels,
    TypedValues,
    Values,
    kind_of,
    leaves_out,
    no_number,
)
from sfumato.release.streams import format_of_file
from sfumato.spaces.finite import label_tuple

FORMATS = ("csv", "jsonl", "parquet", "arrow")
"""The formats of released files that have columns of answers."""

_MOST_CELLS = 4_000_000  # of the tables of all groups together: their counts and sums take 100 MB


@dataclass(frozen=True, eq=False)
class ReleasedCounts:
    """What a released file comes to; made by :func:`released_counts`.

    ``parts`` has counts for each group, in the order in which groups come first; without groups there is one part,
    under ``None``. With several columns the counts are a table with an axis for each.
    """

    columns: tuple[str, ...]
    parts: dict[Any, WeightedCounts]
    rows: int
    """The rows that were read."""
    dropped: int
    """Those that were left out."""
    by: str | None = None
    decimal: str = "."
    """What stands before the decimals of weights in a CSV file."""


class _Outputs(Labels):
    """Finds the outputs that a released column holds."""

    def reason(self, code: int, value: Any) -> str:
        """What is wrong with a value."""
        if code in (MISSING, NOT_A_NUMBER):
            return f"{shown(self.column)} is {'missing' if code == MISSING else 'NaN'}"
        if code == OTHER_KIND:
            return (
                f"{shown(self.column)} is {shown(value)}, of the type {kind_of(value)}, and outputs are such as "
                f"{shown(self.labels[0])}: types are not guessed, convert the column first"
            )
        near = self.similar(value, "outputs")
        return f"{shown(self.column)} is {shown(value)}, which is no output of {self.name}{near}"


def released_counts(
    source: str | PathLike[str],
    columns: Any,
    outputs: Sequence[Sequence[Any]],
    *,
    by: str | None = None,
    weights: str | None = None,
    on_unknown: str = "error",
    format: str | None = None,  # noqa: A002 - what such an argument is called everywhere
    delimiter: str | None = None,
    decimal: str | None = None,
) -> ReleasedCounts:
    """How often each output occurs in the columns of a released file.

    Parameters
    ----------
    source
        A file of the formats csv, jsonl (these also compressed), parquet or arrow.
    columns
        The column of answers, or several for a cross table.
    outputs
        For each column the outputs of its mechanism.
    by
        A column of groups.
    weights
        A column of survey weights.
    on_unknown
        ``"error"``, or ``"drop"``: rows whose answer or group is missing or no output are left out, and counted.
    decimal
        ``","`` for weights of a CSV file with decimal commas; what its first rows have, unless given.
    """
    path = file_path(source, "the source")
    names = [text(name, "a column") for name in ([columns] if isinstance(columns, str) else items(columns, "columns"))]
    labels = [label_tuple(part, "the outputs of a column") for part in items(outputs, "outputs")]
    if not names or len(names) != len(labels):
        raise InvalidInput(f"{len(names)} columns need as many lists of outputs, at least one; found {len(labels)}")
    for name in (by, weights):
        if name is not None:
            text(name, "a column")
        if name in names:
            raise InvalidInput(
                f"{shown(name)} is released: groups and weights are columns that were not, beside the answers"
            )
    wanted = [*names, *([] if by is None else [by]), *([] if weights is None else [weights])]
    if len(set(names)) != len(names):
        raise InvalidInput(f"a column is named twice: {few(names)}")
    one_of(on_unknown, ("error", "drop"), keyword("on_unknown"))
    if not isfile(path):  # which answers for any name, however long
        raise InvalidInput(f"{quoted(path)} is no file" if exists(path) else f"there is no file {quoted(path)}")
    kind = one_of(format, FORMATS, "format") if format is not None else format_of_file(path)
    if kind not in FORMATS:
        raise NotSupported(f"estimates from a file of the format {kind}", FORMATS)
    finders = [_Outputs(name, part, on_unknown) for name, part in zip(names, labels, strict=True)]
    mark = check_decimal(decimal)
    if mark is not None and (kind != "csv" or weights is None):
        raise InvalidInput(f"{keyword('decimal')} is for weights of a CSV file")
    if mark is None:
        mark = (
            "." if kind != "csv" or weights is None else told_with_file(path, file_decimal, path, [weights], delimiter)
        )
    work = _Tally(finders, by, weights is not None, on_unknown == "drop", mark)
    for batch in file_cells(path, kind, wanted, delimiter):
        told_with_file(path, work.add, [batch[name] for name in wanted])
    if not work.rows:
        raise InvalidInput(f"{path} has no rows")
    return ReleasedCounts(tuple(names), told_with_file(path, work.parts), work.rows, work.dropped, by, mark)


class _Tally:
    """Counts that grow batch after batch."""

    def __init__(self, finders: list[_Outputs], by: str | None, weighted: bool, drop: bool, decimal: str) -> None:
        self.decimal = decimal
        self.finders, self.by, self.weighted, self.drop = finders, by, weighted, drop
        self.shape = tuple(len(finder.labels) for finder in finders)
        self.size = int(np.prod(self.shape))
        self.groups: dict[Any, int] = {}
        self.labels: list[Any] = []
        self.rows = self.dropped = 0
        self.sums = np.zeros((3, 0))
        self._room(1 if by is None else 0)

    def add(self, batch: list[Values]) -> None:
        """Count the rows of a batch: columns of answers, then groups, then weights."""
        many, first = len(self.finders), self.rows
        rows = len(batch[0])
        places = [finder.find([values], first) for finder, values in zip(self.finders, batch, strict=False)]
        group = self._groups(batch[many], first) if self.by is not None else np.zeros(rows, dtype=np.int64)
        weights = self._weights(batch[-1], first) if self.weighted else None
        kept = (np.stack([*places, group]) >= 0).all(axis=0)
        self.rows, self.dropped = first + rows, self.dropped + rows - int(kept.sum())
        if not kept.all():
            places, group = [place[kept] for place in places], group[kept]
            weights = None if weights is None else weights[kept]
        self._room(len(self.labels) if self.by is not None else 1)
        where = np.ravel_multi_index([group, *places], (max(len(self.labels), 1), *self.shape))
        self.sums += row_sums(where, weights, self.sums.shape[1])

    def _weights(self, values: Values, first: int) -> Floats:
        if not isinstance(values, TypedValues) and not values.typed:
            values = replace(values, decimal=self.decimal)
        numbers = values.numbers()
        if np.isnan(numbers).any():
            row = int(np.argmax(np.isnan(numbers)))
            value = values.value(row)
            raise BadRow(f"the weight {no_number(value, values.typed, self.decimal)}", first + row + 1, value)
        return weights_of(numbers, len(numbers), first)

    def _room(self, groups: int) -> None:
        """Tables for so many groups."""
        missing = groups * self.size - self.sums.shape[1]
        if groups * self.size > _MOST_CELLS:
            raise NotSupported(
                f"{groups} groups of {self.size} cells", [f"at most {_MOST_CELLS:,} cells: fewer groups or questions"]
            )
        if missing > 0:
            self.sums = np.concatenate([self.sums, np.zeros((3, missing))], axis=1)

    def _groups(self, values: Values, first: int) -> NDArray[np.int64]:
        """The number of each row's group, −1 where it is missing."""
        codes, distinct = values.distinct()
        numbers = np.empty(len(distinct), dtype=np.int64)
        for k, label in enumerate(distinct):
            if label is None or label == "" or label != label:
                numbers[k] = -1
                continue
            key = (kind_of(label), label)
            if key not in self.groups:
                self.groups[key] = len(self.labels)
                self.labels.append(label)
            numbers[k] = self.groups[key]
        found = np.asarray(numbers[codes])
        if not self.drop and (found < 0).any():
            row = first + int(np.argmax(found < 0)) + 1
            raise BadRow(f"the group {shown(self.by)} is missing", row, policy=f"fill it, or {leaves_out()}")
        return found

    def parts(self) -> dict[Any, WeightedCounts]:
        """The counts of each group."""
        groups = [None] if self.by is None else self.labels
        found = {}
        for group, sums in zip(groups, np.split(self.sums, len(groups), axis=1) if groups else [], strict=True):
            found[group] = counts_of_sums(sums, self.shape)
            if not found[group].rows:
                where = "no row" if group is None else f"the group {shown(group)} of {shown(self.by)}: no row"
                raise InvalidInput(
                    f"{where} is left that has an answer and a positive weight: nothing can be estimated"
                )
        if not found:
            raise InvalidInput("no row is left that has an answer and a group: nothing can be estimated")
        return found
