"""The utility set of a mechanism: all losses for which it is universally optimal (paper A, Definition 7)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sfumato.arguments import items
from sfumato.channels.channel import Channel
from sfumato.channels.composition import choice, restrict
from sfumato.channels.prior import secrets_of
from sfumato.errors import InvalidInput, expect, shown
from sfumato.labels import in_order
from sfumato.losses.loss import Loss, add, are_several, as_loss, lift, scale
from sfumato.numbers import Number, as_written, exact
from sfumato.privacy.type import PrivacyType
from sfumato.theory.universal.optimality import is_universally_optimal
from sfumato.theory.universal.question import member_of, type_of, type_on
from sfumato.theory.universal.theorems import OptimalityGround
from sfumato.verdict import Outcome, Verdict, holds


@dataclass(frozen=True, eq=False)
class UtilitySet:
    """The losses for which a mechanism is universally optimal in its type. Membership is a verdict.

    Closed under sums and under weights v(x) ≥ 0, so ``sum`` and ``scaled`` need no enumeration where the parts are
    members. ``restricted`` gives the utility set of M↓X′; what is in it, lifted by zeros, is in this one, and not
    conversely. The set of a choice M ⊕ M′ is the intersection of both, which ``&`` makes.
    """

    channel: Channel
    privacy: PrivacyType

    def contains(self, loss: Loss, **options: Any) -> Verdict:
        """Whether the mechanism is universally optimal for a loss: :func:`is_universally_optimal`."""
        return is_universally_optimal(self.channel, loss, self.privacy, **options)

    def __contains__(self, loss: Loss) -> bool:
        return bool(self.contains(loss))

    def __repr__(self) -> str:
        return f"UtilitySet({self.channel!r} in {self.privacy!r})"

    def sum(self, first: Loss, second: Loss, **options: Any) -> Verdict:
        """Whether ℓ₁ + ℓ₂ (both games at once) is a member: it is if both are."""
        parts = [self.contains(loss, **options) for loss in (first, second)]
        if all(part.outcome is Outcome.HOLDS for part in parts):
            return _held("sum of losses", "both are members", parts)
        return self.contains(add(first, second), **options)

    def scaled(self, loss: Loss, factor: Number | Iterable[Number], **options: Any) -> Verdict:
        """Whether v × ℓ is a member for weights v(x) ≥ 0: it is if ℓ is."""
        loss = as_loss(loss)
        several = in_order(factor, loss.secrets, "the scale of a loss") if are_several(factor) else [as_written(factor)]
        weights = [exact(weight) for weight in items(several, "the scale of a loss")]
        scaled_loss = scale(loss, weights if are_several(factor) else weights[0])  # raises for negative weights
        own = self.contains(loss, **options)
        if own.outcome is Outcome.HOLDS:
            return _held("scaled loss", "the loss is a member", [own], max(weights))
        return self.contains(scaled_loss, **options)

    def restricted(self, secrets: Iterable[Any]) -> UtilitySet:
        """The utility set of M↓X′ in the type on X′."""
        labels = restrict(self.channel, secrets).secrets
        return UtilitySet(restrict(self.channel, labels), type_on(self.privacy, labels))

    def lifted(self, loss: Loss, **options: Any) -> Verdict:
        """Whether ℓ↑X is a member, for a loss on some of the secrets: it is if ℓ is in the restricted set.

        Theorem 6(5) of paper A claims the converse as well, which is false.
        """
        below = self.restricted(secrets_of(loss)).contains(loss, **options)
        if below.outcome is Outcome.HOLDS:
            return _held("lifted from a subset", "the restriction is universally optimal", [below])
        return self.contains(lift(loss, self.privacy.space), **options)

    def __and__(self, other: UtilitySet) -> UtilitySet:
        return self.intersection(other)

    def intersection(self, other: UtilitySet, probability: Number = Fraction(1, 2)) -> UtilitySet:
        """The utility set of M ⊕_p M′, 0 < p < 1: exactly what both sets contain (Theorem 6(4))."""
        other = expect(other, UtilitySet, "the other utility set", "utility_set(mechanism) makes one")
        if self.privacy is not other.privacy:
            raise InvalidInput(
                "the intersection of utility sets needs two mechanisms of one type (the same PrivacyType)"
            )
        p = as_written(probability, "the probability of a choice")
        if not 0 < p < 1:
            raise InvalidInput(
                f"the probability of a choice lies strictly between 0 and 1 here, found {shown(probability)}"
            )
        return UtilitySet(choice(p, self.channel, other.channel), self.privacy)


def _held(name: str, checked: str, verdicts: list[Verdict], factor: Fraction = Fraction(1)) -> Verdict:
    """A verdict that rests on others; what rounding costs there adds up, times the largest weight of a secret."""
    parts = tuple(v.witness for v in verdicts if isinstance(v.witness, OptimalityGround))
    ground = OptimalityGround(name, checked, parts, factor * sum((part.regret for part in parts), Fraction(0)))
    return holds(str(ground), ground)


def utility_set(mechanism: Any, privacy: PrivacyType | None = None) -> UtilitySet:
    """The utility set of a mechanism in its type (or in the one given for a channel).

    Examples
    --------
    >>> import sfumato as sf
    >>> line = sf.PrivacyType(sf.line(3), alpha="1/2")
    >>> served = utility_set(sf.geometric(line))
    >>> sf.losses.squared(line.space) in served, sf.losses.member(line.space, [1]) in served
    (True, False)
    >>> ends = sf.losses.bin([0, 2])
    >>> bool(served.lifted(ends)), bool(served.restricted([0, 2]).contains(ends))     # the converse fails
    (True, False)
    """
    privacy = type_of(mechanism, privacy)
    return UtilitySet(member_of(mechanism, privacy), privacy)
