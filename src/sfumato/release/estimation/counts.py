"""How often each output was released: counts by label, counts of rows, and counts of rows that have weights.

A survey weight says for how many people of the population a respondent stands. What estimates need of weighted rows is,
for each output, how many rows there are, Σ w and Σ w²: the second gives shares, the third their variance.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.arguments import integer
from sfumato.channels.channel import Channel, as_channel
from sfumato.errors import InvalidInput, Mismatch, few, shown
from sfumato.labels import Labelled, column_values, in_order, label_key, labelled
from sfumato.numbers import Array, Floats, exact, is_floatable
from sfumato.release.rows import BadRow


@dataclass(frozen=True, eq=False)
class WeightedCounts:
    """What weighted rows come to, for each output; made by :func:`weighted_counts`.

    Rows of weight 0 stand for nobody and are not counted. Cross tables have an axis for each question.
    """

    counts: NDArray[np.int64]
    """How many rows."""
    totals: Floats = field(repr=False)
    """Σ w over them."""
    squares: Floats = field(repr=False)
    """Σ w² over them."""

    @cached_property
    def rows(self) -> int:
        """How many rows count."""
        return int(self.counts.sum())

    @cached_property
    def total(self) -> float:
        """The sum of the weights."""
        return float(self.totals.sum())

    @cached_property
    def plain(self) -> bool:
        """Whether all rows have the weight 1."""
        return np.array_equal(self.totals, self.squares)

    @cached_property
    def effective_rows(self) -> float:
        """(Σ w)² / Σ w², how many rows of one weight would tell as much if weights had nothing to do with answers."""
        return self.total**2 / float(self.squares.sum())

    def along(self, axis: int) -> WeightedCounts:
        """The counts of one question of a cross table."""
        axis = integer(axis, "the number of a question", 0, self.counts.ndim - 1)
        others = tuple(k for k in range(self.counts.ndim) if k != axis)
        counts, totals, squares = (part.sum(axis=others) for part in (self.counts, self.totals, self.squares))
        return WeightedCounts(counts, totals, squares)


def plain_counts(counts: NDArray[np.int64]) -> WeightedCounts:
    """Rows that all have the weight 1."""
    once = counts.astype(np.float64)
    return WeightedCounts(counts, once, once)


def output_counts(channel: Channel | Any, released: Mapping[Any, int] | Iterable[Any]) -> NDArray[np.int64]:
    """How often each output was released: counts by label, an array of counts in the order of outputs, or the rows.

    A mapping or a table of two columns has counts by label (:mod:`sfumato.labels`); outputs that do not occur in it
    were released 0 times. An integer array with one number for each output is taken for counts; any other sequence
    lists the outputs of rows. A series with an index is either: counts where its index has outputs, rows where its
    values are outputs, and refused where it could be both.

    Examples
    --------
    >>> channel = Channel([0, 1], [["2/3", "1/3"], ["1/3", "2/3"]], outputs=["no", "yes"])
    >>> output_counts(channel, ["yes", "yes", "no"]).tolist(), output_counts(channel, {"yes": 5}).tolist()
    ([1, 2], [0, 5])
    """
    outputs = as_channel(channel).outputs
    if isinstance(released, np.ndarray) and released.dtype.kind in "iu":
        if released.shape != (len(outputs),):
            raise InvalidInput(f"{len(outputs)} outputs need as many counts, found shape {released.shape}")
        counts = released.astype(np.int64)
    elif (given := labelled(released)) is not None and not _lists_rows(given, outputs):
        values = in_order(released, outputs, "released outputs", absent=0)
        for label, count in zip(outputs, values, strict=True):
            if exact(count).denominator != 1:
                raise InvalidInput(f"the count of {shown(label)} is {count}, no integer")
        counts = np.array([int(exact(count)) for count in values], dtype=np.int64)
    else:
        counts = np.bincount(output_places(outputs, column_values(released)), minlength=len(outputs)).astype(np.int64)
    if (counts < 0).any() or not counts.any():
        raise InvalidInput("counts must not be negative, and at least one row must have been released")
    return counts


def counted_rows(channel: Channel, released: Any, weights: Any = None) -> WeightedCounts:
    """The rows of each output, in whatever form they are given."""
    if weights is not None:
        return weighted_counts(channel, released, weights)
    if not isinstance(released, WeightedCounts):
        return plain_counts(output_counts(channel, released))
    if released.counts.shape != (len(channel.outputs),):
        raise InvalidInput(f"{len(channel.outputs)} outputs need as many counts, found shape {released.counts.shape}")
    return released


def refuse_impossible(outputs: tuple[Any, ...], matrix: Array, counts: Array) -> None:
    """Raise for an output that occurs and that no secret ever gives: no share would stand for its rows."""
    impossible = ~(matrix > 0).any(axis=0) & (counts > 0)
    if impossible.any():
        output = outputs[int(np.argmax(impossible))]
        raise InvalidInput(f"output {shown(output)} was released, but no secret ever gives it")


def _lists_rows(given: Labelled, outputs: tuple[Any, ...]) -> bool:
    """Whether a series lists the outputs of rows; one that might as well be counts by label is refused."""
    if not given.series:
        return False
    known = {label_key(label) for label in outputs}
    rows, counts = (all(label_key(value) in known for value in part) for part in (given.values, given.labels))
    if rows and counts and len(set(given.labels)) == len(given.labels):
        raise InvalidInput(
            "a series whose index and values both are outputs may be rows or counts: "
            "pass .tolist() for rows, .to_dict() for counts"
        )
    return rows


def output_places(outputs: tuple[Any, ...], rows: list[Any]) -> list[int]:
    """The place of each row's output among all outputs."""
    place = {label_key(label): y for y, label in enumerate(outputs)}
    keys = [label_key(label) for label in rows]
    for row, (label, key) in enumerate(zip(rows, keys, strict=True), 1):
        if key not in place:
            message = f"row {row}: {shown(label)} is not among {few(outputs)}"
            raise Mismatch("released outputs", outputs, [label], message)
    return [place[key] for key in keys]


