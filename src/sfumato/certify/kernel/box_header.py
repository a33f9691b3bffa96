"""Reads the header of a file about coordinates: the box and its map, lattice or noise, the rate, the claims."""

import itertools
import math
import operator
import re
from fractions import Fraction
from typing import Any

from sfumato.certify.kernel.box_bounds import NORMS
from sfumato.certify.kernel.errors import Unreadable, named, number_text
from sfumato.certify.kernel.fields import (
    COORDINATES,
    Json,
    check_kind,
    check_labels,
    check_text,
    few_enough,
    integer_between,
    interpret_beginning,
    interpret_end,
    known,
    label_value,
    listed,
    of_kind,
    optional,
    rational,
)
from sfumato.certify.kernel.promise import epsilon_below, frame_extent
from sfumato.certify.kernel.values import (
    CoordinatesHeader,
    CoordinatesPromise,
    DistanceClaim,
    Lattice,
    WrittenBox,
    WrittenFrame,
    WrittenNoise,
)

METRES = {  # in a unit of length, by its names: those of a box on the Earth
    "mm|millimet(re|er)s?": "1/1000", "cm|centimet(re|er)s?": "1/100", "m|met(re|er)s?": "1",
    "km|kilomet(re|er)s?": "1000", "in|inch|inches": "127/5000", "ft|foot|feet": "381/1250",
    "yd|yards?": "1143/1250", "mi|miles?": "201168/125", "nmi|nautical miles?": "1852",
}  # fmt: skip
EARTH_RADIUS = Fraction(63710088, 10)  # metres, of the sphere on which "on the ground" is measured
BOX_CLAIM = "loss on a box"
MOST_AXES = 3  # of a box
MOST_ALONG = 1 << 14  # cells and pieces of cells along an axis
MOST_POINTS = 1 << 22  # of a lattice, or cells of a box
MOST_HALVINGS = 4
MOST_PIECES = 1 << 24  # of cells, for a promise or a loss; with three axes up to eight coefficients each
MOST_PARTS = 64  # of a piece, for a claimed loss


def interpret_coordinates(header: Json) -> CoordinatesHeader:
    """The same for a file about coordinates: a box, a lattice, a promise about all points, outputs that are points."""
    promise, box, lattice = header["promise"], known(header["box"], "box"), known(header.get("lattice", {}), "lattice")
    if promise["kind"] != COORDINATES:
        raise Unreadable(f"a box has a promise about {COORDINATES}, not about {named(promise['kind'])}")
    space, total, widths = interpret_beginning(header, "space of coordinates")
    where = interpret_box(box, space.unit)
    noise, points = None, list[tuple[Fraction, ...]]()
    if "noise" in header:
        noise = interpret_noise(known(header["noise"], "noise"), where)
        grid = Lattice(2, noise.halvings, (), tuple(n + 2 for n in noise.cells))
        outputs = range(math.prod(grid.shape))
    else:
        grid, outputs = interpret_lattice(lattice, where), header["outputs"]
        check_labels(outputs, "outputs")
        points = [point_of(label, len(where.sides)) for label in outputs]
        if len(set(points)) < len(points):
            raise Unreadable("two outputs are one point")
    promised, claimed = interpret_rate(known(promise, "promise about coordinates"), where.frame), None
    if of_kind(header, "claims", dict):
        claims = known(header["claims"], f"claim about {'a box' if noise is None else 'noise'}")
        check_kind(claims, "claim", (BOX_CLAIM,))
        check_text(claims.get("loss_name", ""), "the name of the loss")
        claimed = interpret_box_claim(claims, where, grid) if noise is None else interpret_noise_claim(claims, noise)
    rows = range(math.prod(grid.shape))  # those of the lattice
    return CoordinatesHeader(
        rows, outputs, tuple(points), total, space, where, grid, noise, promised, claimed,
        header.get("provenance"), widths, interpret_end(header),
    )  # fmt: skip


LENGTH = r"-?\d{1,100}(/\d{1,100})?"  # digits of a coordinate: sums over a lattice stay short


