"""Says for people what was proved, bounds rounded to their side."""

import math
from collections.abc import Sequence
from fractions import Fraction

from sfumato.certify.kernel.errors import apart, brief, named, number_text
from sfumato.certify.kernel.header import CRITERIA
from sfumato.certify.kernel.promise import largest_stretch, smallest_stretch
from sfumato.certify.kernel.values import AnyHeader, CoordinatesHeader, Header, Proved, VarianceClaim, WrittenFrame


def report_of_proof(header: AnyHeader, proved: Proved, digest: str) -> list[str]:
    """What was proved, for people."""
    if isinstance(header, CoordinatesHeader):
        return [*report_of_box(header, proved), f"  sha256 {digest}"]
    claims, n, unpromised = header.claims, proved["secrets"], proved["open"]
    sizes = [f"{number} {what}{'' if number == 1 else 's'}" for number, what in (
        (n, "secret"), (proved["outputs"], "output"), (proved["pairs"], "pair"))]  # fmt: skip
    lines = [
        headline(header, proved),
        f"  {sizes[0]}, {sizes[1]}, every row sums to {number_text(proved['total'])}",
        f"  {sizes[2]} checked in integers, {proved['implied']} implied by a checked chain",
        "  the promise is about these secrets, not about points between them",
    ]
    if proved["span"]:
        lines[1:1] = report_of_distances(header, proved)
    if unpromised:
        what = "no ratio is bounded between" if header.events else "nothing is promised about"
        lines.append(f"  {what} the secrets of {unpromised} pairs, of {n * (n - 1) // 2}")
    for event in header.events:
        factor = f"e^({event.epsilon})" if event.factor is None else number_text(event.factor)
        lines.append(
            f"  every event is at most {factor} times as likely, plus {number_text(event.delta)}, "
            f"for {event.pairs} ordered pairs"
        )
    if isinstance(claims, VarianceClaim):
        return [*lines, *report_of_shares(claims, proved), f"  sha256 {digest}"]
    if claims is not None and "loss" in proved:
        lines.append(f"  {CRITERIA[claims.criterion]} with the remap in the file = {number_text(proved['loss'], 1)}")
        lines += [f"  for every secret the limit {number_text(limit.level, 1)} is kept" for limit in claims.ceilings]
    if claims is not None and "bound" in proved:
        kept = ", keeping the limits," if claims.ceilings else ""
        lines.append(f"  no mechanism with this promise{kept} has less than {number_text(proved['bound'], -1)}")
    return [*lines, f"  sha256 {digest}"]


def report_of_distances(header: Header, proved: Proved) -> list[str]:
    """How far apart the secrets are, and for how many pairs that is so far that nothing is left of the promise."""
    (least, largest), unit, total = proved["span"], header.space.unit, number_text(proved["total"])
    what = "lengths of edges" if header.metric.source == "edges" else "distances"
    ends = f"all {number_text(least)}" if least == largest else "{} to {}".format(*apart(least, largest))
    lines = [f"  {what} are {ends}{f' {named(unit)}' if unit else ''}"]
    if proved["loose"]:
        which = (
            f"of {proved['pairs']} checked pairs {proved['loose']} allow a factor of {total} or more, a row's whole sum"
        )
        lines.append(f"  {which}: nothing is promised about them but zeros in the same places")
    return lines


def report_of_shares(claims: VarianceClaim, proved: Proved) -> list[str]:
    """What was proved about estimates, for people."""
    several = claims.criterion == "worst prior"
    where = "the worst mixture of distributions in the file" if several else "the distribution in the file"
    what = named(claims.workload_name) if claims.workload_name else "the workload"
    lines = [
        f"  unbiased estimates of {what} from N answers have at {where}",
        f"  a total variance of at most {number_text(proved['loss'], 1)} / N",
    ]
    if "bound" in proved:
        lines.append(f"  no mechanism with this promise has less than {number_text(proved['bound'], -1)} / N")
    return lines


def report_of_box(header: CoordinatesHeader, proved: Proved) -> list[str]:
    """What was proved about all points of a box, for people."""
    box, lattice, outputs = header.box, header.lattice, proved["outputs"]
    frame = box.frame
    sides = " × ".join(f"[{brief(o)}, {brief(o + s)}]" for o, s in zip(box.origin, box.sides, strict=True))
    rate, epsilon = header.promise.rate, header.promise.epsilon
    lines = [
        f"PROVED private for all points of the box, with {amount_of(header)}",
        f"  the box is {sides}, distances are {box.metric}",
        f"  a point is rounded at random to a lattice of {' × '.join(map(str, lattice.shape))} points, "
        f"{outputs} output{'' if outputs == 1 else 's'}, every row sums to {number_text(proved['total'])}",
        f"  {proved['comparisons']} gradients compared in integers on {proved['cells']} cells",
    ]
    if header.noise is not None:
        offsets = " × ".join(str(2 * r + 1) for r in header.noise.reach)
        lines[2] = (
            f"  a point is rounded at random to a lattice of {' × '.join(map(str, lattice.shape))} points and gets "
            f"noise that is the same everywhere, {offsets} offsets, moved into the box"
        )
        lines[3] = f"  {proved['comparisons']} gradients of the one column of all outputs compared in integers"
    lines += [] if frame is None else ground_of(frame, box.sides)
    if rate != epsilon:
        enough = "which is less" if frame is None else "on the map, which is enough"
        lines.append(f"  what was checked is epsilon = {number_text(rate)}, {enough}")
    where = "" if frame is None else " on the map"
    if "loss" in proved:
        lines.append(
            f"  the expected distance of outputs from the points is at most {number_text(proved['loss'], 1)}{where}"
        )
    if "bound" in proved:
        least = number_text(proved["bound"], -1)
        lines.append(f"  no mechanism on the box, with whatever outputs, has less than {least}{where}")
    return lines


def ground_of(frame: WrittenFrame, sides: Sequence[Fraction]) -> list[str]:
    """Where a box lies on the Earth, and what its map does to lengths, for people."""
    south, west, margin = (f"{float(place):.9g}" for place in (frame.south, frame.west, frame.margin))
    degrees = [f"{float(scale):.9g}" for scale in frame.degrees]
    least = math.floor(smallest_stretch(frame, sides) * 10**6) / 10**6
    most = math.ceil(largest_stretch(frame, sides) * 10**6) / 10**6
    return [
        f"  it begins at latitude {south}, longitude {west}; a unit is {degrees[1]} degrees of latitude and "
        f"{degrees[0]} of longitude: lengths are {least:g} to {most:g} times those on the ground",
        f"  places up to {margin} outside count as its nearest point, and nothing is promised about others",
    ]


def amount_of(header: AnyHeader) -> str:
    """What is promised for each unit of distance."""
    promise, unit = header.promise, header.space.unit
    amount = f"epsilon = {promise.epsilon}" if promise.alpha is None else f"alpha = {promise.alpha}"
    ground = header.box.frame if isinstance(header, CoordinatesHeader) else None
    radius = f" on the ground (sphere of radius {float(ground.radius):.9g} {named(unit)})" if ground else ""
    return f"{amount} per {named(unit) if unit else 'unit of distance'}{radius}"


def headline(header: Header, proved: Proved) -> str:
    """What is promised, or that nothing is."""
    if proved["secrets"] == 1:
        return "PROVED: there is one secret, and nothing to tell it from"
    if not proved["pairs"]:
        if header.events:
            return "PROVED private in the promises about events below"
        return "NOTHING IS PROMISED: no two secrets have a finite distance, so any table of rows is accepted"
    return f"PROVED private with {amount_of(header)}"
