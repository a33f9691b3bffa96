"""Draw the picture of the README: one person of a town, hidden by planar Laplace noise and by the best mechanism.

    python docs/picture.py        # or: make picture; writes docs/picture.svg

The town is 16 × 10 cells of 250 m with two centres and a river that nobody lives in. Odds may double every 250 m. Each
panel is drawn from what the package returns: the prior, and the row of the mechanism for the person in the ring.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from html import escape
from pathlib import Path

import numpy as np

import sfumato as sf

PICTURE = Path(__file__).resolve().with_suffix(".svg")
ACROSS, DOWN, CELL, GAP, TOP, BOTTOM = 16, 10, 17, 26, 46, 34
PERSON = (9, 3)
PAPER, INK, QUIET, DARK = (250, 248, 243), "#2b2b2b", "#6f6a60", (94, 44, 31)
FAINT = 0.0008  # probabilities below this are drawn as paper
Panel = tuple[str, str, np.ndarray]


def main() -> None:
    """Compute and draw."""
    town = sf.grid(ACROSS, DOWN, step=Fraction(1, 4), unit="km")
    people = residents()
    prior, loss = sf.Prior.from_counts(people.ravel().tolist(), town), sf.losses.distance(town)
    privacy = sf.PrivacyType(town, alpha="1/16")
    best = sf.design(prior, loss, privacy)
    laplace = sf.planar_laplace(privacy).channel
    lost, remapped = (1000 * float(f(prior, laplace, loss)) for f in (sf.expected_loss, sf.posterior_loss))
    panels = [
        ("Where people live", "the darker, the more; the ring is one of them", people / people.sum()),
        (
            "Planar Laplace noise tells",
            f"{lost:.0f} m off in the mean; best remap: {remapped:.0f} m",
            row_of(laplace, town),
        ),
        (
            "The best mechanism tells",
            f"{1000 * float(best.loss):.0f} m off; proved: none below {1000 * float(best.bound):.0f} m",
            row_of(best.mechanism.channel, town),
        ),
    ]
    PICTURE.write_text(drawn(panels), encoding="utf-8")
    print(f"{PICTURE.name}: {PICTURE.stat().st_size:,} bytes, gap {best.gap:.1e}")


def residents() -> np.ndarray:
    """How many people live in each cell: two hills, and a river from north to south."""
    x, y = np.meshgrid(np.arange(ACROSS), np.arange(DOWN), indexing="ij")
    hills = 90 * np.exp(-((x - 10.5) ** 2 / 7 + (y - 3) ** 2 / 5)) + 60 * np.exp(
        -((x - 3) ** 2 / 5 + (y - 6.5) ** 2 / 6)
    )
    river = np.abs(x - 6.6 - 1.2 * np.sin(y / 2)) < 0.75
    return np.where(river, 0, np.rint(hills + 3)).astype(int)


def row_of(channel: sf.Channel, town: sf.FiniteSpace) -> np.ndarray:
    """What is told of the person in the ring: a probability for each cell."""
    cells = np.zeros((ACROSS, DOWN))
    row = channel.matrix[list(town.labels).index(PERSON)]
    for output, probability in zip(channel.outputs, row, strict=True):
        cells[output] = float(probability)
    return cells


def drawn(panels: list[Panel]) -> str:
    """The panels side by side, as SVG."""
    wide, high = ACROSS * CELL, DOWN * CELL
    width, height = len(panels) * (wide + GAP) + GAP, TOP + high + BOTTOM
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'font-family="Helvetica, Arial, sans-serif" role="img">',
        f"<title>{escape(': '.join(panels[-1][:2]))}</title>",
        f'<rect width="{width}" height="{height}" fill="white"/>',
    ]
    for k, (title, caption, cells) in enumerate(panels):
        left = GAP + k * (wide + GAP)
        parts.append(f'<text x="{left}" y="{TOP - 14}" font-size="17" fill="{INK}">{escape(title)}</text>')
        parts.append(f'<g transform="translate({left} {TOP})" shape-rendering="crispEdges">')
        parts.append(f'<rect width="{wide}" height="{high}" fill="{colour(0.0)}"/>')
        parts += rectangles(cells / cells.max())
        parts.append("</g>")
        x, y = (left + (PERSON[0] + 0.5) * CELL, TOP + (DOWN - 0.5 - PERSON[1]) * CELL)
        parts.append(f'<circle cx="{x:g}" cy="{y:g}" r="6" fill="none" stroke="white" stroke-width="4"/>')
        parts.append(f'<circle cx="{x:g}" cy="{y:g}" r="6" fill="none" stroke="#1f6f8b" stroke-width="2.2"/>')
        parts.append(f'<text x="{left}" y="{TOP + high + 21}" font-size="13" fill="{QUIET}">{escape(caption)}</text>')
    return "\n".join([*parts, "</svg>", ""])


def rectangles(shades: np.ndarray) -> Iterator[str]:
    """One square for each cell that is not empty."""
    for (x, y), shade in np.ndenumerate(shades):
        if shade > FAINT:
            place = f'x="{x * CELL}" y="{(DOWN - 1 - y) * CELL}"'
            yield f'<rect {place} width="{CELL}" height="{CELL}" fill="{colour(shade)}"/>'


def colour(shade: float) -> str:
    """From paper to dark; the root shows what is rare."""
    part = round(32 * float(shade) ** 0.5) / 32
    return "#" + "".join(f"{round(p + part * (d - p)):02x}" for p, d in zip(PAPER, DARK, strict=True))


if __name__ == "__main__":
    main()
