"""A comparison as a value: mechanisms beside each other, each a row with its numbers by name, told as a table.

Whether losses of decisions, losses of coordinates or variances of estimates are compared is said by one record,
:class:`ComparedBy`; rows, records and tables are the same for all.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import isinf
from typing import TYPE_CHECKING, Any

from sfumato.channels.prior import Prior
from sfumato.errors import InvalidInput, shown
from sfumato.labels import pandas_records
from sfumato.numbers import text_below
from sfumato.privacy.type import PrivacyType
from sfumato.verdict import Verdict

if TYPE_CHECKING:  # an extra
    import pandas

OPTIMAL = "optimal"
"""What the best mechanism for what is compared is called."""


class Measured:
    """What was measured, by name; each of it is an attribute too."""

    measured: Mapping[str, Any]

    def __getattr__(self, name: str) -> Any:
        if name == "measured" or name not in self.measured:  # what is being unpickled has nothing yet
            raise AttributeError(f"{type(self).__name__} has no {name}", name=name, obj=self)
        return self.measured[name]


@dataclass(frozen=True, eq=False)
class Compared(Measured):
    """One mechanism of a comparison.

    Parameters
    ----------
    value
        What is compared, less is better: infinite where there is no such number.
    measured
        Losses, the ε that it needs and whatever else, by name; :class:`ComparedBy` says which of it is told, and how.
    proved
        Whether the promise of the comparison is proved for it.
    mechanism
        None for a channel, and for what is computed in floats alone.
    bound
        For the row ``optimal``: no mechanism with this promise has a smaller value, which is proved. None for others.
    """

    name: str
    value: Any
    measured: Mapping[str, Any]
    proved: Verdict
    mechanism: Any = None
    bound: Fraction | None = None

    @property
    def told(self) -> dict[str, Any]:
        """Everything that columns may ask for, by name."""
        return {"mechanism": self.name, "proved": self.proved.outcome, "bound": self.bound, **self.measured}


def _finite(value: Any) -> float | None:
    return None if isinf(value) else float(value)


@dataclass(frozen=True)
class Column:
    """What is told of all rows: its name in records, its head in tables if it stands there, and how it is written."""

    name: str
    head: str = ""
    plain: Callable[[Any], Any] = float
    form: str = "{:.6g}"

    def value(self, row: Compared) -> Any:
        """What programs are told of a row."""
        value = row.told[self.name]
        return None if value is None else self.plain(value)

    def cell(self, row: Compared) -> str:
        """What people are told of a row."""
        value = self.value(row)
        if value is None:
            return "–"
        if isinstance(value, bool):
            return "yes" if value else "no"
        return self.form.format(value) if isinstance(value, float) else str(value)


@dataclass(frozen=True, eq=False)
class ComparedBy:
    """By what mechanisms are compared.

    Parameters
    ----------
    columns
        What is told of each mechanism.
    title
        The first line of a table.
    best
        What is said of the row with a bound, given its digits.
    """

    columns: tuple[Column, ...]
    title: Callable[[Comparison], str]
    best: Callable[[Compared, str], str]


@dataclass(frozen=True, eq=False)
class Comparison(Measured):
    """Mechanisms beside each other, the best first; ``print`` it for a table.

    Parameters
    ----------
    by
        By what they are compared, a name of :data:`COMPARED_BY`: the loss after the best remap, the loss of
        coordinates as they are told, or the respondents of a survey.
    stake
        The loss; for a survey the workload.
    rows
        A row for each mechanism. The row ``optimal`` is no known mechanism but a design, and comes with a ``bound``.
    left_out
        Why others are not there.
    measured
        Values beside the rows by name: ``blind`` is the loss without any disclosure, ``clear`` for a survey N times
        the variance of answers that are not hidden.
    """

    by: str
    prior: Prior
    stake: Any
    privacy: PrivacyType
    rows: tuple[Compared, ...]
    left_out: dict[str, str]
    measured: Mapping[str, Any] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Compared]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, name: str) -> Compared:
        """The row of one mechanism."""
        for row in self.rows:
            if row.name == name:
                return row
        raise InvalidInput(f"{shown(name)} is not compared: {', '.join(row.name for row in self.rows)}")

    def records(self) -> list[dict[str, Any]]:
        """The rows as plain numbers and texts."""
        return [{column.name: column.value(row) for column in COMPARED_BY[self.by].columns} for row in self.rows]

    def to_pandas(self) -> pandas.DataFrame:
        """:meth:`records` as a pandas DataFrame, one row a mechanism. Needs pandas (extra ``pandas``)."""
        return pandas_records(self.records(), index="mechanism")

    def __str__(self) -> str:
        by = COMPARED_BY[self.by]
        columns = [column for column in by.columns if column.head]
        lines = [tuple(column.cell(row) for column in columns) for row in self.rows]
        texts = [k for k, column in enumerate(columns) if column in (NAME, NOTE)]
        table = _aligned([tuple(column.head for column in columns), *lines], texts)
        return "\n".join([by.title(self), *table, *self._about_the_best(by)])

    def _about_the_best(self, by: ComparedBy) -> list[str]:
        for row in self.rows:
            if row.bound is not None:
                return [f"{OPTIMAL} is a design for {by.best(row, text_below(row.bound, 6))}"]
        return [f"no row {OPTIMAL}: {self.left_out[OPTIMAL]}"] if OPTIMAL in self.left_out else []


NAME, NOTE = Column("mechanism", "mechanism", str), Column("note", "proved", str)
_EPSILON, _PROVED, _BOUND = Column("epsilon", "needs ε"), Column("proved", "proved", str), Column("bound")
_BEST = "this loss and prior: no mechanism with this promise loses less"


def _title(end: str) -> Callable[[Comparison], str]:
    """What is compared, for which promise, and what there is without it."""

    def title(found: Comparison) -> str:
        (beside,) = found.measured.values()
        return f"{found.stake.name or 'loss'}, {found.privacy!r}, {float(beside):.6g} {end}"

    return title


COMPARED_BY = {
    "loss": ComparedBy(
        (NAME, Column("loss", "loss"), Column("remapped", "remapped"), _EPSILON, Column("multiplicative", "leaks ×"),
         Column("additive", "leaks +"), _PROVED, _BOUND),
        _title("without disclosure"),
        lambda row, bound: f"{_BEST}{'' if row.bound == row.value else f' than {bound}'}",
    ),
    "distance": ComparedBy(
        (NAME, Column("loss", "loss"), Column("epsilon"), Column("proved", plain=str), NOTE, _BOUND),
        lambda found: repr(found.privacy),
        lambda row, bound: f"{_BEST} than {bound}, whatever its outputs",
    ),
    "respondents": ComparedBy(
        (NAME, Column("variance", "N × variance", _finite), Column("times", "respondents", _finite, "{:.4g} ×"),
         Column("recovered", "recovered", bool), Column("outputs", "outputs", int), _EPSILON, _PROVED, _BOUND),
        _title("in the clear"),
        lambda row, bound: f"these estimates: no mechanism with this promise has N × variance below {bound}",
    ),
}  # fmt: skip
"""Losses of who acts on the outputs of a list of secrets; losses of coordinates; errors of estimated shares."""


def sorted_rows(rows: Iterable[Compared]) -> tuple[Compared, ...]:
    """By their values; those that are equal up to rounding: the design first, then by name."""
    return tuple(sorted(rows, key=lambda row: (float(f"{float(row.value):.10g}"), row.bound is None, row.name)))


def _aligned(lines: list[tuple[str, ...]], left: Collection[int]) -> list[str]:
    """Lines of cells as texts, columns below each other: to the right, but for some."""
    columns = []
    for k, column in enumerate(zip(*lines, strict=True)):
        side, width = str.ljust if k in left else str.rjust, max(map(len, column))
        columns.append([side(cell, width) for cell in column])
    return ["  ".join(line).rstrip() for line in zip(*columns, strict=True)]
