"""Certificates: a mechanism as the header and sections that the kernel reads."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from sfumato.certify import kernel
from sfumato.certify.label_json import label_to_json
from sfumato.certify.mechanism import Claim, Dual, Mechanism, SharesClaim
from sfumato.certify.sections import Section, laid
from sfumato.errors import InvalidInput, shown
from sfumato.numbers import Array, common_denominator, is_exact
from sfumato.privacy.events import EventPromise
from sfumato.privacy.promise import rational_power
from sfumato.privacy.type import PrivacyType
from sfumato.spaces.axioms import INFINITE
from sfumato.spaces.distances import Distances, Form
from sfumato.spaces.finite import FiniteSpace

# Exact losses are stored as doubles times a unit; these stay exact.
_LARGEST_EXACT_DOUBLE = 2**53

_LONGEST_STEP = 13_000  # Bits of a step: the kernel reads up to 4000 digits, and encloses factors without one.

_LONGEST_NAME = 200  # Characters of a name, as the kernel has it for spaces.


@dataclass(frozen=True, eq=False)
class Certificate:
    """A JSON header and binary sections; :mod:`sfumato.certify.kernel` says what they mean."""

    header: dict[str, Any]
    sections: dict[str, Section]

    def interpreted(self) -> tuple[kernel.AnyHeader, dict[str, bytes]]:
        """The form in which the kernel checks it, without a detour through a file, and as large as it is unpacked."""
        header = json.loads(json.dumps(self.header))
        header["sections"] = [
            {"name": name, "width": s.width, "count": len(s.data) // s.width, "size": len(s.data)}
            for name, s in self.sections.items()
        ]
        try:
            return kernel.interpret(header), {name: s.data for name, s in self.sections.items()}
        except kernel.Unreadable as error:
            raise InvalidInput(f"this mechanism cannot be certified: {error}") from error


@runtime_checkable
class Certifiable(Protocol):
    """Mechanisms that lay themselves out for the kernel, beside those that are tables."""

    def as_certificate(self) -> Certificate:
        """Header and sections, claim and provenance included."""


def certificate(
    privacy: PrivacyType,
    outputs: tuple[Any, ...],
    weights: Array,
    total: int,
    claim: Claim | SharesClaim | None = None,
    provenance: dict[str, Any] | None = None,
    events: tuple[EventPromise, ...] = (),
) -> Certificate:
    """Lay out a mechanism for the kernel."""
    space = privacy.space
    sections = laid(weights=weights)
    source, ruler = _metric(space, sections)
    drawn = None if space.coordinates is None else space.coordinates.tolist()
    ground = {} if space.ground is None else {"ground": space.ground.to_json()}  # for releases: no checker reads it
    header: dict[str, Any] = {
        "version": kernel.VERSION,
        "secrets": [label_to_json(label) for label in space.labels],
        "outputs": [label_to_json(label) for label in outputs],
        "total": str(total),
        "space": {"name": space.name, "unit": space.unit, "coordinates": drawn, **ground},
        "metric": {"form": str(ruler.form), "unit": str(ruler.unit), "source": source},
        "promise": {"kind": "rows" if len(space.pairs.first) or not events else "events", **_promise(privacy)},
        "claims": {},
        "provenance": notes_to_json(provenance),
    }
    if events:
        header["events"] = [_event(event) for event in events]
        upper, lower = zip(*((event.upper, event.lower) for event in events), strict=True)
        sections |= laid(event_upper=np.concatenate(upper), event_lower=np.concatenate(lower))
    if claim is not None:
        header["claims"] = _CLAIMS[claim.kind](claim, sections, bool(events))
    return Certificate(header, sections)


def notes_to_json(provenance: dict[str, Any] | None) -> dict[str, Any]:
    """Where a mechanism comes from, as far as JSON can write it."""
    if provenance is None:
        return {}
    try:
        if not isinstance(provenance, dict):
            raise TypeError("it is no dictionary")
        json.dumps(provenance, allow_nan=False, ensure_ascii=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        reason = shown(provenance) if isinstance(error, RecursionError) else error
        raise InvalidInput(f"the provenance is a dictionary that JSON can write: {reason}") from error
    return provenance


def certificate_of(mechanism: Mechanism | Certifiable) -> Certificate:
    """The certificate of a mechanism, its claim and provenance included."""
    if not isinstance(mechanism, Mechanism):
        return mechanism.as_certificate()
    return certificate(
        mechanism.privacy, mechanism.outputs, mechanism.weights, mechanism.total, mechanism.claim, mechanism.provenance,
        mechanism.events,
    )  # fmt: skip


def _event(event: EventPromise) -> dict[str, Any]:
    factor = event.factor
    named = {"epsilon": str(factor.exponent)} if factor.rational is None else {"factor": str(factor.rational)}
    return {**named, "delta": str(event.delta), "pairs": len(event.upper)}


def kernel_terms(privacy: PrivacyType) -> tuple[kernel.Promise, kernel.Metric]:
    """Promise and metric as the kernel's functions take them."""
    given = {name: Fraction(text) for name, text in _promise(privacy).items()}
    ruler = privacy.space.ruler
    promise = kernel.Promise("rows", given.get("epsilon"), given.get("alpha"), given.get("step"))
    return promise, kernel.Metric(str(ruler.form), ruler.unit)


def _promise(privacy: PrivacyType) -> dict[str, str]:
    if privacy.alpha is None:
        return {"epsilon": str(privacy.epsilon)}
    promise = {"alpha": str(privacy.alpha)}
    unit = privacy.space.ruler.unit
    # the kernel checks step^denominator = alpha^numerator, and only for small powers
    step = rational_power(privacy.alpha, unit) if max(unit.numerator, unit.denominator) <= 64 else None
    if step is None or step.denominator.bit_length() > _LONGEST_STEP:
        return promise
    return {**promise, "step": str(step)}


