"""Repair: turn any approximate matrix into an integer mechanism that the kernel accepts.

Solvers and papers give matrices that are private up to an error, which is to say not private.
The way back, losing as little as possible:

1. in floats, a few rounds of "divide rows by their sums, take the least private column above"
   (or the geometric mean of that and of the greatest private column below, which wins where
   errors are noise), keeping the best;
2. the rows then differ a little in their sums; what is missing, plus the smallest constant that
   keeps the column private, is added to one output;
3. the same in integers with a total of 2^bits, every bound on the kernel's safe side;
4. the kernel decides.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.certify.closure import Bounds, bounds_of, close_floats, close_integers, least_constant
from sfumato.certify.mechanism import Mechanism
from sfumato.certify.twin import LARGEST_WEIGHT
from sfumato.certify.verify import prove
from sfumato.channels.channel import Channel, check_secrets
from sfumato.channels.prior import Prior
from sfumato.errors import InvalidChannel, InvalidInput, NotSupported, advice, expect, shown
from sfumato.labels import column_labels, table_in_order
from sfumato.losses.loss import Loss
from sfumato.numbers import array, common_denominator, floats, text_above
from sfumato.privacy.satisfaction import satisfies
from sfumato.privacy.type import PrivacyType, as_type
from sfumato.spaces.finite import label_tuple

DEFAULT_BITS = 52
"""Weights of 52 bits convert to float64 without rounding and leave errors of 1e-15."""

_MOST_FLOAT_WORK = 2 * 10**9  # raised entries looked at in floats before integers take over, a few seconds
_MOST_NEGATIVE = 0.05  # What lies farther below 0 is no probability with an error.
_MOST_ROUNDS = 5  # Rounds of step 1: later ones gain less than a tenth each.
_ROUNDING_RAISE = 2.0**-48  # a probability raised by less was right up to rounding: nothing else could be nearer
_MOST_OUTPUTS_TRIED = 8  # when looking for the output that takes up missing mass best


@dataclass(frozen=True, eq=False)
class Repair:
    """A proved mechanism and what it cost to get there.

    ``print`` it for one line on how far rows have moved and what became of the loss.

    Parameters
    ----------
    mechanism
        The integer mechanism.
    moved
        The largest total variation distance between a given row (negative entries set to 0, then
        divided by its sum) and the repaired one; a loss with values in [0, 1] changes by no more.
    loss_before, loss_after
        Expected loss under the best remap, if a prior and a loss were given.
    """

    mechanism: Mechanism
    moved: float
    loss_before: float | None = None
    loss_after: float | None = None

    def __str__(self) -> str:
        text = f"moved at most {text_above(self.moved, 3)} of the probability of a row"
        if self.loss_before is not None and self.loss_after is not None:
            text += f", expected loss {self.loss_before:.9g} → {self.loss_after:.9g}"
        return text


def repair(
    channel: Channel | Any,
    privacy: PrivacyType,
    *,
    outputs: Any = None,
    prior: Prior | None = None,
    loss: Loss | None = None,
    bits: int = DEFAULT_BITS,
) -> Repair:
    """The nearest proved mechanism this package knows how to find, for any approximate matrix.

    An exact channel that keeps the promise is taken over as it is. Anything else goes through
    :func:`quantise`: rows that do not sum to 1, small negative entries, zeros that face
    positive entries, ratios beyond the bound.

    Examples
    --------
    >>> from sfumato.spaces import line
    >>> privacy = PrivacyType(line(2), epsilon="0.7")
    >>> fixed = repair([[0.7, 0.3], [0.3, 0.7]], privacy)
    >>> fixed.mechanism
    Mechanism(2 secrets → 2 outputs, PrivacyType(line(2), epsilon=0.7), proved)
    >>> round(float(fixed.mechanism.channel.matrix[0, 0]), 6)
    0.668188
    """
    privacy = as_type(privacy)
    if isinstance(channel, Channel) and channel.exact and bool(satisfies(channel, privacy)):
        _, denominator = common_denominator(channel.matrix)
        if denominator <= LARGEST_WEIGHT:
            proved = prove(channel, privacy, provenance={"made by": "repair", "changed": "nothing"})
            return _report(proved, floats(channel.matrix), _Stakes.of(channel, channel.outputs, prior, loss))
    return quantise(channel, privacy, outputs=outputs, prior=prior, loss=loss, bits=bits)


def quantise(
    channel: Channel | Any,
    privacy: PrivacyType,
    *,
    bits: int = DEFAULT_BITS,
    outputs: Any = None,
    prior: Prior | None = None,
    loss: Loss | None = None,
    provenance: dict[str, Any] | None = None,
) -> Repair:
    """An integer mechanism with row totals 2^bits next to an approximate matrix, proved.

    Parameters
    ----------
    channel
        A :class:`Channel`, or any matrix with one row a secret.
    bits
        Between 8 and 60; fewer bits are coarser, more are beyond what floats can feed.
    prior, loss
        If given, missing mass goes where it costs least, candidates are compared by this loss,
        and the change of loss is reported.
    provenance
        Said in the certificate about where the matrix comes from.
    """
    if isinstance(bits, bool) or not isinstance(bits, int | np.integer) or not 8 <= bits <= 60:
        raise NotSupported(f"{shown(bits)} bits", ["a whole number from 8 to 60"])
    privacy = as_type(privacy)
    if provenance is not None:
        expect(provenance, dict, "the provenance")
    matrix, labels = _approximate(channel, privacy, outputs)
    stakes = _Stakes.of(matrix, labels, prior, loss)
    weights = _rounded(matrix, privacy, stakes, 1 << bits)
    notes = {"made by": "quantise", "bits": bits, **(provenance or {})}
    return _report(prove(weights, privacy, outputs=labels, provenance=notes), matrix, stakes)


def private_weights(
    matrix: NDArray[np.float64], privacy: PrivacyType, prior: Prior | None = None, loss: Loss | None = None
) -> NDArray[np.int64]:
    """The weights that :func:`quantise` finds, for a caller who proves them together with a claim."""
    given, labels = _approximate(matrix, privacy, None)
    return _rounded(given, privacy, _Stakes.of(given, labels, prior, loss), 1 << DEFAULT_BITS)


def _rounded(matrix: NDArray[np.float64], privacy: PrivacyType, stakes: _Stakes, total: int) -> NDArray[np.int64]:
    """The best of the candidates in integers, or one distribution for all secrets if that is better."""
    bounds = bounds_of(privacy, total)
    best = min(_candidates(matrix, bounds, stakes), key=lambda c: stakes.cost(c, matrix))
    weights, constant = _in_integers(best, bounds, total, stakes), _constant_weights(matrix, total)
    if weights is None or stakes.cost(constant / total, matrix) < stakes.cost(weights / total, matrix):
        return constant
    return weights


def _approximate(channel: Any, privacy: PrivacyType, outputs: Any) -> tuple[NDArray[np.float64], tuple[Any, ...]]:
    """The matrix in floats, negative entries cut off, rows divided by their sums."""
    if isinstance(channel, Channel):
        check_secrets("channel and privacy type", privacy.space, channel)
        given, labels = floats(channel.matrix), channel.outputs
    else:
        named = column_labels(channel) if outputs is None else outputs
        known = None if named is None else label_tuple(named, "the outputs")
        table = table_in_order(channel, privacy.space.labels, known, "the matrix to repair")
        given = floats(array(table, "the matrix to repair", 2, error=InvalidChannel))
        labels = tuple(range(given.shape[1])) if known is None else known
    if given.shape != (len(privacy.space), len(labels)):
        raise InvalidChannel(f"{len(privacy.space)} secrets and {len(labels)} outputs, found shape {given.shape}")
    if (given < -_MOST_NEGATIVE).any():
        x, y = np.argwhere(given < -_MOST_NEGATIVE)[0]
        raise InvalidChannel(
            f"the entry of {shown(privacy.space.labels[x])} at output {shown(labels[y])} is {given[x, y]}, "
            "too negative for a probability with an error",
            privacy.space.labels[x],
        )
    positive = np.maximum(given, 0.0)
    sums = positive.sum(axis=1)
    # a row that is off by half is no approximation of a distribution but another thing
    off = np.flatnonzero(~((sums > 0.5) & (sums < 2.0)))
    if off.size:
        x = int(off[0])
        raise InvalidChannel(
            f"the row of {shown(privacy.space.labels[x])} sums to {sums[x]}, which approximates no distribution"
            + advice(("channels.normalise", "divides rows by their sums")),
            privacy.space.labels[x],
            sums[x],
        )
    return positive / sums[:, None], labels


class _Stakes:
    """How to compare candidates and where to put missing mass."""

    def __init__(self, price: NDArray[np.float64] | None) -> None:
        self.price = price  # prior[x] · loss(best action of y, x), or None

    @classmethod
    def of(cls, matrix: Any, labels: tuple[Any, ...], prior: Prior | None, loss: Loss | None) -> _Stakes:
        if (prior is None) != (loss is None):
            raise InvalidInput("give both a prior and a loss, or neither")
        if prior is None or loss is None:
            return cls(None)
        check_secrets("prior and loss", prior, loss)
        table = floats(matrix.matrix) if isinstance(matrix, Channel) else matrix
        weighted = floats(loss.matrix) * prior.float_weights[None, :]
        best = np.argmin(weighted @ table, axis=0)
        return cls(weighted[best].T.copy())

    def cost(self, candidate: NDArray[np.float64], given: NDArray[np.float64]) -> float:
        """Expected loss, or without a loss the largest total variation from what was given."""
        if self.price is not None:
            return float((self.price * candidate).sum())
        return _moved(candidate, given)

    def outputs_to_fill(self, missing: NDArray[np.float64], weights: NDArray[Any]) -> NDArray[np.int64]:
        """Outputs where missing mass costs least, best first; without a loss, where most mass is."""
        price = -weights.sum(axis=0) if self.price is None else missing @ self.price
        return np.argsort(price, kind="stable")[:_MOST_OUTPUTS_TRIED]


def _candidates(matrix: NDArray[np.float64], bounds: Bounds, stakes: _Stakes) -> Iterator[NDArray[np.float64]]:
    """Step 1 with its two ways; every candidate has rows that sum to 1 and is nearly private."""
    looks = max(1, bounds.ends.size * matrix.shape[1])
    rounds = int(np.clip(_MOST_FLOAT_WORK // (3 * looks), 1, _MOST_ROUNDS))
    for mean in (False, True):
        current = matrix
        for _ in range(rounds):
            closed = _between(current, bounds) if mean else close_floats(current, bounds)
            yield _filled(closed, bounds, stakes)
            if not mean and float((closed - current).max()) <= _ROUNDING_RAISE:
                return
            current = closed / closed.sum(axis=1, keepdims=True)
        if looks > _MOST_FLOAT_WORK // 3:
            return


def _between(matrix: NDArray[np.float64], bounds: Bounds) -> NDArray[np.float64]:
    """Geometric mean of the least private columns above and the greatest below.

    Reciprocals turn one into the other. A column with a tiny entry has no useful lower one.
    """
    above = close_floats(matrix, bounds)
    usable = matrix.min(axis=0) > 1e-150  # reciprocals of less would leave the range of floats
    below = above.copy()
    if usable.any():
        below[:, usable] = 1.0 / close_floats(1.0 / matrix[:, usable], bounds)
    result = np.sqrt(above) * np.sqrt(below)
    return result if (result.sum(axis=1) > 0).all() else above


def _filled(closed: NDArray[np.float64], bounds: Bounds, stakes: _Stakes) -> NDArray[np.float64]:
    """Step 2 in floats."""
    sums = closed.sum(axis=1)
    missing = sums.max() - sums
    y, constant = _where_to_fill(closed, missing, bounds, stakes)
    result = closed.copy()
    result[:, y] += missing + constant
    return np.asarray(result / result.sum(axis=1, keepdims=True))


def _where_to_fill(
    weights: NDArray[Any], missing: NDArray[np.float64], bounds: Bounds, stakes: _Stakes
) -> tuple[int, float]:
    """The output that needs the smallest constant beside the missing mass to stay private, and that constant.

    A column with slack takes up missing mass that would not be private alone.
    """
    outputs = stakes.outputs_to_fill(missing, weights)
    needed = [least_constant(weights[:, y] + missing, bounds) for y in outputs]
    best = int(np.argmin(needed))
    return int(outputs[best]), needed[best]


def _in_integers(matrix: NDArray[np.float64], bounds: Bounds, total: int, stakes: _Stakes) -> NDArray[np.int64] | None:
    """Step 3: scale, close, fill up to the total; scale down a little until it fits."""
    scale, step = float(total), 0.0
    while scale > total / 2:
        weights = close_integers(np.rint(matrix * scale).astype(np.uint64), bounds)
        sums = weights.sum(axis=1)
        missing = (sums.max() - sums).astype(np.float64)
        y, constant = _where_to_fill(weights, missing, bounds, stakes)
        room = total - int(sums.max())
        if room >= constant:
            filled = weights[:, y] + (np.uint64(total) - sums)
            if (close_integers(filled[:, None], bounds)[:, 0] == filled).all():
                weights[:, y] = filled
                return weights.astype(np.int64)
        # steps at least double: rounding may keep the need just ahead of the room
        step = max(2 * step, (constant - room) * 1.0625 + 1)
        scale = min(scale - step, float(np.nextafter(scale, 0.0)))
    return None


def _constant_weights(matrix: NDArray[np.float64], total: int) -> NDArray[np.int64]:
    """One distribution for every secret, private whatever the promise: the average row."""
    shares = matrix.mean(axis=0)
    shares *= total / shares.sum()
    row = np.floor(shares).astype(np.int64)
    rest = total - int(row.sum())
    order = np.argsort(row - shares, kind="stable")  # largest remainders first
    row[order[: max(0, min(rest, len(row)))]] += 1
    row[int(np.argmax(row))] += total - int(row.sum())
    return np.tile(row, (len(matrix), 1))


def _moved(candidate: NDArray[np.float64], given: NDArray[np.float64]) -> float:
    return float(np.abs(candidate - given).sum(axis=1).max() / 2)


def _report(mechanism: Mechanism, given: NDArray[np.float64], stakes: _Stakes) -> Repair:
    shares = mechanism.weights.astype(np.float64) / float(mechanism.total)
    losses = () if stakes.price is None else (float((stakes.price * table).sum()) for table in (given, shares))
    return Repair(mechanism, _moved(shares, given), *losses)
