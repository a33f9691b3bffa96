"""Losses and gains: what it costs, or pays, to act w when the secret is x."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from sfumato.arguments import items, text
from sfumato.channels.prior import secrets_of
from sfumato.channels.tabular import Tabular, as_numpy
from sfumato.errors import InvalidInput, InvalidLoss, Mismatch, expect, shown
from sfumato.labels import in_order, table_in_order
from sfumato.numbers import Array, Number, array, as_written, is_exact, together
from sfumato.spaces.finite import label_place, label_tuple

__all__ = ["Gain", "Loss", "add", "lift", "restrict_loss", "scale"]


@dataclass(frozen=True, eq=False, init=False)
class _Stake(Tabular):
    """A table over actions (rows) and secrets (columns) with labels on both."""

    actions: tuple[Any, ...]
    secrets: tuple[Any, ...]
    name: str

    def __init__(self, actions: Any, secrets: Any, matrix: Any, name: str = "") -> None:
        actions = label_tuple(actions, "the actions")
        secrets = secrets_of(secrets)
        matrix = table_in_order(matrix, actions, secrets, f"a {self.kind}")
        matrix = array(matrix, f"a {self.kind}", 2, error=InvalidLoss, small_integers=True)
        if matrix.shape != (len(actions), len(secrets)):
            raise InvalidLoss(
                f"{len(actions)} actions and {len(secrets)} secrets need a table of that shape, "
                f"found {matrix.shape}: one row an action, one column a secret"
            )
        if matrix.dtype == np.float64 and not np.isfinite(matrix).all():
            w, x = np.argwhere(~np.isfinite(matrix))[0]
            raise InvalidLoss(f"the {self.kind} of {shown(actions[w])} at {shown(secrets[x])} is not finite")
        name = text(name, f"the name of a {self.kind}")
        vars(self).update(actions=actions, secrets=secrets, matrix=matrix, name=name)

    @cached_property
    def matrix(self) -> Array:
        """Its numbers, one row an action, one column a secret."""
        return type(self)(self.actions, self.secrets, vars(self)["read"](), self.name).matrix

    @property
    def kind(self) -> str:
        """``"loss"`` or ``"gain"``."""
        return type(self).__name__.lower()

    @property
    def exact(self) -> bool:
        """Whether its numbers are rationals."""
        return is_exact(self.matrix)

    @property
    def _axes(self) -> tuple[tuple[str, tuple[Any, ...]], tuple[str, tuple[Any, ...]]]:
        return ("action", self.actions), ("secret", self.secrets)

    def __getitem__(self, key: Any) -> Any:
        """``loss[action, secret]`` is its value for one action and one secret."""
        w, x = self._place(key)
        if x is None:
            raise InvalidInput(f"a {self.kind} has a value for an action and a secret, found {shown(key)} alone")
        return self.matrix[w, x]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return as_numpy(self.matrix, dtype, copy)

    def at(self, action: Any, secret: Any) -> Any:
        """Its value for one action and one secret."""
        row = label_place(action, self.actions, f"the action of a {self.kind}")
        return self.matrix[row, label_place(secret, self.secrets, f"the secret of a {self.kind}")]

    def __repr__(self) -> str:
        shape = f"{len(self.actions)} actions, {len(self.secrets)} secrets"
        return f"{type(self).__name__}({self.name + ', ' if self.name else ''}{shape})"


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Loss(_Stake):
    """A loss ℓ(w, x), to be made small.

    Parameters
    ----------
    actions
        What a consumer can do, labels of the rows.
    secrets
        A space, or the labels of the columns.
    matrix
        ℓ(w, x) at row w and column x, any finite numbers; a table with labels is matched by label.

    Examples
    --------
    >>> umbrella = Loss(["take", "leave"], ["rain", "sun"], [[1, 1], [5, 0]])
    >>> int(umbrella["leave", "rain"])
    5
    """


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Gain(_Stake):
    """A gain g(w, x), to be made large; the adversary's side of a :class:`Loss`."""

    def as_loss(self) -> Loss:
        """The loss −g."""
        return Loss(self.actions, self.secrets, -self.matrix, f"-{self.name}" if self.name else "")


