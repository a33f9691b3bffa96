"""How far an estimate of shares may be off: variances of sampling and of noise, and intervals that cover.

Each row with output y adds the y-th row of a right inverse W to the estimate: π̂ = Σ_i w_i W(y_i) / Σ_i w_i, a mean of
independent vectors. For several questions W is the Kronecker product of their inverses, which is never built: an axis
of a table is treated after the other.

*Variance of a sample*, with weights by linearisation (rows as drawn with replacement):

    n/(n − 1) · Σ_i w_i² (W(y_i)_x − π̂_x)² / (Σ_i w_i)².

*Variance of the noise alone*, if the true answers of these very rows stay as they are: with ρ the shares under weights
w², estimated as π̂ is,

    Σ_i w_i² / (Σ_i w_i)² · (Σ_y (ρM)_y W_yx² − ρ_x).

*Intervals* are those t at which a share of t would not be surprising: (π̂_x − t)² ≤ k² V_x(t)/n′, where
V_x(t) = t a + (1 − t) b − t² is the variance of a row if x has the share t and the other answers keep their
proportions; a = Σ_y M_xy W_yx² and b is the mean of Σ_y M_zy W_yx² over the others. Without noise a = 1 and b = 0, and
this is the interval of Wilson (1927), which covers where π̂ ± 2 standard errors does not: rare answers. n′ are the rows,
divided by the effect that weights have on the variance of this very share; k is a quantile of Student's t with n′ − 1
degrees of freedom.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import stdtrit

from sfumato.errors import InvalidInput, short
from sfumato.numbers import Array, Floats, Number, as_written, is_exact
from sfumato.release.estimation.counts import WeightedCounts

_NEARLY_ALL = 1 - 1e-9  # a share above this leaves the others no proportions that could be told from rounding


@dataclass(frozen=True, eq=False)
class Recovery:
    """Channels and their right inverses in floats, one of each for every question."""

    matrices: tuple[Floats, ...]
    inverses: tuple[Floats, ...]

    def estimate(self, outputs: Floats) -> Floats:
        """Shares of secrets from shares of outputs."""
        return contracted(outputs, self.inverses)

    def outputs(self, secrets: Floats) -> Floats:
        """Shares of outputs from shares of secrets."""
        return contracted(secrets, self.matrices)

    def seconds(self, outputs: Floats) -> Floats:
        """Σ_y q_y W_yx² for shares q of outputs."""
        return contracted(outputs, [inverse**2 for inverse in self.inverses])

    @cached_property
    def own(self) -> Floats:
        """a_x = Σ_y M_xy W_yx²."""
        parts = [np.einsum("xy,yx->x", m, w**2) for m, w in zip(self.matrices, self.inverses, strict=True)]
        whole: Floats = np.ones(())
        for part in parts:
            whole = whole[..., None] * part
        return whole

    @cached_property
    def anybody(self) -> Floats:
        """Σ_z Σ_y M_zy W_yx² over all secrets z."""
        return self.seconds(self.outputs(np.ones(self.own.shape)))


def nearest_shares(shares: Array) -> Array:
    """The shares ≥ 0 of sum 1 that are next to some numbers (Euclidean distance): max(w − t, 0) for the right t."""
    ordered = np.sort(shares, axis=None)[::-1]
    excess = (np.cumsum(ordered) - 1) / np.arange(1, len(ordered) + 1)
    near = np.maximum(shares - excess[np.flatnonzero(ordered > excess)[-1]], 0)
    return np.asarray(near if is_exact(near) else near / near.sum())


def contracted(table: Floats, factors: Sequence[Floats]) -> Floats:
    """Each axis of a table times the matrix that belongs to it."""
    for axis, factor in enumerate(factors):
        table = np.moveaxis(np.tensordot(table, factor, axes=(axis, 0)), -1, axis)
    return table


def sample_variances(recovery: Recovery, counted: WeightedCounts) -> Floats:
    """The variance of each share if the rows are a sample, estimated."""
    if counted.rows < 2:
        raise InvalidInput("a standard error needs at least two rows, found one")
    shares = recovery.estimate(counted.totals / counted.total)
    squares = recovery.seconds(counted.squares) - 2 * shares * recovery.estimate(counted.squares)
    spread = squares + shares**2 * counted.squares.sum()
    return np.asarray(np.maximum(spread, 0.0) * counted.rows / (counted.rows - 1) / counted.total**2)


def noise_variances(recovery: Recovery, counted: WeightedCounts) -> Floats:
    """The variance that the mechanism alone adds to each share, estimated."""
    shares = recovery.estimate(counted.squares / counted.squares.sum())
    return (recovery.seconds(recovery.outputs(shares)) - shares) / counted.effective_rows


def noise_share(recovery: Recovery, counted: WeightedCounts) -> float:
    """Which part of the variance of all shares together is noise: between 0 and 1.

    Without noise it would be (1 − |π|²)/n; |π|² is estimated without bias, and lies between 1/secrets and 1.
    """
    shares = recovery.estimate(counted.totals / counted.total)
    noise = max(float(noise_variances(recovery, counted).sum()), 0.0)
    square = float((shares**2).sum() - sample_variances(recovery, counted).sum())
    clear = (1 - min(max(square, 1 / shares.size), 1.0)) / counted.effective_rows
    return noise / (noise + clear) if noise + clear > 0 else 0.0


def level_of(level: Number) -> float:
    """How sure an interval is, between 0 and 1."""
    wanted = as_written(level, "the level of intervals")
    if not 0 < wanted < 1:
        raise InvalidInput(f"the level of intervals lies between 0 and 1, such as 0.95; found {short(level)}")
    return float(wanted)


def quantile(level: float, comparisons: int, freedom: Any) -> Any:
    """How many standard errors an interval goes to each side; Bonferroni's share of the doubt for each comparison."""
    return stdtrit(freedom, 1 - (1 - level) / (2 * comparisons))


