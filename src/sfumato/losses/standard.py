"""The losses people ask for by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from sfumato.arguments import answer_of, items
from sfumato.channels.prior import secrets_of
from sfumato.errors import InvalidLoss, short, shown
from sfumato.losses.loss import Gain, Loss
from sfumato.numbers import Array, Number, array, exact, number
from sfumato.spaces.finite import FiniteSpace, as_space, label_tuple, place_of

__all__ = ["absolute", "bin", "distance", "function", "guess", "matrix", "member", "nib", "squared", "threshold"]


_LARGEST_LABEL = 2.0**500  # of numbers: their differences, and the squares of those, are still floats


def bin(space: Any) -> Loss:
    """ℓ_bin: 0 for guessing the secret, 1 otherwise. Its uncertainty is the Bayes risk."""
    secrets = secrets_of(space)
    return Loss(secrets, secrets, 1 - np.eye(len(secrets), dtype=np.int64), "bin")


def nib(space: Any) -> Loss:
    """ℓ_nib: 1 for naming the secret, 0 otherwise; the consumer wants to rule a value out."""
    secrets = secrets_of(space)
    return Loss(secrets, secrets, np.eye(len(secrets), dtype=np.int64), "nib")


def guess(space: Any) -> Gain:
    """The gain 1 for guessing the secret in one try; its vulnerability is Bayes vulnerability."""
    secrets = secrets_of(space)
    return Gain(secrets, secrets, np.eye(len(secrets), dtype=np.int64), "guess")


def distance(space: FiniteSpace) -> Loss:
    """The metric itself, ℓ(w, x) = d(w, x); exact where the distances are rational."""
    space = as_space(space)
    table = space.distances
    if table.infinite.any():
        raise InvalidLoss(f"{space.name} has infinite distances, which make no loss: use threshold or matrix")
    rational = table.exact()
    return Loss(space.labels, space.labels, table.floats if rational is None else rational, "distance")


def absolute(space: Any) -> Loss:
    """``|w − x|`` for labels that are numbers."""
    secrets, values = _numeric(space)
    return Loss(secrets, secrets, np.abs(values[:, None] - values[None, :]), "absolute")


def squared(space: Any) -> Loss:
    """(w − x)² for labels that are numbers."""
    secrets, values = _numeric(space)
    gap = values[:, None] - values[None, :]
    return Loss(secrets, secrets, gap * gap, "squared")


def threshold(space: FiniteSpace, radius: Number) -> Loss:
    """0 when the guess is within ``radius`` of the secret, 1 otherwise."""
    space, limit = as_space(space), exact(radius)
    if limit < 0:
        raise InvalidLoss(f"the radius of a threshold must not be negative, found {shown(radius)}")
    table = space.distances
    values, where = np.unique(table.values, return_inverse=True)
    far = np.array([table.exceeds(v, limit) for v in values], dtype=np.int64)
    return Loss(space.labels, space.labels, far[where].reshape(table.values.shape), f"threshold({short(radius)})")


def member(space: Any, subset: Iterable[Any]) -> Loss:
    """Is x in S? 0 for the right answer, 1 for the wrong one; actions are True and False."""
    secrets = secrets_of(space)
    inside = {place_of(member, secrets, "the members asked for") for member in items(subset, "the members asked for")}
    outside = np.array([int(x not in inside) for x in range(len(secrets))])
    return Loss((True, False), secrets, np.stack([outside, 1 - outside]), "member")


def matrix(space: Any, table: Any, actions: Iterable[Any] | None = None) -> Loss:
    """Any table, one row an action; actions default to the secrets, or to 0, 1, …."""
    secrets = secrets_of(space)
    values = array(table, "a loss", 2, error=InvalidLoss, small_integers=True)
    if actions is None:
        actions = secrets if len(values) == len(secrets) else range(len(values))
    return Loss(tuple(actions) if isinstance(actions, str) else actions, secrets, values, "matrix")


def function(space: Any, value: Callable[[Any, Any], Number], actions: Iterable[Any] | None = None) -> Loss:
    """Any function ℓ(w, x) of action and secret; actions default to the secrets."""
    secrets = secrets_of(space)
    listed = tuple(actions) if isinstance(actions, str) else actions  # letters, where a text is given
    chosen = secrets if listed is None else label_tuple(listed, "the actions")
    table = [[answer_of(value, "the function of a loss", w, x) for x in secrets] for w in chosen]
    return Loss(chosen, secrets, table, "function")


def _numeric(space: Any) -> tuple[tuple[Any, ...], Array]:
    secrets = secrets_of(space)
    try:
        values = array([number(s, "a label") for s in secrets], "labels", 1, small_integers=True)
    except ValueError as error:
        raise InvalidLoss(f"this loss needs labels that are numbers ({error}); distance() takes any space") from error
    if values.dtype == np.float64 and np.abs(values).max() > _LARGEST_LABEL:
        raise InvalidLoss("this loss needs labels whose differences have finite squares; distance() takes any space")
    return secrets, values
