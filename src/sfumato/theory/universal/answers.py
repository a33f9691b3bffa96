"""What the questions of universal optimality are answered with: regrets, counter-examples, certificates, designs."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import inf

from sfumato.certify.mechanism import Mechanism
from sfumato.channels.channel import Channel
from sfumato.channels.prior import Prior
from sfumato.numbers import bounds_text, text_below
from sfumato.theory.universal.theorems import OptimalityGround
from sfumato.verdict import Verdict, fails, holds, undecided

__all__ = ["Better", "Regret", "RegretCertificate", "UniversalDesign"]


@dataclass(frozen=True, eq=False)
class Regret:
    """The worst-case regret lies between ``lower`` and ``upper``; equal for exact answers.

    At ``prior`` the mechanism ``better`` (of the type, private by construction or by proof) loses less than the one
    asked about by ``lower``, or is as good as the best where that is 0. For relative regret both are shares of the
    least loss, and infinite (None) where the least loss is 0 and the mechanism's is not.
    """

    lower: Fraction | None
    upper: Fraction | None
    prior: Prior | None
    better: Channel | None
    method: str
    vertices: int = 0
    relative: bool = False

    @property
    def exact(self) -> bool:
        """Whether the two bounds agree."""
        return self.lower == self.upper

    def __repr__(self) -> str:
        kind = "relative, " if self.relative else ""
        if self.exact:
            return f"Regret({'infinite' if self.lower is None else self.lower}, {kind}{self.method})"
        low, high = _ends(self.lower, self.upper)
        return f"Regret(between {low} and {high}, {kind}{self.method})"


@dataclass(frozen=True, eq=False)
class Better:
    """A counter-example: for ``prior`` the mechanism ``channel`` of the type loses less. Both losses are exact."""

    prior: Prior
    channel: Channel
    loss: Fraction
    better_loss: Fraction

    @property
    def gap(self) -> Fraction:
        """How much less."""
        return self.loss - self.better_loss


@dataclass(frozen=True, eq=False)
class RegretCertificate:
    """Every mechanism of the type has regret at least ``bound`` at one of ``priors``.

    ``weights`` are λ_k, ``least`` the least losses opt(π_k) (or proved upper bounds on them), ``together`` a lower
    bound on Σ_k λ_k U_M(π_k) for every mechanism M. Additive: bound = together − Σ λ_k least_k; relative: together / Σ
    λ_k least_k − 1.
    """

    priors: tuple[Prior, ...]
    weights: tuple[Fraction, ...]
    least: tuple[Fraction, ...]
    together: Fraction
    bound: Fraction
    relative: bool


@dataclass(frozen=True, eq=False)
class UniversalDesign:
    """A mechanism whose worst-case regret is at most ``upper``, where no mechanism of the type has less than ``lower``.

    ``certificate`` proves the lower bound: priors and weights such that every mechanism has at least that regret on
    average. ``worst`` is the prior at which this mechanism has its regret, where one is known. ``ground`` is the
    theorem by which the type has a mechanism without regret, where one was used; ``mechanism`` is rounded from that.
    """

    mechanism: Mechanism
    lower: Fraction
    upper: Fraction | None
    certificate: RegretCertificate | None
    worst: Prior | None
    relative: bool
    method: str
    rounds: int
    seconds: float
    ground: OptimalityGround | None = None

    @property
    def exact(self) -> bool:
        """Whether the two bounds agree."""
        return self.lower == self.upper

    @property
    def exists(self) -> Verdict:
        """Whether the type has a universally optimal mechanism for the loss (over the set of priors asked for)."""
        if self.ground is not None:
            return holds(str(self.ground), self.ground)
        if self.upper == 0:
            return holds("this mechanism is one: its regret is 0 for every prior", self.mechanism)
        if self.lower > 0:
            count = 0 if self.certificate is None else len(self.certificate.priors)
            within = text_below(self.lower, 3)
            return fails(f"no mechanism comes nearer than {within} to the best for {count} priors", self.certificate)
        return undecided(f"the least regret is at most {_ends(0, self.upper)[1]}, and nothing above 0 was proved")

    def __repr__(self) -> str:
        regret = str(self.lower) if self.exact else "between {} and {}".format(*_ends(self.lower, self.upper))
        return (
            f"UniversalDesign({'relative ' if self.relative else ''}regret {regret}, {self.method}, {self.mechanism!r})"
        )


def _ends(low: Fraction | int | None, high: Fraction | None) -> tuple[str, str]:
    """Two bounds, None being infinite."""
    return bounds_text(inf if low is None else low, inf if high is None else high)
