"""What the receiver of released data does: shares of the secrets, with standard errors and intervals, also by group.

N rows with secrets of frequencies π come out as counts c over outputs, with E[c/N] = πM. For a right inverse W of the
channel, MW = 1, the estimate π̂ = (c/N)W is unbiased, whatever π is. With more outputs than secrets there are many right
inverses; the one used here, W = D⁻¹Mᵀ(MD⁻¹Mᵀ)⁻¹ with D = diag(π₀M), has the least variance if the secrets have the
frequencies π₀ (generalised least squares), and its estimates sum to 1. For a square channel it is the inverse.

The maximum of the likelihood never leaves the simplex. At the border of it, where a share is 0, it is no mean of rows
and has no normal distribution; the same rows have a linear estimate that has: one step of Fisher's scoring from the
maximum, without the constraint that shares are not negative, which is (c/N)W for the W that is best at the maximum.
Standard errors and intervals of the maximum are those of that step; where the maximum is inside, and the channel
square, both are the same.

How far estimates may be off is in :mod:`sfumato.release.estimation.intervals`; the maximum, and the iterative Bayesian
update that climbs towards it, in :mod:`sfumato.release.estimation.likelihood`; cross tables of several questions in
:mod:`sfumato.release.estimation.cross`; how many respondents are needed in :mod:`sfumato.release.estimation.plan`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import isnan
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas, lapack, qr

from sfumato.arguments import flag, one_of
from sfumato.channels.channel import Channel, as_channel, check_secrets
from sfumato.channels.prior import Prior, as_prior, secrets_of
from sfumato.errors import InvalidInput, keyword, shown
from sfumato.labels import column_values, in_order, label_key, pandas_frame
from sfumato.numbers import (
    Array,
    Floats,
    Number,
    array,
    divide,
    floats,
    fractions,
    from_flint,
    is_exact,
    object_array,
    product,
    to_flint,
)
from sfumato.release.estimation.counts import (
    WeightedCounts,
    counted_rows,
    output_places,
    plain_counts,
    refuse_impossible,
    rows_only,
    tally,
    weights_of,
)
from sfumato.release.estimation.fit import Fit, fit_of
from sfumato.release.estimation.intervals import (
    Recovery,
    level_of,
    nearest_shares,
    noise_share,
    sample_variances,
    score_intervals,
)
from sfumato.release.estimation.likelihood import maximum_likelihood
from sfumato.release.estimation.words import remarks, share_lines
from sfumato.rooms import at_front_door

if TYPE_CHECKING:  # an extra
    import pandas

METHODS = ("unbiased", "likelihood")
"""How shares are estimated."""

_LARGEST_EXACT = 60  # secrets for which a right inverse in fractions takes a second or so
_MOST_SHOWN = (30, 60)  # shares that are printed, of one question and of several


class EstimatedShares(ABC):
    """Shares of answers that released rows come to, of one question or of several together."""

    weights: Array
    counted: WeightedCounts
    recovery: Recovery

    @property
    @abstractmethod
    def titles(self) -> tuple[str, ...]:
        """What the questions are called."""

    @property
    @abstractmethod
    def cells(self) -> list[tuple[Any, ...]]:
        """The combinations of answers, the last question fastest."""

    @property
    @abstractmethod
    def fit(self) -> Fit:
        """Whether these rows may come from the mechanism at all: :mod:`sfumato.release.estimation.fit`."""

    @property
    def linear(self) -> Array:
        """The estimate whose errors are those of the shares: the shares themselves, unless they are the likeliest."""
        return self.weights

    @property
    def total(self) -> int:
        """N, the number of released rows."""
        return self.counted.rows

    @cached_property
    def standard_errors(self) -> Floats:
        """Square roots of the variances of a sample."""
        return np.sqrt(sample_variances(self.recovery, self.counted))

    def intervals(self, level: Number = "0.95", *, simultaneous: bool = False) -> Floats:
        """Low and high end for each share, along a last axis, within 0 and 1: true shares lie there.

        An estimate outside is not in its interval, and both ends are the same border if nothing else is left.
        Each covers its share with about the level; with ``simultaneous`` all of them together do (Bonferroni), about as
        well. They are of Wilson's kind, and not symmetric: :mod:`sfumato.release.estimation.intervals`.
        """
        wanted, many = level_of(level), self.weights.size if flag(simultaneous, "simultaneous") else 1
        belief = nearest_shares(floats(self.linear))
        ends = score_intervals(self.recovery, self.counted, belief, wanted, many)
        shares = np.clip(floats(self.weights), 0.0, 1.0)
        return np.stack([np.minimum(ends[..., 0], shares), np.maximum(ends[..., 1], shares)], axis=-1)

    @cached_property
    def noise_share(self) -> float:
        """Which part of the variance of all shares together is noise of the mechanism, between 0 and 1."""
        return noise_share(self.recovery, self.counted)

    @property
    def inflation(self) -> float:
        """How many times as many respondents are needed as if they answered in the clear; infinite if none would do."""
        return 1 / (1 - self.noise_share) if self.noise_share < 1 else float("inf")

    def plot(self, level: Number = "0.95", *, simultaneous: bool = False) -> Any:
        """The shares with their intervals, drawn: :func:`sfumato.report.shares_figure`."""
        return at_front_door("report").shares_figure(self, level=level, simultaneous=simultaneous)

    def __str__(self) -> str:
        return "\n".join([*share_lines(self, most=_MOST_SHOWN[len(self.titles) > 1]), *remarks(self), repr(self)])


@dataclass(frozen=True, eq=False, repr=False)
class Frequencies(EstimatedShares):
    """An estimate of the frequencies of secrets; made by :func:`frequencies`.

    ``weights`` are the estimated shares and sum to 1. Those of the unbiased estimate may be negative: that is the price
    of being unbiased. Everything is exact where the channel is and rows have no weights. The estimates of the
    covariance are unbiased as well.
    """

    channel: Channel
    counts: NDArray[np.int64]
    weights: Array
    inverse: Array = field(repr=False)
    """W, outputs × secrets, with MW = 1."""
    weighted: WeightedCounts | None = None
    """What the weights of rows come to, where rows have weights."""
    method: str = "unbiased"

    @property
    def secrets(self) -> tuple[Any, ...]:
        """The labels of the secrets."""
        return self.channel.secrets

    @property
    def titles(self) -> tuple[str, ...]:
        """What stands over the secrets in a table."""
        return ("answer",)

    @property
    def cells(self) -> list[tuple[Any, ...]]:
        """The secrets, each alone."""
        return [(secret,) for secret in self.secrets]

    @property
    def exact(self) -> bool:
        """Whether the numbers are rationals."""
        return is_exact(self.linear)

    @cached_property
    def counted(self) -> WeightedCounts:  # type: ignore[override]
        """The rows with their weights, which are 1 where none are given."""
        return plain_counts(self.counts) if self.weighted is None else self.weighted

    @cached_property
    def fit(self) -> Fit:
        """Whether these rows may come from the channel at all; weights have no part in it."""
        return fit_of(floats(self.channel.matrix), self.counts)

    @cached_property
    def linear(self) -> Array:
        """(c/N)W: the shares themselves, or beside the likeliest shares the estimate whose errors are theirs."""
        return self.weights if self.method == "unbiased" else product(_shares(self.counted), self.inverse)[0]

    @cached_property
    def covariance(self) -> Array:
        """Cov(π̂) if the rows are a sample: their secrets are drawn from π one by one.

        W^T (diag q − q^T q) W / N for the distribution q of outputs. With the observed frequencies for q and N − 1 for
        N its expectation is that. With weights: by linearisation, see :mod:`sfumato.release.estimation.intervals`.
        """
        if self.total < 2:
            raise InvalidInput("a covariance needs at least two rows")
        if self.weighted is not None:
            away = floats(self.inverse) - floats(self.linear)
            spread = (away * self.weighted.squares[:, None]).T @ away
            return np.asarray(spread * self.total / (self.total - 1) / self.weighted.total**2)
        seen = divide(object_array(map(Fraction, self.counts.tolist())), Fraction(self.total))
        return self._spread(seen, self.linear[:, None] * self.linear, Fraction(1, self.total - 1))

    @cached_property
    def noise_covariance(self) -> Array:
        """Cov(π̂) if π are the frequencies among these very rows: noise of the mechanism alone.

        (W^T diag(πM) W − diag π) / N, estimated with π̂ for π: it is linear in π, so its expectation is right. With
        weights w it is about the shares under w², times Σ w² / (Σ w)².
        """
        shares, scale = self.linear, Fraction(1, self.total)
        if self.weighted is not None:
            shares = (self.weighted.squares / self.weighted.squares.sum()) @ floats(self.inverse)
            scale = Fraction(1 / self.weighted.effective_rows)
        fitted = product(shares[None, :], self.channel.matrix)[0]
        diagonal = np.zeros_like(shares, shape=(len(shares),) * 2)
        np.fill_diagonal(diagonal, shares)
        return self._spread(fitted, diagonal, scale)

    @cached_property
    def standard_errors(self) -> NDArray[np.float64]:
        """Square roots of the variances of a sample, in floats."""
        return np.sqrt(np.maximum(floats(np.diagonal(self.covariance)), 0.0))

    @cached_property
    def recovery(self) -> Recovery:  # type: ignore[override]
        """Channel and inverse in floats."""
        return Recovery((floats(self.channel.matrix),), (floats(self.inverse),))

    def to_pandas(self) -> pandas.DataFrame:
        """The share of each secret with its standard error and 95 % interval. Needs pandas (extra ``pandas``)."""
        table = np.column_stack([floats(self.weights), self.standard_errors, self.intervals()])
        return pandas_frame(table, ("secret", self.secrets), ("", ("share", "standard error", "low", "high")))

    def _spread(self, outputs: Array, subtract: Array, scale: Fraction) -> Array:
        """(W^T diag(outputs) W − subtract) · scale."""
        if self.exact:
            return np.asarray((product((self.inverse * outputs[:, None]).T, self.inverse) - subtract) * scale)
        inverse = floats(self.inverse)
        weighted = inverse * floats(outputs)[:, None]
        return np.asarray((weighted.T @ inverse - floats(subtract)) * float(scale))

    def nearest_prior(self) -> Prior:
        """The prior next to the estimate (Euclidean distance): no longer unbiased, never farther from the truth."""
        return nearest_prior(self.secrets, self.weights)

    def __repr__(self) -> str:
        how = "" if self.weighted is None else ", weighted"
        return f"Frequencies({len(self.secrets)} shares of {self.total:,} rows, {self.method}{how})"


def frequencies(
    channel: Channel | Any,
    released: Any,
    *,
    weights: Any = None,
    method: str = "unbiased",
    reference: Prior | None = None,
) -> Frequencies:
    """How frequent each secret is among released rows, with standard errors and intervals.

    Parameters
    ----------
    channel
        The channel, or the mechanism, by which the rows were released. Up to 60 exact secrets are treated in fractions.
    released
        The outputs: see :func:`~sfumato.release.estimation.counts.output_counts`; or
        :class:`~sfumato.release.estimation.counts.WeightedCounts`.
    weights
        One number for each row, such as survey weights; then ``released`` lists rows.
    method
        ``"unbiased"``, whose shares may be negative, or ``"likelihood"``: the likeliest shares, never negative.
    reference
        Frequencies π₀ for which the variance is least, where there are more outputs than secrets. By default those that
        a mechanism was designed for, if it was designed for shares, else the uniform ones.

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
    >>> print(shares)
    answer  share  error  95 % interval
    no      0.700  0.098  0.502 – 0.883
    yes     0.300  0.098  0.117 – 0.498
    Frequencies(2 shares of 100 rows, unbiased)
    """
    table = as_channel(channel)
    counted = counted_rows(table, released, weights)
    one_of(method, METHODS, keyword("method"))
    start = reference_of(channel, reference)
    return _estimated(table, counted, method, start, right_inverse(table, start))


def frequencies_by(
    channel: Channel | Any,
    released: Iterable[Any],
    groups: Iterable[Any],
    *,
    weights: Any = None,
    method: str = "unbiased",
    reference: Prior | None = None,
) -> dict[Any, Frequencies]:
    """The frequencies in each group of rows, such as regions: groups in the order in which they come first.

    Parameters
    ----------
    released
        The outputs of rows.
    groups
        The group of each row; none may be missing.

    Examples
    --------
    >>> response = Channel(["no", "yes"], [["3/4", "1/4"], ["1/4", "3/4"]], outputs=["no", "yes"])
    >>> found = frequencies_by(response, ["no", "yes", "yes", "no"], ["north", "north", "south", "north"])
    >>> {group: shares.counts.tolist() for group, shares in found.items()}
    {'north': [2, 1], 'south': [0, 1]}
    """
    table = as_channel(channel)
    one_of(method, METHODS, keyword("method"))
    places = np.array(output_places(table.outputs, rows_only(released, table.outputs)), dtype=np.int64)
    given = None if weights is None else weights_of(weights, len(places))
    members: dict[Any, list[int]] = {}
    labels: dict[Any, Any] = {}
    for row, label in enumerate(column_values(groups, "the groups of rows")):
        if label is None or (isinstance(label, float) and isnan(label)):
            raise InvalidInput(f"row {row + 1}: the group is missing: give every row one")
        if not _is_hashable(label):
            raise InvalidInput(f"row {row + 1}: {shown(label)} is no label of a group")
        members.setdefault(label_key(label), []).append(row)
        labels.setdefault(label_key(label), label)
    if sum(map(len, members.values())) != len(places):
        raise InvalidInput(f"{len(places)} rows need as many groups, found {sum(map(len, members.values()))}")
    start = reference_of(channel, reference)
    inverse, found = right_inverse(table, start), {}
    for key, rows in members.items():
        try:
            counted = tally(places[rows], None if given is None else given[rows], (len(table.outputs),))
        except InvalidInput as error:
            raise InvalidInput(f"group {shown(labels[key])}: {error}") from None
        found[labels[key]] = _estimated(table, counted, method, start, inverse)
    return found


def _is_hashable(label: Any) -> bool:
    try:
        hash(label)
    except (TypeError, RecursionError):
        return False
    return True


def _shares(counted: WeightedCounts) -> Array:
    """The shares of outputs as a row; exact where all rows have the weight 1."""
    if counted.plain:
        return divide(counted.counts, counted.rows)[None, :]
    return (counted.totals / counted.total)[None, :]


def reference_of(given: Channel | Any, reference: Prior | None) -> Prior:
    """The frequencies for which the variance is to be least.

    Where none are given, those that a mechanism was designed for, if for shares, and all of them positive; else uniform
    ones.
    """
    channel, claim = as_channel(given), getattr(given, "claim", None)
    if reference is not None:
        start = as_prior(reference)
        check_secrets("channel and reference", channel, start)
        return start
    meant = None if claim is None else claim.reference
    return meant if meant is not None and (meant.weights > 0).all() else Prior.uniform(channel.secrets)


def _estimated(channel: Channel, counted: WeightedCounts, method: str, start: Prior, inverse: Array) -> Frequencies:
    """The estimate by either method; the inverse is that of the reference ``start``."""
    refuse_impossible(channel.outputs, channel.matrix, counted.counts)
    weighted = None if counted.plain else counted
    shares = product(_shares(counted), inverse if counted.plain else floats(inverse))[0]
    if method == "unbiased":
        return Frequencies(channel, counted.counts, shares, inverse, weighted)
    inside = len(channel.outputs) == len(channel.secrets) and (shares >= 0).all()
    if inside:  # no distribution of outputs fits better than the observed one, which these shares give
        return Frequencies(channel, counted.counts, shares, inverse, weighted, method)
    likeliest = maximum_likelihood(channel, counted).prior
    if len(channel.outputs) != len(channel.secrets):
        # outputs of secrets whose likeliest share is 0 may occur all the same: a row's worth of the start beside it
        mixed = (counted.rows * likeliest.float_weights + start.float_weights) / (counted.rows + 1)
        inverse = right_inverse(channel.to_floats(), Prior(channel.secrets, mixed / mixed.sum()))
    return Frequencies(channel, counted.counts, likeliest.weights, inverse, weighted, method)


def right_inverse(channel: Channel, reference: Prior) -> Array:
    """W with MW = 1 that has the least variance if the secrets have the frequencies of the reference."""
    exactly = channel.exact and reference.exact and len(channel.secrets) <= _LARGEST_EXACT
    return _exact_inverse(channel, reference) if exactly else _float_inverse(channel, reference)


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
    # LAPACK's triangular solve wakes all threads for a table of four answers, which takes ten milliseconds
    inverse[used] = blas.dtrsm(1.0, right, left.T).T * scale[:, None]
    return inverse


def _undetermined(channel: Channel) -> InvalidInput:
    n, m = len(channel.secrets), len(channel.outputs)
    return InvalidInput(
        f"the channel ({n} secrets → {m} outputs) does not determine the frequencies: different ones give the same "
        "outputs, exactly or up to rounding. For shares, design the mechanism with "
        f"{keyword('objective', 'shares')}, or take a known one with an output for each secret"
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
    return Prior(secrets, nearest_shares(weights))
