"""A comparison as a value: mechanisms beside each other, each a row with its numbers by name, told as a table.

Whether losses of decisions, losses of coordinates or variances of estimates are compared is said by one record,
:class:`ComparedBy`; rows, records and tables are the same for all.

Candidates are built for a promise one after the other, and measured.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import isinf
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.arguments import flag, items, one_of, optional_function
from sfumato.certify.mechanism import Mechanism
from sfumato.channels.channel import Channel, as_channel, check_secrets
from sfumato.channels.prior import Prior
from sfumato.design.result import Design
from sfumato.errors import Infeasible, InvalidInput, NotSupported, SolverError, UndecidedError, keyword, shown
from sfumato.labels import pandas_records
from sfumato.mechanisms.exponential import true_epsilon
from sfumato.mechanisms.proved import LARGEST_TABLE
from sfumato.mechanisms.registry import MECHANISMS
from sfumato.numbers import text_below
from sfumato.privacy.satisfaction import satisfies, smallest_epsilon
from sfumato.privacy.type import PrivacyType
from sfumato.verdict import Verdict, holds
from sfumato.watch import Watch

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


def side_by_side(one: Comparison, other: Comparison) -> Comparison:
    """The rows of both, which are about the same question; a row of the second stands for one of the same name."""
    names = {row.name for row in other.rows}
    rows = [*other.rows, *(row for row in one.rows if row.name not in names)]
    return replace(one, rows=sorted_rows(rows), left_out=one.left_out | other.left_out)


def _aligned(lines: list[tuple[str, ...]], left: Collection[int]) -> list[str]:
    """Lines of cells as texts, columns below each other: to the right, but for some."""
    columns = []
    for k, column in enumerate(zip(*lines, strict=True)):
        side, width = str.ljust if k in left else str.rjust, max(map(len, column))
        columns.append([side(cell, width) for cell in column])
    return ["  ".join(line).rstrip() for line in zip(*columns, strict=True)]


MOST_SECONDS = 10
"""A design beside known mechanisms gets so many seconds; what it has by then is proved, with its bound."""

Candidates = Iterable[str] | Mapping[str, Any] | None

_LARGEST_DESIGN = 100  # Up to so many secrets the best is looked for unasked: two seconds without symmetries.
_LARGEST_EXACT = 2**12  # Up to so many entries measures are computed in fractions.


@dataclass(frozen=True, eq=False)
class ComparisonTerms:
    """Which mechanisms are compared, whether the best is beside them, how long it may take, and who is told."""

    mechanisms: Candidates
    optimal: bool | None
    time_limit: float | Watch | None
    progress: Callable[[Any], Any] | None

    def __post_init__(self) -> None:
        optional_function(self.progress, "progress")
        if self.optimal is not None:
            flag(self.optimal, "optimal")


def compared_candidates(
    row: Callable[[str, Any], Compared], best: Callable[..., Design], privacy: PrivacyType, terms: ComparisonTerms
) -> tuple[list[Compared], dict[str, str]]:
    """Rows of all candidates that exist, and of the best mechanism where it is looked for; why others are left out."""
    progress, optimal, mechanisms = terms.progress, terms.optimal, terms.mechanisms
    rows: list[Compared] = []
    left_out: dict[str, str] = {}
    for name, candidate in _candidates(mechanisms, privacy).items():
        if progress is not None:
            progress(name)
        try:
            verdict = MECHANISMS[name].applies(privacy) if candidate is MECHANISMS.get(name) else None
            if verdict is not None and verdict.outcome != "holds":
                left_out[name] = verdict.reason
                continue
            made = candidate if isinstance(candidate, Mechanism | Channel) else candidate(privacy)
        except (NotSupported, Infeasible, UndecidedError) as refusal:
            left_out[name] = str(refusal)
            continue
        rows.append(row(name, made))
    if optimal is None and mechanisms is None:  # all known ones are compared
        optimal = len(privacy.space) <= _LARGEST_DESIGN
        if not optimal:
            left_out[OPTIMAL] = (
                f"the best of all mechanisms is looked for unasked on at most {_LARGEST_DESIGN} secrets, here are "
                f"{len(privacy.space)}; {keyword('optimal', True)} looks for it all the same"
            )
    if optimal:
        if progress is not None:
            progress(OPTIMAL)
        try:
            found = best(time_limit=MOST_SECONDS if terms.time_limit is None else terms.time_limit)
            rows.append(replace(row(OPTIMAL, found.mechanism), bound=found.bound))
        except (NotSupported, Infeasible, UndecidedError, SolverError) as refusal:
            left_out[OPTIMAL] = str(refusal)
    return rows, left_out


def _candidates(mechanisms: Candidates, privacy: PrivacyType) -> Mapping[str, Any]:
    """What is to be compared, by name: known mechanisms, or mechanisms, channels and constructors of one's own."""
    if len(privacy.space) > LARGEST_TABLE:
        raise NotSupported(f"a comparison on {len(privacy.space)} secrets", [f"at most {LARGEST_TABLE}"])
    if mechanisms is None:
        return MECHANISMS
    if isinstance(mechanisms, Mapping):
        for name, value in mechanisms.items():
            if not isinstance(value, Mechanism | Channel) and not callable(value):
                raise InvalidInput(f"{shown(name)} is no mechanism, channel or constructor: {type(value).__name__}")
        return mechanisms
    return {name: MECHANISMS[name] for name in names_of_known(mechanisms)}


def names_of_known(mechanisms: Any) -> list[str]:
    """Names of known mechanisms as somebody lists them."""
    names = [mechanisms] if isinstance(mechanisms, str) else items(mechanisms, "known mechanisms")
    return [one_of(name, tuple(MECHANISMS), "known mechanism") for name in names]


def measured_row(
    name: str, made: Any, privacy: PrivacyType, exactly: bool, value: str, measures: Callable[[Channel], dict[str, Any]]
) -> Compared:
    """A candidate as a row: what is measured of its channel, the ε that it needs, whether the promise is proved.

    ``value`` names the measure that is compared.
    """
    check_secrets(f"{name} and privacy type", privacy.space, made)
    mechanism, channel = made if isinstance(made, Mechanism) else None, _channel_of(made, exactly)
    epsilon = smallest_epsilon(channel, privacy.space) if mechanism is None else true_epsilon(mechanism)
    found = {"channel": channel, "epsilon": epsilon, **measures(channel)}
    return Compared(name, found[value], found, promise_kept(made, privacy), mechanism)


def _channel_of(made: Any, exactly: bool) -> Channel:
    """The channel to measure: in fractions for small exact questions, in floats otherwise."""
    if not isinstance(made, Mechanism):
        return as_channel(made)
    if (exactly and made.weights.size <= _LARGEST_EXACT) or made.weights.dtype == object:
        return made.channel if exactly else made.channel.to_floats()
    table = made.weights.astype(np.float64)
    return Channel(made.secrets, table / table.sum(axis=1, keepdims=True), made.outputs)


def promise_kept(made: Any, privacy: PrivacyType) -> Verdict:
    """Whether the promise is kept: by a proof of it or of a stricter one, else decided now."""
    if isinstance(made, Mechanism) and made.privacy.space is privacy.space:
        same = (made.privacy.epsilon, made.privacy.alpha) == (privacy.epsilon, privacy.alpha)
        if same or made.privacy.rate_bounds(128)[1] <= privacy.rate_bounds(128)[0]:
            return holds(f"proved: {made.proof}", made.proof)
    return satisfies(as_channel(made), privacy)
