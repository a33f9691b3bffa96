"""What the receiver of released data does: frequencies of the secrets, posteriors and remaps of single rows.

N rows with secrets of frequencies π come out as counts c over outputs, with E[c/N] = πM. For a right inverse W of the
channel, MW = 1, the estimate π̂ = (c/N)W is unbiased, whatever π is. With more outputs than secrets there are many right
inverses; the one used here, W = D⁻¹Mᵀ(MD⁻¹Mᵀ)⁻¹ with D = diag(π₀M), has the least variance if the secrets have the
frequencies π₀ (generalised least squares), and its estimates sum to 1. For a square channel it is the inverse.

The maximum of the likelihood, and the iterative Bayesian update that climbs towards it, are in
:mod:`sfumato.release.estimation_likelihood`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack, qr, solve_triangular

from sfumato.channels.channel import Channel, as_channel, check_secrets
from sfumato.channels.hyper import joint
from sfumato.channels.prior import Prior, as_prior, secrets_of
from sfumato.errors import InvalidInput, Mismatch, few, short, shown
from sfumato.labels import Labelled, in_order, label_key, labelled, listed, pandas_frame
from sfumato.losses.loss import Loss
from sfumato.measures.uncertainty import optimal_remap
from sfumato.numbers import (
    Array,
    Number,
    array,
    as_written,
    divide,
    exact,
    floats,
    fractions,
    from_flint,
    is_exact,
    object_array,
    product,
    to_flint,
)
from sfumato.spaces.finite import place_of

if TYPE_CHECKING:  # an extra
    import pandas

_LARGEST_EXACT = 60  # secrets for which a right inverse in fractions takes a second or so


@dataclass(frozen=True, eq=False)
class Frequencies:
    """An unbiased estimate of the frequencies of secrets; made by :func:`frequencies`.

    ``weights`` sum to 1 and may be negative: that is the price of being unbiased. Everything is exact where the channel
    is. The estimates of the covariance are unbiased as well.
    """

    channel: Channel
    counts: NDArray[np.int64]
    weights: Array
    inverse: Array = field(repr=False)
    """W, outputs × secrets, with MW = 1."""

    @property
    def secrets(self) -> tuple[Any, ...]:
        """The labels of the secrets."""
        return self.channel.secrets

    @property
    def total(self) -> int:
        """N, the number of released rows."""
        return int(self.counts.sum())

    @property
    def exact(self) -> bool:
        """Whether the numbers are rationals."""
        return is_exact(self.weights)

    @cached_property
    def covariance(self) -> Array:
        """Cov(π̂) if the rows are a sample: their secrets are drawn from π one by one.

        W^T (diag q − q^T q) W / N for the distribution q of outputs. With the observed frequencies for q and N − 1 for
        N its expectation is that.
        """
        if self.total < 2:
            raise InvalidInput("a covariance needs at least two rows")
        seen = divide(object_array(map(Fraction, self.counts.tolist())), Fraction(self.total))
        return self._spread(seen, self.weights[:, None] * self.weights, Fraction(1, self.total - 1))

    @cached_property
    def noise_covariance(self) -> Array:
        """Cov(π̂) if π are the frequencies among these very rows: noise of the mechanism alone.

        (W^T diag(πM) W − diag π) / N, estimated with π̂ for π: it is linear in π, so its expectation is right.
        """
        fitted = product(self.weights[None, :], self.channel.matrix)[0]
        diagonal = np.zeros_like(self.weights, shape=(len(self.weights),) * 2)
        np.fill_diagonal(diagonal, self.weights)
        return self._spread(fitted, diagonal, Fraction(1, self.total))

    @cached_property
    def standard_errors(self) -> NDArray[np.float64]:
        """Square roots of the variances of a sample, in floats."""
        return np.sqrt(np.maximum(floats(np.diagonal(self.covariance)), 0.0))

    def to_pandas(self) -> pandas.DataFrame:
        """The share of each secret with its standard error, in floats. Needs pandas (extra ``pandas``)."""
        table = np.column_stack([floats(self.weights), self.standard_errors])
        return pandas_frame(table, ("secret", self.secrets), ("", ("share", "standard error")))

    def _spread(self, outputs: Array, subtract: Array, scale: Fraction) -> Array:
        """(W^T diag(outputs) W − subtract) · scale."""
        if self.exact:
            return np.asarray((product((self.inverse * outputs[:, None]).T, self.inverse) - subtract) * scale)
        weighted = self.inverse * floats(outputs)[:, None]
        return np.asarray((weighted.T @ self.inverse - floats(subtract)) * float(scale))

    def nearest_prior(self) -> Prior:
        """The prior next to the estimate (Euclidean distance): no longer unbiased, never farther from the truth."""
        return nearest_prior(self.secrets, self.weights)


def output_counts(channel: Channel | Any, released: Mapping[Any, int] | Iterable[Any]) -> NDArray[np.int64]:
    """How often each output was released: counts by label, an array of counts in the order of outputs, or the rows.

    A mapping or a table of two columns has counts by label (:mod:`sfumato.labels`); outputs that do not occur in it
    were released 0 times. An integer array with one number for each output is taken for counts; any other sequence
    lists the outputs of rows. A series with an index is either: counts where its index has outputs, rows where its
    values are outputs, and refused where it could be both.

    Examples
    --------
    >>> channel = Channel([0, 1], [["2/3", "1/3"], ["1/3", "2/3"]], outputs=["no", "yes"])
    >>> output_counts(channel, ["yes", "yes", "no"]).tolist(), output_counts(channel, {"yes": 5}).tolist()
    ([1, 2], [0, 5])
    """
    outputs = as_channel(channel).outputs
    if isinstance(released, np.ndarray) and released.dtype.kind in "iu":
        if released.shape != (len(outputs),):
            raise InvalidInput(f"{len(outputs)} outputs need as many counts, found shape {released.shape}")
        counts = released.astype(np.int64)
    elif (given := labelled(released)) is not None and not _lists_rows(given, outputs):
        values = in_order(released, outputs, "released outputs", absent=0)
        for label, count in zip(outputs, values, strict=True):
            if exact(count).denominator != 1:
                raise InvalidInput(f"the count of {shown(label)} is {count}, no integer")
        counts = np.array([int(exact(count)) for count in values], dtype=np.int64)
    else:
        counts = np.bincount(_places(outputs, listed(released)), minlength=len(outputs)).astype(np.int64)
    if (counts < 0).any() or not counts.any():
        raise InvalidInput("counts must not be negative, and at least one row must have been released")
    return counts


def _lists_rows(given: Labelled, outputs: tuple[Any, ...]) -> bool:
    """Whether a series lists the outputs of rows; one that might as well be counts by label is refused."""
    if not given.series:
        return False
    known = {label_key(label) for label in outputs}
    rows, counts = (all(label_key(value) in known for value in part) for part in (given.values, given.labels))
    if rows and counts and len(set(given.labels)) == len(given.labels):
        raise InvalidInput(
            "a series whose index and values both are outputs may be rows or counts: "
            "pass .tolist() for rows, .to_dict() for counts"
        )
    return rows


def _places(outputs: tuple[Any, ...], rows: list[Any]) -> list[int]:
    """The place of each row's output among all outputs."""
    place = {label_key(label): y for y, label in enumerate(outputs)}
    keys = [label_key(label) for label in rows]
    for label, key in zip(rows, keys, strict=True):
        if key not in place:
            raise Mismatch("released outputs", outputs, [label], f"{shown(label)} is not among {few(outputs)}")
    return [place[key] for key in keys]