def weighted_counts(channel: Channel | Any, released: Iterable[Any], weights: Iterable[float]) -> WeightedCounts:
    """How many rows each output has, and what their weights come to.

    Parameters
    ----------
    released
        The outputs of rows; counts have no weights of their own.
    weights
        One number for each row, not negative, such as survey weights.

    Examples
    --------
    >>> channel = Channel([0, 1], [["2/3", "1/3"], ["1/3", "2/3"]], outputs=["no", "yes"])
    >>> found = weighted_counts(channel, ["yes", "yes", "no"], [1, 3, 2])
    >>> found.totals.tolist(), found.squares.tolist(), round(found.effective_rows, 2)
    ([2.0, 4.0], [4.0, 10.0], 2.57)
    """
    outputs = as_channel(channel).outputs
    places = np.array(output_places(outputs, rows_only(released, outputs)), dtype=np.int64)
    return tally(places, weights_of(weights, len(places)), (len(outputs),))


def rows_only(released: Any, outputs: tuple[Any, ...]) -> list[Any]:
    """The outputs of rows, one after the other; counts are refused where rows must be told apart."""
    given = labelled(released)
    if given is None:
        return column_values(released)
    if not _lists_rows(given, outputs):
        raise InvalidInput("weights and groups belong to rows: give the output of every row, not counts")
    return given.values


def weights_of(weights: Any, rows: int, first: int = 0) -> Floats:
    """Weights of rows, each a finite number that is not negative; ``first`` rows came before these."""
    ready = isinstance(weights, np.ndarray) and weights.ndim == 1 and weights.dtype.kind in "fiu"
    values = weights if ready else column_values(weights, "the weights of rows")
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        bad = next(row for row, value in enumerate(values) if not is_floatable(value))
        raise BadRow(f"the weight is {shown(values[bad])}, no number", first + bad + 1, values[bad]) from None
    if numbers.shape != (rows,):
        raise InvalidInput(f"{rows} rows need as many weights, found {len(values)}")
    wrong = ~(np.isfinite(numbers) & (numbers >= 0))
    if wrong.any():
        row = int(np.argmax(wrong))
        found = "missing or NaN" if np.isnan(numbers[row]) else f"{numbers[row]:g}"
        message = f"the weight is {found}: weights are finite numbers that are not negative"
        raise BadRow(message, first + row + 1, float(numbers[row]))
    return numbers


def tally(places: NDArray[np.int64], weights: Floats | None, shape: tuple[int, ...]) -> WeightedCounts:
    """Counts of rows that have places in a table of some shape."""
    counted = counts_of_sums(row_sums(places, weights, int(np.prod(shape))), shape)
    if not counted.rows:
        raise InvalidInput("there is no row of positive weight: nothing can be estimated")
    return counted


def row_sums(places: NDArray[np.int64], weights: Floats | None, size: int) -> Floats:
    """For each of so many places how many rows of positive weight it has, Σ w and Σ w²; sums of batches add up."""
    if weights is None:
        return np.broadcast_to(np.bincount(places, minlength=size).astype(np.float64), (3, size))
    many = np.bincount(places[weights > 0], minlength=size)
    return np.stack([many, *(np.bincount(places, part, minlength=size) for part in (weights, weights**2))])


def counts_of_sums(sums: Floats, shape: tuple[int, ...]) -> WeightedCounts:
    """The same as counts in a table of some shape."""
    counts, totals, squares = sums.reshape(3, *shape)
    return WeightedCounts(counts.astype(np.int64), totals, squares)
