"""Put a mechanism before the kernel, or before its compiled twin."""

from __future__ import annotations

from fractions import Fraction
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.arguments import items, quoted
from sfumato.certify import kernel, twin_claims
from sfumato.certify.certificate import Certifiable, Certificate, certificate, certificate_of
from sfumato.certify.coordinates import box_mechanism
from sfumato.certify.decide import Checker, decide, raise_refusal
from sfumato.certify.file import parsed, parts_of, to_be_checked, with_file
from sfumato.certify.mechanism import Claim, Mechanism, SharesClaim, compact
from sfumato.certify.noise import box_noise
from sfumato.channels.channel import Channel, check_secrets
from sfumato.channels.prior import Prior, as_prior
from sfumato.errors import InvalidChannel, InvalidFile, InvalidInput, Mismatch, advice, expect, shown
from sfumato.labels import column_labels, table_in_order
from sfumato.losses.loss import Loss, as_loss
from sfumato.numbers import Array, common_denominator, floats
from sfumato.privacy.events import EventPromise
from sfumato.privacy.satisfaction import Violation
from sfumato.privacy.type import PrivacyType, as_type
from sfumato.spaces.finite import label_tuple
from sfumato.verdict import Verdict


def prove(
    channel: Channel | Any,
    privacy: PrivacyType,
    *,
    outputs: Any = None,
    claim: Claim | SharesClaim | None = None,
    events: tuple[EventPromise, ...] = (),
    checker: Checker = "auto",
    provenance: dict[str, Any] | None = None,
) -> Mechanism:
    """A mechanism from an exact channel or a table of integer weights, if the kernel accepts it.

    Parameters
    ----------
    channel
        A :class:`Channel` of rationals, or an integer table whose rows have one common sum.
    privacy
        The promise to prove.
    outputs
        Labels of the columns of an integer table.
    events
        Further promises, about the probabilities of events (:func:`sfumato.privacy.events.event_promises`).
    checker
        ``"kernel"``, ``"twin"`` (compiled, same arithmetic), or ``"auto"``: the kernel for
        everything it can afford.

    Raises
    ------
    PrivacyViolation
        If a pair of secrets breaks the promise; it names pair, output, ratio and bound.

    Examples
    --------
    >>> from sfumato.spaces import line
    >>> privacy = PrivacyType(line(2), alpha="1/2")
    >>> prove([[2, 1], [1, 2]], privacy)
    Mechanism(2 secrets → 2 outputs, PrivacyType(line(2), alpha=1/2), proved)
    """
    privacy = as_type(privacy)
    if claim is not None and not isinstance(claim, SharesClaim):
        expect(claim, Claim, "a claim", "claim(prior, mechanism, loss) makes a mechanism with one")
    events = tuple(
        expect(event, EventPromise, "a promise about events", "event_promises(…) makes them")
        for event in items(events, "promises about events")
    )
    weights, labels = _weights(channel, privacy, outputs)
    total = int(sum(int(w) for w in weights[0]))
    if not total:
        raise InvalidChannel(f"the weights of {shown(privacy.space.labels[0])} sum to 0", privacy.space.labels[0], 0)
    written = certificate(privacy, labels, weights, total, claim, provenance, events)
    asked = to_be_checked(written)
    verdict = decide(*asked[:3], checker)
    if not verdict:
        raise_refusal(verdict)
    made = Mechanism(privacy, labels, weights, total, verdict.witness, claim, provenance or {}, events)
    return with_file(made, asked.data)


def verify(
    mechanism: Mechanism | Certifiable | Certificate | str | PathLike[str], *, checker: Checker = "auto"
) -> Verdict:
    """The kernel's answer on a mechanism, a certificate or a file.

    *Holds* with a :class:`Proof`, or *fails* with a :class:`Violation` (or the claim that is
    false); a file that cannot be read raises :class:`InvalidFile`.
    """
    if isinstance(mechanism, Mechanism | Certifiable):
        mechanism = certificate_of(mechanism)
    if isinstance(mechanism, Certificate):
        return decide(*to_be_checked(mechanism)[:3], checker)
    if not isinstance(mechanism, str | PathLike):
        raise InvalidInput(f"verify takes a Mechanism, a Certificate or a path, found {type(mechanism).__name__}")
    return verify_file(mechanism, checker=checker)[0]


def verify_file(path: str | PathLike[str], *, checker: Checker = "auto") -> tuple[Verdict, kernel.AnyHeader, str]:
    """The verdict on a file, with its header and the SHA-256 that ends it."""
    asked = parsed(path)
    return decide(*asked[:3], checker), asked.header, asked.digest


