"""The sufficiency order of some given mechanisms: which of them no other can simulate, and what covers what.

B lies below A when B is A followed by post-processing (:func:`sfumato.orders.refines`). Channels below each other
tell the same and form one class. In a set of mechanisms the maximal ones are those that everybody would choose among,
whatever the utility (Kifer and Lin 2012, Definition 3.1.3, for a finite set).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.arguments import items
from sfumato.channels.channel import Channel, as_channel, check_secrets
from sfumato.errors import InvalidInput
from sfumato.orders.refinement import Factor, refines

__all__ = ["Hasse", "hasse", "maximal_channels"]


@dataclass(frozen=True, eq=False)
class Hasse:
    """Channels in the sufficiency order.

    ``classes`` holds names that tell the same, ``covers`` pairs (lower class, upper class) with nothing in between,
    ``maximal`` the classes that were proved to lie below no other. ``unclear`` lists pairs of names (lower, upper)
    that could not be decided; nothing about them is drawn or claimed. ``factors`` has the post-processing that makes
    each lower channel from an upper one, by names, where that was worked out; the rest follow by composing.
    """

    classes: tuple[tuple[str, ...], ...]
    covers: tuple[tuple[int, int], ...]
    maximal: tuple[int, ...]
    unclear: tuple[tuple[str, str], ...]
    factors: Mapping[tuple[str, str], Factor]

    @property
    def layers(self) -> tuple[int, ...]:
        """For each class how many steps the longest way down from it has."""
        depth = [0] * len(self.classes)
        for _ in self.classes:
            for low, high in self.covers:
                depth[high] = max(depth[high], depth[low] + 1)
        return tuple(depth)

    @property
    def minimal(self) -> tuple[int, ...]:
        """The classes above none that was found."""
        above = {high for _, high in self.covers}
        return tuple(k for k in range(len(self.classes)) if k not in above)


def hasse(channels: Mapping[str, Channel] | Iterable[Channel]) -> Hasse:
    """The order of several channels on the same secrets.

    Each pair is asked about once, and not at all where the answer follows from others because the order is
    transitive. Floats are compared up to rounding, as :func:`refines` says; rationals exactly.

    Examples
    --------
    >>> response = Channel([0, 1], [["2/3", "1/3"], ["1/3", "2/3"]])
    >>> weaker = Channel([0, 1], [["3/5", "2/5"], ["2/5", "3/5"]])
    >>> order = hasse({"yes": Channel.constant((0, 1)), "weaker": weaker, "response": response})
    >>> order.classes, order.covers, order.maximal
    ((('yes',), ('weaker',), ('response',)), ((0, 1), (1, 2)), (2,))
    """
    named = _named(channels)
    names = list(named)
    check_secrets("channels to be ordered", *named.values())
    below, known, factors = _relation(named)
    classes = _classes(below)
    strictly = np.array([[below[one[0], two[0]] and k != m for m, two in enumerate(classes)]
                         for k, one in enumerate(classes)], dtype=bool)  # fmt: skip
    between = (strictly.astype(np.int64) @ strictly.astype(np.int64)) > 0
    covers = [(int(k), int(m)) for k, m in np.argwhere(strictly & ~between)]
    top = [
        k for k, members in enumerate(classes)
        if not strictly[k].any() and any(known[i].all() for i in members)
    ]  # fmt: skip
    unclear = [(names[i], names[j]) for i, j in np.argwhere(~known)]
    return Hasse(
        tuple(tuple(names[i] for i in members) for members in classes),
        tuple(covers),
        tuple(top),
        tuple(unclear),
        factors,
    )


def maximal_channels(channels: Mapping[str, Channel] | Iterable[Channel]) -> tuple[str, ...]:
    """Names of the channels that no other one can simulate, proved; numbers as strings if no names were given.

    Examples
    --------
    >>> maximal_channels([Channel.constant((0, 1)), Channel.identity((0, 1))])
    ('1',)
    """
    order = hasse(channels)
    return tuple(name for k in order.maximal for name in order.classes[k])


def _named(channels: Mapping[str, Any] | Iterable[Any]) -> dict[str, Any]:
    if isinstance(channels, Mapping):
        named = {str(name): channel for name, channel in channels.items()}
    elif not isinstance(channels, Iterable):
        raise InvalidInput("several channels are ordered: give a list of them, or a mapping from names to channels")
    else:
        named = {str(k): as_channel(channel) for k, channel in enumerate(items(channels, "channels"))}
    if not named:
        raise InvalidInput("there are no channels to order")
    for channel in named.values():
        as_channel(channel)  # or an error; mechanisms stay what they are, since their tables may be rounded
    return named


def _relation(
    named: Mapping[str, Any],
) -> tuple[NDArray[np.bool_], NDArray[np.bool_], dict[tuple[str, str], Factor]]:
    """Which channel lies below which, which answers are known, and the factors that were found."""
    names, channels = list(named), list(named.values())
    n = len(names)
    below, not_below = np.eye(n, dtype=bool), np.zeros((n, n), dtype=bool)
    factors: dict[tuple[str, str], Factor] = {}
    for i, j in _by_promise(channels):
        if below[i, j] or not_below[i, j]:
            continue
        verdict = refines(channels[i], channels[j])
        if not verdict.decided:
            continue
        if verdict:
            factors[names[i], names[j]] = verdict.witness
            below |= np.outer(below[:, i], below[j])
        else:
            not_below[i, j] = True
        # if i ≤ j and k ≤ m but not i ≤ m, then not j ≤ k: otherwise i ≤ j ≤ k ≤ m
        order, refused = below.astype(np.int64), not_below.astype(np.int64)
        not_below |= (order.T @ refused @ order.T) > 0
    return below, below | not_below, factors


def _by_promise(channels: list[Any]) -> list[tuple[int, int]]:
    """Pairs, those first whose answer is likely to be yes and to imply others: much information above little."""
    capacities = [
        float(np.asarray(as_channel(channel).matrix, dtype=np.float64).max(axis=0).sum()) for channel in channels
    ]
    pairs: list[tuple[Any, tuple[int, int]]] = [
        (capacities[i] - capacities[j], (i, j)) for i in range(len(channels)) for j in range(len(channels)) if i != j
    ]
    return [pair for _, pair in sorted(pairs, key=lambda item: (item[0] > 0, abs(item[0]), item[1]))]


def _classes(below: NDArray[np.bool_]) -> list[list[int]]:
    """Names that lie below each other, in the order given."""
    equal = below & below.T
    seen: set[int] = set()
    classes = []
    for i in range(len(below)):
        if i not in seen:
            members = [int(j) for j in np.flatnonzero(equal[i])]
            seen.update(members)
            classes.append(members)
    return classes