def score_intervals(recovery: Recovery, counted: WeightedCounts, belief: Floats, level: float, many: int) -> Floats:
    """Low and high ends of each share, along a last axis; ``belief`` are shares ≥ 0 that say how variances change.

    ``many`` intervals hold together with about the level (Bonferroni).
    """
    shares = recovery.estimate(counted.totals / counted.total)
    rows, variances = _rows_of_shares(recovery, counted, shares)
    own = recovery.own
    other = (recovery.seconds(recovery.outputs(belief)) - belief * own) / np.maximum(1 - belief, 1 - _NEARLY_ALL)
    if (belief > _NEARLY_ALL).any():
        other = np.where(belief > _NEARLY_ALL, (recovery.anybody - own) / max(own.size - 1, 1), other)
    step = quantile(level, many, np.maximum(rows - 1, 1.0)) ** 2 / rows
    middle = 2 * shares + step * (own - other)
    root = np.sqrt(np.maximum(middle**2 - 4 * (1 + step) * (shares**2 - step * other), 0.0))
    ends = np.stack([middle - root, middle + root], axis=-1) / (2 * (1 + step))[..., None]
    # a share whose variance is known to be nothing is what it is estimated to be
    ends = np.where((variances + other + own == 0)[..., None], shares[..., None], ends)
    return np.clip(ends, 0.0, 1.0)


def _rows_of_shares(recovery: Recovery, counted: WeightedCounts, shares: Floats) -> tuple[Floats, Floats]:
    """n′ for each share, and its variance."""
    variances = sample_variances(recovery, counted)
    if counted.plain:
        return np.full(shares.shape, float(counted.rows)), variances
    plain = recovery.seconds(counted.totals / counted.total) - shares**2
    tells = (variances > 0) & (plain > 0)
    rows = np.where(tells, 1 + plain / np.where(tells, variances, 1.0), counted.effective_rows)
    return np.maximum(rows, 1.0), variances