def _metric(space: FiniteSpace, sections: dict[str, Section]) -> tuple[str, Distances]:
    """Write the metric: the edges of a graph, or the upper triangle with midpoints of implied pairs."""
    if space.edges is not None:
        # the pairs in use may be fewer than the edges: implied edges define no distance
        lengths = space.pair_distances
        first, second = space.pairs
        sections |= laid(edge_first=first, edge_second=second, distances=_as_stored(lengths, lengths.values))
        return "edges", lengths
    table = space.distances
    upper = np.triu_indices(len(space), 1)
    sections |= laid(distances=_as_stored(table, table.values[upper]))
    via = space.midpoints[upper]
    if (via >= 0).any():
        sections |= laid(via=np.where(via < 0, kernel.NOWHERE, via.astype(np.int64)))
    return "table", table


def _as_stored(table: Distances, values: NDArray[Any]) -> NDArray[Any]:
    """Distances with the kernel's number for what is infinite."""
    if table.form is Form.FLOAT:
        return values
    stored = values.astype(np.uint64)
    stored[values == INFINITE] = kernel.UNBOUNDED
    return stored


def _loss_claims(claim: Claim, sections: dict[str, Section], events: bool) -> dict[str, Any]:
    table, unit = _loss_table(claim.loss.matrix)
    sections |= laid(prior=_counts(claim), loss=table, remap=claim.remap)
    claims: dict[str, Any] = {
        "loss": str(claim.value), "loss_unit": str(unit), "actions": [label_to_json(a) for a in claim.loss.actions],
        "criterion": claim.criterion, "kind": "loss",
    }  # fmt: skip
    if is_short_text(claim.loss.name):
        claims["loss_name"] = claim.loss.name  # for people: no checker reads it
    if claim.ceilings:
        tables, units = zip(*(_loss_table(ceiling.loss.matrix) for ceiling in claim.ceilings), strict=True)
        sections |= laid(ceilings=np.concatenate(tables))
        claims["ceilings"] = [
            {
                "name": ceiling.loss.name if is_short_text(ceiling.loss.name) else "",
                "unit": str(unit),
                "level": str(ceiling.level),
            }
            for ceiling, unit in zip(claim.ceilings, units, strict=True)
        ]
    if claim.bound is not None and claim.dual is not None:
        claims |= dual_header(claim.bound, claim.dual, sections)
        if claim.priors:
            sections |= laid(mixture=np.array(claim.mixture, dtype=object))
        if claim.ceilings:
            free: Array = np.zeros(len(claim.loss.secrets), dtype=np.int64)
            prices = [free if ceiling.prices is None else ceiling.prices for ceiling in claim.ceilings]
            sections |= laid(ceiling_prices=np.concatenate(prices))
        if events:
            dual = claim.dual
            sections |= laid(
                event_dual=dual.event_values, event_dual_pair=dual.event_pair, event_dual_action=dual.event_action
            )
    return claims


def dual_header(bound: Fraction, dual: Dual, sections: dict[str, Section]) -> dict[str, Any]:
    """What a claim says of a bound; the numbers that prove it become sections."""
    sections |= laid(dual=dual.values, dual_from=dual.first, dual_to=dual.second, dual_action=dual.action)
    return {"bound": str(bound), "dual_unit": str(dual.unit)}


def _shares_claims(claim: SharesClaim, sections: dict[str, Section], _: bool) -> dict[str, Any]:
    table, unit = _loss_table(claim.workload.matrix)
    sections |= laid(prior=_counts(claim), workload=table)
    claims: dict[str, Any] = {
        "kind": "shares", "loss": str(claim.value), "criterion": "worst prior" if claim.priors else "expected",
        "workload_unit": str(unit), "workload_name": claim.workload.name,
    }  # fmt: skip
    if claim.priors:
        sections |= laid(mixture=np.array(claim.mixture, dtype=object))
    if claim.bound is not None and claim.dual is not None and claim.prices is not None:
        claims["bound"] = str(claim.bound)
        sections |= laid(share_dual=claim.dual, share_prices=claim.prices)
    return claims


_CLAIMS: dict[str, Callable[..., dict[str, Any]]] = {"loss": _loss_claims, "shares": _shares_claims}
"""How each kind of claim is laid out, beside promises about events or not."""


def _counts(claim: Claim | SharesClaim) -> Array:
    """The priors of a claim in integers, one behind the other."""
    return np.concatenate([common_denominator(prior.weights)[0] for prior in claim.priors or (claim.prior,)])


def is_short_text(name: Any) -> bool:
    """Whether a file may carry it as the name of a loss: up to 200 printable characters, as for the name of a space."""
    return isinstance(name, str) and name.isprintable() and 0 < len(name) <= _LONGEST_NAME


def _loss_table(matrix: Array) -> tuple[NDArray[np.float64], Fraction]:
    """Doubles and a unit whose products are the loss exactly."""
    if not is_exact(matrix):
        return matrix, Fraction(1)
    if matrix.dtype != object and np.abs(matrix).max() <= _LARGEST_EXACT_DOUBLE:  # whole numbers, millions of them
        return matrix.astype(np.float64), Fraction(1)
    integers, denominator = common_denominator(matrix)
    if max(abs(int(v)) for v in integers.ravel()) > _LARGEST_EXACT_DOUBLE:
        raise InvalidInput("the loss has numerators beyond 2^53 and cannot be written to a certificate exactly")
    return integers.astype(np.float64), Fraction(1, denominator)
