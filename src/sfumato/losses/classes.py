"""Classes of losses: trivial, monotone, strictly monotone (paper A, Definitions 6, A1), single crossing on a line."""

from __future__ import annotations

from dataclasses import dataclass
from graphlib import TopologicalSorter
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.channels.channel import check_secrets
from sfumato.losses.loss import Loss, as_loss
from sfumato.spaces.finite import FiniteSpace, as_space
from sfumato.verdict import Verdict, fails, holds, undecided

__all__ = [
    "Monotone",
    "SingleCrossing",
    "has_dominating_action",
    "is_monotone",
    "is_single_crossing",
    "is_strictly_monotone",
    "is_trivial",
]

_Candidates = list[tuple[int, dict[int, Any]]]  # secrets, each with a function of the distance to it
_MOST_STEPS = 200_000  # The search for a consistent remap takes so many steps in about a second.


@dataclass(frozen=True, eq=False)
class Monotone:
    """ℓ(w, x) = m(d(x, α(w))): the remap α and the function m on the distances that occur."""

    remap: dict[Any, Any]
    function: dict[float, Any]


@dataclass(frozen=True, eq=False)
class SingleCrossing:
    """The secrets from one end of the line to the other, and the actions in an order in which differences cross once.

    For w before w′ the difference ℓ(w, x) − ℓ(w′, x) is nowhere positive before some secret and nowhere negative after.
    """

    secrets: tuple[Any, ...]
    actions: tuple[Any, ...]


def is_trivial(loss: Loss) -> Verdict:
    """Whether ℓ(w, x) depends on x alone, so that no information can help.

    Examples
    --------
    >>> from sfumato.losses import bin, matrix
    >>> bool(is_trivial(matrix([0, 1], [[1, 2], [1, 2]]))), bool(is_trivial(bin([0, 1])))
    (True, False)
    """
    loss = as_loss(loss)
    differs = np.argwhere(loss.matrix != loss.matrix[0])
    if not differs.size:
        return holds("every action has the same loss", dict(zip(loss.secrets, loss.matrix[0], strict=True)))
    w, x = differs[0]
    return fails(
        f"at {loss.secrets[x]!r} the actions {loss.actions[0]!r} and {loss.actions[w]!r} differ",
        (loss.actions[0], loss.actions[w], loss.secrets[x]),
    )


def has_dominating_action(loss: Loss) -> Verdict:
    """Whether one action is best at every secret, so that no information can help (paper A, Definition A1).

    Wider than :func:`is_trivial`: the other actions may be worse. *holds* with that action; *fails* with a secret for
    each action at which another one is better, and that other one.

    Examples
    --------
    >>> from sfumato.losses import bin, matrix
    >>> has_dominating_action(matrix(["rain", "sun"], [[1, 1], [2, 1]], ["stay", "go"])).witness
    'stay'
    >>> print(has_dominating_action(bin([0, 1])))
    fails: no action is best at every secret: at 1 the action 1 is better than 0
    """
    loss = as_loss(loss)
    least = loss.matrix.min(axis=0)
    worse = loss.matrix > least[None, :]
    best = np.flatnonzero(~worse.any(axis=1))
    if best.size:
        action = loss.actions[best[0]]
        return holds(f"the action {action!r} is best at every secret", action)
    better = {}
    for w, where in zip(loss.actions, worse, strict=True):
        x = int(np.argmax(where))
        better[w] = (loss.secrets[x], loss.actions[int(np.flatnonzero(loss.matrix[:, x] == least[x])[0])])
    first = loss.actions[0]
    secret, other = better[first]
    return fails(
        f"no action is best at every secret: at {secret!r} the action {other!r} is better than {first!r}", better
    )


def is_monotone(loss: Loss, space: FiniteSpace) -> Verdict:
    """Whether ℓ(w, x) = m(d(x, α(w))) with m non-decreasing and α injective.

    The witness is a :class:`Monotone`.

    Examples
    --------
    >>> from sfumato.losses import bin, nib
    >>> from sfumato.spaces import line
    >>> space = line(4)
    >>> bool(is_monotone(bin(space), space)), bool(is_monotone(nib(space), space))
    (True, False)
    """
    return _monotone(loss, space, strict=False)


def is_strictly_monotone(loss: Loss, space: FiniteSpace) -> Verdict:
    """Whether ℓ is monotone with m strictly increasing on the distances that occur."""
    return _monotone(loss, space, strict=True)