def frequencies(channel: Channel | Any, released: Any, *, reference: Prior | None = None) -> Frequencies:
    """The unbiased estimate of how frequent each secret is among released rows, with its covariance.

    Parameters
    ----------
    channel
        The channel, or the mechanism, by which the rows were released. Up to 60 exact secrets are treated in fractions.
    released
        The outputs: see :func:`output_counts`.
    reference
        Frequencies π₀ for which the variance is least, where there are more outputs than secrets; uniform by default.

    Raises
    ------
    InvalidInput
        If the channel does not determine the frequencies: two different ones give the same outputs.

    Examples
    --------
    >>> response = Channel(["no", "yes"], [["3/4", "1/4"], ["1/4", "3/4"]], outputs=["no", "yes"])
    >>> shares = frequencies(response, {"no": 60, "yes": 40})
    >>> [str(w) for w in shares.weights], str(shares.covariance[0, 0]), round(float(shares.standard_errors[0]), 3)
    (['7/10', '3/10'], '8/825', 0.098)
    """
    channel = as_channel(channel)
    counts = output_counts(channel, released)
    start = Prior.uniform(channel.secrets) if reference is None else as_prior(reference)
    check_secrets("channel and reference", channel, start)
    exactly = channel.exact and start.exact and len(channel.secrets) <= _LARGEST_EXACT
    inverse = _exact_inverse(channel, start) if exactly else _float_inverse(channel, start)
    shares = divide(counts, int(counts.sum()))
    return Frequencies(channel, counts, product(shares[None, :], inverse)[0], inverse)


