"""The losses people ask for by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, overload

import numpy as np

from sfumato.arguments import answer_of, items
from sfumato.channels.prior import secrets_of
from sfumato.errors import InvalidLoss, advice, shown
from sfumato.labels import row_names
from sfumato.losses.coordinates import CoordinateLoss
from sfumato.losses.loss import Gain, Loss
from sfumato.memory import check_memory
from sfumato.numbers import Array, Number, array, floats, number
from sfumato.spaces.box import Box
from sfumato.spaces.finite import FiniteSpace, as_space, label_place, label_tuple
from sfumato.spaces.lengths import in_unit

__all__ = [
    "absolute",
    "bin",
    "default",
    "distance",
    "function",
    "guess",
    "matrix",
    "member",
    "nib",
    "squared",
    "threshold",
]


_COPIES = 3  # A table, what it is worked out from, and what is kept of it.
_LARGEST_LABEL = 2.0**500  # Differences of smaller labels, and their squares, are still floats.


def bin(space: Any) -> Loss:
    """ℓ_bin: 0 for guessing the secret, 1 otherwise. Its uncertainty is the Bayes risk."""
    secrets = _few_secrets(space)
    return Loss(secrets, secrets, 1 - np.eye(len(secrets), dtype=np.int64), "bin")


def nib(space: Any) -> Loss:
    """ℓ_nib: 1 for naming the secret, 0 otherwise; the consumer wants to rule a value out."""
    secrets = _few_secrets(space)
    return Loss(secrets, secrets, np.eye(len(secrets), dtype=np.int64), "nib")


def guess(space: Any) -> Gain:
    """The gain 1 for guessing the secret in one try; its vulnerability is Bayes vulnerability."""
    secrets = _few_secrets(space)
    return Gain(secrets, secrets, np.eye(len(secrets), dtype=np.int64), "guess")


@overload
def distance(space: FiniteSpace) -> Loss: ...
@overload
def distance(space: Box) -> CoordinateLoss: ...
def distance(space: FiniteSpace | Box) -> Loss | CoordinateLoss:
    """The metric itself, ℓ(w, x) = d(w, x); exact where the distances are rational. On a box between any two points."""
    if isinstance(space, Box):
        return CoordinateLoss(space)
    space = as_space(space)
    table = space.distances
    if table.infinite.any():
        raise InvalidLoss(f"{space.name} has infinite distances, which make no loss: use threshold or matrix")
    rational = table.exact()
    return Loss(space.labels, space.labels, table.floats if rational is None else rational, "distance")


def absolute(space: Any) -> Loss:
    """``|w − x|`` for labels that are numbers; for the answers of several queries at once the sum over the queries."""
    secrets, values = _numeric(space)
    return Loss(secrets, secrets, sum(np.abs(value[:, None] - value[None, :]) for value in values), "absolute")


def squared(space: Any) -> Loss:
    """(w − x)² for labels that are numbers; for the answers of several queries at once the sum over the queries."""
    secrets, values = _numeric(space)
    return Loss(secrets, secrets, sum((value[:, None] - value[None, :]) ** 2 for value in values), "squared")


def default(space: FiniteSpace) -> Loss:
    """The loss where none is named: the absolute error of a numeric query, the distance on any other space.

    Distances between the answers of a query count the people who must change to get from one to the other; an error of
    the answer is in the units of the answer. Where the two are the same table it has the name of the distance, unless
    the space is one of answers.

    Examples
    --------
    >>> from sfumato.spaces import grid, sum_query
    >>> default(sum_query(10, 3)).at(0, 30), distance(sum_query(10, 3)).at(0, 30), default(grid(2, 2)).name
    (np.int64(30), np.int64(10), 'distance')
    """
    space = as_space(space)
    if space.answers:
        return absolute(space)
    if not _places_are_labels(space):
        return distance(space)
    # a space out of a file has lost its constructor, but not the coordinates that say where its labels are
    error, apart = absolute(space), None if space.distances.infinite.any() else distance(space)
    return error if apart is None or (floats(error.matrix) != floats(apart.matrix)).any() else apart


def _places_are_labels(space: FiniteSpace) -> bool:
    """Whether labels are numbers that are their own coordinates."""
    where = space.coordinates
    if where is None or where.shape[1] != 1 or any(isinstance(s, bool | str) for s in space.labels):
        return False
    try:
        return all(float(s) == place for s, place in zip(space.labels, where[:, 0], strict=True))
    except (TypeError, ValueError, OverflowError):
        return False


def threshold(space: FiniteSpace, radius: Number) -> Loss:
    """0 when the guess is within ``radius`` of the secret, 1 otherwise; ``"500 m"`` where distances are in km."""
    space = as_space(space)
    limit = in_unit(radius, space.unit, "the radius of a threshold", InvalidLoss)
    if limit < 0:
        raise InvalidLoss(f"the radius of a threshold must not be negative, found {shown(radius)}")
    table = space.distances
    values, where = np.unique(table.values, return_inverse=True)
    far = np.array([table.exceeds(v, limit) for v in values], dtype=np.int64)
    return Loss(space.labels, space.labels, far[where].reshape(table.values.shape), f"threshold({limit})")


def member(space: Any, subset: Iterable[Any]) -> Loss:
    """Is x in S? 0 for the right answer, 1 for the wrong one; actions are True and False."""
    secrets = secrets_of(space)
    inside = {
        label_place(member, secrets, "the members asked for") for member in items(subset, "the members asked for")
    }
    outside = np.array([int(x not in inside) for x in range(len(secrets))])
    return Loss((True, False), secrets, np.stack([outside, 1 - outside]), "member")


def matrix(space: Any, table: Any, actions: Iterable[Any] | None = None) -> Loss:
    """Any table, one row an action; actions default to the labels of its rows, to the secrets, or to 0, 1, …."""
    secrets = secrets_of(space)
    named = row_names(table) if actions is None else actions
    if named is None:
        if isinstance(table, np.ndarray) or not hasattr(table, "__len__"):
            table = array(table, "a loss", 2, error=InvalidLoss, small_integers=True)
        named = secrets if len(table) == len(secrets) else range(len(table))
    return Loss(tuple(named) if isinstance(named, str) else named, secrets, table, "matrix")


def function(space: Any, value: Callable[[Any, Any], Number], actions: Iterable[Any] | None = None) -> Loss:
    """Any function ℓ(w, x) of action and secret; actions default to the secrets."""
    secrets = secrets_of(space)
    listed = tuple(actions) if isinstance(actions, str) else actions  # letters, where a text is given
    chosen = secrets if listed is None else label_tuple(listed, "the actions")
    _check_table(len(chosen), len(secrets))
    table = [[answer_of(value, "the function of a loss", w, x) for x in secrets] for w in chosen]
    return Loss(chosen, secrets, table, "function")


def _few_secrets(space: Any) -> tuple[Any, ...]:
    """The secrets, where there is room for a table of all actions for all of them."""
    secrets = secrets_of(space)
    _check_table(len(secrets), len(secrets))
    return secrets


def _check_table(actions: int, secrets: int) -> None:
    """Refuse a table that could not be held, before anything of it is built."""
    check_memory(
        8 * _COPIES * actions * secrets, f"a loss for {actions:,} actions and {secrets:,} secrets",
        ["fewer secrets", "a coarser space"],
    )  # fmt: skip


def _numeric(space: Any) -> tuple[tuple[Any, ...], list[Array]]:
    """The labels, and their values: those of each query for the answers of several, otherwise one number a label."""
    secrets = _few_secrets(space)
    several = isinstance(space, FiniteSpace) and space.answers and isinstance(secrets[0], tuple)
    parts = zip(*secrets, strict=True) if several else [secrets]
    try:
        values = [array([number(s, "a label") for s in part], "labels", 1, small_integers=True) for part in parts]
    except ValueError as error:
        raise InvalidLoss(
            f"this loss needs labels that are numbers ({error})" + advice(("losses.distance", "takes any space"))
        ) from error
    if any(part.dtype == np.float64 and np.abs(part).max() > _LARGEST_LABEL for part in values):
        raise InvalidLoss(
            "this loss needs labels whose differences have finite squares"
            + advice(("losses.distance", "takes any space"))
        )
    return secrets, values
