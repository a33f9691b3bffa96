"""The parts of a report on noise that is the same everywhere in a box, in words: from facts to HTML."""

from __future__ import annotations

import numpy as np

from sfumato.report.box_maps import outputs_figure, point_words, raster_figure
from sfumato.report.box_noise import Cloud, NoiseFacts
from sfumato.report.box_sections import (
    box_cost,
    box_numbers,
    box_promise,
    box_tightest,
    cells_figure,
    coordinates_proof,
    used_drawing,
)
from sfumato.report.html import Figure, above, escaped, figures, how_many, in_percent, near, paragraph, section, table
from sfumato.report.html import share as shown
from sfumato.report.sections_words import total_words, with_unit


def noise_intro(facts: NoiseFacts) -> str:
    """What the page is about, in one sentence."""
    sides = " × ".join(near(side) for side in facts.box.sides)
    return (
        f"<p class=soft>A mechanism for coordinates: the same noise at every point of a box of "
        f"{with_unit(sides, facts.box.unit)}, with its promise, its price and its proof.</p>{box_numbers(facts)}"
    )


def noise_cost(facts: NoiseFacts) -> str:
    """The loss and how far from the best it can be."""
    every = "The loss holds for every prior that is constant on the cells, since the noise is the same everywhere."
    return box_cost(facts, every if facts.value is not None else "")


# ----------------------------------------------------------------- where probability lies


def cloud_figure(name: str, title: str, words: str, cloud: Cloud) -> Figure:
    """What is told at a point, on a raster with an output in each of its cells."""
    part, shares = cloud.part, cloud.shares
    step = " × ".join(near(side, 3) for side in part.step[:2])
    cells = "intervals" if part.dimension == 1 else "squares"
    words += f" On the part of the box where nearly all of it lies, an output in each of the {cells} of {step}"
    words = f"{words} {part.unit}".rstrip() + "."
    if part.dimension == 3:
        shares, words = shares.sum(axis=2), f"{words} Outputs above each other, along the third axis, are summed up."
    marks = tuple(
        np.asarray(float(o) + float(side) * (np.arange(n) + 0.5), dtype=np.float64)
        for o, side, n in zip(part.origin[:2], part.step[:2], part.shape[:2], strict=True)
    )
    return raster_figure(
        name, title, words, part, marks, shares, point=(cloud.point, point_words(cloud.point, part.unit))
    )


def noise_drawings(facts: NoiseFacts) -> list[Figure]:
    """Prior, what was released, and what is told at one point."""
    box, cloud, drawn = facts.box, facts.cloud, []
    if facts.prior is not None:
        drawn.append(cells_figure(box, "prior", "The prior", "How likely each cell is beforehand.", facts.weights))
    if facts.released is not None:
        places, times = facts.released
        total = int(times.sum())
        words = f"What {how_many(total, 'release')} told."
        drawn.append(outputs_figure("released", "What was released", words, box, places, times / total))
    where = point_words(facts.secret, box.unit)
    words = (
        f"What is told at the point {where}. On average that is {near(cloud.away, 3)} {box.unit}".rstrip() + " away."
    )
    drawn.append(cloud_figure("cloud", f"What is told at {where}", words, cloud))
    return drawn


def noise_maps(facts: NoiseFacts) -> str:
    """Where probability lies, before and after."""
    lead = (
        "An offset is added whose chances are the same wherever one is: what is told at one point, moved along, is "
        "what is told at any other, as long as the border is far."
    )
    far = ""
    if facts.far > 0:
        far = (
            f"With probability {above(facts.far, 2)} at most the offset is any one, all alike: so nothing that is told "
            "rules a point out."
        )
    return section("maps", "Where probability lies", paragraph(lead, far), figures(noise_drawings(facts)))


def border_drawing(facts: NoiseFacts) -> Figure:
    """What is told at the border of the box."""
    words, cloud = next((words, cloud) for words, cloud in facts.near_border if words.startswith("at "))
    title = f"What is told {words}"
    return cloud_figure("border", title, f"{title}: {shown(cloud.border)} of it on the border itself.", cloud)


def border(facts: NoiseFacts) -> str:
    """What clamping does near the border."""
    unit = facts.box.unit
    lead = paragraph(
        "What would leave the box is told as the nearest point of its border. That is done to outputs, so it costs no "
        "privacy, and it brings none of them farther from the truth. An output on the border says no more than that it "
        "would lie there or beyond."
    )
    rows = [(words, in_percent(cloud.border), near(cloud.away, 3)) for words, cloud in facts.near_border]
    listed = table(
        "Towards the border",
        ("where one is", "told on the border", f"mean distance of what is told{f', {escaped(unit)}' if unit else ''}"),
        rows,
    )
    return section("border", "At the border", lead, figures([border_drawing(facts)]), listed)


# ----------------------------------------------------------------- the proof


def noise_proof(facts: NoiseFacts, file: str) -> str:
    """What was proved, and how to check it."""
    mechanism = facts.mechanism
    offsets = " × ".join(str(2 * reach + 1) for reach in mechanism.reach)
    rows = [
        ("noise", f"{offsets} offsets, the same at all lattice points, chances in units of one in "
                  f"{total_words(mechanism.total)}"),
        ("far offsets", f"{mechanism.floor:,} units for each output, whatever the secret"),
    ]  # fmt: skip
    how = (
        "One column stands for all outputs: on every cell the probability of an output is a polynomial, the same "
        "around each of them. The kernel compares coefficients of its gradient with those of its value, and from these "
        "comparisons the promise follows for all points, before and after what leaves the box is moved to its border."
    )
    return coordinates_proof(facts, file, rows, how)


def noise_figures(facts: NoiseFacts) -> list[Figure]:
    """All figures of a report on noise."""
    return [*noise_drawings(facts), used_drawing(facts), border_drawing(facts)]


NOISE_PARTS = {
    "promise": ("What an adversary can tell", box_promise),
    "cost": ("What it costs", noise_cost),
    "maps": ("Where probability lies", noise_maps),
    "tightest": ("Privacy actually used", box_tightest),
    "border": ("At the border", border),
}
"""The parts that need nothing but facts, in order; the certificate comes last."""
