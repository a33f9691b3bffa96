"""Known mechanisms side by side for a survey: how many respondents each needs for the same errors of estimated shares.

What is compared is N times the total variance of unbiased estimates (:func:`sfumato.measures.share_variance`). So many
times as large as another's, so many times as many respondents. From some mechanisms shares cannot be recovered at all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf, isinf
from typing import Any

from sfumato.certify.mechanism import Mechanism
from sfumato.channels.channel import Channel, check_secrets
from sfumato.channels.prior import Prior, as_prior
from sfumato.design.comparison_candidates import (
    MOST_SECONDS,
    Candidates,
    ComparedRows,
    aligned,
    compared,
    measured,
)
from sfumato.design.objectives import Objective
from sfumato.design.optimal import design
from sfumato.errors import InvalidInput, NotSupported
from sfumato.measures.shares import Workload, share_variance, workload
from sfumato.numbers import floats, is_exact
from sfumato.privacy.type import PrivacyType, as_type
from sfumato.verdict import Verdict


@dataclass(frozen=True, eq=False)
class ComparedShares:
    """One mechanism of a comparison for a survey.

    Parameters
    ----------
    variance
        N times the least total variance of unbiased estimates, at the guessed distribution; infinite where what is
        asked for cannot be recovered.
    times
        How many times as many respondents it needs as the best one that keeps the promise.
    epsilon
        The least ε that it needs.
    proved
        Whether the promise of the comparison is proved for it.
    bound
        For the row ``optimal``: no mechanism with this promise has less variance. None for the others.
    """

    name: str
    channel: Channel
    variance: Any
    times: float
    epsilon: float
    proved: Verdict
    mechanism: Mechanism | None = None
    bound: Fraction | None = None

    @property
    def recovered(self) -> bool:
        """Whether what is asked for can be estimated at all."""
        return not isinf(self.variance)


@dataclass(frozen=True, eq=False)
class SharesComparison(ComparedRows[ComparedShares]):
    """Mechanisms sorted by how many respondents they need; ``print`` it for a table.

    ``clear`` is N times the variance of answers that are not hidden, ``left_out`` says why other known mechanisms are
    not there. The row ``optimal`` is the best of all for this distribution and workload; it comes with a ``bound``.
    """

    prior: Prior
    workload: Workload
    privacy: PrivacyType
    rows: tuple[ComparedShares, ...]
    clear: float
    left_out: dict[str, str]

    def records(self) -> list[dict[str, Any]]:
        """The rows as plain numbers and texts; None where shares cannot be recovered."""
        return [
            {
                "mechanism": row.name,
                "variance": float(row.variance) if row.recovered else None,
                "times": None if isinf(row.times) else row.times,
                "recovered": row.recovered,
                "outputs": len(row.channel.outputs),
                "epsilon": row.epsilon,
                "proved": str(row.proved.outcome),
                "bound": None if row.bound is None else float(row.bound),
            }
            for row in self.rows
        ]

    def __str__(self) -> str:
        heads = ("mechanism", "N × variance", "respondents", "recovered", "outputs", "needs ε", "proved")
        lines = [heads, *(_cells(record) for record in self.records())]
        title = f"{self.workload.name}, {self.privacy!r}, {self.clear:.6g} in the clear"
        about = "these estimates: no mechanism with this promise has N × variance below"
        return "\n".join([title, *aligned(lines), *self._about_the_best(lambda _, bound: f"{about} {bound}")])


def _cells(record: dict[str, Any]) -> tuple[str, ...]:
    times = record["times"]
    return (
        record["mechanism"],
        f"{record['variance']:.6g}" if record["recovered"] else "–",
        "–" if times is None else f"{times:.4g} ×",
        "yes" if record["recovered"] else "no",
        str(record["outputs"]),
        f"{record['epsilon']:.6g}",
        record["proved"],
    )


def compare_for_shares(
    prior: Prior | None,
    privacy: PrivacyType,
    objective: Objective,
    *,
    mechanisms: Candidates = None,
    optimal: bool | None = None,
    progress: Callable[[str], Any] | None = None,
) -> SharesComparison:
    """Known mechanisms beside the best one by the errors of estimated shares; :func:`compare_known` calls it.

    ``prior`` is the guessed distribution, uniform if None; the workload is that of the objective.
    """
    privacy = as_type(privacy)
    if objective.priors:
        raise NotSupported("a comparison for the worst of several distributions", ["one guess: objectives.shares(…)"])
    if len(privacy.space) < 2:
        raise InvalidInput("shares are estimated of at least two secrets")
    guess = Prior.uniform(privacy.space) if prior is None else as_prior(prior)
    check_secrets("prior and privacy type", privacy.space, guess)
    asked = workload(objective.workload, privacy.space)

    def row(name: str, made: Any) -> ComparedShares:
        about = measured(name, made, privacy, guess.exact and is_exact(asked.matrix))
        return ComparedShares(**about, variance=share_variance(guess, about["channel"], asked), times=inf)

    rows, left_out = compared(
        row,
        lambda: design(guess, None, privacy, objective=objective, time_limit=MOST_SECONDS),
        mechanisms,
        privacy,
        optimal,
        progress,
    )
    least = min([row.variance for row in rows if row.proved.outcome == "holds"], default=inf)
    rows = [replace(row, times=_times(row.variance, least)) for row in rows]
    rows.sort(key=_place)
    return SharesComparison(guess, asked, privacy, tuple(rows), _in_the_clear(guess, asked), left_out)


def _place(row: ComparedShares) -> tuple[float, bool, str]:
    """Equal up to rounding: the design first, then by name."""
    return round(row.times, 9), row.bound is None, row.name


def _in_the_clear(prior: Prior, asked: Workload) -> float:
    """N times the variance of shares that are counted: Σ p_x |a_x|² − |Ap|²."""
    wanted, weights = floats(asked.matrix), prior.float_weights
    return float((wanted**2).sum(axis=0) @ weights - ((wanted @ weights) ** 2).sum())


def _times(variance: Any, least: Any) -> float:
    """How many times as large a variance is; one where both are zero, as for a question with one answer."""
    if isinf(variance) or isinf(least):
        return inf
    return float(variance / least) if least else (1.0 if variance == least else inf)
