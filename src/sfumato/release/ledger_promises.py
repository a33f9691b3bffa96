"""What a mechanism promises, in the few words that a ledger keeps.

A promise has one of two forms. *About distances:* M(x)(E) ≤ e^{ε d(x, z)} M(z)(E) for every event E and all secrets at
a finite distance. *About events:* M(x)(E) ≤ e^ε M(z)(E) + δ for every event E and the ordered pairs (x, z) of some
neighbours, and nothing for other pairs. The first is the second for d in place of 1 and δ = 0, so that both are
written with one metric: of the second it is 1 between neighbours and infinite elsewhere.

What is no such promise has no price and is refused: bounds on no pair at all, several promises about events with
different (ε, δ), products of factors with different ε.

``noise`` names what is drawn: labels and probabilities, in lowest terms, or the plan of a sampler that has no table.
Under one key, equal noise is drawn with equal bits, whatever the mechanism is called and whatever else it claims. How
the truncated Laplace mechanism is drawn depends on its pixels and steps as well, which only its sampler knows.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sfumato.errors import InvalidInput, shown
from sfumato.release.ledger_amounts import Amount, amount

if TYPE_CHECKING:
    from sfumato.certify.mechanism import Mechanism
    from sfumato.mechanisms.continuous.laplace import Laplace
    from sfumato.mechanisms.tight import LatticeMechanism, ProductMechanism
    from sfumato.privacy.type import PrivacyType
    from sfumato.release.sampler import Sampler
    from sfumato.spaces.finite import FiniteSpace

__all__ = ["Promise", "metric_digest", "promise_of", "rate_of"]


@dataclass(frozen=True)
class Promise:
    """Who promised what.

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
    former
        What ``noise`` was in ledgers of version 1, where that was something else.
    """

    space: str
    unit: str
    metric: str
    text: str
    mechanism: str
    noise: str
    delta: Fraction | None = None
    former: str = ""

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


def promise_of(mechanism: Any) -> Promise:
    """The promise of a proved mechanism, finite or not, or of the sampler that draws from one.

    Raises
    ------
    InvalidInput
        If it is no promise about distances and no single (ε, δ) about events.

    Examples
    --------
    >>> import sfumato as sf
    >>> promise = promise_of(sf.geometric(sf.PrivacyType(sf.line(3, unit="km"), alpha="1/2")))
    >>> promise.space, promise.unit, promise.text, promise.delta
    ('line(3)', 'km', 'alpha 1/2', None)
    >>> space, under = sf.discrete(3), sf.predicates.epsilon_delta(epsilon=1, delta="1/10")
    >>> best = sf.design(sf.Prior.uniform(space), sf.losses.bin(space), None, under=under)
    >>> promise = promise_of(best.mechanism)
    >>> promise.space, promise.text, promise.delta
    ('3 secrets, 6 ordered pairs of neighbours', 'epsilon 1', Fraction(1, 10))
    """
    if isinstance(mechanism, Promise):
        return _checked(mechanism)
    from sfumato.certify.mechanism import Mechanism
    from sfumato.mechanisms.continuous.laplace import Laplace
    from sfumato.mechanisms.continuous.pixelation import Pixelated
    from sfumato.mechanisms.line import InfiniteGeometric
    from sfumato.mechanisms.tight import LatticeMechanism, ProductMechanism
    from sfumato.release.sampler import Sampler

    match mechanism:
        case Mechanism():
            return _of_table(mechanism)
        case ProductMechanism():
            return _of_product(mechanism)
        case LatticeMechanism():
            return _of_lattice(mechanism)
        case InfiniteGeometric():
            return _of_integers(f"alpha {mechanism.alpha}")
        case Laplace():
            return _of_interval(mechanism)
        case Pixelated():
            return _of_interval(mechanism.source)
        case Sampler():
            return _of_sampler(mechanism)
    raise InvalidInput(
        f"a ledger records proved mechanisms, found a value of type {type(mechanism).__name__}; "
        "a Design or a Repair has one as .mechanism, prove() makes one of a channel"
    )


def _checked(promise: Promise) -> Promise:
    """A promise that somebody wrote down."""
    if not isinstance(promise.text, str):
        raise InvalidInput(
            f"a promise is 'epsilon 7/10' or 'alpha 1/2', found a value of {type(promise.text).__name__}"
        )
    rate_of(promise.text)
    if promise.delta is not None and not (isinstance(promise.delta, Fraction) and 0 <= promise.delta <= 1):
        raise InvalidInput("the delta of a promise is a Fraction between 0 and 1, or None")
    return promise


# ----------------------------------------------------------------- tables


def _of_table(mechanism: Mechanism) -> Promise:
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
    digest, text = metric_digest(space), _text(mechanism.privacy)
    return Promise(space.name, space.unit, digest, text, mechanism.proof.digest, noise)


def _about_events(mechanism: Mechanism, noise: str) -> Promise:
    import numpy as np

    from sfumato.certify.certificate import label_to_json

    if not mechanism.events:
        raise InvalidInput(
            "this mechanism promises nothing about any pair of secrets: all distances of "
            f"{mechanism.privacy.space.name} are infinite, and nothing is said about events; there is nothing to add up"
        )
    terms = {(event.factor, event.delta) for event in mechanism.events}
    if len(terms) > 1:
        said = ", ".join(f"({event.factor.epsilon}, {event.delta})" for event in mechanism.events[:4])
        raise InvalidInput(
            f"this mechanism makes {len(mechanism.events)} promises about events, (ε, δ) = {said}: a ledger adds up "
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
    digest = _sha(b"neighbours", labels, pairs.astype("<i8").tobytes())
    return Promise(name, "", digest, text, mechanism.proof.digest, noise, delta)


def _of_product(mechanism: ProductMechanism) -> Promise:
    """The sum of the metrics at one ε, if the factors have one."""
    parts = [promise_of(factor) for factor in mechanism.factors]
    units = {part.unit for part in parts}
    if any(part.delta is not None for part in parts) or len({part.text for part in parts}) > 1 or len(units) > 1:
        raise InvalidInput(
            "the factors of this product do not promise the same ε per unit of distance: charge each of them as a "
            "release of a column of its own"
        )
    name = " × ".join(part.space for part in parts)
    metric, drawn = (
        _sha(b"product", *(getattr(part, which).encode() for part in parts)) for which in ("metric", "mechanism")
    )
    noise = _sha(b"product", *(part.noise.encode() for part in parts))
    return Promise(name, parts[0].unit, metric, parts[0].text, drawn, noise)


# ----------------------------------------------------------------- what is never a table


def _of_lattice(mechanism: LatticeMechanism) -> Promise:
    from sfumato.release.implicit_lattice import lattice_identity

    grid = mechanism.lattice
    name = f"grid({', '.join(map(str, grid.shape))})"
    metric = ["lattice", grid.shape, grid.metric, str(grid.step)]
    part = [mechanism.floor, mechanism.spill, mechanism.solution.bits, _sha(mechanism.diagonal.tobytes())]
    former = _never_dense(name, metric, _text(mechanism.promise), part)
    return replace(former, noise=_sha(lattice_identity(mechanism)), former=former.noise)


def _of_integers(text: str) -> Promise:
    return _never_dense("the integers", ["integers"], text, ["InfiniteGeometric"])


def _of_interval(mechanism: Laplace) -> Promise:
    """Which pixels and steps are drawn, and so which noise it is, is known to a sampler alone."""
    ends = [str(mechanism.interval.low), str(mechanism.interval.high)]
    name = f"[{', '.join(ends)}]"
    former = _never_dense(name, ["interval", *ends], _text(mechanism.promise), [type(mechanism).__name__])
    return replace(former, noise="", former=former.noise)


def _of_sampler(draws: Sampler) -> Promise:
    from sfumato.release.implicit import IntegerNoise

    if isinstance(draws.plan, IntegerNoise):
        rate = draws.plan.noise.rate
        return _of_integers(f"alpha {rate.alpha}" if rate.epsilon is None else f"epsilon {rate.epsilon}")
    if draws.source is None:
        raise InvalidInput(
            f"{shown(draws)} does not say which mechanism it draws from: sampler(mechanism) makes one that does"
        )
    promise = promise_of(draws.source)
    return promise if promise.noise else replace(promise, noise=draws.digest.hex())


def metric_digest(space: FiniteSpace) -> str:
    """The SHA-256 of labels, unit and distances of a space.

    Equal digests mean equal metrics. The form counts: a metric that is given once as a graph and once as a table, or
    whose labels come in another order, has two digests, and a ledger takes them for two metrics.
    """
    import numpy as np

    from sfumato.certify.certificate import label_to_json

    lengths = space.pair_distances if space.edges is not None else space.distances
    values = lengths.values if space.edges is not None else lengths.values[np.triu_indices(len(space), 1)]
    pairs = [np.asarray(ends).astype("<i8").tobytes() for ends in space.pairs] if space.edges is not None else []
    head = [[label_to_json(x) for x in space.labels], space.unit, str(lengths.form), str(lengths.unit)]
    stored = values.astype("<f8" if values.dtype.kind == "f" else "<i8").tobytes()
    return _sha(json.dumps(head).encode(), *pairs, stored)


def _text(privacy: PrivacyType) -> str:
    return f"epsilon {privacy.epsilon}" if privacy.alpha is None else f"alpha {privacy.alpha}"


def _never_dense(name: str, metric: list[Any], text: str, part: list[Any]) -> Promise:
    digest = _sha(json.dumps(metric).encode())
    noise = _sha(json.dumps([digest, text, part]).encode())
    return Promise(name, "", digest, text, noise, noise)


def _noise_digest(mechanism: Mechanism) -> str:
    """SHA-256 of labels and probabilities, the weights in lowest terms."""
    import numpy as np

    from sfumato.certify.certificate import label_to_json

    labels = [[label_to_json(label) for label in part] for part in (mechanism.secrets, mechanism.outputs)]
    lowest = mechanism.weights // np.gcd.reduce(mechanism.weights, axis=None)
    if int(lowest.max()) < 1 << 63:  # whatever they were stored in
        return _sha(json.dumps(labels).encode(), lowest.astype("<i8").tobytes())
    return _sha(json.dumps(labels).encode(), *(str(int(w)).encode() for w in lowest.ravel()))


def _sha(*parts: bytes) -> str:
    """SHA-256 of several parts, each with its length, so that none runs into the next."""
    total = hashlib.sha256()
    for part in parts:
        total.update(len(part).to_bytes(8, "little"))
        total.update(part)
    return total.hexdigest()
