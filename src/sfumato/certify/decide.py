"""Who decides on a certificate: the kernel on everything it can afford, its compiled twin beyond."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, prod
from typing import Any, Literal, NoReturn

from sfumato.arguments import one_of
from sfumato.certify import kernel, twin, twin_box, twin_claims
from sfumato.certify.label_json import label_from_json
from sfumato.certify.mechanism import Proof
from sfumato.certify.sections import stored
from sfumato.errors import InvalidChannel, InvalidFile, PrivacyViolation
from sfumato.numbers import exact, float_above, nearest_float
from sfumato.privacy.satisfaction import Violation
from sfumato.verdict import Verdict, fails, holds

Checker = Literal["auto", "kernel", "twin"]

# The kernel does some 3·10^7 comparisons, bounds e^x for 10^5 distances and sums 10^6 dual numbers a second: up to this
# it is asked for all.
_KERNEL_COMPARISONS = 3 * 10**7
_KERNEL_PAIRS = 10**5
_KERNEL_DUALS = 10**5

# It compares some 5·10^5 gradients a second, and lowers the losses of 10^5 corners and secrets.
_KERNEL_GRADIENTS = 5 * 10**5
_KERNEL_SECRETS = 100


@dataclass(frozen=True)
class Steepness(Violation):
    """An output that becomes likelier too fast in a cell of a lattice. ``pair`` are its corners, ``ratio`` is the
    length of a gradient as a part of its value, ``bound`` the largest that is allowed.
    """

    def __str__(self) -> str:
        (low, high), (ratio, bound) = self.pair, self.compared
        fast = "from zero" if ratio == inf else f"at a rate of {nearest_float(exact(ratio)):.6g}"
        corners = " to ".join(f"({', '.join(map(str, corner))})" for corner in (low, high))
        return f"output {self.output} becomes likelier {fast} in the cell from {corners}, more than the {bound} allowed"


def decide(header: kernel.AnyHeader, sections: dict[str, bytes], digest: str, checker: Checker) -> Verdict:
    """The answer of the kernel or of its twin on what a file says, as a verdict with a proof or a violation."""
    one_of(checker, ("auto", "kernel", "twin"), "checker")
    about_points = isinstance(header, kernel.CoordinatesHeader)
    use_twin = _is_for_the_twin(header, sections, checker)
    try:
        if not use_twin:
            proved = kernel.check(header, sections)
        elif isinstance(header, kernel.CoordinatesHeader):
            proved = twin_box.check(header, sections)
        else:
            proved = _by_the_twin(header, sections)
    except kernel.Unreadable as error:
        raise InvalidFile(f"the certificate cannot be read: {error}") from error
    except kernel.Refuted as error:
        if error.pair is None:
            return fails(str(error))
        pair = (label_from_json(error.pair[0]), label_from_json(error.pair[1]))
        output, bound = label_from_json(error.output), float_above(error.bound)
        kind = Steepness if about_points else Violation
        return fails(str(error), kind(pair, output, error.ratio, bound, (error.ratio, error.bound)))
    proof = Proof(
        "compiled twin" if use_twin else "kernel", proved["pairs"], proved["implied"], proved["comparisons"], digest,
        proved.get("loss"), proved.get("bound"), proved.get("events", 0), proved["open"], proved.get("cells", 0),
        proved.get("loose", 0), proved.get("span"),
    )  # fmt: skip
    if not proof.pairs and not proof.events and proof.open:
        return holds(f"nothing is promised: no two secrets have a finite distance; {proof}", proof)
    return holds(f"proved: {proof}", proof)


def raise_refusal(verdict: Verdict) -> NoReturn:
    """The error that a verdict against a mechanism is to who wanted to have one."""
    found = verdict.witness
    if not isinstance(found, Violation):
        raise InvalidChannel(verdict.reason)
    raise PrivacyViolation(verdict.reason, found.pair, found.output, found.ratio, found.bound)


def _is_for_the_twin(header: kernel.AnyHeader, sections: dict[str, bytes], checker: Checker) -> bool:
    """Whether the twin is asked, who knows no noise."""
    if checker == "kernel" or not twin.fits(header):
        return False
    if isinstance(header, kernel.CoordinatesHeader):
        return header.noise is None and (checker == "twin" or _is_large_box(header))
    return checker == "twin" or _is_large(header, sections)


def _is_large(header: kernel.Header, sections: dict[str, bytes]) -> bool:
    pairs = len(stored("distances", header, sections))
    return (
        pairs > _KERNEL_PAIRS
        or 2 * len(header.outputs) * pairs > _KERNEL_COMPARISONS
        or ("dual_to" in sections and len(stored("dual_to", header, sections)) > _KERNEL_DUALS)
    )


def _is_large_box(header: kernel.CoordinatesHeader) -> bool:
    lattice, claims = header.lattice, header.claims
    compared = prod((len(along) - 1) << (lattice.halvings + 1) for along in lattice.breaks)
    if compared * len(header.outputs) > _KERNEL_GRADIENTS:
        return True
    if claims is None or claims.bound is None:
        return False
    return prod(header.box.cells) * prod(claims.bound_parts) > _KERNEL_SECRETS


def _by_the_twin(header: kernel.Header, sections: dict[str, bytes]) -> dict[str, Any]:
    proved = twin.check_arrays(header, sections)
    if header.events:
        proved["events"] = kernel.check_events(header, sections)
    if header.claims:
        proved |= _check_claims(header, sections)
    return proved


def _check_claims(header: kernel.Header, sections: dict[str, bytes]) -> dict[str, Any]:
    """The twin's answer on claims; the kernel's where numbers are too long, or where rounding may have refuted, and on
    estimates of shares.
    """
    if not isinstance(header.claims, kernel.LossClaim):
        return kernel.check_claims(header, sections)
    try:
        result = {"loss": twin_claims.check_loss(header, sections)}
    except twin_claims.TooLong:
        result = {"loss": kernel.check_loss(header, sections)}
    if header.claims.bound is not None:
        try:
            result["bound"] = twin_claims.check_bound(header, sections)
        except (twin_claims.TooLong, kernel.Refuted):
            result["bound"] = kernel.check_bound(header, sections)
    return result
