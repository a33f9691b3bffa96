"""What released rows say of single secrets: posteriors, the best action for each row, credible sets."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.channels.channel import Channel, as_channel
from sfumato.channels.hyper import joint
from sfumato.channels.prior import Prior, as_prior
from sfumato.errors import InvalidInput, short, shown
from sfumato.labels import column_values, pandas_frame
from sfumato.losses.loss import Loss
from sfumato.measures.uncertainty import optimal_remap
from sfumato.numbers import Array, Number, as_written, divide, floats, is_exact
from sfumato.release.estimation.counts import output_places
from sfumato.spaces.finite import label_place

if TYPE_CHECKING:  # an extra
    import pandas


@dataclass(frozen=True, eq=False)
class Posteriors:
    """What is believed of a row's secret after its output was seen; made by :func:`posteriors`.

    ``table[x, y]`` is the probability of secret x given output y; a column of zeros belongs to an output that cannot
    occur.
    """

    secrets: tuple[Any, ...]
    outputs: tuple[Any, ...]
    table: Array = field(repr=False)

    def of(self, output: Any) -> Prior:
        """The posterior of one output."""
        return Prior(self.secrets, self.table[:, self._columns([output])[0]])

    def rows(self, released: Iterable[Any]) -> Array:
        """The posteriors of released rows, rows × secrets."""
        return np.asarray(self.table[:, self._columns(column_values(released))].T)

    def to_pandas(self) -> pandas.DataFrame:
        """One row an output: what is then believed of each secret, in floats. Needs pandas (extra ``pandas``)."""
        return pandas_frame(floats(self.table.T), ("output", self.outputs), ("secret", self.secrets))

    def _columns(self, released: list[Any]) -> list[int]:
        columns = output_places(self.outputs, released)
        for y in set(columns):
            if not self.table[:, y].any():
                raise InvalidInput(f"output {shown(self.outputs[y])} has probability 0 under this prior")
        return columns


def posteriors(prior: Prior, channel: Channel | Any) -> Posteriors:
    """The posteriors of all outputs: π_x M_xy / (πM)_y."""
    prior, channel = as_prior(prior), as_channel(channel)
    table = joint(prior, channel)
    totals = table.sum(axis=0)
    totals = np.where(totals > 0, totals, 1 + 0 * totals)
    return Posteriors(channel.secrets, channel.outputs, divide(table, totals))


def remap_rows(prior: Prior, channel: Channel | Any, loss: Loss, released: Iterable[Any]) -> list[Any]:
    """The best action for each released row, by the prior: the remap of :func:`sfumato.optimal_remap`, row by row.

    Examples
    --------
    >>> from sfumato.losses import bin
    >>> channel = Channel([0, 1], [["2/3", "1/3"], ["1/3", "2/3"]])
    >>> remap_rows(Prior([0, 1], ["4/5", "1/5"]), channel, bin([0, 1]), [0, 1, 1])
    [0, 0, 0]
    """
    channel = as_channel(channel)
    best = optimal_remap(prior, channel, loss)
    outputs, actions = tuple(best), tuple(best.values())
    return [actions[y] for y in output_places(outputs, column_values(released))]


@dataclass(frozen=True, eq=False)
class CredibleSets:
    """For each output the fewest secrets that together have at least some posterior probability.

    ``order[:, y]`` lists secrets from the likeliest on, ``sizes[y]`` says how many are needed (0 if y cannot occur).
    """

    secrets: tuple[Any, ...]
    outputs: tuple[Any, ...]
    level: Fraction
    order: NDArray[np.int64] = field(repr=False)
    sizes: NDArray[np.int64] = field(repr=False)

    def of(self, output: Any) -> tuple[Any, ...]:
        """The credible set of one output, likeliest secret first."""
        y = label_place(output, self.outputs, "the output of a credible set")
        return tuple(self.secrets[x] for x in self.order[: self.sizes[y], y])


def credible_sets(prior: Prior, channel: Channel | Any, level: Number = "0.95") -> CredibleSets:
    """The smallest sets of secrets that contain the true one with at least the given posterior probability.

    Exact for exact priors and channels; ties go to the secret that is listed first.

    Examples
    --------
    >>> channel = Channel(range(3), [["2/3", "1/6", "1/6"], ["1/3", "1/3", "1/3"], ["1/6", "1/6", "2/3"]])
    >>> credible_sets(Prior.uniform(range(3)), channel, "6/7").of(0)
    (0, 1)
    """
    wanted = as_written(level, "the level of credible sets")
    if not 0 < wanted <= 1:
        raise InvalidInput(f"the level of credible sets lies in (0, 1], found {short(level)}")
    beliefs = posteriors(prior, channel)
    exactly = is_exact(beliefs.table)
    order = np.argsort(-beliefs.table, axis=0, kind="stable")
    sums = np.cumsum(np.take_along_axis(beliefs.table, order, axis=0), axis=0)
    # a float sum of n entries is good to n units of 2^-53: at level 1 it may stop short of the level for ever
    enough = wanted if exactly else float(wanted) * (1 - len(order) * 2.0**-52)
    sizes = np.where(sums[-1] > 0, (sums < enough).sum(axis=0) + 1, 0)
    return CredibleSets(beliefs.secrets, beliefs.outputs, wanted, order, sizes.astype(np.int64))
