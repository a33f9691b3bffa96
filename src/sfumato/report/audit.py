"""The audit of a matrix from anywhere: what it keeps, what breaks it, what it costs beside the best, and a repair."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.arguments import flag
from sfumato.certify.repair import Repair, repair
from sfumato.certify.verify import prove
from sfumato.channels.channel import Channel, check_secrets
from sfumato.channels.prior import Prior, as_prior
from sfumato.design.optimal import design
from sfumato.design.result import Design
from sfumato.errors import InvalidChannel, InvalidInput, expect, keyword
from sfumato.labels import column_labels, pandas_records, row_names
from sfumato.losses import Loss
from sfumato.losses.standard import default
from sfumato.measures.leakage import Capacity, capacity
from sfumato.measures.uncertainty import expected_loss, posterior_loss
from sfumato.numbers import array, bounds_text, exact, floats, nearest_float, text_above, text_below, told_apart
from sfumato.privacy.promise import rational_power
from sfumato.privacy.satisfaction import Tightest, Violation, satisfies, tightest_pair
from sfumato.privacy.type import PrivacyType
from sfumato.report.audit_digits import array_errors
from sfumato.report.audit_rounding import Margins, Nearest, private_within
from sfumato.spaces.constructors import discrete
from sfumato.spaces.finite import FiniteSpace
from sfumato.verdict import Outcome, Verdict, fails, holds, undecided

if TYPE_CHECKING:  # an extra
    import pandas

_LARGEST_OPTIMUM = 100  # With more secrets or outputs the optimum is looked for only on request.
_LARGEST_EXACT = 2**12  # Losses of tables with more entries are computed in floats.


@dataclass(frozen=True, eq=False)
class Audit:
    """What was found about a channel; ``print`` it for a summary.

    Parameters
    ----------
    verdict
        Whether the promise is kept; without a promise, whether the channel is private at any ε.
    epsilon
        The least ε it needs, rounded up; infinite where an output is possible for one secret only.
    tightest
        The pair and the output that need it.
    promise
        What was promised, None if nothing was.
    own
        The type with the least ε, which has the channel in it; None where ε is 0 or infinite.
    prior, loss
        What the losses are about; None where distances are infinite and nobody gave a loss.
    remapped, as_is
        Expected loss with the best action for each output, and with outputs taken as actions (None if they are none).
    optimum
        The best mechanism for the promise, or for the least ε, certified; None where that was not looked for.
    leaks
        Capacities of the channel.
    box
        Between which numbers each entry lies; None where the channel is exact.
    nearest
        A matrix that keeps the promise and rounds to the numbers given, where they themselves do not keep it.
    """

    channel: Channel
    space: FiniteSpace
    verdict: Verdict
    epsilon: float
    tightest: Tightest | None
    promise: PrivacyType | None
    own: PrivacyType | None
    leaks: Capacity
    prior: Prior | None = None
    loss: Loss | None = None
    remapped: Any = None
    as_is: Any = None
    optimum: Design | None = None
    box: Margins | None = None
    nearest: Nearest | None = None

    @property
    def private(self) -> bool | None:
        """Whether the promise is kept; None where rounded numbers cannot tell."""
        return bool(self.verdict) if self.verdict.decided else None

    @property
    def excess(self) -> tuple[float, float] | None:
        """How much more it loses than the best mechanism of the type, as a share of what that one loses.

        Two numbers, because the optimum is known between a bound and a loss. Negative where a broken promise pays.
        """
        if self.optimum is None or self.remapped is None:
            return None
        shares = [nearest_float(exact(self.remapped) / exact(best) - 1) if best else 0.0 if not self.remapped else inf
                  for best in (self.optimum.loss, self.optimum.bound)]  # fmt: skip
        return min(shares), max(shares)

    def to_pandas(self) -> pandas.DataFrame:
        """The numbers as one row, to be put below those of other audits. Needs pandas (extra ``pandas``)."""
        best = self.optimum
        losses = {
            "loss": self.as_is, "remapped": self.remapped,
            "best": best and best.loss, "bound": best and best.bound,
        }  # fmt: skip
        row: dict[str, Any] = {
            "outcome": str(self.verdict.outcome),
            "promised": None if self.promise is None else self.promise.rate,
            "epsilon": self.epsilon,
            **{name: None if value is None else float(value) for name, value in losses.items()},
            "multiplicative": float(self.leaks.multiplicative),
            "additive": float(self.leaks.additive),
        }
        return pandas_records([row])

    @property
    def times(self) -> str:
        """How many times as likely the output of the tightest pair, where there is one, is for one secret, in words."""
        ratio = inf if self.tightest is None else self.tightest.ratio
        if ratio == inf:
            return "infinitely many"
        near = nearest_float(exact(ratio))
        return f"{near:.6g}" if near < inf else text_below(ratio, 6)

    @property
    def rates(self) -> tuple[str, str]:
        """The ε that was promised (of the least one, where nothing was) and the least it needs, as texts.

        They differ where the promise is broken, however little the numbers do.
        """
        if self.promise is None or self.verdict.outcome is Outcome.HOLDS:
            return f"{self.epsilon if self.promise is None else self.promise.rate:.6g}", f"{self.epsilon:.6g}"
        return told_apart(self.promise.rate_bounds(256)[0], self.epsilon)

    def repaired(self) -> Repair:
        """A proved mechanism next to the channel that keeps the promise; without one, that with the least ε.

        Where a matrix that rounds to the numbers given keeps the promise, this is it.

        Raises
        ------
        InvalidInput
            If nothing was promised and no ε is enough.
        """
        privacy = self.promise or self.own
        if privacy is None:
            why, what = "no epsilon is enough for this matrix", "which one the repaired mechanism should keep"
            if self.epsilon == 0:
                why, what = "all rows are the same, which is private at any epsilon", "at which to prove it"
            raise InvalidInput(f"{why}: say with {keyword('epsilon')} {what}")
        if self.nearest is None:
            return repair(self.channel, privacy, prior=self.prior, loss=self.loss)
        if self.nearest.channel.exact:
            mechanism = prove(self.nearest.channel, privacy, provenance={"made by": "audit"})
        else:  # very large ones are floats of a mechanism that was proved, and are rounded to it again
            mechanism = repair(self.nearest.channel, privacy).mechanism
        moved = np.abs(floats(mechanism.channel.matrix) - floats(self.channel.matrix)).sum(axis=1).max() / 2
        if self.prior is None or self.loss is None:
            return Repair(mechanism, float(moved))
        after = posterior_loss(self.prior, mechanism.channel, self.loss)
        return Repair(mechanism, float(moved), float(self.remapped), float(after))

    def __str__(self) -> str:
        needed = "no ε is enough" if self.epsilon == inf else f"needs ε = {self.rates[1]}"
        summary = f"{self.verdict}; {needed}"
        if self.remapped is not None:
            summary += f"; loses {float(self.remapped):.6g}"
        if self.optimum is not None:
            low, high = bounds_text(self.optimum.bound, self.optimum.loss)
            summary += f", the best of the type between {low} and {high}"
        return summary


def audit(
    channel: Channel | Any,
    privacy: PrivacyType | FiniteSpace | None = None,
    prior: Prior | None = None,
    loss: Loss | None = None,
    *,
    box: Margins | None = None,
    optimum: bool | None = None,
    tolerance: float = 1e-3,
    time_limit: float | None = None,
    progress: Callable[[Any], object] | None = None,
) -> Audit:
    """Look at a channel from anywhere: private or not, at which ε, which pair breaks it, how far from the best.

    Parameters
    ----------
    channel
        A :class:`Channel`, a mechanism, or a matrix with one row a secret.
    privacy
        What is promised; or a space, to ask which ε it needs there; or None: then all secrets are equally far apart,
        which is local differential privacy.
    prior, loss
        What the losses are about. By default all secrets are equally likely, and the loss is the distance.
    box
        How well the numbers are known, as :func:`~sfumato.report.audit_matrix.channel_on` says of a file. By default
        exact numbers are exact, and floats are known up to :data:`~sfumato.numbers.ROUNDING`. If they break the
        promise and some matrix that rounds to them keeps it, the verdict is *undecided*, and ``nearest`` is that one.
    optimum
        Whether to look for the best mechanism of the same type; by default for up to 100 secrets.
    tolerance, time_limit, progress
        How close to the optimum, how long, and whom to tell, as for :func:`sfumato.design`.

    Examples
    --------
    >>> from sfumato.spaces import line
    >>> rows = [["0.6", "0.3", "0.1"], ["0.3", "0.4", "0.3"], ["0.1", "0.3", "0.6"]]
    >>> result = audit(rows, PrivacyType(line(3), alpha="1/2"))
    >>> print(result.verdict)
    fails: output 2 is 3 times as likely for 1 as for 0, more than the 2 allowed
    >>> result.tightest.pair, result.own
    ((1, 0), PrivacyType(line(3), alpha=1/3))
    >>> result.repaired().mechanism
    Mechanism(3 secrets → 3 outputs, PrivacyType(line(3), alpha=1/2), proved)
    """
    judged, space, promise = _parts(channel, privacy)
    tightest = tightest_pair(judged, space)
    epsilon = 0.0 if tightest is None else tightest.epsilon
    own = _own_type(judged, space, tightest)
    box = _box(box, judged)
    verdict = _any_epsilon(epsilon, tightest, judged, box) if promise is None else satisfies(judged, promise)
    nearest = None
    if promise is not None and box is not None and verdict.outcome is not Outcome.HOLDS:
        verdict, nearest = _up_to_rounding(verdict, private_within(box, judged, promise), box, judged)
    believed, stake = _stakes(judged, space, prior, loss)
    remapped, as_is = _losses(judged, believed, stake)
    reference = promise or own
    wanted = max(judged.shape) <= _LARGEST_OPTIMUM if optimum is None else flag(optimum, "optimum")
    best = None
    if wanted and reference is not None and believed is not None and stake is not None:
        best = design(believed, stake, reference, tolerance=tolerance, time_limit=time_limit, progress=progress)
    return Audit(
        judged, space, verdict, epsilon, tightest, promise, own, capacity(judged), believed, stake, remapped, as_is,
        best, box, nearest,
    )  # fmt: skip


def _parts(channel: Any, privacy: Any) -> tuple[Channel, FiniteSpace, PrivacyType | None]:
    promise = privacy if isinstance(privacy, PrivacyType) else None
    space = privacy.space if promise is not None else privacy
    if space is not None and not isinstance(space, FiniteSpace):
        raise InvalidInput(f"what is promised must be a PrivacyType or a space, found {type(privacy).__name__}")
    judged = getattr(channel, "channel", channel)
    if not isinstance(judged, Channel):
        judged = _as_channel(judged, space)
    if space is None:
        space = discrete(judged.secrets)
    check_secrets("channel and space", space, judged)
    return judged, space, promise


def _box(box: Margins | None, channel: Channel) -> Margins | None:
    """How well the numbers are known: as was said, or as well as floats are."""
    if box is None:
        return None if channel.exact else Margins.around(channel.matrix, array_errors(channel.matrix))
    box = expect(box, Margins, "what entries lie between", "Margins.around(written, errors)")
    if box.low.shape != channel.shape:
        raise InvalidInput(f"a box for a matrix of shape {channel.shape} has that shape, found {box.low.shape}")
    return None if box.known else box


def _as_channel(matrix: Any, space: FiniteSpace | None) -> Channel:
    """A matrix whose rows are the secrets of the space, or have the labels that they carry."""
    if column_labels(matrix) is not None:
        named = row_names(matrix)
        return Channel(space.labels if space is not None else range(len(matrix)) if named is None else named, matrix)
    table = array(matrix, "the matrix of a channel", 2, error=InvalidChannel)
    rows = tuple(range(len(table))) if space is None else space.labels
    return Channel(rows, table, rows if table.shape == (len(rows), len(rows)) else None)


def _own_type(channel: Channel, space: FiniteSpace, tightest: Tightest | None) -> PrivacyType | None:
    """The type of the least ε: by a rational α where the ratio at the tightest pair is a rational power of one."""
    if tightest is None or not 0 < tightest.epsilon < inf:
        return None
    if channel.exact and isinstance(tightest.ratio, Fraction):
        value = space.distances.values[space.index(tightest.pair[0]), space.index(tightest.pair[1])]
        low, high = space.distances.bounds(value)
        alpha = rational_power(1 / tightest.ratio, 1 / low) if low == high else None
        if alpha is not None and satisfies(channel, PrivacyType(space, alpha=alpha)).outcome is Outcome.HOLDS:
            return PrivacyType(space, alpha=alpha)
    return PrivacyType(space, epsilon=tightest.epsilon)


def _up_to_rounding(broken: Verdict, within: Verdict, box: Margins, channel: Channel) -> tuple[Verdict, Nearest | None]:
    """What is said of numbers that break a promise and are known up to an error only."""
    violation: Violation = broken.witness
    if within.outcome is Outcome.FAILS:
        return fails(f"{violation}, and not by rounding: {within.reason}", violation), None
    divided = "" if (box.written == channel.matrix).all() else ", rows divided by their sums,"
    excess = "" if violation.excess == inf else f", by {text_above(violation.excess)} of it"
    written = f"as written{divided} {violation}{excess}"
    known = f"the numbers are known to {text_above(box.error)} only, and {within.reason}"
    if within.outcome is Outcome.HOLDS:
        return undecided(f"kept up to the rounding of the numbers: {written}, but {known}", violation), within.witness
    return undecided(f"{written}; {known}", violation), None


def _any_epsilon(epsilon: float, tightest: Tightest | None, channel: Channel, box: Margins | None) -> Verdict:
    if epsilon == inf and tightest is not None:
        x, z = tightest.pair
        reason = f"output {tightest.output!r} is possible for {x!r} and not for {z!r}"
        if box is not None and _may_be_positive(channel, box):
            return undecided(
                f"as written {reason}, but the numbers are known to {text_above(box.error)} only, and every zero may "
                f"be a small number: say with {keyword('epsilon')} at which one that is asked", tightest,
            )  # fmt: skip
        return fails(f"{reason}: no ε is enough", tightest)
    return holds("all rows are the same" if epsilon == 0 else f"private for every ε from {text_above(epsilon, 6)} on")


def _may_be_positive(channel: Channel, box: Margins) -> bool:
    """Whether zeros of outputs that do occur may be rounded positive numbers, in rows that sum to 1."""
    used = channel.matrix.any(axis=0)
    low, high = box.low[:, used], box.high[:, used]
    return bool((high > 0).all() and (low.sum(axis=1) < 1).all() and (high.sum(axis=1) >= 1).all())


def _stakes(
    channel: Channel, space: FiniteSpace, prior: Prior | None, loss: Loss | None
) -> tuple[Prior | None, Loss | None]:
    """Prior and loss; by default uniform and :func:`sfumato.losses.default`, which is none where it is infinite."""
    if loss is None:
        if not space.answers and space.distances.infinite.any():
            return (None if prior is None else as_prior(prior)), None
        loss = default(space)
    loss = expect(loss, Loss, "a loss", "losses.* make one")
    believed = Prior.uniform(space) if prior is None else as_prior(prior)
    check_secrets("channel, prior and loss", channel, believed, loss)
    return believed, loss


def _losses(channel: Channel, prior: Prior | None, loss: Loss | None) -> tuple[Any, Any]:
    if prior is None or loss is None:
        return None, None
    if channel.matrix.size > _LARGEST_EXACT:
        channel, prior = channel.to_floats(), prior.to_floats()
        loss = Loss(loss.actions, loss.secrets, loss.matrix.astype(float), loss.name)
    inside = set(channel.outputs) <= set(loss.actions)
    return posterior_loss(prior, channel, loss), expected_loss(prior, channel, loss) if inside else None
