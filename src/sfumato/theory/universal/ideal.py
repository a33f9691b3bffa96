"""How far a table is from the mechanism it stands for: the one on a tree whose columns are multiples of e^{−εd}, or
the one that tells on which of two sides a secret is.

For most ε that mechanism has irrational entries, and what is proved and released is a table of integers next to it. A
theorem about the mechanism is one about the table up to what the table was rounded by. Where the table comes from is
not asked, since a file can say anything: its entries are compared with enclosures of those of the mechanism.

Let t_x be the total variation between the rows of x. Whoever takes the actions that are best for the mechanism loses
more with the table by at most t_x times the range of the losses at x (the two rows have the same sum), so

    U_table(π) ≤ U_mechanism(π) + Σ_x π_x t_x (max_w ℓ(w, x) − min_w ℓ(w, x)) for every prior π,

and where the regret of the mechanism is 0, that of the table is at most the largest of t_x times the range at x.
"""

from __future__ import annotations

from fractions import Fraction

import flint
import numpy as np
from scipy.spatial.distance import cdist

from sfumato.channels.channel import Channel
from sfumato.numbers import TABLE_ROUNDING, Array, Floats, Integers, as_ball, dyadic, floats, fractions, object_array
from sfumato.privacy.similarity import ball_powers, float_powers
from sfumato.privacy.type import PrivacyType, ball_rate
from sfumato.theory.universal.question import ReducedLoss

_BITS = 160  # Enclosures have so many bits: 2^-100 is nothing beside a unit of 2^-52.
_UNLIKE = 2.0**-27  # Entries farther apart than this are not one number rounded twice.
_MOST_ENTRIES = 2**18  # A mechanism has as many entries as fractions; balls of so many take seconds.


def rounded_by(channel: Channel, privacy: PrivacyType) -> tuple[Fraction, ...] | None:
    """For each secret a bound on the total variation between its row and that of the mechanism on a tree.

    None if one is larger than :data:`~sfumato.numbers.TABLE_ROUNDING`, or if there is no such mechanism. Columns may
    come in any order, and several may share one column of the mechanism.
    """
    space = privacy.space
    if channel.matrix.size > _MOST_ENTRIES or channel.matrix.shape[1] < 1:
        return None
    values, codes = np.unique(space.distances.values, return_inverse=True)
    codes = codes.reshape(len(space), len(space))
    nearest = _nearest(floats(channel.matrix), float_powers(privacy, values)[codes])
    with flint.ctx.workprec(_BITS):
        powers = ball_powers(space, values, ball_rate(privacy))
        weights = _weights(powers, codes, privacy)
        if weights is None:
            return None
        distances = [_apart(row, codes[x], powers, weights, nearest) for x, row in enumerate(_shared(channel, nearest))]
    return tuple(distances) if max(distances) <= TABLE_ROUNDING else None


def _nearest(matrix: Floats, phi: Floats) -> Integers:
    """For each column the one of Φ that it is nearest to, after division by sums; −1 for a column of zeros."""
    sums = matrix.sum(axis=0)
    shares = matrix / np.where(sums > 0, sums, 1.0)
    closest = np.argmin(cdist(shares.T, (phi / phi.sum(axis=0)).T, "cityblock"), axis=1)
    return np.where(sums > 0, closest, -1)


def _weights(powers: list[flint.arb], codes: Integers, privacy: PrivacyType) -> dict[int, flint.arb] | None:
    """z with Σ_y z_y e^{−εd(x, y)} = 1 on a tree, which is 1 − Σ 1/(1 + e^{εd}) over the neighbours of y.

    None if there is a negative one, or one that balls cannot tell from that.
    """
    weights = {y: flint.arb(1) for y in range(len(codes))}
    for x, z in zip(*privacy.space.pairs, strict=True):
        power = powers[codes[x, z]]
        for y in (int(x), int(z)):
            weights[y] -= power / (1 + power)
    return weights if all(weight.lower() >= 0 for weight in weights.values()) else None


def _shared(channel: Channel, nearest: Integers) -> list[list[tuple[int, Fraction, Fraction]]]:
    """For each secret its entries: the column of the mechanism, the share of it that this output has, the entry."""
    table: Array = fractions(channel.matrix)
    sums = table.sum(axis=0)
    totals: dict[int, Fraction] = {}
    for y, total in zip(nearest.tolist(), sums, strict=True):
        totals[y] = totals.get(y, Fraction(0)) + total
    shares = [total / totals[y] if y >= 0 else Fraction(0) for y, total in zip(nearest.tolist(), sums, strict=True)]
    return [list(zip(nearest.tolist(), shares, row, strict=True)) for row in table]


def _apart(
    row: list[tuple[int, Fraction, Fraction]], codes: Integers, powers: list[flint.arb],
    weights: dict[int, flint.arb], nearest: Integers,
) -> Fraction:  # fmt: skip
    """Half the sum of |entry − share · z_y e^{−εd(x, y)}|, from above; a column that no output stands for counts."""
    total = flint.arb(0)
    for y, share, entry in row:
        if y >= 0:
            total += abs(as_ball(entry) - as_ball(share) * weights[y] * powers[codes[y]])
    for y in set(weights) - set(nearest.tolist()):
        total += weights[y] * powers[codes[y]]
    return dyadic((total / 2).upper())


def rounded_sides(
    channel: Channel, sides: tuple[Integers, Integers], bounds: tuple[Fraction, Fraction]
) -> tuple[Fraction, ...] | None:
    """The same for the mechanism that tells on which of two sides a secret is, with the odds e^{εδ} to 1.

    ``bounds`` are around e^{εδ}. Columns stand for the side on which they are higher; other secrets are not compared.
    """
    rough = floats(channel.matrix)
    if channel.matrix.size > _MOST_ENTRIES or any((np.ptp(rough[side], axis=0) > _UNLIKE).any() for side in sides):
        return None
    table: Array = fractions(channel.matrix)
    means = [table[side].sum(axis=0) / len(side) for side in sides]
    own = means[0] >= means[1]
    totals = [table[np.concatenate(sides)][:, kind].sum() for kind in (own, ~own)]
    if not all(totals):
        return None
    shares = table[np.concatenate(sides)].sum(axis=0) / np.where(own, totals[0], totals[1])
    moved = [Fraction(0)] * len(table)
    for side, told in zip(sides, (own, ~own), strict=True):
        ends = [shares * object_array(b / (1 + b) if high else 1 / (1 + b) for high in told) for b in bounds]
        for x in side:
            moved[x] = sum(max(abs(v - e) for e in pair) for v, *pair in zip(table[x], *ends, strict=True)) / 2
    return tuple(moved) if max(moved) <= TABLE_ROUNDING else None


def rounding_regret(question: ReducedLoss, moved: tuple[Fraction, ...]) -> Fraction:
    """The largest t_x times the range of the losses at x."""
    ranges = (question.table.max(axis=0) - question.table.min(axis=0)) / question.scale
    return max(t * Fraction(r) for t, r in zip(moved, ranges, strict=True))
