"""Joint distributions, posteriors, and the hyper-distribution a channel makes of a prior."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.arguments import flag
from sfumato.channels.channel import Channel, as_channel, check_secrets
from sfumato.channels.prior import Prior, as_prior
from sfumato.channels.tabular import as_numpy
from sfumato.errors import InvalidInput, shown
from sfumato.labels import pandas_frame
from sfumato.numbers import Array, divide, floats, is_exact, together
from sfumato.spaces.finite import label_place

if TYPE_CHECKING:  # an extra
    import pandas

# Two float columns are one inner when their normalised entries differ by no more than
# this: each is a product divided by a sum, good to a few units of 2^-53. Merging moves
# no weight and changes no expected value beyond rounding.
_SAME_INNER = 2.0**-46


@dataclass(frozen=True, eq=False)
class Hyper:
    """A distribution over posteriors: weight ``outer[i]`` on the posterior ``inners[:, i]``.

    Columns of the joint that are proportional are one inner, since no observer can tell
    them apart; ``merged[i]`` lists the outputs that fell together in inner i.
    """

    secrets: tuple[Any, ...]
    outer: Array
    inners: Array
    merged: tuple[tuple[Any, ...], ...]

    def __len__(self) -> int:
        return len(self.outer)

    def __repr__(self) -> str:
        return f"Hyper({len(self)} inners over {len(self.secrets)} secrets)"

    @property
    def exact(self) -> bool:
        """Whether its numbers are rationals."""
        return is_exact(self.outer, self.inners)

    def to_pandas(self, *, exact: bool = False) -> pandas.DataFrame:
        """One row an inner: the outputs that fell together, its weight, and the posterior of each secret.

        Of fractions where ``exact``. Needs pandas (extra ``pandas``).
        """
        kind = object if flag(exact, "exact") else None
        table = pandas_frame(as_numpy(self.inners.T, kind, None), ("outputs", self.merged), ("secret", self.secrets))
        table.insert(0, "weight", as_numpy(self.outer, kind, None), allow_duplicates=True)
        return table

    def average(self) -> Array:
        """The prior again: posteriors averaged by their weights."""
        return np.asarray(self.inners @ self.outer)


def joint(prior: Prior, channel: Channel) -> Array:
    """J_xy = π_x C_xy."""
    prior, channel = as_prior(prior), as_channel(channel)
    check_secrets("prior and channel", prior, channel)
    weights, matrix = together(prior.weights, channel.matrix)
    return np.asarray(weights[:, None] * matrix)


def output_distribution(prior: Prior, channel: Channel) -> Array:
    """The probability of each output, Σ_x π_x C_xy."""
    prior, channel = as_prior(prior), as_channel(channel)
    check_secrets("prior and channel", prior, channel)
    weights, matrix = together(prior.weights, channel.matrix)
    return np.asarray(weights @ matrix)


def posterior(prior: Prior, channel: Channel, output: Any) -> Prior:
    """What is believed of the secret after one output was seen."""
    prior, channel = as_prior(prior), as_channel(channel)
    column = joint(prior, channel)[:, label_place(output, channel.outputs, "the output that was seen")]
    total = column.sum()
    if total == 0:
        raise InvalidInput(f"output {shown(output)} has probability 0 under this prior")
    return Prior(prior.secrets, divide(column, total))


def hyper(prior: Prior, channel: Channel) -> Hyper:
    """The hyper-distribution [π ▷ C]: zero columns vanish, proportional ones merge.

    Examples
    --------
    >>> channel = Channel([0, 1], [["1/2", "1/4", "1/4"], ["1/4", "1/2", "1/4"]])
    >>> result = hyper(Prior.uniform([0, 1]), channel)
    >>> result.outer.tolist()
    [Fraction(3, 8), Fraction(3, 8), Fraction(1, 4)]
    """
    prior, channel = as_prior(prior), as_channel(channel)
    table = joint(prior, channel)
    weights = table.sum(axis=0)
    seen = np.flatnonzero(weights > 0)
    inners = divide(table[:, seen], weights[seen])
    alike: dict[Any, list[int]] = {}
    for k, column in enumerate(map(tuple, inners.T) if is_exact(inners) else _leaders(floats(inners))):
        alike.setdefault(column, []).append(k)
    groups = [np.array(group) for group in alike.values()]
    outer = [sum(weights[seen[group]]) for group in groups]
    centres = [
        inners[:, group[0]] if len(group) == 1 else divide(table[:, seen[group]].sum(axis=1), total)
        for group, total in zip(groups, outer, strict=True)
    ]
    return Hyper(
        secrets=prior.secrets,
        outer=np.array(outer, dtype=inners.dtype),
        inners=np.stack(centres, axis=1),
        merged=tuple(tuple(channel.outputs[seen[k]] for k in group) for group in groups),
    )


def _leaders(inners: NDArray[np.float64]) -> list[int]:
    """For each column the first of those that agree with it up to rounding, found on a fixed projection."""
    n, m = inners.shape
    direction = np.cos(np.arange(n) * 1.37 + 0.3)  # any direction without symmetries will do
    shadow = direction @ inners
    order = np.argsort(shadow, kind="stable")
    leader = np.arange(m)
    for place, k in enumerate(order):
        if leader[k] != k:
            continue
        for other in order[place + 1 :]:
            if shadow[other] - shadow[k] > n * _SAME_INNER:
                break
            if leader[other] == other and np.abs(inners[:, k] - inners[:, other]).max() <= _SAME_INNER:
                leader[other] = k
    return leader.tolist()
