"""What a mechanism costs, in the few words that a ledger keeps and adds up.

A promise has one of two forms. *About distances:* M(x)(E) ≤ e^{ε d(x, z)} M(z)(E) for every event E and all secrets at
a finite distance. *About events:* M(x)(E) ≤ e^ε M(z)(E) + δ for every event E and the ordered pairs (x, z) of some
neighbours, and nothing for other pairs. The first is the second for d in place of 1 and δ = 0, so that both are
written with one metric: of the second it is 1 between neighbours and infinite elsewhere.

A promise about coordinates is one about distances whose secrets are all points of a box, and with clamping of all
space: its metric is a norm and a unit, whatever the box. It is never that of a list of cells.

What is no such promise has no price and is refused: bounds on no pair at all, several promises about events with
different (ε, δ).

``noise`` names what is drawn: labels and probabilities, in lowest terms, or the plan of what has no table. Under one
key, equal noise is drawn with equal bits, whatever the mechanism is called and whatever else it claims. How the
truncated Laplace mechanism is drawn depends on its pixels and steps as well.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.certify.amounts import Amount, amount
from sfumato.certify.label_json import label_to_json
from sfumato.draws.noise import Rate
from sfumato.draws.rounding import rounding_identity
from sfumato.errors import InvalidInput, shown
from sfumato.numbers import Array
from sfumato.privacy.type import PrivacyType
from sfumato.spaces.box import METRICS, Box
from sfumato.spaces.finite import FiniteSpace
from sfumato.spaces.surface import GREAT_CIRCLE

if TYPE_CHECKING:
    from sfumato.certify.coordinates import BoxMechanism
    from sfumato.certify.mechanism import Mechanism
    from sfumato.certify.noise import BoxNoise


@dataclass(frozen=True)
class Charge:
    """Who promised what, for which a ledger is charged.

    Parameters
    ----------
    space, unit, metric
        The name, the unit and the SHA-256 of the metric.
    text
        ``"epsilon 7/10"`` or ``"alpha 1/2"``: for one unit of distance, or for two neighbours.
    mechanism
        The SHA-256 that ends the mechanism's file.
    noise
        One of what is drawn; empty where the mechanism alone does not say that.
    delta
        δ of a promise about events, None where the promise is about distances.
    """

    space: str
    unit: str
    metric: str
    text: str
    mechanism: str
    noise: str
    delta: Fraction | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.text, str):
            raise InvalidInput(
                f"a promise is 'epsilon 7/10' or 'alpha 1/2', found a value of {type(self.text).__name__}"
            )
        rate_of(self.text)
        if self.delta is not None and not (isinstance(self.delta, Fraction) and 0 <= self.delta <= 1):
            raise InvalidInput("the delta of a promise is a Fraction between 0 and 1, or None")

    @property
    def rate(self) -> Amount:
        """ε for one unit of distance, or for two neighbours."""
        return rate_of(self.text)


def rate_of(text: str) -> Amount:
    """The amount that ``"epsilon 7/10"`` or ``"alpha 1/2"`` stands for.

    Examples
    --------
    >>> print(rate_of("epsilon 7/10"), rate_of("alpha 1/2"))
    7/10 ln(2)
    """
    name, _, value = text.partition(" ")
    if name not in ("epsilon", "alpha"):
        raise InvalidInput(f"{shown(text[:60])} is no promise: 'epsilon 7/10' and 'alpha 1/2' are")
    return amount(**{name: value})


# ----------------------------------------------------------------- tables


def table_charge(mechanism: Mechanism) -> Charge:
    """About distances where any are bounded, which holds whatever is promised beside; else about events."""
    space, noise = mechanism.privacy.space, _noise_digest(mechanism)
    if not mechanism.bounds_ratios and len(space) > 1:
        return _about_events(mechanism, noise)
    for event in mechanism.events:
        if space.distances.infinite[event.upper, event.lower].any():
            raise InvalidInput(
                "this mechanism bounds ratios for some pairs of secrets and promises something about events for "
                "others: that is no single promise that a ledger could add up"
            )
    digest, text = metric_digest(space), rate_text(mechanism.privacy)
    return Charge(space.name, space.unit, digest, text, mechanism.proof.digest, noise)


def _about_events(mechanism: Mechanism, noise: str) -> Charge:
    if not mechanism.events:
        raise InvalidInput(
            "this mechanism promises nothing about any pair of secrets: all distances of "
            f"{mechanism.privacy.space.name} are infinite, and nothing is said about events; there is nothing to add up"
        )
    terms = {(event.factor, event.delta) for event in mechanism.events}
    if len(terms) > 1:
        several = ", ".join(f"({event.factor.epsilon}, {event.delta})" for event in mechanism.events[:4])
        raise InvalidInput(
            f"this mechanism makes {len(mechanism.events)} promises about events, (ε, δ) = {several}: a ledger adds up "
            "one ε and one δ; design it under a single epsilon_delta(…)"
        )
    ((factor, delta),) = terms
    pairs = np.unique(np.hstack([np.stack([event.upper, event.lower]) for event in mechanism.events]), axis=1)
    if factor.rational is None:
        text = f"epsilon {factor.exponent}"
    else:
        text = "epsilon 0" if factor.rational == 1 else f"alpha {1 / factor.rational}"
    name = f"{len(mechanism.secrets)} secrets, {pairs.shape[1]} ordered pairs of neighbours"
    labels = json.dumps([label_to_json(x) for x in mechanism.secrets]).encode()
    digest = sha(b"neighbours", labels, pairs.astype("<i8").tobytes())
    return Charge(name, "", digest, text, mechanism.proof.digest, noise, delta)


def _noise_digest(mechanism: Mechanism) -> str:
    """SHA-256 of labels and probabilities, the weights in lowest terms."""
    labels = [[label_to_json(label) for label in part] for part in (mechanism.secrets, mechanism.outputs)]
    lowest = mechanism.weights // np.gcd.reduce(mechanism.weights, axis=None)
    if int(lowest.max()) < 1 << 63:  # whatever they were stored in
        return sha(json.dumps(labels).encode(), lowest.astype("<i8").tobytes())
    return sha(json.dumps(labels).encode(), *(str(int(w)).encode() for w in lowest.ravel()))


# ----------------------------------------------------------------- coordinates


def points_charge(mechanism: BoxMechanism | BoxNoise, rule: list[Any], table: Array) -> Charge:
    """The charge of a mechanism for coordinates: ε for a unit of a norm, or of great circles, whatever its box is.

    ``rule`` is JSON that names its outputs, listed or not, and ``table`` holds the integers that follow the rounding.
    """
    box, text = mechanism.box, rate_text(mechanism.privacy)
    noise = sha(json.dumps(rule).encode(), rounding_identity(mechanism.axes, table, mechanism.total))
    return Charge(f"coordinates, {_norm(box)}", box.unit, box_metric(box), text, mechanism.proof.digest, noise)


def box_metric(box: Box) -> str:
    """The SHA-256 of the metric of the points of a box, which it shares with every box of its norm and unit."""
    return coordinate_metric(_norm(box), box.unit)


def _norm(box: Box) -> str:
    return "euclidean" if box.dimension == 1 else box.surface.norm  # on a line all norms are one


def coordinate_metric(norm: str, unit: str) -> str:
    """The SHA-256 of the metric of all points: a norm and a unit, no box, since what lies outside is moved into it."""
    return sha(json.dumps(["coordinates", norm, unit]).encode())


def about_coordinates(metric: str, unit: str) -> bool:
    """Whether the digest of a metric is that of points; any other is that of a list of secrets, such as cells."""
    return any(metric == coordinate_metric(norm, unit) for norm in (*METRICS, GREAT_CIRCLE))


# ----------------------------------------------------------------- what is never a table


def rule_charge(name: str, metric: list[Any], text: str, rule: list[Any]) -> Charge:
    """The charge of a mechanism that is a rule: ``metric`` and ``rule`` are JSON that name its metric and its noise."""
    digest = sha(json.dumps(metric).encode())
    noise = sha(json.dumps([digest, text, rule]).encode())
    return Charge(name, "", digest, text, noise, noise)


def rate_text(privacy: PrivacyType | Rate) -> str:
    """ε or α of a privacy type or of noise, as a ledger keeps it."""
    return f"epsilon {privacy.epsilon}" if privacy.alpha is None else f"alpha {privacy.alpha}"


# ----------------------------------------------------------------- digests


def metric_digest(space: FiniteSpace) -> str:
    """The SHA-256 of labels, unit and distances of a space.

    Equal digests mean equal metrics. The form counts: a metric that is given once as a graph and once as a table, or
    whose labels come in another order, has two digests, and a ledger takes them for two metrics.
    """
    lengths = space.pair_distances if space.edges is not None else space.distances
    values = lengths.values if space.edges is not None else lengths.values[np.triu_indices(len(space), 1)]
    pairs = [np.asarray(ends).astype("<i8").tobytes() for ends in space.pairs] if space.edges is not None else []
    head = [[label_to_json(x) for x in space.labels], space.unit, str(lengths.form), str(lengths.unit)]
    stored = values.astype("<f8" if values.dtype.kind == "f" else "<i8").tobytes()
    return sha(json.dumps(head).encode(), *pairs, stored)


def sha(*parts: bytes) -> str:
    """SHA-256 of several parts, each with its length, so that none runs into the next."""
    total = hashlib.sha256()
    for part in parts:
        total.update(len(part).to_bytes(8, "little"))
        total.update(part)
    return total.hexdigest()
