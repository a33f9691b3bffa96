"""What a mechanism promises, in the few words that a ledger keeps."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sfumato.errors import InvalidInput
from sfumato.release.ledger_amounts import Amount, amount

if TYPE_CHECKING:
    from sfumato.certify.mechanism import Mechanism
    from sfumato.privacy.type import PrivacyType
    from sfumato.spaces.finite import FiniteSpace

__all__ = ["Promise", "metric_digest", "promise_of", "rate_of"]


@dataclass(frozen=True)
class Promise:
    """Who promised what: the name, unit and SHA-256 of the metric, ε or α as written, the SHA-256 that ends the
    mechanism's file, and one of what is drawn alone, labels and probabilities: with one key, equal ``noise`` is equal.

    ``text`` is ``"epsilon 7/10"`` or ``"alpha 1/2"``, for one unit of distance.
    """

    space: str
    unit: str
    metric: str
    text: str
    mechanism: str
    noise: str

    @property
    def rate(self) -> Amount:
        """ε for one unit of distance."""
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
        raise InvalidInput(f"{text!r} is no promise: 'epsilon 7/10' and 'alpha 1/2' are")
    return amount(**{name: value})


def promise_of(mechanism: Any) -> Promise:
    """The promise of a proved mechanism, finite or not.

    Examples
    --------
    >>> import sfumato as sf
    >>> promise = promise_of(sf.geometric(sf.PrivacyType(sf.line(3, unit="km"), alpha="1/2")))
    >>> promise.space, promise.unit, promise.text
    ('line(3)', 'km', 'alpha 1/2')
    """
    if isinstance(mechanism, Promise):
        return mechanism
    from sfumato.certify.mechanism import Mechanism
    from sfumato.mechanisms.continuous.laplace import Laplace
    from sfumato.mechanisms.line import InfiniteGeometric
    from sfumato.mechanisms.tight import LatticeMechanism

    if isinstance(mechanism, Mechanism):
        space = mechanism.privacy.space
        digest, text = metric_digest(space), _text(mechanism.privacy)
        return Promise(space.name, space.unit, digest, text, mechanism.proof.digest, _noise_digest(mechanism))
    if isinstance(mechanism, LatticeMechanism):
        grid = mechanism.lattice
        name = f"grid({', '.join(map(str, grid.shape))})"
        metric = ["lattice", grid.shape, grid.metric, str(grid.step)]
        part = [mechanism.floor, mechanism.spill, mechanism.solution.bits, _sha(mechanism.diagonal.tobytes())]
        return _never_dense(name, metric, _text(mechanism.promise), part)
    if isinstance(mechanism, InfiniteGeometric):
        return _never_dense("the integers", ["integers"], f"alpha {mechanism.alpha}", [type(mechanism).__name__])
    if isinstance(mechanism, Laplace):
        ends = [str(mechanism.interval.low), str(mechanism.interval.high)]
        name = f"[{', '.join(ends)}]"
        return _never_dense(name, ["interval", *ends], _text(mechanism.promise), [type(mechanism).__name__])
    raise InvalidInput(
        f"a ledger records proved mechanisms, found a value of type {type(mechanism).__name__}; "
        "a Design or a Repair has one as .mechanism, prove() makes one of a channel"
    )


def metric_digest(space: FiniteSpace) -> str:
    """The SHA-256 of labels, unit and distances of a space.

    Equal digests mean equal metrics. A metric that is given once as a graph and once as a table has two; a ledger then
    adds up both, as it does for different metrics.
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
    if lowest.dtype != object:
        return _sha(json.dumps(labels).encode(), lowest.astype("<i8").tobytes())
    return _sha(json.dumps(labels).encode(), *(str(int(w)).encode() for w in lowest.ravel()))


def _sha(*parts: bytes) -> str:
    """SHA-256 of several parts, each with its length, so that none runs into the next."""
    total = hashlib.sha256()
    for part in parts:
        total.update(len(part).to_bytes(8, "little"))
        total.update(part)
    return total.hexdigest()
