"""Is a mechanism best for every prior and every loss at once (paper A, Definition 2)?

By Blackwell's theorem it is iff every mechanism of its type is derived from it by post-processing. Each ray of the cone
of private columns is, up to a factor, a column of some mechanism of the type, and a ray is a sum of columns of the
cone only if one of them is a multiple of it. So all rays have to be among the columns, and there are more rays than
a kernel has columns as soon as three secrets lie at finite distances from each other (Theorem 11). Parts of the space
that are infinitely far apart have nothing to do with each other: the question is asked in each part.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.sparse.csgraph import connected_components

from sfumato.channels.channel import Channel
from sfumato.channels.composition import restrict
from sfumato.losses.loss import Loss
from sfumato.losses.standard import bin
from sfumato.measures.uncertainty import posterior_loss
from sfumato.mechanisms import binary
from sfumato.numbers import Array, Integers
from sfumato.orders.refinement import SeparatingConsumer, refines
from sfumato.privacy.decomposition import decompose
from sfumato.privacy.similarity import similarity
from sfumato.privacy.type import PrivacyType, as_type
from sfumato.privacy.vertices import vertices
from sfumato.spaces.finite import FiniteSpace
from sfumato.theory.universal.answers import Better
from sfumato.theory.universal.optimality import is_universally_optimal
from sfumato.theory.universal.question import member_of, type_of, type_on
from sfumato.verdict import Outcome, Verdict, fails, holds

_MOST_SECRETS = 10  # Up to so many secrets of a part a consumer who is served better elsewhere is found, exactly.


@dataclass(frozen=True, eq=False)
class UnservedConsumer:
    """Somebody whom another mechanism of the type serves better: the loss, and in ``better`` prior and mechanism."""

    loss: Loss
    better: Better


def is_optimal_for_all_losses(mechanism: Any, privacy: PrivacyType | None = None) -> Verdict:
    """Whether no mechanism of the type is better for any prior and any loss (paper A, Definition 2).

    With two secrets the binary mechanism is the only one, with more there is none (Corollary 9 and Theorem 11), unless
    some are infinitely far apart.

    Parameters
    ----------
    mechanism
        A mechanism or a channel of the type.
    privacy
        The type; that of the mechanism by default.

    Returns
    -------
    Verdict
        *holds* with the grounds of each part of the space. *fails* with an :class:`UnservedConsumer`, or without a
        witness where the type is irrational or has more than ten secrets. *undecided* only for two secrets, where
        rounding may be all that makes another mechanism better.

    Examples
    --------
    >>> import sfumato as sf
    >>> pair, line = (sf.PrivacyType(sf.line(n), alpha="1/2") for n in (2, 3))
    >>> bool(is_optimal_for_all_losses(sf.geometric(pair)))
    True
    >>> verdict = is_optimal_for_all_losses(sf.geometric(line))
    >>> print(verdict)
    fails: 3 secrets at finite distances have at least 4 vertices, more than independent columns
    >>> consumer = verdict.witness
    >>> consumer.better.gap == sf.posterior_loss(consumer.better.prior, sf.geometric(line), consumer.loss) - (
    ...     sf.posterior_loss(consumer.better.prior, consumer.better.channel, consumer.loss)) > 0
    True
    """
    privacy = type_of(mechanism, privacy)
    channel = member_of(mechanism, privacy)
    parts = _parts(privacy.space)
    for y, output in enumerate(channel.outputs):
        among = [part for part in parts if channel.matrix[part, y].any()]
        if len(among) > 1:
            x, z = (channel.secrets[int(part[0])] for part in among[:2])
            return fails(
                f"{output!r} is an output in the parts of {x!r} and of {z!r}, which nothing bounds against each other",
                _unserved(channel, _told_apart(channel, parts)),
            )
    grounds = []
    for part in parts:
        verdict = _in_part(mechanism if len(parts) == 1 else channel, channel, privacy, part)
        if verdict.outcome is not Outcome.HOLDS:
            return verdict
        grounds.append(verdict.witness)
    reason = "every mechanism of the type is derived from it: no part of the space has more than two secrets"
    return holds(reason, tuple(grounds))


def exists_for_all_losses(privacy: PrivacyType) -> Verdict:
    """Whether a type has a mechanism that is best for every prior and every loss (paper A, Corollary 9, Theorem 11).

    *holds* with its channel iff no three secrets lie at finite distances from each other; *fails* with three that do.

    Examples
    --------
    >>> import sfumato as sf
    >>> verdict = exists_for_all_losses(sf.PrivacyType(sf.line(2), alpha="1/2"))
    >>> verdict.witness.matrix[0].tolist()
    [Fraction(2, 3), Fraction(1, 3)]
    >>> print(exists_for_all_losses(sf.PrivacyType(sf.line(4), epsilon=1)))
    fails: 4 secrets at finite distances have at least 6 vertices, more than independent columns
    """
    privacy = as_type(privacy)
    labels = privacy.space.labels
    parts = _parts(privacy.space)
    largest = max(parts, key=len)
    if len(largest) > 2:
        return fails(_too_many(len(largest)), tuple(labels[int(x)] for x in largest[:3]))
    table = np.full((len(labels), len(labels)), Fraction(0), dtype=object)
    for part in parts:
        known = len(part) == 1
        table[np.ix_(part, part)] = 1 if known else binary(_part_of(privacy, part)).channel.to_rationals().matrix
    return holds("no part of the space has more than two secrets", Channel(privacy.space, table))


def _too_many(secrets: int) -> str:
    least = 2 * (secrets - 1)
    return f"{secrets} secrets at finite distances have at least {least} vertices, more than independent columns"


def _parts(space: FiniteSpace) -> list[Integers]:
    """The secrets by which of them lie at finite distances from each other."""
    count, names = connected_components(~space.distances.infinite, directed=False)
    return [np.flatnonzero(names == k) for k in range(count)]


def _part_of(privacy: PrivacyType, part: Integers) -> PrivacyType:
    if len(part) == len(privacy.space):
        return privacy
    return type_on(privacy, [privacy.space.labels[int(x)] for x in part])


def _in_part(mechanism: Any, channel: Channel, privacy: PrivacyType, part: Integers) -> Verdict:
    """The same question among the secrets of one part, whose outputs occur in no other part."""
    if len(part) == 1:
        return holds("one secret: there is nothing to tell")
    inner = _part_of(privacy, part)
    if len(part) == 2:  # the kink of a guess can be moved to any posterior by the prior: no other loss asks for more
        asked = mechanism if inner is privacy else restrict(channel, inner.space.labels)
        verdict = is_universally_optimal(asked, bin(inner.space), inner)
        if verdict.outcome is not Outcome.FAILS:
            return verdict
        reason = f"a column between {inner.space.labels[0]!r} and {inner.space.labels[1]!r} is not as steep as allowed"
        return fails(reason, _unserved(channel, _replaced(channel, part, verdict.witness.channel)))
    reason = _too_many(len(part))
    if not inner.exact or len(part) > _MOST_SECRETS:
        return fails(reason)
    own = channel if inner is privacy else restrict(channel, inner.space.labels)
    for other in _not_derived(own, inner):
        consumer = _unserved(channel, _replaced(channel, part, other))
        if consumer is not None:
            return fails(reason, consumer)
    return fails(reason)


def _not_derived(channel: Channel, privacy: PrivacyType) -> Iterator[Channel]:
    """Mechanisms of which one at least is not derived from the channel, on three secrets or more.

    A ray that is no column of the channel is one of a mechanism with two columns. Where all rays are columns the
    channel is a mixture of kernels, and not all of them are derived from it: the losses of kernels would all be those
    of the mixture, for every prior and loss, and then there is one kernel only, with too few columns for all rays.
    """
    phi = similarity(privacy)
    near = [row for y in range(len(phi)) for row in (phi[y], phi[y].min() / phi[y])]
    for ray in near:
        if not _has_column(channel, ray):
            yield _two_columns(privacy, phi, ray)
            return
    for ray in vertices(privacy).rays:
        if not _has_column(channel, ray):
            yield _two_columns(privacy, phi, ray)
            return
    yield from decompose(channel, privacy).kernels


def _has_column(channel: Channel, ray: Array) -> bool:
    return any(column[0] > 0 and (column * ray[0] == column[0] * ray).all() for column in channel.matrix.T)


def _two_columns(privacy: PrivacyType, phi: Array, ray: Array) -> Channel:
    """The mechanism with the columns tv and 1 − tv, for the largest t that keeps the second one private."""
    n = len(ray)
    pairs = [(x, z) for x in range(n) for z in range(n) if ray[z] > phi[x, z] * ray[x]]
    most = min((1 - phi[x, z]) / (ray[z] - phi[x, z] * ray[x]) for x, z in pairs)
    return Channel(privacy.space, np.stack([most * ray, 1 - most * ray], axis=1))


def _told_apart(channel: Channel, parts: list[Integers]) -> Channel:
    """The channel that also tells in which part the secret is."""
    own = np.zeros((len(channel.secrets), len(parts)), dtype=np.int64)
    for k, part in enumerate(parts):
        own[part, k] = 1
    table = np.concatenate([channel.matrix * own[:, [k]] for k in range(len(parts))], axis=1)
    return Channel(channel.secrets, table)


def _replaced(channel: Channel, part: Integers, other: Channel) -> Channel:
    """The channel with other rows and outputs in one part."""
    if len(part) == len(channel.secrets):
        return other
    kept = channel.matrix.copy()
    kept[part] = Fraction(0)
    added = np.full((len(channel.secrets), len(other.outputs)), Fraction(0), dtype=object)
    added[part] = other.to_rationals().matrix
    return Channel(channel.secrets, np.concatenate([kept, added], axis=1))


def _unserved(channel: Channel, other: Channel) -> UnservedConsumer | None:
    """Somebody to whom another channel is worth more; None if it is derived from the channel."""
    verdict = refines(other, channel)
    if not isinstance(verdict.witness, SeparatingConsumer):
        return None
    gain = verdict.witness.gain
    loss = Loss(gain.actions, gain.secrets, gain.matrix.max() - gain.matrix, "of an unserved consumer")
    prior = verdict.witness.prior
    own, less = (Fraction(posterior_loss(prior, one, loss)) for one in (channel, other))
    return UnservedConsumer(loss, Better(prior, other, own, less))
