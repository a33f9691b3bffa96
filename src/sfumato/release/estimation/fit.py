"""Whether released rows may come from a mechanism at all: a test of fit with a proved level for any number of rows.

If a mechanism M released N rows, whatever they hide, row i has the output y with probability M(x_i)(y), and the counts
of outputs have the mean N·πM for the shares π of these rows. Two bounds hold for every π, for people as they are as for
a sample of them; neither waits for N to be large.

*Shares below 0.* Let MW = 1, a secret x and 0 < θ ≤ 1/max_y W_yx. For e(y) = 1 − θ W_yx ≥ 0 every secret z has
Σ_y M_zy e(y) = 1 − θ [z = x] ≤ 1, so Π_i e(y_i) has a mean of at most 1: who bets against the mechanism wins nothing.
So has the mean of these products over all x and a list of θ that knows nothing of the outputs, and by Markov's
inequality it exceeds K with a chance of 1/K at most. It is large where a share is estimated far below 0. If M is
square, nothing else can be wrong with counts: where no share is below 0 they fit exactly.

*Outputs that no shares give*, of channels with more outputs than secrets. The relative entropy D of observed shares of
k outputs to their probabilities has E[e^{λND}] ≤ (1 − λ)^{1−k} for 0 ≤ λ < 1 (Agrawal 2020), so that
P(ND ≥ t) ≤ e^{−t}(et/(k − 1))^{k−1} for t ≥ k − 1. No π is nearer than the likeliest one, up to the gap that the
maximum of the likelihood is proved to. The theorem is about rows drawn alike. For rows of different secrets, e^{λND} is
a product of log-convex functions of the counts, whose mean never falls when two rows take the mean of their
distributions instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, exp, log, log2

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import inv, pinv
from scipy.special import logsumexp, xlogy

from sfumato.channels.channel import Channel
from sfumato.errors import NotConverged
from sfumato.numbers import Floats
from sfumato.release.estimation.likelihood import maximum_likelihood

DOUBTFUL = 1e-3
"""Where people are told: one survey in a thousand looks like this, or fewer."""

REFUSED = 1e-6
"""Where nobody should go on: one survey in a million, or fewer."""

_MOST_SECRETS = 500  # Up to so many a maximum of the likelihood takes a second or so.


@dataclass(frozen=True)
class Fit:
    """How well released rows fit a mechanism; made by :func:`fit_of`.

    ``chance`` is a proved bound: whatever the rows hide, so large a part of the surveys that the mechanism releases, at
    most, looks as little like it. A chance of 1 says that nothing is known against the rows, not that they are its.
    """

    chance: float

    @property
    def doubtful(self) -> bool:
        """Whether people should hear of it."""
        return self.chance < DOUBTFUL

    @property
    def refused(self) -> bool:
        """Whether it cannot be taken for luck."""
        return self.chance < REFUSED

    def __str__(self) -> str:
        if not self.doubtful:
            return "nothing speaks against these rows being released by this mechanism"
        return (
            "was this column released by this mechanism? If it was, rows that fit so badly come in at most one of "
            f"{_in_words(self.chance)} surveys, whatever the true shares"
        )


def fit_of(matrix: Floats, counts: NDArray[np.int64]) -> Fit:
    """How well counts of outputs fit a channel of full rank; at least one row is counted.

    Examples
    --------
    >>> response = np.array([[0.75, 0.25], [0.25, 0.75]])
    >>> fit_of(response, np.array([60, 40])).chance, fit_of(response, np.array([100, 0])).refused
    (1.0, True)
    """
    rows = counts.sum()
    chances = [_chance_of_shares(matrix, counts, rows)]
    if matrix.shape[0] < matrix.shape[1] and matrix.shape[0] <= _MOST_SECRETS:
        chances.append(_chance_of_likelihood(matrix, counts, rows))
    return any_of(list(map(Fit, chances)))


def any_of(fits: list[Fit]) -> Fit:
    """The same of several tests: as many surveys fail one of them as fail the first, the second and so on together."""
    return Fit(min(1.0, len(fits) * min(fit.chance for fit in fits)))


def _chance_of_shares(matrix: Floats, counts: NDArray[np.int64], rows: float) -> float:
    """By bets that a share is below 0, for θ from the largest one down by halves to where only 1/√N of it is left."""
    square = matrix.shape[0] == matrix.shape[1]
    inverse = inv(matrix) if square else pinv(matrix)
    if square and (counts @ inverse >= 0).all():
        return 1.0
    seen = counts > 0
    steepest = inverse / inverse.max(axis=0)
    # the fairest secrets have Σ_y M_zy W_yx = 0; what rounding makes of that is taken off again
    lost = np.maximum(-(matrix @ steepest).min(axis=0), 0.0) + _rounding(matrix) * np.abs(steepest).max(axis=0)
    won = []
    for halves in range(1 + ceil(log2(rows) / 2)):
        theta = 2.0**-halves
        bets = 1 - theta * steepest[seen]
        fair = np.log1p(theta * lost) + _rounding(matrix)
        won.append(xlogy(counts[seen][:, None], np.maximum(bets, 0.0)).sum(axis=0) - rows * fair)
    return exp(min(0.0, -float(logsumexp(won)) + log(np.size(won))))


def _chance_of_likelihood(matrix: Floats, counts: NDArray[np.int64], rows: float) -> float:
    """By the relative entropy to the nearest distribution that any shares give."""
    secrets, outputs = map(range, matrix.shape)
    try:
        likeliest = maximum_likelihood(Channel(secrets, matrix, outputs), counts)
    except NotConverged as error:
        likeliest = error.best
    distance = likeliest.deviance / 2 - rows * (likeliest.gap + _rounding(matrix))
    freedom = np.count_nonzero((matrix > 0).any(axis=0)) - 1
    return exp(freedom - distance + freedom * log(distance / freedom)) if distance > freedom else 1.0


def _rounding(matrix: Floats) -> float:
    """More than what sums over secrets and outputs lose, for each row."""
    return (sum(matrix.shape) + 64) * 2.0**-51


def _in_words(chance: float) -> str:
    """One of how many, in one digit, rounded down."""
    if chance < 1e-12:
        return "a million million"
    many = int(1 / chance)
    unit = 10 ** (len(str(many)) - 1)
    return f"{many // unit * unit:,}"
