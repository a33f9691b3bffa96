"""What is to be designed: a prior, a loss and a promise, laid out as a program over columns.

With the outputs taken for actions, the expected loss of a mechanism M is Σ_xw π_x ℓ(w, x) M_xw, linear in M, and
every mechanism followed by a remap is one of these. So the best mechanism has one output for each action at most.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.channels.channel import check_secrets
from sfumato.channels.prior import Prior, as_prior
from sfumato.errors import InvalidInput, Mismatch, expect
from sfumato.losses.loss import Loss
from sfumato.numbers import Array, floats, together
from sfumato.privacy.type import PrivacyType, as_type

__all__ = ["Problem", "problem"]

_MOST_COMPARISONS = 2 * 10**9  # entries looked at for dominated actions, a second or two

_SMALLEST_LOG = 1e-9  # smaller log-ratio bounds are solved as this one; repair and bound use the true ones


@dataclass(frozen=True, eq=False)
class Problem:
    """A prior, a loss whose actions are all worth considering, and a promise."""

    prior: Prior
    loss: Loss
    privacy: PrivacyType

    @cached_property
    def cost(self) -> Array:
        """π_x ℓ(w, x), one row a secret, one column an action; exact if prior and loss are."""
        weights, table = together(self.prior.weights, self.loss.matrix)
        return np.asarray(weights[:, None] * table.T)

    @cached_property
    def float_cost(self) -> NDArray[np.float64]:
        """The same in floats."""
        return self.prior.float_weights[:, None] * floats(self.loss.matrix).T

    @cached_property
    def ordered_pairs(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Pairs that no chain implies, at finite distance, both ways round."""
        first, second = self.privacy.space.pairs
        return np.concatenate([first, second]).astype(np.int64), np.concatenate([second, first]).astype(np.int64)

    @cached_property
    def logs(self) -> NDArray[np.float64]:
        """ε d of the ordered pairs, never below what floats can solve."""
        distances = self.privacy.space.pair_distances.floats
        return np.maximum(np.tile(self.privacy.rate * distances, 2), _SMALLEST_LOG)

    @property
    def exact(self) -> bool:
        """Whether every number is rational."""
        return self.privacy.exact and self.cost.dtype != np.float64

    @property
    def shape(self) -> tuple[int, int]:
        """Number of secrets and of actions."""
        return len(self.privacy.space), len(self.loss.actions)


def problem(prior: Prior, loss: Loss, privacy: PrivacyType, outputs: Iterable[Any] | None = None) -> Problem:
    """Check that the three fit together, and leave out actions that another one is never worse than."""
    privacy = as_type(privacy)
    prior, loss = as_prior(prior), expect(loss, Loss, "a loss", "losses.distance(space), Loss(actions, secrets, table)")
    check_secrets("prior, loss and privacy type", privacy.space, prior, loss)
    if outputs is not None:
        wanted = tuple(outputs)
        if not wanted:
            raise InvalidInput("outputs must name at least one action of the loss")
        if any(w not in loss.actions for w in wanted):
            raise Mismatch.unknown("outputs as actions of the loss", loss.actions, wanted)
        rows = [loss.actions.index(w) for w in wanted]
        loss = Loss(wanted, loss.secrets, loss.matrix[rows], loss.name)
    kept = _undominated(floats(loss.matrix)[:, prior.float_weights > 0])
    if len(kept) < len(loss.actions):
        loss = Loss([loss.actions[w] for w in kept], loss.secrets, loss.matrix[kept], loss.name)
    return Problem(prior, loss, privacy)


def _undominated(table: NDArray[np.float64]) -> list[int]:
    """Actions that no other is at least as good as for every secret; of equal ones the first.

    Leaving out an action can only make the optimum worse, so a wrong answer of floats costs at most rounding.
    """
    actions, secrets = table.shape
    if actions * actions * secrets > _MOST_COMPARISONS:
        return list(range(actions))
    kept: list[int] = []
    for w in range(actions):
        no_worse = (table <= table[w]).all(axis=1)
        equal = (table == table[w]).all(axis=1)
        no_worse[w] = False
        if not (no_worse & ~equal).any() and not equal[:w].any():
            kept.append(w)
    return kept
