"""The parts of a report on a mechanism for coordinates, in words: from facts to HTML."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import isqrt
from typing import Any

import numpy as np

from sfumato.certify.coordinates import CoordinateMechanism
from sfumato.numbers import Floats
from sfumato.report.box_facts import BoxFacts, CoordinateFacts, Used, on_raster
from sfumato.report.box_maps import flattened, outputs_figure, point_words, raster_figure
from sfumato.report.html import (
    Figure,
    above,
    below,
    escaped,
    figures,
    how_many,
    in_percent,
    near,
    paragraph,
    section,
    table,
)
from sfumato.report.maps import MapLayout, share_figure
from sfumato.report.sections_words import (
    ONE_RELEASE,
    checking,
    epsilon_words,
    gap_words,
    head_numbers,
    promise_head,
    proof_rows,
    round_scales,
    spelled_odds,
    times_words,
    total_words,
    with_unit,
)
from sfumato.spaces.box import NORMS, Box
from sfumato.spaces.earth import ground_range, ground_stretch, ground_words
from sfumato.spaces.surface import GREAT_CIRCLE

_NORMS = {
    "euclidean": "Euclidean distance",
    "manhattan": "Manhattan distance",
    "chebyshev": "largest difference",
    GREAT_CIRCLE: "distance on the ground, along a great circle,",
}
"""The distance that a promise is about, in words."""
_BITS = 64


def box_numbers(facts: CoordinateFacts) -> str:
    """The head of the page: what one looks for first."""
    mechanism, unit = facts.mechanism, facts.box.unit
    cells = [("Promise", promise_head(mechanism.privacy), "for any two points of the box, however close")]
    if facts.value is not None:
        cells.append(("Loss", with_unit(near(facts.value), unit), "mean distance of what is told from the truth"))
    elif facts.measured is not None:
        cells.append(("Loss", with_unit(near(facts.measured), unit), "mean distance, measured and not proved"))
    if facts.gap is not None:
        cells.append(("Could be saved", f"at most {gap_words(facts.gap)}", "certified, outputs anywhere"))
    cells.append(("Proof", "holds", f"by the {escaped(mechanism.proof.checker)}, in integers"))
    return head_numbers(cells)


def box_intro(facts: BoxFacts) -> str:
    """What the page is about, in one sentence."""
    mechanism = facts.mechanism
    sides = " × ".join(near(side) for side in facts.box.sides)
    return (
        f"<p class=soft>A mechanism for coordinates: from any point of a box of {with_unit(sides, facts.box.unit)} "
        f"to {how_many(len(mechanism.outputs), 'output')}, with its promise, its price and its proof.</p>"
        f"{box_numbers(facts)}"
    )


# ----------------------------------------------------------------- the promise


def _diameter(box: Box) -> Fraction:
    """The distance of opposite corners, rounded up; on the Earth no two points of the ground are farther apart."""
    if box.metric == "manhattan":
        return sum(box.sides, Fraction(0))
    if box.metric == "chebyshev" or box.dimension == 1:
        return max(box.sides)
    square = sum((side * side for side in box.sides), Fraction(0))
    scaled = (square.numerator << 2 * _BITS) // square.denominator
    return Fraction(isqrt(scaled) + 1, 1 << _BITS) / ground_stretch(box)[0]


def box_promise(facts: CoordinateFacts) -> str:
    """What an adversary can tell."""
    privacy, box = facts.mechanism.privacy, facts.box
    least = float(min(box.step))
    scales = round_scales(privacy, least, float(_diameter(box)), _diameter(box), "the farthest two points")
    lead = paragraph(
        "Take any two points of the box, on two sides of a border or a step apart, and anybody, whatever they know. "
        "What the mechanism tells changes the odds between the two by a factor of at most e<sup>εd</sup>, where d is "
        f"their {_NORMS[box.surface.norm]} and {escaped(epsilon_words(privacy))}.",
        kind="lead",
    )
    return section(
        "promise", "What an adversary can tell", lead, *spelled_odds(privacy, scales, "points"),
        paragraph(
            f"The box is a flat map of a part of the Earth: {escaped(words)}. Points on this page are those of the map."
        ) if (words := ground_words(box)) else "",
        paragraph(
            "<strong>The promise is about points, not about cells.</strong> A table whose secrets are cells promises "
            "two people on the two sides of a border no more than it promises their cells, however close they are. "
            "Here a coordinate is rounded at random, with probabilities that change smoothly from place to place, "
            "and the promise holds between all points. "
            f"{_outside(box)}"
        ),
        ONE_RELEASE,
    )  # fmt: skip


def _outside(box: Box) -> str:
    """What becomes of coordinates outside of the box."""
    margin = box.surface.margin
    if margin is None:
        return (
            "Coordinates outside of the box are moved to its nearest point first, which brings no two points further "
            "apart and costs no privacy."
        )
    return (
        f"Places up to {with_unit(near(margin), box.unit)} outside of the box count as its nearest point, and the "
        "promise is proved for them too. Places farther out are refused, since nothing is promised about them."
    )


# ----------------------------------------------------------------- what it costs


def box_cost(facts: CoordinateFacts, more: str = "") -> str:
    """The loss and how far from the best it can be; ``more`` is said of the loss."""
    box, rate = facts.box, float(facts.mechanism.rate)
    if facts.value is None and facts.measured is None:
        text = "No prior was given, so that nothing is said about what the mechanism costs."
        return section("cost", "What it costs", paragraph(text))
    if facts.value is not None:
        first = (
            f"On average what is told is at most <strong>{with_unit(above(facts.value, 5), box.unit)}</strong> away."
        )
    else:
        first = f"On average what is told is <strong>{with_unit(near(facts.measured, 4), box.unit)}</strong> away."
    second = "" if facts.value is not None else "That is measured in floats, not proved."
    if facts.bound is not None:
        second = (
            f"No mechanism on the box with this promise, whatever it tells, loses less than "
            f"{with_unit(below(facts.bound, 5), box.unit)}, so at most {gap_words(facts.gap)} of it could be saved. "
            "Both numbers are proved in the certificate."
        )
    rows = [
        ("this mechanism", facts.value if facts.value is not None else facts.measured, near),
        ("no mechanism on the box with this promise is below", facts.bound, below),
        ("noise with density ∝ e^{−ε|z|} around the point, without a box or a prior", box.dimension / rate, near),
        ("nothing told", facts.blind, near),
    ]
    listed = table(
        "Losses",
        ("", f"mean distance{f', {escaped(box.unit)}' if box.unit else ''}"),
        [(words, shown(value, 5)) for words, value, shown in rows if value is not None],
    )
    return section("cost", "What it costs", paragraph(first, second, more, kind="lead"), _on_the_ground(facts), listed)


def _on_the_ground(facts: CoordinateFacts) -> str:
    """How lengths of a map compare with those on the ground; empty for a plain box."""
    box, value = facts.box, facts.value
    stretches = ground_words(box)
    if not stretches:
        return ""
    words = f"Lengths here are those of the box: {escaped(stretches)}."
    if value is not None:
        low, high = ground_range(value, box)
        words += (
            f" So the mean distance that is proved here is one of {below(low, 5)} to {above(high, 5)} on the ground."
        )
    return paragraph(words)


# ----------------------------------------------------------------- where probability lies


def _cells_layout(box: Box) -> MapLayout:
    """Cells where they lie; of a box in space those along its first two axes."""
    centres = [
        float(o) + float(step) * (np.arange(n, dtype=np.float64) + 0.5)
        for o, step, n in zip(box.origin, box.step, box.shape, strict=True)
    ][:2]
    if box.dimension == 1:
        return MapLayout("row", np.asarray(centres[0]), np.zeros(len(centres[0])), box.unit)
    x, y = (part.ravel() for part in np.meshgrid(*centres, indexing="ij"))
    return MapLayout("cells", x, y, box.unit, (float(box.step[0]), float(box.step[1])))


def cells_figure(box: Box, name: str, title: str, words: str, shares: Floats) -> Figure:
    """A share for each cell, drawn where it lies."""
    layout = _cells_layout(box)
    labels: list[Any] = layout.x.tolist() if box.dimension == 1 else list(zip(layout.x, layout.y, strict=True))
    if box.dimension == 3:
        shares = shares.reshape(box.shape).sum(axis=2).ravel()
        words += " Cells above each other are summed up."
    return share_figure(name, title, f"{words} Cells go by their middles.", layout, labels, shares)


def box_drawings(facts: BoxFacts) -> list[Figure]:
    """Prior, outputs, what is told at one point, twice, where one output comes from, and what is believed after it."""
    box, weights = facts.box, facts.weights
    drawn = []
    if facts.prior is not None:
        drawn.append(cells_figure(box, "prior", "The prior", "How likely each cell is beforehand.", weights))
    shares, title, words = weights @ facts.rows, "The released distribution", "How often each output comes."
    if facts.released is not None:
        total = int(facts.released.sum())
        off = in_percent(float(np.abs(facts.released / total - shares).max()), 2)
        words = f"What {total:,} releases told. Shares differ from the expected ones by {off} of all at most."
        shares, title = facts.released / total, "What was released"
    drawn.append(outputs_figure("released", title, words, box, facts.places, shares))
    where = point_words(facts.secret, box.unit)
    apart = facts.places - np.array([float(x) for x in facts.secret])
    away = float(facts.told @ np.linalg.norm(apart, ord=NORMS[box.metric], axis=1))
    words = f"What is told at the point {where}. On average that is {near(away, 3)} {box.unit}".rstrip() + " away."
    drawn.append(
        outputs_figure("cloud", f"What is told at {where}", words, box, facts.places, facts.told, facts.secret)
    )
    drawn.append(_density_drawing(facts))
    y = int(facts.told.argmax())
    output = facts.places[y].tolist()
    name = point_words(output, box.unit)
    slice_words = _slice_words(facts.used)
    words = f"How likely it is to be told {name}, by where one is.{slice_words}"
    point = (output, name)
    drawn.append(
        raster_figure("likely", f"Where {name} is told", words, box, facts.used.marks, facts.likely, point=point)
    )
    joint = weights * facts.rows[:, y]
    words = f"What an adversary who knows the prior believes after being told {name}."
    drawn.append(cells_figure(box, "belief", f"Belief after {name}", words, joint / joint.sum()))
    return drawn


def _density_drawing(facts: BoxFacts) -> Figure:
    """What is told at one point as a density on a fine raster."""
    box, marks, where = facts.box, facts.used.marks, point_words(facts.secret, facts.box.unit)
    places, told, above = flattened(box, facts.places, facts.told)
    parts = " × ".join(str(len(along)) for along in marks) + (" squares" if len(marks) > 1 else " equal parts")
    words = (
        f"What is told at {where} as a density: how likely it is to lie in each of {parts}, where every output stands "
        f"for the points that it is nearest to, with equal chances.{above}"
    )
    values = on_raster(marks, places, told, box.metric)
    return raster_figure("density", f"Density at {where}", words, box, marks, values, point=(facts.secret, where))


def _slice_words(used: Used) -> str:
    return "" if used.depth is None else f" A slice at the third coordinate {near(used.depth)}."


def _maps(facts: BoxFacts) -> str:
    """Where probability lies, before and after."""
    text = (
        "All points are taken as equally likely, because nobody gave a prior."
        if facts.prior is None
        else "Before anything is told, after many releases, at one point, and for somebody who sees one output."
    )
    return section("maps", "Where probability lies", paragraph(text), figures(box_drawings(facts)))


def used_drawing(facts: CoordinateFacts) -> Figure:
    """The share of ε that is used at every point."""
    used, least = facts.used, float(facts.used.share.min())
    low = float(np.floor(10 * least) / 10) if least < 1 else 0.0
    which = f"100 % where {facts.changing.format(_output_words(facts))} changes as fast as the promise allows"
    ring = " The ring is where it is most." if facts.box.dimension > 1 else ""
    words = f"How much of ε is used between a point and its neighbours: {which}.{_slice_words(used)}{ring}"
    point = (used.place, "most") if facts.box.dimension > 1 else None
    return raster_figure(
        "used", "Privacy actually used", words, used.part, used.marks, used.share, low=low, top=1.0, point=point
    )


def _output_words(facts: CoordinateFacts) -> str:
    """The output of which most privacy is used."""
    found = facts.mechanism.outputs[facts.used.output]
    return point_words(found if isinstance(found, tuple) else (found,), facts.box.unit)


def box_tightest(facts: CoordinateFacts) -> str:
    """Where the promise is nearly used up."""
    used, mechanism, unit = facts.used, facts.mechanism, facts.box.unit
    per = f" per {escaped(unit)}" if unit else ""
    rate = float(mechanism.rate)
    rows = [
        (f"ε that is promised{per}", near(mechanism.privacy.rate, 6)),
        (f"largest slope of the logarithm of a probability{per}", near(used.largest * rate, 6)),
        ("share of ε that this uses", in_percent(used.largest, 4)),
        ("at the point", escaped(point_words(used.place, unit))),
        ("for the output", escaped(_output_words(facts))),
        (f"mean share over {facts.averaged}", in_percent(float(used.share.mean()), 3)),
    ]
    words = paragraph(
        f"Measured on a raster of {how_many(used.share.size, 'point')}{facts.slopes} The proof is about all points, "
        "not about the raster."
    )
    return section(
        "tightest", "Privacy actually used", words, figures([used_drawing(facts)]),
        table("Where privacy is tightest", ("", "value"), rows),
    )  # fmt: skip


# ----------------------------------------------------------------- leakage, and the proof


def _leakage(facts: BoxFacts) -> str:
    """How much it helps an adversary to name the cell."""
    weights = facts.weights
    before, after = float(weights.max()), float((weights[:, None] * facts.rows).max(axis=0).sum())
    assumed = " (all cells equally likely)" if facts.prior is None else ""
    rows = [
        (f"name the cell in one try, told nothing{assumed}", in_percent(before)),
        ("the same, after seeing the output", in_percent(after)),
        ("factor between the two", times_words(after / before)),
    ]
    return section("leakage", "How much it tells", table("Naming the cell of the secret", ("", "value"), rows))


def lattice_words(mechanism: CoordinateMechanism) -> str:
    """How a point becomes a lattice point.

    Examples
    --------
    >>> from sfumato.spaces.box import box
    >>> from sfumato.spaces.splines import rounding_of
    >>> from types import SimpleNamespace
    >>> lattice_words(SimpleNamespace(rounding=rounding_of(box((2, 1), step=1))))
    '4 × 3 lattice points, rounding of degree 2: to one of 9 around a point'
    """
    rounding = mechanism.rounding
    lattice = " × ".join(map(str, rounding.shape))
    around = (rounding.degree + 1) ** len(rounding.axes)
    return f"{lattice} lattice points, rounding of degree {rounding.degree}: to one of {around} around a point"


def box_proof(facts: BoxFacts, file: str) -> str:
    """What was proved, and how to check it."""
    mechanism = facts.mechanism
    size = (
        f"{len(mechanism.rounding):,} lattice points × {len(mechanism.outputs):,} outputs, each row sums to "
        f"{total_words(mechanism.total)}"
    )
    how = (
        "On every cell the probability of an output is a polynomial. The kernel compares coefficients of its gradient "
        "with those of its value, and from these comparisons the promise follows for all points."
    )
    return coordinates_proof(facts, file, [("table", size)], how)


def coordinates_proof(facts: CoordinateFacts, file: str, rows: Sequence[tuple[str, str]], how: str) -> str:
    """What was proved of a mechanism for coordinates; rows say what follows its rounding, and ``how`` it is checked."""
    mechanism, proof = facts.mechanism, facts.mechanism.proof
    every = [
        ("promise about", "all points of the box, and by clamping of the whole space"),
        ("lattice", escaped(lattice_words(mechanism))),
        *rows,
        ("ε that is proved", escaped(_rate_words(mechanism))),
        ("comparisons of integers", f"{proof.comparisons:,}"),
    ]
    words = paragraph(
        f"{how} The file of the mechanism carries its own proof. Anybody can check it, with the package or with Python "
        "and the kernel alone (<code>sfumato/certify/alone/kernel.py</code>):"
    )
    listed = table("The certificate", ("", "value"), proof_rows(proof, every, mechanism.provenance), words=(1,))
    return section("certificate", "Why believe it", listed, words, checking(file))


def _rate_words(mechanism: CoordinateMechanism) -> str:
    exactly = mechanism.privacy.epsilon is not None and mechanism.rate == mechanism.privacy.epsilon
    if ground_words(mechanism.box):
        return f"{near(mechanism.rate, 8)} for a unit of the map, which is enough for the ground"
    return near(mechanism.rate, 8) + ("" if exactly else ", a rational just below the one that is promised")


BOX_PARTS = {
    "promise": ("What an adversary can tell", box_promise),
    "cost": ("What it costs", box_cost),
    "maps": ("Where probability lies", _maps),
    "tightest": ("Privacy actually used", box_tightest),
    "leakage": ("How much it tells", _leakage),
}
"""The parts that need nothing but facts, in order; the certificate comes last."""