def interpret_box(box: Json, unit: str) -> WrittenBox:
    """Sides, cells and origin."""
    axes = len(box["sides"]) if isinstance(box["sides"], list) else 0
    if not 1 <= axes <= MOST_AXES:
        raise Unreadable(f"a box has 1 to {MOST_AXES} sides")
    sides = tuple(rational(side, LENGTH) for side in box["sides"])
    origin = tuple(rational(start, LENGTH) for start in listed(box["origin"], axes, "origin"))
    for cells in listed(box["cells"], axes, "number of cells"):
        integer_between(cells, 1, MOST_ALONG, "the number of cells along an axis")
    if min(sides) <= 0 or math.prod(box["cells"]) > MOST_POINTS:
        raise Unreadable(f"the sides of a box are positive, and it has at most {MOST_POINTS} cells")
    if box["metric"] not in NORMS:
        raise Unreadable("the box has an unknown metric")
    found = WrittenBox(sides, tuple(box["cells"]), box["metric"], origin, None)
    if box["frame"] is None:
        return found
    if not isinstance(box["frame"], dict):
        raise Unreadable(f"the frame of the box is {named(box['frame'])}")
    return found._replace(frame=interpret_frame(known(box["frame"], "frame"), found, unit))


def interpret_frame(frame: Json, box: WrittenBox, unit: str) -> WrittenFrame:
    """The map of a box on the Earth; what it does to distances is checked with the promise."""
    if len(box.sides) != 2 or any(box.origin) or box.metric != "euclidean":
        raise Unreadable("a box on the Earth has two sides, begins at 0 and is euclidean")
    south, west, radius, margin = (rational(frame[name], LENGTH) for name in ("south", "west", "radius", "margin"))
    a, b = (rational(scale, LENGTH) for scale in listed(frame["degrees"], 2, "degrees"))
    if min(a, b, radius) <= 0 or margin < 0 or abs(west) > 360:
        raise Unreadable("a frame has positive degrees and radius, no negative margin, and begins at a longitude")
    metres = [Fraction(size) for names, size in METRES.items() if re.fullmatch(names, unit)]
    if not metres or radius * metres[0] != EARTH_RADIUS:
        sphere = f"a sphere of radius {number_text(radius)} {named(unit)}, which is not the Earth"
        raise Unreadable(f"the box is on {sphere}: that has a radius of {float(EARTH_RADIUS)} m, in a unit of length")
    found = WrittenFrame(south, west, (a, b), radius, margin)
    _, highest, wide = frame_extent(found, box.sides)
    if highest >= 90 or wide >= 180:
        raise Unreadable("a box on the Earth ends before the poles and spans less than half of the globe")
    return found


def interpret_lattice(lattice: Json, box: WrittenBox) -> Lattice:
    """The breaks of a lattice; its shape is the number of its points along each axis."""
    degree = integer_between(lattice["degree"], 1, 2, "the degree of the lattice")
    halvings = integer_between(lattice["halvings"], 0, MOST_HALVINGS, "the number of halvings")
    listed_breaks = listed(lattice["breaks"], len(box.sides), "breaks")
    for along in listed_breaks:
        if not isinstance(along, list) or not 2 <= len(along) <= 1 + (MOST_ALONG >> halvings):
            raise Unreadable(f"a lattice has 1 to {MOST_ALONG >> halvings} cells along an axis")
    breaks = tuple(tuple(rational(place, LENGTH) for place in along) for along in listed_breaks)
    for along, side in zip(breaks, box.sides, strict=True):
        if along[0] != 0 or along[-1] != side or any(a >= b for a, b in itertools.pairwise(along)):
            raise Unreadable("the breaks of a lattice go up from 0 to the side of the box")
    shape = tuple(len(along) - 1 + degree for along in breaks)
    pieces = math.prod((len(along) - 1) << halvings for along in breaks)
    if math.prod(shape) > MOST_POINTS or pieces > MOST_PIECES:
        raise Unreadable(f"a lattice has at most {MOST_POINTS} points, and {MOST_PIECES} cells after halvings")
    return Lattice(degree, halvings, breaks, shape)


def interpret_rate(promise: Json, frame: WrittenFrame | None) -> CoordinatesPromise:
    """What is promised; the rate that is checked is at most epsilon, or ln(1/alpha) if flat."""
    epsilon, alpha = optional(promise, "epsilon"), optional(promise, "alpha")
    rate = rational(promise["rate"])
    if (alpha is None) == (epsilon is None) or (alpha is not None and not 0 < alpha < 1):
        raise Unreadable("the promise is neither an epsilon nor an alpha between 0 and 1")
    found = CoordinatesPromise(COORDINATES, epsilon, alpha, rate)
    if rate <= 0 or (frame is None and rate > epsilon_below(found)):
        raise Unreadable(f"the rate that is checked is {number_text(rate)}, and lies between 0 and what is promised")
    return found


