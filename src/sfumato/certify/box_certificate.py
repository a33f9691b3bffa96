"""Certificates about coordinates: box, lattice, promise and claims as the header and sections that the kernel reads."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.certify import kernel
from sfumato.certify.certificate import Certificate, dual_header, is_short_text, notes_to_json
from sfumato.certify.file import shares_of
from sfumato.certify.label_json import label_to_json
from sfumato.certify.sections import Section, laid, values_of
from sfumato.channels.prior import Prior
from sfumato.losses.coordinates import CoordinateLoss
from sfumato.numbers import Array, common_denominator
from sfumato.privacy.type import PrivacyType
from sfumato.spaces.box import Box
from sfumato.spaces.frame import EarthFrame
from sfumato.spaces.splines import Rounding, rounding_of

if TYPE_CHECKING:  # whose module uses this one
    from sfumato.certify.coordinates import BoxClaim, CoordinateClaim


def box_certificate(
    privacy: PrivacyType,
    rate: Fraction,
    rounding: Rounding,
    halvings: int,
    outputs: tuple[Any, ...],
    weights: Array,
    total: int,
    claim: BoxClaim | None = None,
    provenance: dict[str, Any] | None = None,
) -> Certificate:
    """Lay out a mechanism on a box for the kernel."""
    written = coordinates_certificate(privacy, rate, rounding.box, weights, total, provenance)
    header, sections = written.header, written.sections
    header["outputs"] = [label_to_json(label) for label in outputs]
    header["lattice"] = {
        "degree": rounding.degree,
        "halvings": halvings,
        "breaks": [[str(place) for place in axis.breaks] for axis in rounding.axes],
    }
    if claim is not None:
        header["claims"] = _claims(claim, sections)
    return written


def coordinates_certificate(
    privacy: PrivacyType, rate: Fraction, box: Box, weights: Array, total: int, provenance: dict[str, Any] | None
) -> Certificate:
    """What files about coordinates have in common: a box, a promise about all its points, integers."""
    promised = {"alpha": str(privacy.alpha)} if privacy.epsilon is None else {"epsilon": str(privacy.epsilon)}
    sections = laid(weights=weights)
    header: dict[str, Any] = {
        "version": kernel.VERSION,
        "total": str(total),
        "space": {"name": box.name, "unit": box.unit},
        "box": {
            "sides": [str(side) for side in box.sides],
            "cells": list(box.shape),
            "metric": box.metric,
            "origin": [str(start) for start in box.origin],
            "frame": box.surface.to_json(),
        },
        "promise": {"kind": kernel.COORDINATES, **promised, "rate": str(rate)},
        "claims": {},
        "provenance": notes_to_json(provenance),
    }
    return Certificate(header, sections)


def claim_header(claim: CoordinateClaim, sections: dict[str, Section]) -> dict[str, Any]:
    """What a claim says of the loss; the prior becomes a section."""
    sections |= laid(prior=common_denominator(claim.prior.weights)[0])
    claims: dict[str, Any] = {"kind": kernel.BOX_CLAIM, "loss": str(claim.value), "parts": claim.parts}
    if is_short_text(claim.loss.name):
        claims["loss_name"] = claim.loss.name
    return claims


def _claims(claim: BoxClaim, sections: dict[str, Section]) -> dict[str, Any]:
    claims, bound = claim_header(claim, sections), claim.bound
    if bound is not None:
        claims |= {**dual_header(bound.value, bound.dual, sections), "bound_parts": list(bound.parts)}
        if max(bound.strides, default=1) > 1:
            claims["bound_strides"] = list(bound.strides)
        sections |= laid(splits=np.frombuffer(bound.splits, dtype=np.uint8))
    return claims


def claimed_loss(
    header: kernel.CoordinatesHeader, sections: dict[str, bytes], box: Box
) -> tuple[Prior, CoordinateLoss, Fraction, int]:
    """The same, read from a file: prior, loss, its value and the parts for which it is summed up."""
    claims = kernel.distance_claim(header)
    prior = Prior(box, shares_of(values_of("prior", header, sections)[0].tolist()))
    return prior, CoordinateLoss(box, claims.loss_name), claims.loss, claims.parts


def box_of(header: kernel.CoordinatesHeader) -> Box:
    """The box that a file describes."""
    about, space = header.box, header.space
    step = tuple(side / cells for side, cells in zip(about.sides, about.cells, strict=True))
    frame = EarthFrame(**about.frame._asdict()) if about.frame else None
    return Box(about.sides, step, about.metric, space.unit, about.origin, frame)


def rounding_in(header: kernel.CoordinatesHeader) -> Rounding:
    """The lattice that a file describes."""
    lattice = header.lattice
    return rounding_of(box_of(header), degree=lattice.degree, breaks=lattice.breaks)