def load(path: str | PathLike[str], *, checker: Checker = "auto") -> Any:
    """Read a mechanism from a file and prove it again; nothing is taken on trust.

    A file whose promise is about coordinates gives a :class:`~sfumato.certify.coordinates.BoxMechanism`, any other a
    :class:`Mechanism`.

    Raises
    ------
    InvalidFile
        If the file is damaged, truncated, malicious or of another version.
        Or if a claim it makes is false.
    PrivacyViolation
        If it can be read and does not keep its promise.
    """
    header, sections, digest, data = parsed(path)
    verdict = decide(header, sections, digest, checker)
    if not verdict:
        if not isinstance(verdict.witness, Violation):
            raise InvalidFile(f"{quoted(Path(path))}: {verdict.reason}")
        raise_refusal(verdict)
    notes = header.provenance
    if not isinstance(notes, dict | None):
        raise InvalidFile(
            f"{quoted(Path(path))} keeps its promise, and has the provenance {shown(notes)}, which is no object: "
            "a mechanism says by names and values how it was made, or nothing"
        )
    try:
        if isinstance(header, kernel.CoordinatesHeader):
            described = box_mechanism if header.noise is None else box_noise
            return with_file(described(header, sections, verdict.witness), data)
        parts = parts_of(header, sections)
        parts["weights"] = compact(parts["weights"])
        return with_file(Mechanism(**parts, total=header.total, proof=verdict.witness), data)
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError) as error:
        noisy = isinstance(header, kernel.CoordinatesHeader) and header.noise is not None
        what = "noise" if noisy else "mechanism"
        raise InvalidFile(f"the file describes no {what}: {str(error)[:300]}") from error


def claim(prior: Prior, mechanism: Mechanism, loss: Loss) -> Mechanism:
    """The same mechanism, its expected loss under the best remap now part of what is proved.

    Examples
    --------
    >>> from sfumato.losses import bin
    >>> from sfumato.spaces import line
    >>> response = prove([[2, 1], [1, 2]], PrivacyType(line(2), alpha="1/2"))
    >>> claim(Prior.uniform([0, 1]), response, bin([0, 1])).proof.loss
    Fraction(1, 3)
    """
    prior, mechanism = as_prior(prior), expect(mechanism, Mechanism, "a mechanism")
    loss = as_loss(loss)
    check_secrets("prior, mechanism and loss", mechanism, prior, loss)
    proposed = claim_of(prior, mechanism.weights, mechanism.total, loss)
    return prove(
        mechanism.weights, mechanism.privacy, outputs=mechanism.outputs, claim=proposed, events=mechanism.events,
        provenance=mechanism.provenance,
    )  # fmt: skip


def claim_of(prior: Prior, weights: Array, total: int, loss: Loss) -> Claim:
    """The best remap of integer weights and its exact loss, to be proved with them."""
    # floats choose the remap, since any remap may be claimed; integers give its loss
    share = np.asarray(weights / total, dtype=np.float64)
    remap = np.argmin((floats(loss.matrix) * prior.float_weights) @ share, axis=0)
    spent, unit = twin_claims.exact_sums(weights, loss.matrix, remap)
    counts = common_denominator(prior.weights)[0].tolist()  # floats sum to 1 up to rounding only
    mean = Fraction(sum(c * v for c, v in zip(counts, spent, strict=True)), sum(counts))
    return Claim(prior, loss, tuple(remap.tolist()), mean * unit / total)


def _weights(channel: Any, privacy: PrivacyType, outputs: Any) -> tuple[Array, tuple[Any, ...]]:
    n = len(privacy.space)
    if isinstance(channel, Channel):
        check_secrets("channel and privacy type", privacy.space, channel)
        if not channel.exact:
            raise InvalidInput(
                "a float channel cannot be proved as it stands"
                + advice(("repair", "makes an integer mechanism of it"), ("quantise", "one that is as close as can be"))
            )
        if outputs is not None and label_tuple(outputs, "the outputs") != channel.outputs:
            raise Mismatch("outputs of the channel", channel.outputs, label_tuple(outputs, "the outputs"))
        weights, _ = common_denominator(channel.matrix)
        return compact(weights), channel.outputs
    named = column_labels(channel) if outputs is None else outputs
    known = None if named is None else label_tuple(named, "the outputs")
    table = table_in_order(channel, privacy.space.labels, known, "the weights")
    try:
        weights = np.asarray(table)
    except ValueError as error:
        raise InvalidChannel(f"weights must be a table of integers: {error}") from error
    if weights.dtype.kind not in "iuO":
        raise InvalidChannel(
            f"weights must be integers, found {weights.dtype}: repair() takes floats, Channel(space, …) takes fractions"
        )
    if weights.ndim != 2 or len(weights) != n or not weights.size:
        raise InvalidChannel(f"weights must be a table of integers with {n} rows, found shape {weights.shape}")
    integers = weights.dtype != object or all(isinstance(w, int | np.integer) for w in weights.ravel())
    if not integers or (weights < 0).any():
        raise InvalidChannel("weights must be non-negative integers")
    labels = tuple(range(weights.shape[1])) if known is None else known
    if len(labels) != weights.shape[1]:
        raise InvalidChannel(f"{weights.shape[1]} columns for {len(labels)} outputs")
    return compact(weights), labels
