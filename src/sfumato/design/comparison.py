"""Known mechanisms side by side: what each costs with and without a remap, what it needs and what it tells.

The best mechanism for the loss and the prior is put beside them where it is found in a second or two.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, overload

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
from sfumato.design.comparison_shares import SharesComparison, compare_for_shares
from sfumato.design.objectives import Objective, as_objective
from sfumato.design.optimal import design
from sfumato.errors import NotSupported, expect
from sfumato.losses.loss import Loss
from sfumato.measures.leakage import leakage
from sfumato.measures.uncertainty import expected_loss, posterior_loss, prior_loss
from sfumato.privacy.type import PrivacyType, as_type
from sfumato.verdict import Verdict


@dataclass(frozen=True, eq=False)
class Compared:
    """One mechanism of a comparison.

    Parameters
    ----------
    loss
        Expected loss with outputs taken as actions; None where some output is no action.
    remapped
        Expected loss of a consumer who takes the best action for each output.
    epsilon
        The least ε that it needs.
    multiplicative, additive
        How much it raises the chance to guess the secret, as a ratio and as a difference.
    proved
        Whether the promise of the comparison is proved for it.
    bound
        For the row ``optimal``: no mechanism with this promise loses less, which is proved. None for the others.
    """

    name: str
    channel: Channel
    loss: Any
    remapped: Any
    epsilon: float
    multiplicative: Any
    additive: Any
    proved: Verdict
    mechanism: Mechanism | None = None
    bound: Fraction | None = None


@dataclass(frozen=True, eq=False)
class Comparison(ComparedRows[Compared]):
    """Mechanisms sorted by their loss after the best remap; ``print`` it for a table.

    ``blind`` is the loss without any disclosure, ``left_out`` says why other known mechanisms are not there. The row
    ``optimal`` is no known mechanism but the best one for this loss and this prior; it comes with a ``bound``.
    """

    prior: Prior
    loss: Loss
    privacy: PrivacyType
    rows: tuple[Compared, ...]
    blind: Any
    left_out: dict[str, str]

    def records(self) -> list[dict[str, Any]]:
        """The rows as plain numbers and texts."""
        return [
            {
                "mechanism": row.name,
                "loss": None if row.loss is None else float(row.loss),
                "remapped": float(row.remapped),
                "epsilon": row.epsilon,
                "multiplicative": float(row.multiplicative),
                "additive": float(row.additive),
                "proved": str(row.proved.outcome),
                "bound": None if row.bound is None else float(row.bound),
            }
            for row in self.rows
        ]

    def __str__(self) -> str:
        heads = ("mechanism", "loss", "remapped", "needs ε", "leaks ×", "leaks +", "proved")
        lines = [heads, *(tuple(map(_shown, record.values()))[: len(heads)] for record in self.records())]
        title = f"{self.loss.name or 'loss'}, {self.privacy!r}, {_shown(float(self.blind))} without disclosure"
        return "\n".join([title, *aligned(lines), *self._about_the_best(_best)])


def _best(row: Compared, bound: str) -> str:
    least = "" if row.bound == row.remapped else f" than {bound}"
    return f"this loss and prior: no mechanism with this promise loses less{least}"


def _shown(value: Any) -> str:
    if value is None:
        return "–"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


@overload
def compare_known(
    prior: Prior, loss: Loss, privacy: PrivacyType, *, mechanisms: Candidates = None, optimal: bool | None = None,
    objective: Objective | str = ..., progress: Callable[[str], Any] | None = None,
) -> Comparison: ...  # fmt: skip


@overload
def compare_known(
    prior: Prior | None, loss: None, privacy: PrivacyType, *, mechanisms: Candidates = None,
    optimal: bool | None = None, objective: Objective | str = ..., progress: Callable[[str], Any] | None = None,
) -> SharesComparison: ...  # fmt: skip


def compare_known(
    prior: Prior | None,
    loss: Loss | None,
    privacy: PrivacyType,
    *,
    mechanisms: Candidates = None,
    optimal: bool | None = None,
    objective: Objective | str = "expected",
    progress: Callable[[str], Any] | None = None,
) -> Comparison | SharesComparison:
    """Every known mechanism that exists for a promise, beside the others and the best one.

    Parameters
    ----------
    mechanisms
        Names of :data:`MECHANISMS`, or a mapping from names to mechanisms, channels or constructors of one's own;
        all known ones by default.
    optimal
        Whether to design the best mechanism for this loss and prior and put it beside them, with the bound that
        proves it. By default if all known ones are compared, on at most 100 secrets; ``left_out["optimal"]`` says why
        it is not there. It gets ten seconds.
    objective
        ``"expected"``, or ``"shares"`` (and ``objectives.shares(workload)``) with no loss: then what counts is the
        variance of estimated shares, the prior is the guessed distribution (None: uniform), and what comes back is a
        :class:`~sfumato.design.comparison_shares.SharesComparison`.
    progress
        Called with the name of each mechanism before it is built.

    Examples
    --------
    >>> from sfumato.losses import absolute
    >>> from sfumato.spaces import line
    >>> privacy = PrivacyType(line(5), alpha="1/4")
    >>> found = compare_known(Prior.uniform(privacy.space), absolute(privacy.space), privacy,
    ...                       mechanisms=["exponential", "permute_and_flip", "geometric"])
    >>> print(found)
    absolute, PrivacyType(line(5), alpha=1/4), 1.2 without disclosure
    mechanism             loss  remapped   needs ε  leaks ×   leaks +  proved
    geometric          0.39125   0.39125   1.38629      3.4      0.48   holds
    permute_and_flip  0.663203  0.663203   1.19735  2.71074  0.342148   holds
    exponential       0.811273  0.811273  0.896746  2.27436  0.254873   holds
    >>> print(compare_known(None, None, privacy, objective="shares", mechanisms=["geometric", "unary_encoding"]))
    shares, PrivacyType(line(5), alpha=1/4), 0.8 in the clear
    mechanism       N × variance  respondents  recovered  outputs  needs ε  proved
    geometric            2.87889          1 ×        yes        5  1.38629   holds
    unary_encoding       8.36705      2.906 ×        yes       32  1.38629   holds
    """
    wanted = as_objective(objective)
    if wanted.criterion == "shares":
        if loss is not None:
            raise NotSupported("a loss beside an objective about shares", ["compare_known(prior, None, privacy, …)"])
        return compare_for_shares(
            prior, privacy, wanted, mechanisms=mechanisms, optimal=optimal, progress=progress
        )  # fmt: skip
    if not wanted.plain:
        raise NotSupported("a comparison under limits or for the worst", ["the expected loss", "shares"])
    prior, privacy = as_prior(prior), as_type(privacy)
    loss = expect(loss, Loss, "a loss", "losses.absolute(space) makes one")
    check_secrets("prior, loss and privacy type", privacy.space, prior, loss)

    def row(name: str, made: Any) -> Compared:
        about = measured(name, made, privacy, prior.exact and loss.exact)
        channel = about["channel"]
        return Compared(
            **about,
            loss=expected_loss(prior, channel, loss) if set(channel.outputs) <= set(loss.actions) else None,
            remapped=posterior_loss(prior, channel, loss),
            multiplicative=leakage(prior, channel),
            additive=leakage(prior, channel, kind="additive"),
        )

    rows, left_out = compared(
        row, lambda: design(prior, loss, privacy, time_limit=MOST_SECONDS), mechanisms, privacy, optimal, progress
    )
    # equal up to rounding: the design first, then by name
    rows.sort(key=lambda row: (round(float(row.remapped), 12), row.bound is None, row.name))
    return Comparison(prior, loss, privacy, tuple(rows), prior_loss(prior, loss), left_out)
