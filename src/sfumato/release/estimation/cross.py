"""Several questions, each hidden by a mechanism of its own: the cross table, and what a respondent spends in all.

If the noise of one question has nothing to do with that of another, a pair of answers (x, z) becomes a pair of outputs
with probability M(x)(y)·N(z)(v): the channel of both is the Kronecker product, and so is its right inverse. Joint
shares are estimated as those of one question are, without the product ever being built; since W1 = 1 for each
inverse, their sums over one question are the estimates of the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.arguments import integer, items, text
from sfumato.certify.amounts import Amount
from sfumato.certify.protocol import charge_of
from sfumato.channels.channel import Channel, as_channel
from sfumato.channels.prior import Prior
from sfumato.errors import InvalidInput, NotSupported, shown
from sfumato.labels import pandas_records
from sfumato.numbers import Floats, floats
from sfumato.release.estimation.counts import (
    WeightedCounts,
    output_places,
    plain_counts,
    refuse_impossible,
    rows_only,
    tally,
    weights_of,
)
from sfumato.release.estimation.estimates import EstimatedShares, Frequencies, frequencies, reference_of, right_inverse
from sfumato.release.estimation.fit import Fit, any_of, fit_of
from sfumato.release.estimation.intervals import Recovery
from sfumato.release.ledger.values import Spent, SpentPart

if TYPE_CHECKING:  # an extra
    import pandas

MOST_CELLS = 1_000_000
"""Of a cross table: its numbers then take 100 MB."""

_MOST_TOGETHER = 2**18  # entries of the product of all channels, whose fit takes a second then


@dataclass(frozen=True, eq=False, repr=False)
class CrossTable(EstimatedShares):
    """Unbiased estimates of the shares of all combinations of answers; made by :func:`cross_table`.

    ``weights`` has an axis for each question and sums to 1; shares may be negative.
    """

    channels: tuple[Channel, ...]
    counted: WeightedCounts
    weights: Floats
    recovery: Recovery = field(repr=False)
    names: tuple[str, ...] = ()
    references: tuple[Prior, ...] = field(default=(), repr=False)

    @property
    def secrets(self) -> tuple[tuple[Any, ...], ...]:
        """The answers of each question."""
        return tuple(channel.secrets for channel in self.channels)

    @property
    def cells(self) -> list[tuple[Any, ...]]:
        """The combinations of answers, the last question fastest."""
        return list(product(*self.secrets))

    @cached_property
    def fit(self) -> Fit:
        """Whether these rows may come from the mechanisms: all answers together, or one by one where they are many."""
        matrices = self.recovery.matrices
        if prod(matrix.size for matrix in matrices) <= _MOST_TOGETHER:
            together = reduce(lambda first, second: floats(np.kron(first, second)), matrices)
            return fit_of(together, self.counted.counts.ravel())
        alone = [fit_of(matrix, self.counted.along(axis).counts) for axis, matrix in enumerate(matrices)]
        return any_of(alone)

    def marginal(self, question: int) -> Frequencies:
        """The shares of one question, by its number from 0 on: the sums of the table over the others."""
        axis = integer(question, "the number of a question", 0, len(self.channels) - 1)
        return frequencies(self.channels[axis], self.counted.along(axis), reference=self.references[axis])

    def to_pandas(self) -> pandas.DataFrame:
        """A row for each cell: answers, share, standard error, 95 % interval. Needs pandas (extra ``pandas``)."""
        table = np.column_stack([self.weights.ravel(), self.standard_errors.ravel(), self.intervals().reshape(-1, 2)])
        records = [
            dict(zip(self.titles, cell, strict=True))
            | dict(zip(("share", "standard error", "low", "high"), numbers, strict=True))
            for cell, numbers in zip(self.cells, table.tolist(), strict=True)
        ]
        return pandas_records(records)

    @property
    def titles(self) -> tuple[str, ...]:
        """What the questions are called."""
        return self.names or tuple(f"question {k + 1}" for k in range(len(self.channels)))

    def __repr__(self) -> str:
        shape = " × ".join(map(str, self.weights.shape))
        return f"CrossTable({shape} shares of {self.total:,} rows)"


def cross_table(
    channels: Sequence[Channel | Any],
    released: Any,
    *,
    weights: Any = None,
    names: Sequence[str] = (),
    references: Sequence[Prior | None] = (),
) -> CrossTable:
    """Joint shares of the answers to several questions that were hidden one by one.

    Parameters
    ----------
    channels
        For each question the channel, or the mechanism, by which it was released.
    released
        For each question the outputs of all rows, in the same order; or counts with an axis for each question, an
        integer array or :class:`~sfumato.release.estimation.counts.WeightedCounts`.
    weights
        One number for each row.
    names
        What the questions are called.
    references
        For each question the frequencies for which the variance is least, uniform by default; see
        :func:`~sfumato.release.estimation.estimates.frequencies`.

    Examples
    --------
    >>> response = Channel(["no", "yes"], [["3/4", "1/4"], ["1/4", "3/4"]], outputs=["no", "yes"])
    >>> both = cross_table([response, response], np.array([[300, 200], [200, 300]]), names=("q1", "q2"))
    >>> print(both)
    q1   q2   share  error  95 % interval
    no   no   0.450  0.040  0.375 – 0.530
    no   yes  0.050  0.037  0.000 – 0.126
    yes  no   0.050  0.037  0.000 – 0.126
    yes  yes  0.450  0.040  0.375 – 0.530
    CrossTable(2 × 2 shares of 1,000 rows)
    >>> [str(share) for share in both.marginal(0).weights]
    ['1/2', '1/2']
    """
    asked = items(channels, "the channels of questions")
    tables = tuple(as_channel(channel) for channel in asked)
    titles = tuple(text(name, "the name of a question") for name in items(names, "the names of questions"))
    if len(tables) < 2:
        raise InvalidInput("a cross table is about two questions or more: frequencies are for one")
    if titles and len(set(titles)) != len(tables):
        raise InvalidInput(f"{len(tables)} questions need as many names, all different; found {shown(titles)}")
    cells = int(np.prod([max(channel.shape) for channel in tables], dtype=float))
    if cells > MOST_CELLS:
        raise NotSupported(f"a cross table of {cells:,} cells", [f"at most {MOST_CELLS:,}: fewer questions at once"])
    counted = _counted(tables, released, weights)
    for axis, channel in enumerate(tables):
        refuse_impossible(channel.outputs, channel.matrix, counted.along(axis).counts)
    matrices = tuple(floats(channel.matrix) for channel in tables)
    starts = _references(asked, references)
    inverses = (right_inverse(channel.to_floats(), start) for channel, start in zip(tables, starts, strict=True))
    recovery = Recovery(matrices, tuple(map(floats, inverses)))
    return CrossTable(tables, counted, recovery.estimate(counted.totals / counted.total), recovery, titles, starts)


def _references(channels: Sequence[Channel | Any], references: Any) -> tuple[Prior, ...]:
    given = items(references, "the references of questions") or [None] * len(channels)
    if len(given) != len(channels):
        raise InvalidInput(f"{len(channels)} questions need as many references, found {len(given)}")
    return tuple(reference_of(channel, reference) for channel, reference in zip(channels, given, strict=True))


def _counted(channels: tuple[Channel, ...], released: Any, weights: Any) -> WeightedCounts:
    shape = tuple(len(channel.outputs) for channel in channels)
    if isinstance(released, np.ndarray) and released.dtype.kind in "iu" and released.ndim == len(shape):
        if weights is not None:
            raise InvalidInput("weights belong to rows: give the outputs of every row, not counts")
        if (released < 0).any() or not released.any():
            raise InvalidInput("counts must not be negative, and at least one row must have been released")
        released = plain_counts(released.astype(np.int64))
    if isinstance(released, WeightedCounts):
        if released.counts.shape != shape:
            raise InvalidInput(f"counts of {released.counts.shape} cells, and outputs for {shape}")
        return released
    columns = items(released, "the outputs of questions")
    if len(columns) != len(channels):
        raise InvalidInput(f"{len(channels)} questions need as many columns of outputs, found {len(columns)}")
    rows = [output_places(c.outputs, rows_only(column, c.outputs)) for c, column in zip(channels, columns, strict=True)]
    if len({len(column) for column in rows}) != 1:
        raise InvalidInput(f"questions have {', '.join(str(len(column)) for column in rows)} rows: all need as many")
    places = np.ravel_multi_index([np.array(column, dtype=np.int64) for column in rows], shape)
    return tally(places, None if weights is None else weights_of(weights, len(places)), shape)


def spent_on_answers(mechanisms: Sequence[Any], names: Sequence[str]) -> Spent:
    """What a respondent spends who answers all questions once, as a ledger adds it up.

    Examples
    --------
    >>> import sfumato as sf
    >>> scale = sf.geometric(sf.PrivacyType(sf.line(5), alpha="1/2"))
    >>> print(spent_on_answers([scale, scale], ["q1", "q2"]).total)
    2·ln(2)
    """
    given, titles = items(mechanisms, "the mechanisms of questions"), items(names, "the names of questions")
    if not given or len(given) != len(titles):
        raise InvalidInput(f"{len(given)} mechanisms need as many names, at least one; found {len(titles)}")
    parts = []
    for mechanism, name in zip(given, titles, strict=True):
        charge = charge_of(mechanism)
        amount: Amount = charge.rate
        parts.append(
            SpentPart(
                text(name, "the name of a question"), "", charge.space, charge.unit, charge.metric, amount, charge.delta
            )
        )
    return Spent("", tuple(parts))
