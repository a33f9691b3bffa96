"""Known mechanisms side by side for a survey: how many respondents each needs for the same errors of estimated shares.

What is compared is N times the total variance of unbiased estimates (:func:`sfumato.measures.share_variance`). So many
times as large as another's, so many times as many respondents. From some mechanisms shares cannot be recovered at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf, isinf
from typing import TYPE_CHECKING, Any

from sfumato.arguments import flag, optional_function
from sfumato.certify.mechanism import Mechanism
from sfumato.channels.channel import Channel, check_secrets
from sfumato.channels.prior import Prior, as_prior
from sfumato.design.boxes.known import OPTIMAL, below
from sfumato.design.comparison_candidates import (
    MOST_SECONDS,
    Candidates,
    built,
    candidates,
    channel_of,
    promise_kept,
    with_the_best,
)
from sfumato.design.objectives import Objective
from sfumato.design.optimal import design
from sfumato.errors import Infeasible, InvalidInput, NotSupported, SolverError, UndecidedError, shown
from sfumato.labels import pandas_records
from sfumato.measures.shares import Workload, share_variance, workload
from sfumato.mechanisms.exponential import true_epsilon
from sfumato.numbers import floats, is_exact
from sfumato.privacy.satisfaction import smallest_epsilon
from sfumato.privacy.type import PrivacyType, as_type
from sfumato.verdict import Verdict

if TYPE_CHECKING:  # an extra
    import pandas

_TOLERANCE = 1e-2  # A design may be so much above a known mechanism and still stand first: it aims at 1e-4.


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
class SharesComparison:
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

    def __iter__(self) -> Iterator[ComparedShares]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, name: str) -> ComparedShares:
        """The row of one mechanism."""
        for row in self.rows:
            if row.name == name:
                return row
        raise InvalidInput(f"{shown(name)} is not compared: {', '.join(row.name for row in self.rows)}")

    def to_pandas(self) -> pandas.DataFrame:
        """:meth:`records` as a pandas DataFrame, one row a mechanism. Needs pandas (extra ``pandas``)."""
        return pandas_records(self.records(), index="mechanism")

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
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        table = ["  ".join([line[0].ljust(widths[0]), *map(str.rjust, line[1:], widths[1:])]) for line in lines]
        title = f"{self.workload.name}, {self.privacy!r}, {self.clear:.6g} in the clear"
        return "\n".join([title, *(line.rstrip() for line in table), *self._about_the_best()])

    def _about_the_best(self) -> list[str]:
        best = next((row for row in self.rows if row.bound is not None), None)
        if best is not None and best.bound is not None:
            least = f"no mechanism with this promise has N × variance below {below(best.bound)}"
            return [f"{OPTIMAL} is a design for these estimates: {least}"]
        return [f"no row {OPTIMAL}: {self.left_out[OPTIMAL]}"] if OPTIMAL in self.left_out else []


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
    progress = optional_function(progress, "progress")
    optimal = None if optimal is None else flag(optimal, "optimal")
    left_out: dict[str, str] = {}
    made = built(candidates(mechanisms, privacy), privacy, left_out, progress)
    rows = [_row(name, one, guess, asked, privacy) for name, one in made]
    if with_the_best(optimal, mechanisms, privacy, left_out):
        if progress is not None:
            progress(OPTIMAL)
        try:
            best = design(guess, None, privacy, objective=objective, time_limit=MOST_SECONDS)
            rows.append(replace(_row(OPTIMAL, best.mechanism, guess, asked, privacy), bound=best.bound))
        except (NotSupported, Infeasible, UndecidedError, SolverError) as refusal:
            left_out[OPTIMAL] = str(refusal)
    least = min([row.variance for row in rows if row.proved.outcome == "holds"], default=inf)
    rows = [replace(row, times=_times(row.variance, least)) for row in rows]
    rows.sort(key=_place)
    return SharesComparison(guess, asked, privacy, tuple(rows), _in_the_clear(guess, asked), left_out)


def _row(name: str, made: Any, prior: Prior, asked: Workload, privacy: PrivacyType) -> ComparedShares:
    mechanism = made if isinstance(made, Mechanism) else None
    check_secrets(f"{name} and privacy type", privacy.space, made)
    channel = channel_of(made, prior.exact and is_exact(asked.matrix))
    needed = smallest_epsilon(channel, privacy.space) if mechanism is None else true_epsilon(mechanism)
    value = share_variance(prior, channel, asked)
    return ComparedShares(name, channel, value, inf, needed, promise_kept(made, privacy), mechanism)


def _place(row: ComparedShares) -> tuple[float, bool, str]:
    """Equal up to rounding: by name. The design is first where it is the best up to its tolerance."""
    best = row.bound is not None and row.times < 1 + _TOLERANCE
    return 1.0 if best else round(row.times, 9), not best, row.name


def _in_the_clear(prior: Prior, asked: Workload) -> float:
    """N times the variance of shares that are counted: Σ p_x |a_x|² − |Ap|²."""
    wanted, weights = floats(asked.matrix), prior.float_weights
    return float((wanted**2).sum(axis=0) @ weights - ((wanted @ weights) ** 2).sum())


def _times(variance: Any, least: Any) -> float:
    """How many times as large a variance is; one where both are zero, as for a question with one answer."""
    if isinf(variance) or isinf(least):
        return inf
    return float(variance / least) if least else (1.0 if variance == least else inf)