def point_of(label: Any, axes: int) -> tuple[Fraction, ...]:
    """The point that an output is: exact coordinates, one number on an interval."""
    parts = label if isinstance(label, list) else [label]
    if len(parts) != axes or isinstance(label, list) == (axes == 1):
        raise Unreadable(f"output {named(label)} is no point with {axes} coordinates")
    values = list(map(label_value, parts))
    if any(isinstance(value, bool) or not isinstance(value, int | float | Fraction) for value in values):
        raise Unreadable(f"output {named(label)} has a coordinate that is no number")
    return tuple(map(Fraction, values))


def interpret_box_claim(claims: Json, box: WrittenBox, lattice: Lattice) -> DistanceClaim:
    """What is claimed about a box: a loss, and perhaps a bound."""
    loss, parts = rational(claims["loss"]), integer_between(claims["parts"], 1, MOST_PARTS, "the number of parts")
    for breaks, cells in zip(lattice.breaks, box.cells, strict=True):
        if (len(breaks) + cells) * parts > 2 * MOST_ALONG:
            raise Unreadable(f"there are more than {2 * MOST_ALONG} parts of pieces along an axis")
    pieces = math.prod((len(b) + n) * parts for b, n in zip(lattice.breaks, box.cells, strict=True))
    few_enough(pieces, MOST_PIECES, "parts of pieces")
    name = claims.get("loss_name", "")
    if "bound" not in claims:
        if claims.keys() & {"bound_parts", "bound_strides", "dual_unit"}:
            raise Unreadable("the claim has parts of a bound and no bound")
        return DistanceClaim(BOX_CLAIM, loss, name, parts)
    bound, dual_unit = rational(claims["bound"]), rational(claims["dual_unit"])
    if dual_unit <= 0:
        raise Unreadable("a unit of losses, limits or dual numbers is not positive")
    axes = len(box.cells)
    strides = listed(claims.get("bound_strides", [1] * axes), axes, "strides")
    for cells, part, stride in zip(box.cells, listed(claims["bound_parts"], axes, "parts"), strides, strict=True):
        whole = cells * integer_between(part, 1, MOST_ALONG, "parts of a cell")
        integer_between(whole, 2, MOST_ALONG, "the number of secrets along an axis")
        if whole % integer_between(stride, 1, whole // 2, "a stride"):
            raise Unreadable("a stride does not divide the number of secrets along its axis")
    return DistanceClaim(BOX_CLAIM, loss, name, parts, bound, tuple(claims["bound_parts"]), tuple(strides), dual_unit)


def interpret_noise(noise: Json, box: WrittenBox) -> WrittenNoise:
    """The description of noise on a box: cells of its lattice, reach, floor."""
    axes = len(box.sides)
    for n, k in zip(listed(noise["cells"], axes, "number of cells"), box.cells, strict=True):
        integer_between(n, 1, 1 << 31, "the number of cells of the lattice")
        if n % k:
            raise Unreadable("the cells of the lattice are no parts of the cells of the box")
    for r in listed(noise["reach"], axes, "reach"):
        integer_between(r, 0, MOST_ALONG >> MOST_HALVINGS, "the reach of noise")
    integer_between(noise["halvings"], 0, MOST_HALVINGS, "the number of halvings")
    if math.prod(r + 4 for r in noise["reach"]) << axes * noise["halvings"] > MOST_POINTS << 2:
        raise Unreadable("there are too many offsets")
    floor = rational(noise["floor"], r"\d{1,4000}").numerator
    if floor < 1:
        raise Unreadable("the floor of noise is positive")
    cells, reach = tuple(noise["cells"]), tuple(noise["reach"])
    outputs = math.prod(n + 2 + 2 * r for n, r in zip(cells, reach, strict=True))
    if outputs >= 1 << 62:
        raise Unreadable("there are more outputs than can be counted")
    steps = tuple(map(operator.truediv, box.sides, cells))
    return WrittenNoise(cells, reach, floor, noise["halvings"], steps, outputs)


def interpret_noise_claim(claims: Json, noise: WrittenNoise) -> DistanceClaim:
    """What is claimed of noise: a loss, and perhaps a bound by layers."""
    loss, parts = rational(claims["loss"]), integer_between(claims["parts"], 2, MOST_PARTS, "the number of parts")
    if parts % 2:
        raise Unreadable("the number of parts is even")
    few_enough(math.prod((r + 1) * parts for r in noise.reach), MOST_PIECES, "parts of offsets")
    bound = rational(claims["bound"]) if "bound" in claims else None
    return DistanceClaim(BOX_CLAIM, loss, claims.get("loss_name", ""), parts, bound)