def _exact_inverse(channel: Channel, reference: Prior) -> Array:
    matrix = fractions(channel.matrix)
    if len(channel.outputs) == len(channel.secrets):
        try:
            return from_flint(to_flint(matrix).inv())
        except ZeroDivisionError:
            raise _undetermined(channel) from None
    spread = product(reference.weights[None, :], matrix)[0]
    used = spread > 0  # an output that no likely secret has says nothing
    scaled = matrix[:, used] / spread[used]
    gram = to_flint(product(scaled, matrix[:, used].T))
    if gram.rank() < len(channel.secrets):
        raise _undetermined(channel)
    inverse = object_array([Fraction(0)] * matrix.size, matrix.T.shape)
    inverse[used] = from_flint(gram.solve(to_flint(scaled))).T
    return inverse


def _float_inverse(channel: Channel, reference: Prior) -> NDArray[np.float64]:
    """D^{−1/2} Q R^{−T} for the factors QR of D^{−1/2} Mᵀ: the condition of the channel is not squared on the way."""
    matrix = floats(channel.matrix)
    n, m = matrix.shape
    spread = reference.float_weights @ matrix
    used = spread > 0
    if np.count_nonzero(used) < n:
        raise _undetermined(channel)
    scale = 1 / np.sqrt(spread[used])
    left, right = qr(matrix[:, used].T * scale[:, None], mode="economic", check_finite=False)
    # entries are good to 2^-53: a channel this close to a singular one may be singular
    reciprocal, _ = lapack.dtrcon(right, norm="1", uplo="U", diag="N")
    if not reciprocal > n * 2.0**-52:
        raise _undetermined(channel)
    inverse = np.zeros((m, n))
    inverse[used] = solve_triangular(right, left.T, check_finite=False).T * scale[:, None]
    return inverse


def _undetermined(channel: Channel) -> InvalidInput:
    n, m = len(channel.secrets), len(channel.outputs)
    return InvalidInput(
        f"the channel ({n} secrets → {m} outputs) does not determine the frequencies: different ones give the same "
        "outputs, exactly or up to rounding; maximum_likelihood() finds one of the most likely"
    )


def nearest_prior(secrets: Any, weights: Any) -> Prior:
    """The prior with the least Euclidean distance to some numbers: max(w − t, 0) for the t that makes the sum 1.

    Numbers that carry labels are matched by label.

    Examples
    --------
    >>> nearest_prior(["a", "b"], object_array([Fraction(5, 4), Fraction(-1, 4)])).weights.tolist()
    [Fraction(1, 1), Fraction(0, 1)]
    """
    secrets = secrets_of(secrets)
    weights = array(in_order(weights, secrets, "the numbers"), "the numbers next to which a prior is looked for", 1)
    if not is_exact(weights) and not np.isfinite(weights).all():
        raise InvalidInput("a prior lies next to finite numbers only")
    ordered = np.sort(weights)[::-1]
    excess = (np.cumsum(ordered) - 1) / np.arange(1, len(ordered) + 1)
    kept = np.flatnonzero(ordered > excess)
    result = np.maximum(weights - excess[kept[-1]], 0)
    return Prior(secrets, result if is_exact(result) else result / result.sum())


# ----------------------------------------------------------------- single rows


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
        return np.asarray(self.table[:, self._columns(listed(released))].T)

    def to_pandas(self) -> pandas.DataFrame:
        """One row an output: what is then believed of each secret, in floats. Needs pandas (extra ``pandas``)."""
        return pandas_frame(floats(self.table.T), ("output", self.outputs), ("secret", self.secrets))

    def _columns(self, released: list[Any]) -> list[int]:
        columns = _places(self.outputs, released)
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
    return [actions[y] for y in _places(outputs, listed(released))]


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
        y = place_of(output, self.outputs, "the output of a credible set")
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
