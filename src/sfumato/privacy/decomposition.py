"""Taking a mechanism apart: into maximally sufficient outputs, and into kernels.

The row graph of an output joins the secrets at which the promise is used up. Where it is not connected, one
side S can be scaled up or down until another pair becomes tight; the output is a mixture of the two
results, so it can be split into them (Kifer and Lin 2012, Definition 3.3.1 and Appendix E). Splitting ends
with connected row graphs, which are exactly the maximally sufficient mechanisms (their Theorem 3.3.2), the
vertex mechanisms of Fernandes et al. 2023. Peeling kernels off such a mechanism makes Theorem 3 of the
latter constructive: channel = (Σ λ_k kernel_k) · post-processing, exactly.

The theorem is stated for every relation and needs a connected one. Where secrets are infinitely far apart nothing is
promised between the parts, and scaling one part down goes on to 0: an output of a maximally sufficient mechanism then
occurs in one part only, and its row graph connects that part.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato.channels.channel import Channel, as_channel, check_secrets
from sfumato.errors import InvalidInput, NotSupported, PrivacyViolation, SolverError
from sfumato.lp import LinearProgram, solve
from sfumato.numbers import Array, to_flint
from sfumato.privacy.satisfaction import satisfies
from sfumato.privacy.type import PrivacyType, as_type
from sfumato.verdict import Outcome, Verdict, fails, holds, undecided

__all__ = [
    "Decomposition",
    "Splitting",
    "decompose",
    "is_kernel",
    "is_maximally_sufficient",
    "is_vertex_mechanism",
    "maximally_sufficient",
    "more_sufficient",
    "row_graphs",
]


@dataclass(frozen=True, eq=False)
class Splitting:
    """A maximally sufficient mechanism and the post-processing that gives the original back."""

    channel: Channel
    post_processing: Channel


@dataclass(frozen=True, eq=False)
class Decomposition:
    """channel = (Σ shares[k] · kernels[k]) · post_processing; the outputs of all kernels are those of the mixture."""

    kernels: tuple[Channel, ...]
    shares: tuple[Fraction, ...]
    mixture: Channel
    post_processing: Channel


def row_graphs(channel: Channel, privacy: PrivacyType) -> dict[Any, tuple[tuple[Any, Any], ...]]:
    """For each output the pairs (x, z) with C_xy = e^{ε d(x, z)} C_zy, exactly; implied pairs left out.

    Examples
    --------
    >>> from sfumato.spaces import line
    >>> response = Channel([0, 1], [["2/3", "1/3"], ["1/3", "2/3"]])
    >>> row_graphs(response, PrivacyType(line(2), alpha="1/2"))
    {0: ((0, 1),), 1: ((1, 0),)}
    """
    channel, bounds = _exact_parts(channel, privacy)
    labels = channel.secrets
    return {
        output: tuple((labels[x], labels[z]) for x, z in _tight(column, bounds))
        for output, column in zip(channel.outputs, channel.matrix.T, strict=True)
    }


def is_vertex_mechanism(channel: Channel, privacy: PrivacyType) -> Verdict:
    """Whether every posterior is a vertex, that is, every row graph connects the secrets for which its output occurs.

    By Theorem 3.3.2 of Kifer and Lin these are the maximally sufficient mechanisms of the type. Undecided for
    floats and irrational bounds: whether a pair is tight is a matter of equality.

    Examples
    --------
    >>> from sfumato.spaces import graph
    >>> apart = PrivacyType(graph([("a", "b")], labels=["a", "b", "c"]), alpha="1/2")    # nothing is promised about c
    >>> told = Channel(list("abc"), [["2/3", "1/3", 0], ["1/3", "2/3", 0], [0, 0, 1]])
    >>> bool(is_vertex_mechanism(told, apart)), bool(is_vertex_mechanism(Channel.constant(list("abc")), apart))
    (True, False)
    """
    try:
        channel, bounds = _exact_parts(channel, privacy)
    except NotSupported as error:
        return undecided(f"whether a pair is tight is a matter of equality, and rounded numbers do not tell: {error}")
    verdict = satisfies(channel, privacy)
    if not verdict:
        return fails(f"it is not in the type: {verdict.reason}", verdict.witness)
    for output, column in zip(channel.outputs, channel.matrix.T, strict=True):
        if any(column):
            side = _reached(int(np.flatnonzero(column)[0]), _tight(column, bounds))
            if len(side) < np.count_nonzero(column):
                apart = tuple(channel.secrets[x] for x in sorted(side))
                return fails(_apart(channel, output, column, side, bounds), (output, apart))
    whole = len(_reached(0, list(bounds))) == len(channel.secrets)
    where = "" if whole else ", within the part of the space where it occurs"
    return holds(f"the row graph of every output is connected{where}")


def _apart(channel: Channel, output: Any, column: Array, side: set[int], bounds: _Bounds) -> str:
    """Why a row graph is not connected: a part is infinitely far from the rest, or no pair across is tight."""
    x = min(side)
    near = _reached(x, list(bounds))
    others = [z for z in np.flatnonzero(column).tolist() if z not in near]
    if not others:
        return f"the row graph of output {output!r} falls apart"
    secrets = f"{channel.secrets[x]!r} and {channel.secrets[others[0]]!r}"
    return f"output {output!r} occurs for {secrets}, about which nothing is promised: telling them apart is allowed"


def is_maximally_sufficient(channel: Channel, privacy: PrivacyType) -> Verdict:
    """Whether only mechanisms that it can simulate in turn can simulate it (Kifer and Lin 2012, Definition 3.1.3).

    Decided by row graphs (Theorem 3.3.2). Infinite distances are allowed: the theorem needs a connected relation as it
    is printed, and holds for each part of the space for itself. If it *fails* for a mechanism of the type the witness
    is a :class:`Splitting`, a mechanism of the type that simulates this one and that this one does not simulate.
    Undecided where :func:`is_vertex_mechanism` is.

    Examples
    --------
    >>> from sfumato.spaces import line
    >>> privacy = PrivacyType(line(2), alpha="1/2")
    >>> verdict = is_maximally_sufficient(Channel.constant([0, 1]), privacy)
    >>> print(verdict)
    fails: the row graph of output 0 falls apart: two outputs in its place tell more
    >>> [[str(v) for v in row] for row in verdict.witness.channel.matrix]
    [['2/3', '1/3'], ['1/3', '2/3']]
    >>> bool(is_maximally_sufficient(verdict.witness.channel, privacy))
    True
    """
    verdict = is_vertex_mechanism(channel, privacy)
    if verdict.outcome is Outcome.UNDECIDED or not satisfies(channel, privacy):
        return verdict
    if verdict:
        return holds(f"{verdict.reason} (Theorem 3.3.2)")
    split = maximally_sufficient(channel, privacy)
    return fails(f"{verdict.reason}: two outputs in its place tell more", split)


def is_kernel(channel: Channel, privacy: PrivacyType) -> Verdict:
    """Whether it is a vertex mechanism with linearly independent posteriors.

    Proportional outputs count once and outputs that never occur do not count: both leave the hyper as it is. Undecided
    where :func:`is_vertex_mechanism` is.
    """
    verdict = is_vertex_mechanism(channel, privacy)
    if verdict.outcome is not Outcome.HOLDS:
        return verdict
    distinct = _merged(list(as_channel(channel).matrix.T))[0]
    rank = to_flint(np.stack(distinct, axis=1)).rank()
    if rank < len(distinct):
        return fails(f"{len(distinct)} posteriors span only {rank} dimensions", rank)
    return holds(f"{rank} vertices, linearly independent")


def maximally_sufficient(channel: Channel, privacy: PrivacyType) -> Splitting:
    """A maximally sufficient mechanism of the type of which the given one is a post-processing.

    Exact, without a list of vertices. Outputs are numbered. Secrets that are infinitely far apart are told apart.

    Examples
    --------
    >>> from sfumato.spaces import line
    >>> privacy = PrivacyType(line(2), alpha="1/2")
    >>> split = maximally_sufficient(Channel.constant([0, 1]), privacy)
    >>> split.channel.matrix.tolist()
    [[Fraction(2, 3), Fraction(1, 3)], [Fraction(1, 3), Fraction(2, 3)]]
    """
    channel, bounds = _exact_parts(channel, privacy)
    verdict = satisfies(channel, privacy)
    if not verdict:
        broken = verdict.witness
        raise PrivacyViolation(verdict.reason, broken.pair, broken.output, broken.ratio, broken.bound)
    pieces: list[Array] = []
    origin: list[int] = []
    parts = _parts(len(channel.secrets), bounds)
    for y, column in enumerate(channel.matrix.T):
        for part in parts:
            rays = _rays(column * part, part, bounds) if column[part].any() else []
            pieces += rays
            origin += [y] * len(rays)
    columns, groups = _merged(pieces)
    # of the mass of a merged column, at a secret where it occurs, each original output gets what its pieces brought
    table = [[Fraction(0)] * channel.shape[1] for _ in columns]
    for row, column, group in zip(table, columns, groups, strict=True):
        x = int((column != 0).argmax())
        for k in group:
            row[origin[k]] += pieces[k][x] / column[x]
    split = Channel(channel.secrets, np.stack(columns, axis=1))
    return Splitting(split, Channel(split.outputs, table, channel.outputs))


def more_sufficient(channel: Channel, privacy: PrivacyType) -> Splitting:
    """A mechanism that keeps the promise strictly, as the given one does, and simulates it, but not conversely.

    With M(x)(y) < e^{ε d(x, x′)} M(x′)(y) in place of ≤, where not both are 0, there is always one, so no mechanism is
    maximally sufficient (Kifer and Lin 2012, section 3.1). Its pairs are tight for a promise that is a little stricter
    than this one and that the given channel does not use up anywhere.

    Examples
    --------
    >>> from sfumato.spaces import line
    >>> privacy = PrivacyType(line(2), alpha="1/2")
    >>> more = more_sufficient(Channel([0, 1], [["3/5", "2/5"], ["2/5", "3/5"]]), privacy).channel
    >>> [[str(v) for v in row] for row in more.matrix]
    [['16/25', '9/25'], ['9/25', '16/25']]
    """
    channel, bounds = _exact_parts(channel, privacy)
    if not bounds:
        raise InvalidInput("no two secrets are at a finite distance, so that no promise can be kept strictly")
    if not satisfies(channel, privacy) or any(_tight(column, bounds) for column in channel.matrix.T):
        raise InvalidInput("the channel does not keep the promise strictly: some ratio reaches e^(εd)")
    assert privacy.alpha is not None
    room, kept = (1 - privacy.alpha) / 2, False
    while True:
        stricter = PrivacyType(privacy.space, alpha=privacy.alpha + room)
        if not stricter.exact:
            raise NotSupported(f"a promise between alpha = {privacy.alpha} and 1 in rationals", ["whole distances"])
        if kept:
            return maximally_sufficient(channel, stricter)
        kept, room = bool(satisfies(channel, stricter)), room / 2  # the one after this has room to spare


def decompose(channel: Channel, privacy: PrivacyType) -> Decomposition:
    """Kernels, their shares and the post-processing that give the channel back, exactly.

    Examples
    --------
    >>> from sfumato.channels import cascade
    >>> from sfumato.spaces import line
    >>> privacy = PrivacyType(line(3), alpha="1/2")
    >>> flat = Channel(range(3), [["1/2", "1/2"], ["1/2", "1/2"], ["2/5", "3/5"]])
    >>> parts = decompose(flat, privacy)
    >>> sum(parts.shares), all(is_kernel(kernel, privacy) for kernel in parts.kernels)
    (Fraction(1, 1), True)
    >>> bool((cascade(parts.mixture, parts.post_processing).matrix == flat.matrix).all())
    True
    """
    split = maximally_sufficient(channel, privacy)
    columns = list(split.channel.matrix.T)
    remaining = [Fraction(1)] * len(columns)
    kernels: list[Channel] = []
    shares: list[Fraction] = []
    while sum(shares, Fraction(0)) < 1:
        alive = [i for i, left in enumerate(remaining) if left > 0]
        weights = _basic_sum([columns[i] for i in alive])
        used = {i: w for i, w in zip(alive, weights, strict=True) if w > 0}
        share = min(remaining[i] / w for i, w in used.items())
        for i, w in used.items():
            remaining[i] -= share * w
        table = np.stack([columns[i] * w for i, w in used.items()], axis=1)
        kernels.append(Channel(split.channel.secrets, table, tuple(used)))
        shares.append(share)
    return Decomposition(tuple(kernels), tuple(shares), split.channel, split.post_processing)


def _basic_sum(columns: list[Array]) -> list[Fraction]:
    """A basic solution of Σ b_i c_i = 1, b ≥ 0: its columns are independent."""
    matrix = np.stack(columns, axis=1)
    one = np.ones(len(matrix), dtype=np.int64)
    solution = solve(LinearProgram.dense(np.zeros(matrix.shape[1], dtype=np.int64), matrix, "=" * len(matrix), one))
    if solution.primal is None:
        raise SolverError("the remaining outputs do not sum to a multiple of 1")
    return list(solution.primal)


_Bounds = dict[tuple[int, int], Fraction]


def _exact_parts(channel: Channel, privacy: PrivacyType) -> tuple[Channel, _Bounds]:
    """The channel, and e^{εd} of every pair that is not implied, in both directions."""
    channel, privacy = as_channel(channel), as_type(privacy)
    check_secrets("channel and privacy type", privacy.space, channel)
    if not channel.exact or not privacy.exact:
        raise NotSupported("taking float mechanisms apart", ["exact channels and exact privacy types, by alpha"])
    bounds: _Bounds = {}
    for x, z, value in zip(*privacy.space.pairs, privacy.space.pair_distances.values, strict=True):
        factor = privacy.exact_factor(value)
        if factor is None:
            raise InvalidInput(f"e^(εd) of secrets {x} and {z} is too large to write down")
        bounds[int(x), int(z)] = bounds[int(z), int(x)] = factor
    return channel, bounds


def _tight(column: Array, bounds: _Bounds) -> list[tuple[int, int]]:
    return [(x, z) for (x, z), factor in bounds.items() if column[x] == factor * column[z] and column[x]]


def _reached(start: int, pairs: list[tuple[int, int]]) -> set[int]:
    """What pairs join to a secret."""
    side = {start}
    while more := {end for pair in pairs if side.intersection(pair) for end in pair} - side:
        side |= more
    return side


def _parts(size: int, bounds: _Bounds) -> list[Array]:
    """Which secrets are at finite distances of each other, one mask for each part of the space."""
    parts: list[Array] = []
    for x in range(size):
        if not any(part[x] for part in parts):
            parts.append(np.isin(np.arange(size), list(_reached(x, list(bounds)))))
    return parts


def _rays(column: Array, part: Array, bounds: _Bounds) -> list[Array]:
    """Split a private column that occurs in one part of the space into rays that sum to it."""
    side = _reached(int(part.argmax()), _tight(column, bounds))
    if len(side) == part.sum():
        return [column]
    across = [(x, z, factor) for (x, z), factor in bounds.items() if x in side and z not in side]
    rise = min(factor * column[z] / column[x] for x, z, factor in across)
    fall = max(column[z] / (factor * column[x]) for x, z, factor in across)
    # column = share · raised + (1 − share) · lowered, on the side and off it
    share = (1 - fall) / (rise - fall)
    raised, lowered = column.copy(), column.copy()
    for x in side:
        raised[x] *= rise
        lowered[x] *= fall
    return _rays(raised * share, part, bounds) + _rays(lowered * (1 - share), part, bounds)


def _merged(columns: list[Array]) -> tuple[list[Array], list[list[int]]]:
    """Sums of proportional columns, and which columns went into each; zero columns vanish."""
    groups: dict[tuple[Fraction, ...], list[int]] = {}
    for k, column in enumerate(columns):
        if any(column):
            groups.setdefault(tuple(column / column.sum()), []).append(k)
    return [sum((columns[k] for k in group[1:]), columns[group[0]]) for group in groups.values()], list(groups.values())