def as_loss(value: Any, what: str = "a loss") -> Loss:
    """The loss; an error for anything else."""
    return expect(value, Loss, what, "Loss(actions, space, matrix) or losses.* make one")


def read_later(actions: Any, secrets: Any, read: Callable[[], Array], name: str) -> Loss:
    """A loss whose numbers are read when somebody asks for them first, by a function that is right about them.

    Millions of fractions take minutes, and who loads a mechanism to draw from it needs none.
    """
    loss = Loss.__new__(Loss)
    vars(loss).update(actions=label_tuple(actions, "the actions"), secrets=secrets_of(secrets), name=name, read=read)
    return loss


def add(first: Loss, second: Loss) -> Loss:
    """The loss of playing both games: ℓ((w₁, w₂), x) = ℓ₁(w₁, x) + ℓ₂(w₂, x)."""
    first, second = as_loss(first), as_loss(second)
    if first.secrets != second.secrets:
        raise Mismatch("secrets of two losses", first.secrets, second.secrets)
    left, right = together(first.matrix, second.matrix)
    table = left[:, None, :] + right[None, :, :]
    actions = tuple((w, v) for w in first.actions for v in second.actions)
    return Loss(actions, first.secrets, table.reshape(len(actions), -1), f"{first.name} + {second.name}")


def are_several(factor: Number | Iterable[Number]) -> TypeGuard[Iterable[Number]]:
    """Whether there is a factor for each secret, not one number: text and an array of no dimension are one."""
    return isinstance(factor, Iterable) and not isinstance(factor, str) and bool(getattr(factor, "ndim", True))


def scale(loss: Loss, factor: Number | Iterable[Number]) -> Loss:
    """Generalised scaling (v × ℓ)(w, x) = v(x) ℓ(w, x) with v ≥ 0, or by one number."""
    loss = as_loss(loss)
    if are_several(factor):
        factors = in_order(factor, loss.secrets, "the scale of a loss")
        factors = array(factors, "the scale of a loss", 1, error=InvalidLoss)
    else:
        factors = array(
            [as_written(factor, "the scale of a loss", InvalidLoss)] * len(loss.secrets), "the scale of a loss", 1
        )
    if len(factors) != len(loss.secrets):
        raise InvalidLoss(f"{len(factors)} scales for {len(loss.secrets)} secrets")
    if (factors < 0).any():
        raise InvalidLoss("a scale of a loss must not be negative")
    table, factors = together(loss.matrix, factors)
    with np.errstate(over="ignore", invalid="ignore"):  # what becomes infinite is refused by the loss
        scaled = table * factors[None, :]
    return Loss(loss.actions, loss.secrets, scaled, f"scaled {loss.name}".strip())


def restrict_loss(loss: Loss, secrets: Iterable[Any]) -> Loss:
    """The restriction ℓ↓X′ to some of the secrets."""
    loss, chosen = as_loss(loss), items(secrets, "the secrets of a restriction")
    columns = [label_place(s, loss.secrets, "the secrets of a restriction") for s in chosen]
    return Loss(loss.actions, chosen, loss.matrix[:, columns], loss.name)


def lift(loss: Loss, space: Any) -> Loss:
    """The lifting ℓ↑X to more secrets, zero on the new ones."""
    loss, secrets = as_loss(loss), secrets_of(space)
    if any(s not in secrets for s in loss.secrets):
        raise Mismatch.unknown("the secrets of a lifted loss", secrets, loss.secrets)
    table = np.zeros((len(loss.actions), len(secrets)), dtype=loss.matrix.dtype)
    table[:, [secrets.index(s) for s in loss.secrets]] = loss.matrix
    return Loss(loss.actions, secrets, table, f"{loss.name} lifted")