def is_single_crossing(loss: Loss, space: FiniteSpace) -> Verdict:
    """Whether the space is a line and the actions have an order in which all differences of losses cross zero once.

    For w before w′ the difference ℓ(w, x) − ℓ(w′, x) changes its sign at most once along the line, from − to +. The
    witness is a :class:`SingleCrossing`. The geometric mechanism is then best for every prior.

    Examples
    --------
    >>> from sfumato.losses import absolute, member, nib
    >>> from sfumato.spaces import line
    >>> space = line(3)
    >>> is_single_crossing(absolute(space), space).witness.actions
    (0, 1, 2)
    >>> is_single_crossing(nib(space), space).witness.actions
    (2, 1, 0)
    >>> print(is_single_crossing(member(space, [1]), space))
    fails: the difference of True and False changes its sign more than once along the line
    """
    loss, space = as_loss(loss), as_space(space)
    check_secrets("loss and space", space, loss)
    path = line_path(space)
    if path is None:
        return fails(f"{space.name} is no line: distances do not add up along one chain of all secrets")
    table = loss.matrix[:, path]
    before: list[set[int]] = [set() for _ in loss.actions]  # which actions must come before
    for w in range(len(table)):
        for v in range(w):
            gap = [x for x in table[v] - table[w] if x != 0]
            rises, falls = _crosses_once(gap), _crosses_once([-x for x in gap])
            if not rises and not falls:
                pair = loss.actions[v], loss.actions[w]
                return fails(
                    f"the difference of {pair[0]!r} and {pair[1]!r} changes its sign more than once along the line",
                    pair,
                )
            if not falls:
                before[w].add(v)
            elif not rises:
                before[v].add(w)
    # No cycle: differences along one add up to zero everywhere, and at the first secret where one of them is not zero
    # all those that are not would be negative.
    order = tuple(TopologicalSorter(dict(enumerate(before))).static_order())
    secrets = tuple(space.labels[x] for x in path)
    return holds("the order of the actions is given", SingleCrossing(secrets, tuple(loss.actions[w] for w in order)))


def _crosses_once(gap: list[Any]) -> bool:
    """Whether numbers other than zero are first negative, then positive."""
    first = next((i for i, value in enumerate(gap) if value > 0), len(gap))
    return all(value > 0 for value in gap[first:])


def line_path(space: FiniteSpace) -> list[int] | None:
    """The secrets from one end to the other if the pairs that no chain implies form one path."""
    near: list[list[int]] = [[] for _ in space.labels]
    for x, z in zip(*space.pairs, strict=True):
        near[int(x)].append(int(z))
        near[int(z)].append(int(x))
    if len(space) > 1 and (sum(map(len, near)) != 2 * (len(space) - 1) or max(map(len, near)) > 2):
        return None
    path = [next(x for x, around in enumerate(near) if len(around) < 2)] if any(len(a) < 2 for a in near) else []
    while path and (onward := [z for z in near[path[-1]] if z not in path[-2:]]):
        path.append(onward[0])
    return path if len(path) == len(space) else None


def _monotone(loss: Loss, space: FiniteSpace, strict: bool) -> Verdict:
    loss, space = as_loss(loss), as_space(space)
    check_secrets("loss and space", space, loss)
    if len(loss.actions) > len(space):
        return fails(f"{len(loss.actions)} actions cannot map injectively to {len(space)} secrets")
    # distances ranked by their exact order, so that equal ones are equal
    _, rank = np.unique(space.distances.values, return_inverse=True)
    rank = rank.reshape(space.distances.values.shape)
    candidates = [_centres(row, rank, strict) for row in loss.matrix]
    for w, centres in enumerate(candidates):
        if not centres:
            word = "strictly increasing" if strict else "non-decreasing"
            return fails(
                f"the loss of action {loss.actions[w]!r} is no {word} function of the distance to any secret",
                loss.actions[w],
            )
    chosen, values, steps = _assigned(candidates, strict)
    if values is None:
        if steps >= _MOST_STEPS:
            return undecided(f"no common function was found in {_MOST_STEPS} steps")
        return fails("no injective remap gives all actions one common function of the distance")
    distance_of = {int(r): float(d) for r, d in zip(rank.ravel(), space.distances.floats.ravel(), strict=True)}
    witness = Monotone(
        {loss.actions[w]: space.labels[x] for w, x in sorted(chosen.items())},
        {distance_of[r]: _plain(values[r]) for r in sorted(values)},
    )
    return holds("the remap and the function of the distance are given", witness)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _centres(row: Any, rank: NDArray[np.int64], strict: bool) -> _Candidates:
    """Secrets c for which the row is a monotone function of the distance to c, with that function."""
    centres = []
    for c in range(len(row)):
        values: dict[int, Any] = {}
        if all(values.setdefault(int(r), v) == v for r, v in zip(rank[c], row, strict=True)) and _ordered(
            values, strict
        ):
            centres.append((c, values))
    return centres


def _ordered(values: dict[int, Any], strict: bool) -> bool:
    ascending = [values[r] for r in sorted(values)]
    return all(a < b if strict else a <= b for a, b in pairwise(ascending))


def _assigned(candidates: list[_Candidates], strict: bool) -> tuple[dict[int, int], dict[int, Any] | None, int]:
    """A centre for each action, all distinct, their common function or None, and how many steps that took."""
    # fewest candidates first: a contradiction shows early
    order = sorted(range(len(candidates)), key=lambda w: len(candidates[w]))
    chosen: dict[int, int] = {}
    steps = 0

    def extend(depth: int, values: dict[int, Any]) -> dict[int, Any] | None:
        nonlocal steps
        if depth == len(order):
            return values
        for centre, own in candidates[order[depth]]:
            steps += 1
            if steps >= _MOST_STEPS:
                return None
            if centre in chosen.values() or any(values.get(r, v) != v for r, v in own.items()):
                continue
            merged = {**values, **own}
            if not _ordered(merged, strict):
                continue
            chosen[order[depth]] = centre
            result = extend(depth + 1, merged)
            if result is not None:
                return result
            del chosen[order[depth]]
        return None

    return chosen, extend(0, {}), steps
